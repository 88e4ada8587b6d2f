"""Text that is injected into a session: the frame, and what is left out."""
