"""What is on this machine: assistants and their sessions, repositories, and the files of each source."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragmem.assistants import load_assistants
from ragmem.assistants.assistant import Assistant
from ragmem.assistants.places import Places
from ragmem.config.settings import Settings, SourceSpec
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.readers.files import show
from ragmem.services.ingestion.source import RepositoryFinder, find_files
from ragmem.services.seeding.unread import Unread, find_unread
from ragmem.services.setup.versions import find_versions
from ragmem.services.transcripts.transcripts import is_current, rules_of, size_and_time
from ragmem.services.wiring.connect import ConnectContext, connection_states, is_installed
from ragmem.services.wiring.installed_plugins import find_plugin
from ragmem.storage.home.catalog import Catalog

Connected = Literal["connected", "out of date", "no", "unreadable", "plug-in"]


@dataclass(frozen=True, slots=True)
class Amount:
    """Files, their bytes, and how much of both no seed has read yet."""

    files: int = 0
    bytes: int = 0
    new: int = 0
    new_bytes: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        """Return the sum of both."""
        return Amount(
            self.files + other.files,
            self.bytes + other.bytes,
            self.new + other.new,
            self.new_bytes + other.new_bytes,
        )


@dataclass(frozen=True, slots=True)
class FoundAssistant:
    """An assistant with its sessions; `found` without a program or settings means that only sessions are."""

    assistant: Assistant
    found: bool
    version: str
    sessions: Amount
    connected: Connected


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A source with files that every seed reads."""

    name: str
    description: str
    amount: Amount


@dataclass(frozen=True, slots=True)
class Survey:
    """What is on this machine, before anything is read."""

    assistants: tuple[FoundAssistant, ...]
    other_sessions: Amount
    """Sessions below the globs of the transcripts that are of no known assistant."""
    sources: tuple[FoundSource, ...]
    repositories: tuple[Path, ...]
    cut: str
    """Why there may be more repositories; empty if all were found."""
    unread: tuple[Unread, ...]
    """What is here besides, each with the command that reads it."""

    @property
    def sessions(self) -> Amount:
        """The sessions of all assistants."""
        return sum((one.sessions for one in self.assistants), self.other_sessions)

    @property
    def files(self) -> Amount:
        """The files of all enabled sources."""
        return sum((one.amount for one in self.sources), Amount())


def survey(settings: Settings, catalog: Catalog, desk: ConnectContext, *, home: Path) -> Survey:
    """Look at what is on this machine; reads names, sizes and times of files, and writes nothing.

    But a catalog that exists is brought up to date; one that was never made has read no file. Programs of
    assistants are asked for their version.
    """
    assistants = load_assistants()
    exists = catalog.exists()
    if exists:
        # A killed setup may have left a database without tables.
        catalog.prepare()
    transcripts = settings.sources.get(SOURCE)
    sessions, other = (
        _sessions(transcripts, settings, catalog if exists else None, desk.places, home=home)
        if transcripts is not None
        else ({}, Amount())
    )
    here = {one.name for one in assistants if is_installed(one, desk.places)}
    versions = find_versions([one for one in assistants if one.name in here], desk.places.environ)
    found = tuple(
        FoundAssistant(
            one,
            one.name in here,
            versions.get(one.name, ""),
            sessions.get(one.name, Amount()),
            _state(desk, one),
        )
        for one in assistants
        if one.name in here or one.name in sessions
    )
    finder = RepositoryFinder(home, settings)
    discovered = {
        spec.name: find_files(spec, home=home, settings=settings, repositories=finder)
        for spec in settings.enabled_sources()
        if spec.name != SOURCE
    }
    sources = [
        FoundSource(
            name, settings.sources[name].description, _files(name, one.files, catalog if exists else None)
        )
        for name, one in discovered.items()
    ]
    unread = find_unread(catalog, settings, home=home, repositories=finder, seeded=discovered.values())
    return Survey(
        found,
        other,
        tuple(one for one in sources if one.amount.files),
        finder.search.repositories,
        finder.search.cut,
        tuple(one for one in unread if one.what != SOURCE),
    )


def _state(desk: ConnectContext, assistant: Assistant) -> Connected:
    state: Connected = connection_states(desk, assistant)[0].state  # type: ignore[assignment]
    return "plug-in" if state == "no" and find_plugin(assistant, desk.places) else state


def _files(source: str, files: Iterable[Path], catalog: Catalog | None) -> Amount:
    seen = catalog.files.seen_files(source) if catalog else {}
    known = {path: (one.size, one.modified_ns) for path, one in seen.items()}
    return _amount(files, lambda path, size, modified_ns: known.get(str(path)) == (size, modified_ns))


def _sessions(
    spec: SourceSpec, settings: Settings, catalog: Catalog | None, places: Places, *, home: Path
) -> tuple[dict[str, Amount], Amount]:
    """Return assistant -> its sessions, and those of no assistant."""
    files: dict[str, list[Path]] = {}
    for path in find_files(spec, home=home, settings=settings).files:
        files.setdefault(_assistant_of(path, places), []).append(path)
    read = {one.path: one for one in catalog.transcripts.all()} if catalog else {}
    rules = rules_of(settings)

    def is_read(path: Path, size: int, modified_ns: int) -> bool:
        # Whether its last exchange has ended meanwhile does not matter here.
        return is_current(read.get(show(path)), size=size, modified_ns=modified_ns, rules=rules, ended=False)

    amounts = {name: _amount(paths, is_read) for name, paths in files.items()}
    other = amounts.pop("", Amount())
    return amounts, other


def _assistant_of(path: Path, places: Places) -> str:
    """Return the name of the assistant that keeps its sessions at a path; "" for an unknown one."""
    assistants = load_assistants()
    for one in assistants:
        if path.is_relative_to(one.user_folder(places)):
            return one.name
    for folder in reversed(path.parent.parts):
        for one in assistants:
            if folder == one.folder.rpartition("/")[2] or folder in one.session_folders:
                return one.name
    return ""


def _amount(paths: Iterable[Path], is_read: Callable[[Path, int, int], bool]) -> Amount:
    files = size = new = new_bytes = 0
    for path in paths:
        try:
            length, modified_ns = size_and_time(path, path.stat())
        except OSError:  # it has gone since
            continue
        files, size = files + 1, size + length
        if not is_read(path, length, modified_ns):
            new, new_bytes = new + 1, new_bytes + length
    return Amount(files, size, new, new_bytes)
