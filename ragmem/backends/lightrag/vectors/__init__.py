"""Vectors in files: segments, memory-mapped index, bulk writes, maintenance."""
