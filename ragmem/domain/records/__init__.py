"""Records with fields: patterns, gotchas, episodes."""
