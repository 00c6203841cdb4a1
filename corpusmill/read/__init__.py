"""Finding the records of a snapshot and fetching their bytes: WARC, WET, HTML, Parquet, JSONL and source packages."""
