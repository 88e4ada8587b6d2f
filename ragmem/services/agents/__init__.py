"""Agents: who works here, messages, waiting."""
