"""`ragmem hook EVENT`: the entry that an assistant's hook calls; it always exits 0."""

import os
from collections.abc import Sequence
from contextlib import suppress


def hook(arguments: Sequence[str]) -> int:
    """Tell that hooks do nothing yet, and exit 0: a host that wired them early must not be disturbed.

    Standard input is left unread, because it may never end; standard output stays empty, because a host
    takes what stands there into its context.
    """
    event = arguments[0] if arguments else ""
    message = f'ragmem: hooks are not part of this release: "{event}" was not stored\n'
    # Past Python's buffer: what could not be written would change the exit code while Python exits.
    with suppress(OSError):
        os.write(2, message.encode("utf-8", "backslashreplace"))
    return 0
