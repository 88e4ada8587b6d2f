"""Log, sessions, transcripts, usage, injections."""
