"""Our own HTTP interface: `/v1/memory/...`, with the names and JSON fields of the command line."""
