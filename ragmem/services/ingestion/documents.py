"""Read documents in a run, and archive the pages that a document no longer has."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePath

from ragmem.config.settings import Settings
from ragmem.domain.model import Draft, digest, possible_files
from ragmem.domain.model.document_place import FILE, LOCATOR, is_of_document
from ragmem.ports import Store
from ragmem.readers.documents.ocr import engine_name, unread_pictures
from ragmem.readers.files import ReadError, Reason, show
from ragmem.readers.read_result import ReadResult
from ragmem.services.ingestion.archive import new_run
from ragmem.services.ingestion.index import forget
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import MISSING, Removal

_NAMED = 3  # pictures of a line

READING_VERSION = 3
"""Raised when reading a document gives a different text, so that seed reads all of them again."""


def documents_rules(settings: Settings) -> list[str | int | bool]:
    """Return the settings that decide how documents are read; after a change they are read again."""
    wanted = settings.documents
    # Scans are read again once something new can read them.
    by = (wanted.engine, wanted.vision, wanted.ocr_languages, engine_name(wanted.ocr_languages))
    return [READING_VERSION, wanted.max_pages, wanted.max_characters, wanted.ocr, *by]


def costly_rules(rules: str, settings: Settings) -> str:
    """Return the rules that are recorded for a document that exceeded the current limits.

    Otherwise each run would spend a minute on each of them again.
    """
    wanted = settings.documents
    limits = (str(wanted.seconds), str(wanted.max_memory_mb), str(wanted.ocr_seconds))
    return digest("given up", rules, *limits, length=12)


def is_costly(reading: ReadResult) -> bool:
    """Return whether a document exceeded the limits; it is not read again before something changes."""
    return isinstance(reading.error, ReadError) and reading.error.reason is Reason.COSTLY


def is_unread_picture(reading: ReadResult) -> bool:
    """Return whether a file is a picture or a scan that gave no text; that is no failure."""
    return isinstance(reading.error, ReadError) and reading.error.reason is Reason.PICTURE


@dataclass(slots=True)
class UnreadPictures:
    """The pictures and scans of a run that gave no text, reported in a line for each reason."""

    _paths: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reading: ReadResult) -> bool:
        """Add a file if it is one of them, and return whether it is."""
        if isinstance(reading.error, ReadError) and is_unread_picture(reading):
            self._paths.setdefault(reading.error.problem, []).append(show(reading.path))
            return True
        return False

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield the path of the first picture of each reason, and the line about all of them."""
        for problem, paths in self._paths.items():
            rest = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
            yield paths[0], f"{unread_pictures(len(paths))}: {problem} ({', '.join(paths[:_NAMED])}{rest})"


def costly_message(path: str) -> str:
    """Return the line about a document that is not read again."""
    limits = "seconds or max_memory_mb in [documents]"
    return (
        f'cannot read "{path}": it exceeded the limits before; it is read again after it or {limits} changes'
    )


def parts_by_document(drafts: Iterable[Draft], unread: Iterable[str] = ()) -> dict[tuple[str, str], set[str]]:
    """Return the uris of each document's parts, by source and path; other drafts are ignored.

    `unread` are the uris of existing parts that could not be read this time.
    """
    held: dict[tuple[str, str], set[str]] = {}
    for draft in drafts:
        if is_of_document(draft.metadata):
            path = draft.uri.removesuffix(f"#{draft.metadata.get(LOCATOR, '')}")
            held.setdefault((draft.source, path), set()).add(draft.uri)
    kept: dict[str, set[str]] = {}
    for uri in unread:
        kept.setdefault(uri.rpartition("#")[0], set()).add(uri)
    for (_, path), uris in held.items():
        uris.update(kept.get(path, ()))
    return held


def missing_parts(
    catalog: Catalog, held: Mapping[tuple[str, str], set[str]]
) -> dict[tuple[str, str], list[str]]:
    """Return the ids of stored parts that documents no longer have, by source and path.

    `held` has only the documents just read: an unreadable one loses nothing. Pinned memories stay.
    """
    gone: dict[tuple[str, str], list[str]] = {}
    if not held or not catalog.exists():
        return gone
    found: dict[str, list[tuple[str, str]]] = {}
    for identifier, source, uri in catalog.overview.places(sources=sorted({key[0] for key in held})):
        for key in ((source, path) for path in possible_files(uri)):
            if key in held and uri not in held[key]:
                found.setdefault(identifier, []).append(key)
    # A file may be called "a.pdf#b.docx", so only the memory itself knows where its file's name ends.
    lives = catalog.lives.of(found)
    for identifier, memory in catalog.memories.get(found).items():
        if identifier in lives and lives[identifier].pinned:
            continue
        path = memory.uri.removesuffix(f"#{memory.metadata.get(LOCATOR, '')}")
        for key in found[identifier]:
            if key[1] == path:
                gone.setdefault(key, []).append(identifier)
    return gone


def archive_missing_parts(
    catalog: Catalog,
    open_store: Callable[[], Store],
    held: Mapping[tuple[str, str], set[str]],
    *,
    now: datetime,
) -> dict[tuple[str, str], str]:
    """Archive parts that documents no longer have, in one run of gc; return a message for each document.

    `gc --undo` restores them. They are also stored again when the document has their text again.
    """
    gone = missing_parts(catalog, held)
    if not gone:
        return {}
    ids = [identifier for some in gone.values() for identifier in some]
    run = new_run("documents", now, ids)

    def keep() -> None:
        catalog.gc_runs.begin(run, caller="documents", now=now)
        memories = catalog.memories.get(ids).values()
        removals = [
            Removal(one, MISSING, f"{one.metadata.get(FILE, PurePath(one.uri).name)} no longer has it")
            for one in memories
        ]
        catalog.archive.put(run, removals, now=now)
        catalog.gc_runs.add(run, {f"archive/{MISSING}": len(removals)}, archived=len(removals))
        catalog.gc_runs.end(run, now=now)
        catalog.log.write("gc", {"run": run, "archived": len(removals)}, now=now)

    forget(catalog, open_store(), ids, finish=keep)
    return {key: missing_parts_message(len(some), run) for key, some in gone.items()}


def missing_parts_message(count: int, run: str = "") -> str:
    """Return a line about the archived parts; without a run, about those that would be archived."""
    parts = "1 part that it no longer has" if count == 1 else f"{count} parts that it no longer has"
    if not run:
        return f"{parts} would be archived"
    verb = "was" if count == 1 else "were"
    return f"{parts} {verb} archived; to restore: ragmem gc --undo --run {run}"
