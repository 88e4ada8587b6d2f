"""Worker pools, atomic writes, batch sizes, progress."""
