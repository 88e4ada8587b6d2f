"""LightRAG's own REST interface over our memory, so that its clients and its web UI work against it."""
