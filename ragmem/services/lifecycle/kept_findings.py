"""Keep what reading all texts of a project has found: where nothing has changed, no text is read anew.

It follows from the memories, like an index: what is lost is found again. No text is kept, only places.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

import ragmem.domain
from ragmem.domain.lifecycle.changes import Change, Links, Reading
from ragmem.domain.lifecycle.folds import Fold
from ragmem.domain.model import State, digest
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.model.lifecycle import Entry
from ragmem.services.lifecycle.lifecycle import Findings
from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Database

KEY = "gc/findings"
"""In the catalog's table `meta`."""

Kept = Mapping[str, tuple[str, Sequence[Sequence[Any]]]]
"""Name of a finding -> the fingerprint of what it follows from, and its rows, with places for memories."""


class KeptFindings(Findings):
    """Finds what stands in the texts of one project, or takes it from a plan of exactly the same memories."""

    def __init__(self, former: Kept | None) -> None:
        self._former = former or {}
        self._digests: dict[str, bytes] = {}
        self.kept: dict[str, tuple[str, Sequence[Sequence[Any]]]] = {}

    def reports(self, entries: Sequence[Entry]) -> list[Fold]:
        """Return the reports that repeat each other."""
        return self._folds("reports", entries, super().reports)

    def contained(self, entries: Sequence[Entry]) -> list[Fold]:
        """Return the memories that another one of their session contains."""
        return self._folds("contained", entries, super().contained)

    def changes(self, group: Sequence[Entry], linked: Links, reading: Reading) -> list[Change]:
        """Return the changes that the pair model finds."""
        links = (repr(linked.get(entry.id, ())) for entry in group)

        def find(places: Mapping[str, int]) -> list[Sequence[Any]]:
            return [
                (places[one.older], places[one.newer], one.rule, one.certainty, one.statement)
                for one in super(KeptFindings, self).changes(group, linked, reading)
            ]

        rows = self._rows("changes", group, links, find)
        return [Change(group[older].id, group[newer].id, *rest) for older, newer, *rest in rows]

    def _folds(
        self, name: str, entries: Sequence[Entry], fold: Callable[[Sequence[Entry]], Iterable[Fold]]
    ) -> list[Fold]:
        def find(places: Mapping[str, int]) -> list[Sequence[Any]]:
            return [
                (places[one.keeper.id], [places[other.id] for other in one.others], one.reason)
                for one in fold(entries)
            ]

        return [
            Fold(entries[keeper], tuple(entries[other] for other in others), reason)
            for keeper, others, reason in self._rows(name, entries, (), find)
        ]

    def _rows(
        self,
        name: str,
        entries: Sequence[Entry],
        more: Iterable[str],
        find: Callable[[Mapping[str, int]], Sequence[Sequence[Any]]],
    ) -> Sequence[Sequence[Any]]:
        """Return the kept rows of a finding if entries and `more` are those of then, else find them."""
        seen = blake2b(_rules(), digest_size=16)
        seen.update(b"".join(map(self._digest, entries)))
        for text in more:
            seen.update(text.encode())
        fingerprint, (former, rows) = seen.hexdigest(), self._former.get(name, ("", ()))
        if fingerprint != former:
            rows = find({entry.id: place for place, entry in enumerate(entries)})
        self.kept[name] = fingerprint, rows
        return rows

    def _digest(self, entry: Entry) -> bytes:
        """Return a hash of all that the rules read of a memory."""
        known = self._digests.get(entry.id)
        if known is None:
            memory = entry.memory
            facts = (
                (entry.id, entry.number, entry.life, entry.curated, entry.is_protected, entry.is_foldable),
                (entry.superseded_by, entry.approval, memory.state is State.BUFFERED),
                (memory.text, memory.title, memory.uri, memory.source, memory.scope, memory.event_time),
                (entry.session, is_of_document(memory.metadata)),
            )
            known = self._digests[entry.id] = blake2b(repr(facts).encode(), digest_size=16).digest()
        return known


def read_findings(database: Database) -> dict[str, Kept]:
    """Return what was kept, by `key_of` a project; what this release cannot read is found again."""
    try:
        return {
            key: {name: (str(mark), list(rows)) for name, (mark, rows) in kept.items()}
            for key, kept in orjson.loads(meta.read(database, KEY) or "{}").items()
        }
    except (AttributeError, TypeError, ValueError):
        return {}


def write_findings(database: Database, kept: Mapping[str, Kept]) -> None:
    """Keep the findings of all projects for the next plan."""
    with database.write() as connection:
        meta.put(connection, KEY, orjson.dumps(kept).decode())


def key_of(project: str) -> str:
    """Return the key of a project; its name may have to be forgotten."""
    return digest("project", project)


@cache
def _rules() -> bytes:
    """Return a hash of all rules with their weights, whichever a finding follows from."""
    seen = blake2b(sys.version.encode())
    for path in sorted(Path(str(ragmem.domain.__file__)).parent.rglob("*")):
        if path.suffix in {".py", ".json"}:
            seen.update(path.read_bytes())
    return seen.digest()
