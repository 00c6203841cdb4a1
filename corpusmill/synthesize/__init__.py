"""Synthesis, all pure: what to ask a model, and which of its answers become documents."""
