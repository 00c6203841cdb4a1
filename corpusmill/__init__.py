"""Corpusmill's library: how pages, code and STEM text become a mixture that trains a model. No Dagster in it."""
