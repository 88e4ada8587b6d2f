"""The rules of the memories with their scopes, read once for each state of their texts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
    """The rules in the memories that may instruct; the latest memories come first."""

    def __init__(self, database: Database) -> None:
        self._database = database
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

    def _read(self, projects: tuple[str, ...] | None) -> tuple[Rule, ...]:
        from ragmem.domain.retrieval.rule_scope import MAX_CHARS, known_scopes_of  # noqa: PLC0415 - few ask

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
        return tuple(
            Rule(memory_id, chunk_id, scope)
            for memory_id, chunk_id, title, text in rows
            for scope in known_scopes_of(text, title)
        )
