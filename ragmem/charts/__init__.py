"""Charts and diagrams as SVG and as lines of text."""
