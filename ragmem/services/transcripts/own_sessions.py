"""The sessions that were held on this machine, so that a copy elsewhere is not ingested twice."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from ragmem.config.settings import Settings
from ragmem.domain.model import Scope
from ragmem.domain.sessions.transcript import ENTIRE, SOURCE, Exchange
from ragmem.frozen import dataclass
from ragmem.readers.transcripts.specstory import FOLDER
from ragmem.services.ingestion.source import find_files
from ragmem.storage.home.catalog import Catalog

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_SHORT = re.compile(r"session-.*-([0-9a-f]{8})\Z")
"""Gemini names a file by the beginning of the session's id."""


class OwnSessions:
    """The sessions of this machine by their ids; looked up once, when the first one is asked for."""

    def __init__(self, catalog: Catalog, settings: Settings, *, home: Path) -> None:
        self._catalog = catalog
        self._settings = settings
        self._home = home

    @cached_property
    def _read(self) -> frozenset[str]:
        if not self._catalog.exists():
            return frozenset()
        self._catalog.prepare()
        known = self._catalog.transcripts.all()
        return frozenset(one.session for one in known if not _is_copy(one.path) and one.session)

    @cached_property
    def _on_disk(self) -> frozenset[str]:
        spec = self._settings.sources.get(SOURCE)
        names: set[str] = set()
        files = find_files(spec, home=self._home, settings=self._settings).files if spec else ()
        for path in files:
            names |= {path.stem, path.parent.name}
            for pattern in (_UUID, _SHORT):
                if found := pattern.search(path.stem):
                    names.add(found[1] if pattern is _SHORT else found[0])
        return frozenset(names)

    def has(self, session: str) -> bool:
        """Return whether a session's own transcript is on this disk, or was read while it was."""
        return session in self._read or bool(self._on_disk.intersection((session, session.partition("-")[0])))

    def reads(self, session: str) -> bool:
        """Return whether a session's own transcript was read, or will be by the next seed or a hook."""
        spec = self._settings.sources.get(SOURCE)
        return session in self._read or (
            self.has(session) and bool(self._read or (spec is not None and spec.enabled))
        )


def _is_copy(path: str) -> bool:
    return path.startswith(ENTIRE) or f"/{FOLDER}/" in path


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
