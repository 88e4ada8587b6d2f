"""Charts: numbers in, lines for a terminal or an SVG document out, without any library.

`model` has what a chart shows, `terminal` draws it in lines, `svg` as a picture, and `numbers` as a table.
`layered_diagram` draws boxes and arrows.
"""
