"""The SQL of the store's rows: documents, names, graph, orphans."""
