"""Records and knowledge."""
