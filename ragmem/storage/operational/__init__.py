"""Agents, their messages and events, in a database file beside the memory."""

OPERATIONAL_NAME = "operational.db"
"""The name of the file in the home's data folder."""
