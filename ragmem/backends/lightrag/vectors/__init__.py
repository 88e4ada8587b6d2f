"""Vectors: segments, the memory-mapped index, bulk reads, a second model, maintenance."""
