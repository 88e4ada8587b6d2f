"""Connections between memories."""
