"""The program of the warm process, as `ragmem.client` starts it: DATA, and the descriptor of the lock."""

import os
import sys


def main() -> None:
    """Leave whoever started this, then live as the warm process of a home."""
    if os.fork():
        # What stays is nobody's child: a client that lives on would have to bury it.
        os._exit(0)
    os.setsid()
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if root not in sys.path:
        sys.path.insert(0, root)
    from ragmem.daemon.process import live

    live(sys.argv[1], int(sys.argv[2]))


if __name__ == "__main__":
    main()
