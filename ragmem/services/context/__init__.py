"""What a session is told: context, reminders, refresh, injections."""
