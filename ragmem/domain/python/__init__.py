"""The call graph of Python code."""
