"""The services: one use case a file."""
