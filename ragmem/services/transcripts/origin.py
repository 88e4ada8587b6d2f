"""Where a transcript comes from if it is no file of an assistant on this machine."""

from collections.abc import Callable, Mapping

from ragmem.domain.model import Scope
from ragmem.domain.sessions.transcript import Exchange
from ragmem.frozen import dataclass

CHECKPOINTS = "checkpoints"
"""The reader of a source of sessions beside commits."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a transcript: `name` is its path in the catalog and in the uris of its exchanges.

    All exchanges belong to `scope`. `describe` returns metadata that are laid over those of an exchange, or
    None to leave it out.
    """

    name: str
    scope: Scope
    describe: Callable[[Exchange], Mapping[str, str] | None]
