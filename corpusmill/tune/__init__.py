"""Finding the fastest settings of an engine: what to try, for how long, and what the numbers prove. No engine is known here."""
