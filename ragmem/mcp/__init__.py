"""The tools that agents call over MCP: their parameters, their answers, and what they do with a memory."""
