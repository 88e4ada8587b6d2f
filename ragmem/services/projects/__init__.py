"""Projects: list, join, split, rename, move."""
