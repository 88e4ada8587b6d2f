"""Models: find, pull, use, try, bundle."""
