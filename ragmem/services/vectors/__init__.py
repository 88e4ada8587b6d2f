"""Search for near vectors."""
