"""Find secrets in the tables of a home, and remove them in one transaction."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import as_pending
from ragmem.ports import Store
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.lifecycle.undo import adopt_run
from ragmem.services.scrub.target import ScrubTarget
from ragmem.storage.fulltext import lexicon
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance import stored_texts
from ragmem.storage.maintenance.stored_texts import Text
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.database import Connection

PAGE = 500
"""Texts that are searched together."""


@dataclass(slots=True)
class Findings:
    """The matches in the tables: by table and column, by memory, and the other texts that have one."""

    places: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    memories: dict[str, Counter[str]] = field(default_factory=dict)
    archived: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    texts: list[Text] = field(default_factory=list)


@dataclass(slots=True)
class CleanResult:
    """The memories that were changed, those that were removed, and rows of other tables."""

    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    archived: int = 0
    rows: int = 0


def find_in_tables(catalog: Catalog, target: ScrubTarget) -> Findings:
    """Return the matches in the tables; their values are added to `target`."""
    known = -1
    seen = Findings()
    # A later text may reveal that a value of an earlier one is a secret.
    while len(target.values) != known:
        known = len(target.values)
        with catalog.database.read() as connection:
            seen = _find(catalog, connection, target)
    return seen


def _find(catalog: Catalog, connection: Connection, target: ScrubTarget) -> Findings:
    seen = Findings()
    numbers: dict[int, Counter[str]] = {}
    for table in stored_texts.tables(catalog.database, connection):
        for text, kinds in _matches(stored_texts.texts(connection, table), target):
            seen.places[f"{table.name}.{text.column}"] += 1
            seen.kinds += kinds
            if table.name == "memories":
                (number,) = stored_texts.columns_of(connection, text, "n")
                numbers.setdefault(number, Counter()).update(kinds)
            elif table.name == "chunks":
                (number,) = stored_texts.columns_of(connection, text, "memory")
                numbers.setdefault(number, Counter())
            elif (table.name, text.column) == ("archive", "memory"):
                run, identifier = stored_texts.columns_of(connection, text, "run", "id")
                seen.archived[run, identifier] = kinds
            else:
                seen.texts.append(text)
    for number, identifier in catalog.memories.ids_by_number(numbers).items():
        seen.memories[identifier] = numbers[number]
    return seen


def _matches(texts: Iterable[Text], target: ScrubTarget) -> Iterator[tuple[Text, Counter[str]]]:
    """Yield the texts with a match; they are searched in batches, since most have none."""
    for page in batches(texts, PAGE):
        for number in target.suspects([text.text for text in page]):
            if kinds := target.count_kinds(page[number].text):
                yield page[number], kinds


def clean(
    catalog: Catalog, store: Store, target: ScrubTarget, *, sizes: ChunkingSettings, now: datetime
) -> CleanResult:
    """Remove all matches in one transaction and return what was done.

    A memory keeps its id, its life and what it supersedes; it waits for new vectors. A memory without any
    text left is removed, from the archive too. Raises StoreBusyError, StorageError.
    """
    done = CleanResult()
    with catalog.database.write() as connection:
        seen = find_in_tables(catalog, target)
        memories = catalog.memories.get(seen.memories)
        covered = {key: target.cover_memory(memory) for key, memory in memories.items()}
        done.removed = [key for key, memory in covered.items() if target.is_emptied(memories[key], memory)]
        done.changed = [key for key in covered if key not in set(done.removed)]
        touched = list(covered)

        def rewrite() -> None:
            # A new text drops supersessions; this one says the same as before, except for the secret.
            kept = catalog.supersessions.of(touched)
            catalog.names.forget(touched)
            catalog.memories.remove(done.removed)
            catalog.memories.accept(
                [
                    (waiting, chunks_of(waiting, sizes, redactor=catalog.redactor))
                    for waiting in (as_pending(covered[key]) for key in done.changed)
                ]
            )
            catalog.supersessions.put(kept)

        if touched:
            store.delete(touched, finish=rewrite)
        done.archived = _clean_archive(catalog, target, list(seen.archived))
        gone = set(done.removed) - catalog.archive.ids()
        catalog.lives.forget(gone)
        catalog.projects.forget_moves(gone)
        catalog.supersessions.forget(gone)
        # Searched again: the rows that the memories brought into other tables are gone with them.
        done.rows = stored_texts.change(
            catalog.database, connection, find_in_tables(catalog, target).texts, target.cover_value
        )
        lexicon.forget_dead(connection)
        if touched or done.archived or done.rows:
            figures = {"memories": len(done.changed), "removed": len(done.removed)}
            catalog.log.write("scrub", figures | {"archived": done.archived, "rows": done.rows}, now=now)
    return done


def _clean_archive(catalog: Catalog, target: ScrubTarget, places: Sequence[tuple[str, str]]) -> int:
    for run, identifier in places:
        (memory,) = (one for one in catalog.archive.memories(run) if one.id == identifier)
        covered = target.cover_memory(memory)
        if target.is_emptied(memory, covered):
            adopt_run(catalog, run)
            catalog.archive.drop(run, [identifier])
            catalog.gc_runs.add(run, {"scrub": 1}, archived=-1)
        else:
            catalog.archive.rewrite(run, covered)
    return len(places)
