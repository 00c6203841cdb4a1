"""The kinds of generators, one file each: how a recipe's questions are put, one after the other or at once."""
