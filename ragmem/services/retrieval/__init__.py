"""Retrieval: candidates, ranking, routes, modes."""
