"""What agents do and tell one another, in a database file of its own beside the memory."""

OPERATIONAL_NAME = "operational.db"
"""The name of the file in the home's data folder."""
