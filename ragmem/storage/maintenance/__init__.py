"""Invariants, repair, vacuum, export."""
