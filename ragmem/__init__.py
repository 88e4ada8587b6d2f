"""ragmem: memory for AI coding assistants, on the user's own machine."""

# A literal on purpose: importlib.metadata would cost every start some 60 ms.
__version__ = "0.1.0"
