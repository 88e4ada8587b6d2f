"""Connections, consolidation, ageing, supersession cues."""
