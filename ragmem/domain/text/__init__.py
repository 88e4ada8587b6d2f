"""Text: words, chunks, excerpts, code spans."""
