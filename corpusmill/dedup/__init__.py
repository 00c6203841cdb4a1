"""Which documents repeat which: shingles, signatures, bands, verification, resolution, statistics. Pure."""
