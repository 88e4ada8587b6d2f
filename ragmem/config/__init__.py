"""Configuration: files and environment become one frozen Settings that knows the origin of each value."""
