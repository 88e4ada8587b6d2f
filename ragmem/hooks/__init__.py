"""Hooks of assistants: what runs inside somebody else's session, and must never hurt it."""
