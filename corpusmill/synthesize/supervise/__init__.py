"""The supervisor: what the outputs of a recipe look like chunk by chunk, and what is done when they go wrong."""
