"""Reviews: what has to ask a model to verify a text. Each is a stage of a recipe's program, after its cheap checks."""
