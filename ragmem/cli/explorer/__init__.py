"""The memory as views to walk through on a terminal; imported only when the explorer opens."""
