"""The rules that find secrets in a text."""

RULES = "3a7c534b82dbb363"
"""Hash of the modules of this package, written by scripts/generate.py; a clean hash depends on it."""
