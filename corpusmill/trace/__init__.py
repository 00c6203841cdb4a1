"""From a token back to where it came from, and from a document onward to all that it became. Nothing here writes."""
