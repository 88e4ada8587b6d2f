"""Hooks of assistants: they run inside an assistant's session and must never disturb it."""
