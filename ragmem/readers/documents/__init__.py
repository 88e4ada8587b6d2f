"""Documents become Markdown in parts that have names: pages, slides, sheets; read in a process apart."""
