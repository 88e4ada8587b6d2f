"""Plots and the report of a memory, as of a given time; SQL does the counting."""
