"""The server: the memory over HTTP, on this machine."""
