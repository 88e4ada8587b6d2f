"""What agents do and tell one another, in a database file of its own beside the memory."""
