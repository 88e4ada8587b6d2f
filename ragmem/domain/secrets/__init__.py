"""The rules that find secrets in a text."""

RULES = "c2ad77aa1912d944"
"""Hash of the modules of this package, written by scripts/generate.py; a clean hash depends on it."""
