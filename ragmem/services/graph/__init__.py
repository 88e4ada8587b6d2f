"""The graph: views, exports, scopes."""
