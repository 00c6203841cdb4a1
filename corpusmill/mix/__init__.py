"""Mixtures: tokens packed into sequences, weights and epoch caps, the order of the stream, and what it realised."""
