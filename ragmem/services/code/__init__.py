"""The code of projects: ingestion, links with memories, map, impact."""
