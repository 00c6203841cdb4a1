"""Hypothesis without a deadline: how fast an example is says nothing on a busy machine."""

from hypothesis import settings

settings.register_profile("synthesize", deadline=None)
settings.load_profile("synthesize")
