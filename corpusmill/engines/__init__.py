"""Machines: how a pure function meets many rows, on plain Python, Spark, Ray and vLLM."""
