"""Text that is injected into a session: its frame, and its removal from stored text."""
