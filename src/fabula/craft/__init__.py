"""Pure helpers that several systems share."""
