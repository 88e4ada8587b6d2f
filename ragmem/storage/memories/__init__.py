"""Memories, projects, files, listings."""
