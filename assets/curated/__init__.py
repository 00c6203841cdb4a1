"""Text worth training on: extracted once, judged once, deduplicated across snapshots."""
