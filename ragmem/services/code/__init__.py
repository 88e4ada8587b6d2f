"""Code on disk: ingest, links, map, impact."""
