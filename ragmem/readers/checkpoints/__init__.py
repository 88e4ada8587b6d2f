"""Read the sessions that Entire keeps in a repository beside its commits."""
