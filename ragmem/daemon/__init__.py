"""The warm process: holds a home's models and answers its hooks on a unix socket, until nobody asks."""
