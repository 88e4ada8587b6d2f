"""Read what other memory tools and chat programs have stored, one module per tool."""

from ragmem.readers.foreign.tools import TOOLS, Tool, find_tool, recognise

__all__ = ["TOOLS", "Tool", "find_tool", "recognise"]
