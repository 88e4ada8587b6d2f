"""Shared records of a team: their bytes, the state that a set of them means, and packs."""
