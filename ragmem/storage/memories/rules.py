"""The rules of the memories with their scopes, read once for each state of their texts."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

import ragmem.domain.retrieval
import ragmem.domain.text
from ragmem.config.folders import replace_file
from ragmem.domain.model import EPISODES, UNASSIGNED
from ragmem.frozen import dataclass
from ragmem.storage.memories.memories import texts_state
from ragmem.storage.memories.read_cache import ReadCache
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Database

if TYPE_CHECKING:
    from ragmem.domain.retrieval.rule_scope import Scope

MOST = 1_000
"""Latest memories of each project that are read for rules."""

MOST_CACHES = 64
"""Sets of projects whose rules are held."""

WORTH = 50_000
"""Characters of new texts, some 25 ms of reading, from which their scopes are written to the cache."""

MOST_CACHED = 8_000
"""Texts in the cache; beyond it those of other projects are dropped."""

SHORT = 600
"""Characters of a memory that is read for rules whatever it was judged to be."""

_NO_RULES = (*sorted(EPISODES), "prds", "plans", "skills", "commands", "agents", "projectcommands")
"""Sources of what was done or is planned, and of procedures, which are followed when they are called."""

_SELECT = (
    "SELECT m.id, c.id, m.title, substr(CASE WHEN m.summary <> '' THEN m.summary ELSE m.text END, 1, ?)"
    " FROM memories m JOIN chunks c ON c.memory = m.n AND c.position = 0"
    f" WHERE (m.source || '') NOT IN ({marks(_NO_RULES)}) AND (m.protected = 1 OR m.kind = 'preference'"
    " OR m.category = 'best_practice' OR (c.end_at <= ? AND NOT EXISTS"
    " (SELECT 1 FROM chunks d WHERE d.memory = m.n AND d.position = 1))) AND {}"
    " ORDER BY m.event_at DESC, m.id LIMIT ?"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a memory: its first chunk, and the scope of one sentence."""

    memory_id: str
    opening: str
    scope: "Scope"


class Rules:
    """The rules in the memories that may instruct; the latest memories come first.

    A `file` keeps the scopes of texts between processes: to read 250 instruction files takes 0.7 s.
    """

    def __init__(self, database: Database, file: Path | None = None) -> None:
        self._database = database
        self._file = file
        self._stored: dict[str, Any] | None = None
        self._caches: dict[tuple[str, ...] | None, ReadCache[tuple[Rule, ...]]] = {}

    def of(self, projects: Sequence[str] | None) -> tuple[Rule, ...]:
        """Return the rules of projects (None: all); memories without a project only if that is named."""
        key = None if projects is None else tuple(dict.fromkeys(projects))
        if key not in self._caches:
            if len(self._caches) >= MOST_CACHES:
                self._caches.clear()
            # Each prompt is written to the sessions, which changes no rule; but members see different texts.
            state = texts_state if self._database.dialect == "sqlite" else None
            self._caches[key] = ReadCache(self._database, lambda: self._read(key), state=state)
        return self._caches[key].value()

    def chunk_at(self, rule: Rule) -> str:
        """Return the id of the chunk that has the sentence of a rule."""
        found = self._database.select_column(
            "SELECT c.id FROM chunks c JOIN memories m ON m.n = c.memory"
            " WHERE m.id = ? AND c.begin_at <= ? AND c.end_at > ? ORDER BY c.position LIMIT 1",
            (rule.memory_id, rule.scope.start, rule.scope.start),
        )
        return found[0] if found else rule.opening

    def forget(self) -> None:
        """Remove the cache, which has words of texts that are about to be deleted permanently."""
        self._stored = None
        if self._file:
            with suppress(OSError):
                self._file.unlink()

    def _read(self, projects: tuple[str, ...] | None) -> tuple[Rule, ...]:
        from ragmem.domain.retrieval.rule_scope import (  # noqa: PLC0415 - few ask
            MAX_CHARS,
            known_scopes_of,
            pack_scopes,
            unpack_scopes,
        )

        with self._database.read() as connection:
            rows = [
                row
                for condition, value in (
                    [("m.project <> ?", UNASSIGNED)]
                    if projects is None
                    else [("m.project = ?", project) for project in projects]
                )
                for row in connection.execute(
                    _SELECT.format(condition), (MAX_CHARS, *_NO_RULES, SHORT, value, MOST)
                )
            ]
        stored = self._load()
        found: list[Rule] = []
        current: dict[str, Any] = {}
        read = 0
        for memory_id, chunk_id, title, text in rows:
            key = blake2b(f"{title}\n{text}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
            try:
                scopes = unpack_scopes(stored[key])
                current[key] = stored[key]
            except (KeyError, TypeError, ValueError):  # unknown, or damaged
                scopes = known_scopes_of(text, title)
                current[key] = pack_scopes(scopes)
                read += len(text)
            found += [Rule(memory_id, chunk_id, scope) for scope in scopes]
        if read >= WORTH:
            self._save(current)
        return tuple(found)

    def _load(self) -> Mapping[str, Any]:
        """Return the scopes of known texts; none of a file that is missing, damaged or of other rules."""
        if self._stored is None:
            self._stored = {}
            if self._file:
                with suppress(OSError, orjson.JSONDecodeError, KeyError, TypeError):
                    written = orjson.loads(self._file.read_bytes())
                    if written["rules"] == _version():
                        self._stored = dict(written["texts"])
        return self._stored

    def _save(self, current: dict[str, Any]) -> None:
        """Add scopes to the file; where it cannot be written, texts are read again the next time."""
        if self._file is None:
            return
        self._stored = None  # another process may have removed the file, with what must not come back
        every = {**self._load(), **current}
        self._stored = current if len(every) > MOST_CACHED else every
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._file, orjson.dumps({"rules": _version(), "texts": self._stored}))


@cache
def _version() -> str:
    """Return a hash of the code that finds scopes."""
    seen = blake2b(sys.version.encode(), digest_size=12)
    retrieval, text = (
        Path(str(each.__file__)).parent for each in (ragmem.domain.retrieval, ragmem.domain.text)
    )
    for path in (*sorted(retrieval.glob("rule_*.*")), text / "words.py"):
        seen.update(path.read_bytes())
    return seen.hexdigest()
