"""The rules that find secrets in a text."""
