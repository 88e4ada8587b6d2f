"""Ingestion: drafts, classification, indexing, the inbox."""
