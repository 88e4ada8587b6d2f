"""Extraction and merging of entities."""
