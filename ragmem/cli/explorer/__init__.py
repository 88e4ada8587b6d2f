"""The explorer: views of the memory on a terminal; imported only when it opens."""
