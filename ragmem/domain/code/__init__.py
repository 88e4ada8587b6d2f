"""Code as a graph: symbols, imports, edges, impact."""
