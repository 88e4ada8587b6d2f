"""The result of reading one file: its drafts, or an error."""

from pathlib import Path

from ragmem.domain.model import Draft
from ragmem.errors import SourceError
from ragmem.frozen import dataclass


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The result of reading one file.

    `error` says why nothing was read. `warnings` describe omissions from a file that was read, `unread` are
    the uris of the parts of a document that were left out. `unchanged` files were not opened. `size` (bytes)
    and `modified_ns` are 0 for a file without a status.
    """

    path: Path
    drafts: tuple[Draft, ...] = ()
    error: SourceError | None = None
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    size: int = 0
    modified_ns: int = 0
    unchanged: bool = False
