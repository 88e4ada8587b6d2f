"""The context of sessions: injections, reminders, memory files."""
