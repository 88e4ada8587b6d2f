"""The program that `ragmem.client` starts with the data folder and the descriptor of the lock."""

import os
import sys


def main() -> None:
    """Detach from the parent process, then run as the warm process of a home."""
    if os.fork():
        # The daemon must not be a child of the client, which would have to reap it.
        os._exit(0)
    os.setsid()
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if root not in sys.path:
        sys.path.insert(0, root)
    from ragmem.daemon.process import live

    live(sys.argv[1], int(sys.argv[2]))


if __name__ == "__main__":
    main()
