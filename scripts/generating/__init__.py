"""Generators of files from the command tree."""
