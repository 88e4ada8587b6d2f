"""The SQL of the store's rows, and LightRAG's rows that are made of them."""
