"""Agents over HTTP: messages, signals, event streams."""
