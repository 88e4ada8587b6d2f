"""Convert documents to Markdown in named parts (pages, slides, sheets), in a separate process."""
