"""The warm process: holds a home's models and answers its hooks on a Unix socket until it is idle."""
