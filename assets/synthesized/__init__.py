"""Text that a model wrote from curated documents: asked, answered, verified."""
