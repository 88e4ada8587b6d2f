"""The rules that find secrets in a text."""

RULES = "281db987e58a2644"
"""Hash of the modules of this package, written by scripts/generate.py; a clean hash depends on it."""
