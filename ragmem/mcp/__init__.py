"""The tools that agents call over MCP: what each takes, what it says, and what it does with a memory."""
