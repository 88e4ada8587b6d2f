"""Full-text search: terms, segments, BM25."""
