"""The rules that find secrets in a text."""

RULES = "661426c1da419ca5"
"""Hash of the modules of this package, written by scripts/generate.py; a clean hash depends on it."""
