"""Pure rules over Arrow tables: text, language, quality, licence, edits. No engine, clock or environment."""
