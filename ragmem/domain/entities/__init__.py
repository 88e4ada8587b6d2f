"""Entities and relations of a text, their names and aliases."""
