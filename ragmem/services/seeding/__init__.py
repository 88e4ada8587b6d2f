"""Seeding from the sources on disk."""
