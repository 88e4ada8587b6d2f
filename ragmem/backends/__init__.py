"""Backends: models and stores behind the ports, named by entry points."""
