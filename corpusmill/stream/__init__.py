"""The training side: a mixture's sequences, read from the lake at any position, with exact resume."""
