"""LightRAG on storages of its own or of a server, behind the same store."""
