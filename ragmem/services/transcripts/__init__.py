"""Transcripts of assistants."""
