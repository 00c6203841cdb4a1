"""Mixtures: what a training run reads, in which proportions and order."""
