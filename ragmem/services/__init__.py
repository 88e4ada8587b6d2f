"""The services: one use case per file."""
