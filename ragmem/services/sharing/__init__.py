"""Share memories with a team over the git remote of a project."""
