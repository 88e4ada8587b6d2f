"""The rules that find secrets in a text."""

RULES = "2726fbdaaa35f0ec"
"""Hash of the modules of this package, written by scripts/generate.py; a clean hash depends on it."""
