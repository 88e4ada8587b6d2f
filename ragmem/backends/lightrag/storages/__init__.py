"""The storages that LightRAG is given: key-value, vectors, graph, document status."""
