"""Archive, gc runs, connections, supersessions."""
