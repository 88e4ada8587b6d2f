"""Models on remote servers: one small module for each protocol, over one transport.

Each module that is named after a provider is a backend of its own; docs/models.md has the table, and
docs/adr/007-providers.md says why it does not use their SDKs.
"""
