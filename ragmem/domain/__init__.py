"""The domain: pure functions and values, without I/O, clock or third-party import."""
