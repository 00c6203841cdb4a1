"""Verifiers: pure functions from one answered input to the reason why the answer is refused, or None."""
