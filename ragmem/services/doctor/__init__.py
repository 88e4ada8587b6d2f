"""`doctor`: checks and repairs."""
