"""Pure rules over Arrow tables: extraction, language, quality, licence and what to edit. No engine, clock or environment."""
