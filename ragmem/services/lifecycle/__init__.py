"""Garbage collection, undo, feedback."""
