"""Readers: files on disk become drafts."""
