"""One module per format: what is in a file becomes Markdown; run only by the process that is kept apart."""
