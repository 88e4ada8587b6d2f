"""A lock for one process on LightRAG's files: it reads them once, and would overwrite other writers."""

import fcntl
import os
import threading
import time
from pathlib import Path

from ragmem.errors import StoreBusyError

NAME = "in-use.lock"
PATIENCE = 5.0
"""Seconds to wait for a process that is ending."""

_FILES = (
    "JsonKVStorage",
    "NanoVectorDBStorage",
    "NetworkXStorage",
    "JsonDocStatusStorage",
    "FaissVectorDBStorage",
)

_guard = threading.Lock()
_held: dict[Path, tuple[int, int]] = {}
"""Descriptor and number of stores by folder: several stores of one process share the lock."""


def keeps_files(storages: tuple[str, ...]) -> bool:
    """Tell whether any of the storages keeps files that it holds in memory."""
    return any(name in _FILES for name in storages)


def take(folder: Path) -> None:
    """Lock a folder against other processes; raises StoreBusyError if one holds it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _guard:
        descriptor, stores = _held.get(folder, (-1, 0))
        if not stores:
            descriptor = _lock(folder)
        _held[folder] = (descriptor, stores + 1)


def _lock(folder: Path) -> int:
    descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise StoreBusyError(
                    f'another process uses the files in "{folder}"',
                    hint="end it (`ragmem serve`?), or set [store] profile to one that processes can share",
                ) from None
            time.sleep(0.05)
        else:
            return descriptor


def release(folder: Path) -> None:
    """Release the lock on a folder."""
    with _guard:
        descriptor, stores = _held.pop(folder)
        if stores > 1:
            _held[folder] = (descriptor, stores - 1)
        else:
            os.close(descriptor)
