"""Shared records of a team in the catalog, and what is known of its members."""
