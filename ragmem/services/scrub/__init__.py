"""Removal of secrets, and of memories that a person names."""
