"""Reading documents for a run, and what becomes of pages that a document no longer has."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import PurePath

from ragmem.config import Settings
from ragmem.domain.model import Draft, digest
from ragmem.domain.model.document_place import FILE, LOCATOR, is_of_document
from ragmem.ports import Store
from ragmem.readers.documents.reading import Describe, Documents, Elsewhere
from ragmem.readers.files import ReadError, Reason
from ragmem.readers.reading import Reading
from ragmem.services.ingestion.archiving import MISSING, new_run
from ragmem.services.ingestion.index import forget
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import Removal

READING_VERSION = 1
"""Raised when the same document is read as another text, so that seed reads all of them again."""


def documents_for(
    settings: Settings, *, describe: Describe | None = None, elsewhere: Elsewhere | None = None
) -> Documents:
    """Return what reads the documents of one run, to be used in a `with`; nothing starts before the first."""
    return Documents(settings, describe=describe, elsewhere=elsewhere)


def documents_rules(settings: Settings) -> list[str | int | bool]:
    """Return what decides how documents are read, so that a change of it has them read anew."""
    wanted = settings.documents
    by = (wanted.engine, wanted.vision, wanted.ocr_languages)
    return [READING_VERSION, wanted.max_pages, wanted.max_characters, wanted.ocr, *by]


def given_up_rules(rules: str, settings: Settings) -> str:
    """Return the rules by which a document is known that took too much under these limits of a document.

    Otherwise each run would spend a minute on each of them again.
    """
    wanted = settings.documents
    return digest("given up", rules, str(wanted.seconds), str(wanted.max_memory_mb), length=12)


def gave_up(reading: Reading) -> bool:
    """Tell whether a document took too much, so that it is not read again before something changes."""
    return isinstance(reading.error, ReadError) and reading.error.reason is Reason.COSTLY


def told_given_up(path: str) -> str:
    """Return the line about a document that is not read again."""
    limits = "seconds or max_memory_mb in [documents]"
    return f'cannot read "{path}": it took too much before; it is tried again once it or {limits} changes'


def held_by(drafts: Iterable[Draft], unread: Iterable[str] = ()) -> dict[tuple[str, str], set[str]]:
    """Return the uris of each document's parts, by its source and its path; other drafts are left out.

    `unread` are the uris of parts that these documents have and that could not be read this time.
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


def gone_parts(
    catalog: Catalog, held: Mapping[tuple[str, str], set[str]]
) -> dict[tuple[str, str], list[str]]:
    """Return the ids of stored parts that documents no longer have, by source and path.

    Only documents that were read just now are in `held`: one that could not be read loses nothing. What a
    person has pinned stays.
    """
    gone: dict[tuple[str, str], list[str]] = {}
    if not held or not catalog.exists():
        return gone
    found: dict[str, list[tuple[str, str]]] = {}
    for identifier, source, uri in catalog.overview.places(sources=sorted({key[0] for key in held})):
        for key in ((source, uri), (source, uri.rpartition("#")[0])):
            if key in held and uri not in held[key]:
                found.setdefault(identifier, []).append(key)
    # A file may be called "a.pdf#b.docx", so that the memory itself has to say where its file's name ends.
    lives = catalog.lives.of(found)
    for identifier, memory in catalog.memories.get(found).items():
        if identifier in lives and lives[identifier].pinned:
            continue
        path = memory.uri.removesuffix(f"#{memory.metadata.get(LOCATOR, '')}")
        for key in found[identifier]:
            if key[1] == path:
                gone.setdefault(key, []).append(identifier)
    return gone


def archive_gone_parts(
    catalog: Catalog,
    open_store: Callable[[], Store],
    held: Mapping[tuple[str, str], set[str]],
    *,
    now: datetime,
) -> dict[tuple[str, str], str]:
    """Archive parts that documents no longer have, in one run of gc; return what to tell of each document.

    `gc --undo` brings them back. They come back by themselves with the text that a document gets back.
    """
    gone = gone_parts(catalog, held)
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
    return {key: describe_gone(len(some), run) for key, some in gone.items()}


def describe_gone(count: int, run: str = "") -> str:
    """Return the line about parts that went; without a run, about those that would."""
    parts = "1 part that it no longer has" if count == 1 else f"{count} parts that it no longer has"
    if not run:
        return f"{parts} would be archived"
    verb = "was" if count == 1 else "were"
    return f"{parts} {verb} archived; to bring back: ragmem gc --undo --run {run}"
