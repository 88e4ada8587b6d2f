"""Names of entities, aliases, mentions."""
