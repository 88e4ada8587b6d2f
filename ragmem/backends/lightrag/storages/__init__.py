"""Our storages for LightRAG: key-value, vectors, graph, document status."""
