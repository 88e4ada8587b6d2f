"""What came of one file: its drafts, or why there are none."""

from dataclasses import dataclass
from pathlib import Path

from ragmem.domain.model import Draft
from ragmem.errors import SourceError


@dataclass(frozen=True, slots=True)
class Reading:
    """One file as a reader left it.

    `error` says why nothing was read; `warnings` name what was left out of a file that was read, `unread` are
    the uris of parts of a document that were. `unchanged` files were not opened. `size` (bytes) and
    `modified_ns` are 0 for a file that could not be looked at.
    """

    path: Path
    drafts: tuple[Draft, ...] = ()
    error: SourceError | None = None
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    size: int = 0
    modified_ns: int = 0
    unchanged: bool = False
