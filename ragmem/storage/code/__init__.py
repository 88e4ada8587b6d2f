"""Tables of code."""
