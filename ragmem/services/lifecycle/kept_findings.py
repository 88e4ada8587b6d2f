"""Cache the findings from a project's texts, so that only changed texts are read again.

It follows from the memories, like an index: what is lost is found again. No text is kept, only places, and
hashes of words in a file of the cache folder.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

import ragmem.domain
from ragmem.domain.lifecycle.ageing import Reading as Judging
from ragmem.domain.lifecycle.changes import Change, Links, Reading, weigh
from ragmem.domain.lifecycle.folds import Fold, masked_text, repeated_reports
from ragmem.domain.model import State, digest
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.model.lifecycle import Entry
from ragmem.services.lifecycle.known_changes import KnownChanges, find_proposals, short_hash
from ragmem.services.lifecycle.lifecycle import Findings
from ragmem.services.lifecycle.text_cache import Arrays, read_arrays, write_arrays
from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Database

KEY = "gc/findings"
"""In the catalog's table `meta`."""

_MASKED = ("reports", "masked")
"""The memories that were masked, and hashes of their masked texts, 0 without values of a run."""

_JUDGED = ((True, "noise"), (False, "worthy"))
"""The texts that the judge takes for worthless, and those that it does not."""

Kept = Mapping[str, tuple[str, Sequence[Sequence[Any]]]]
"""Name of a finding -> the fingerprint of what it follows from, and its rows, with places for memories."""


class KeptFindings(Findings):
    """Reads the texts of one project, or reuses a plan of exactly the same memories.

    If some have changed, the findings about the others come from the file `cache`.
    """

    def __init__(self, former: Kept | None, cache: Path | None = None) -> None:
        self._former = former or {}
        self._digests: dict[str, bytes] = {}
        self.kept: dict[str, tuple[str, Sequence[Sequence[Any]]]] = {}
        self._cache = cache
        self._new: dict[str, NDArray[np.generic]] = {}

    @cached_property
    def _known(self) -> Arrays:
        return read_arrays(self._cache, _rules()) if self._cache else {}

    def save(self) -> None:
        """Write what is known of the texts for the next plan, if anything is new."""
        if self._cache and self._new:
            write_arrays(self._cache, _rules(), {**self._known, **self._new})

    def reports(self, entries: Sequence[Entry]) -> list[Fold]:
        """Return the reports that repeat each other."""
        return self._folds("reports", entries, self._reports)

    def _reports(self, entries: Sequence[Entry]) -> list[Fold]:
        former = {name: self._known[name].tolist() if name in self._known else [] for name in _MASKED}
        known = dict(zip(*former.values(), strict=True))
        marks: dict[int, int] = {}

        def masking(entry: Entry) -> str:
            key = self._key(entry)
            if key in known:
                marks[key] = known[key]
            else:
                masked = masked_text(entry)
                marks[key] = short_hash(masked) if "\0" in masked else 0
            # Texts are only compared, so their hashes are enough.
            return f"\0{marks[key]}" if marks[key] else ""

        found = repeated_reports(entries, masking=masking)
        if marks != known:
            rows = np.array(list(marks.items()), np.uint64).reshape(-1, 2)
            self._new.update(zip(_MASKED, rows.T, strict=True))
        return found

    def contained(self, entries: Sequence[Entry]) -> list[Fold]:
        """Return the memories that another one of their session contains."""
        return self._folds("contained", entries, super().contained)

    def changes(self, group: Sequence[Entry], linked: Links, reading: Reading) -> list[Change]:
        """Return the changes that the pair model finds."""
        links = (repr(linked.get(entry.id, ())) for entry in group)

        def find(places: Mapping[str, int]) -> list[Sequence[Any]]:
            hashes = [self._key(entry) for entry in group]
            found, known = find_proposals(group, linked, reading, hashes, KnownChanges.of(self._known))
            self._new.update(known.arrays())
            return [
                (places[one.older], places[one.newer], one.rule, one.certainty, one.statement)
                for one in weigh(found)
            ]

        rows = self._rows("changes", group, links, find)
        return [Change(group[older].id, group[newer].id, *rest) for older, newer, *rest in rows]

    def judging(self, reading: Judging) -> Judging:
        """Return what judges texts for `age`, by `reading` those that are not known."""
        known = {
            flag: set(self._known[name].tolist()) if name in self._known else set[int]()
            for flag, name in _JUDGED
        }

        def judge(
            judged: Callable[[tuple[str, str]], bool], places: Sequence[tuple[str, str]]
        ) -> Iterable[bool]:
            keys = [short_hash("\0".join(place)) for place in places]
            unknown = {
                key: place
                for key, place in zip(keys, places, strict=True)
                if key not in known[True] and key not in known[False]
            }
            told = dict(zip(unknown, reading(judged, list(unknown.values())), strict=True))
            flags = [told[key] if key in told else key in known[True] for key in keys]
            for flag, name in _JUDGED:
                now = {key for key, noise in zip(keys, flags, strict=True) if noise == flag}
                if now != known[flag]:
                    self._new[name] = np.array(sorted(now), np.uint64)
            return flags

        return judge

    def _key(self, entry: Entry) -> int:
        return int.from_bytes(self._digest(entry)[:8], "little")

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
