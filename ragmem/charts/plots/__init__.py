"""Plots: numbers in, lines for a terminal or an SVG document out, without any library.

`model` has what a plot shows, `terminal` draws it in lines, `picture` as SVG, and `numbers` as a table.
"""
