"""Documents as packed token sequences, made once and shared by all mixtures."""
