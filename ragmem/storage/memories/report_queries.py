"""The counts for plots and the report, all in SQL without reading memories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragmem.domain.model.supersession import MARKS
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.migrations import table_exists

Timed = Literal["event_at", "created_at"]
"""The event time, or the time of storage."""


@dataclass(frozen=True, slots=True)
class InjectionUse:
    """The injections at one type of event, and how useful they were.

    Each injection counts once: rated good, or rated bad, or recalled by another session, or none of these.
    """

    event: str
    injections: int
    tokens: int
    good: int
    bad: int
    recalled: int


@dataclass(frozen=True, slots=True)
class SourceSize:
    """The size of one source; the moments are stamps of its first and its last event."""

    source: str
    memories: int
    characters: int
    oldest: int
    newest: int


class Figures:
    """Counts over the memories of some projects (None: of all)."""

    def __init__(self, database: Database, projects: Sequence[str] | None = None) -> None:
        self._database = database
        self._values = list(projects or ())
        self._only = "" if projects is None else f" AND m.project IN ({marks(projects)})"
        self._injected = "" if projects is None else f" AND i.project IN ({marks(projects)})"

    def total(self) -> int:
        """Return how many memories there are."""
        with self._database.read() as connection:
            return self._number(connection, "SELECT count(*) FROM memories m WHERE 1 = 1")

    def tiers(self) -> dict[tuple[str, str], int]:
        """Return (source, tier) -> memories."""
        return {(one, two): count for one, two, count in self._count_by("m.source", "m.tier")}

    def by_project(self) -> dict[str, int]:
        """Return project -> memories, most first."""
        found = dict(self._count_by("m.project"))
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))

    def ages(self, edges: Sequence[int]) -> dict[tuple[str, int], int]:
        """Return (source, class) -> memories by the time of the event.

        `edges` are stamps, the latest first: class 0 starts at the first of them, class 1 at the second, and
        the last class is before all of them.
        """
        place = "CASE" + "".join(f" WHEN m.event_at >= ? THEN {number}" for number in range(len(edges)))
        rows = self._database.select(
            f"SELECT m.source, {place} ELSE {len(edges)} END AS age, count(*) FROM memories m"
            f" WHERE 1 = 1{self._only} GROUP BY 1, 2 ORDER BY 1, 2",
            [*edges, *self._values],
        )
        return {(source, int(age)): int(count) for source, age, count in rows}

    def spans(self, timed: Timed, span: int, *, origin: int = 0) -> dict[int, int]:
        """Return number -> memories in spans of `span` microseconds, the first of which starts at `origin`.

        Memories before the origin have the number -1.
        """
        rows = self._database.select(
            f"SELECT CASE WHEN m.{timed} < ? THEN -1 ELSE (m.{timed} - ?) / ? END AS span, count(*)"
            f" FROM memories m WHERE 1 = 1{self._only} GROUP BY 1 ORDER BY 1",
            [origin, origin, span, *self._values],
        )
        return {int(number): int(count) for number, count in rows}

    def extent(self, timed: Timed) -> tuple[int, int] | None:
        """Return the stamps of the first and the last memory; None where there is none."""
        first, last = self._database.select_row(
            f"SELECT min(m.{timed}), max(m.{timed}) FROM memories m WHERE 1 = 1{self._only}", self._values
        )
        return None if first is None else (int(first), int(last))

    def middle(self, timed: Timed) -> int | None:
        """Return the median stamp of the memories; None where there are none."""
        row = self._database.select_row(
            f"SELECT m.{timed} FROM memories m WHERE 1 = 1{self._only} ORDER BY 1 LIMIT 1 OFFSET"
            f" (SELECT count(*) / 2 FROM memories m WHERE 1 = 1{self._only})",
            [*self._values, *self._values],
        )
        return None if row is None else int(row[0])

    def sources(self) -> list[SourceSize]:
        """Return the sources, those with most memories first."""
        rows = self._database.select(
            "SELECT m.source, count(*), sum(length(m.text)), min(m.event_at), max(m.event_at)"
            f" FROM memories m WHERE 1 = 1{self._only} GROUP BY m.source ORDER BY 2 DESC, 1",
            self._values,
        )
        return [SourceSize(source, *map(int, rest)) for source, *rest in rows]

    def states(self, curated: Sequence[str]) -> dict[str, int]:
        """Return state -> memories, each counted once: superseded or waiting take precedence.

        Memories of a `curated` source are proven from the start.
        """
        kept = f" WHEN m.source IN ({marks(curated)}) THEN 'proven'" if curated else ""
        rows = self._database.select(
            "SELECT CASE WHEN s.older IS NOT NULL THEN 'superseded'"
            " WHEN m.state = 'pending' THEN 'waiting'"
            " WHEN coalesce(l.pinned, 0) <> 0 THEN 'permanent'"
            f" WHEN l.life IN ('buffer', 'proven', 'permanent') THEN l.life{kept}"
            " ELSE 'buffer' END AS state, count(*)"
            " FROM memories m LEFT JOIN lives l ON l.id = m.id"
            f" LEFT JOIN supersessions s ON s.older = m.id AND s.rule NOT IN {MARKS}"
            f" WHERE 1 = 1{self._only} GROUP BY 1",
            [*curated, *self._values],
        )
        return {state: int(count) for state, count in rows}

    def retention_counts(self, curated: Sequence[str]) -> dict[str, int]:
        """Return reason -> memories that do not expire because of it; one may have several reasons."""
        source = f"m.source IN ({marks(curated)})" if curated else "1 = 0"
        reasons = {
            "pinned": "coalesce(l.pinned, 0) <> 0",
            "protected": "m.protected <> 0",
            "curated": source,
            "proven": "l.life = 'proven'",
            "permanent": "l.life = 'permanent'",
            "connected": "EXISTS (SELECT 1 FROM connections c WHERE c.low = m.n)"
            " OR EXISTS (SELECT 1 FROM connections c WHERE c.high = m.n)",
        }
        sums = ", ".join(f"sum(CASE WHEN {holds} THEN 1 ELSE 0 END)" for holds in reasons.values())
        row = self._database.select_row(
            f"SELECT {sums} FROM memories m LEFT JOIN lives l ON l.id = m.id WHERE 1 = 1{self._only}",
            [*curated, *self._values],
        )
        return {reason: int(count or 0) for reason, count in zip(reasons, row, strict=True)}

    def connection_histogram(self) -> dict[int, int]:
        """Return number of connections -> memories with this number, including 0."""
        rows = self._database.select(
            "SELECT connections, count(*) FROM (SELECT m.n, count(e.other) AS connections FROM memories m"
            " LEFT JOIN (SELECT low AS one, high AS other FROM connections"
            " UNION ALL SELECT high, low FROM connections) e ON e.one = m.n"
            f" WHERE 1 = 1{self._only} GROUP BY m.n) t GROUP BY 1 ORDER BY 1",
            self._values,
        )
        return {int(number): int(count) for number, count in rows}

    def recall_histogram(self) -> dict[int, int]:
        """Return number of sessions -> memories that were recalled in this number, including 0."""
        rows = self._database.select(
            "SELECT sessions, count(*) FROM (SELECT m.id, count(r.session) AS sessions FROM memories m"
            f" LEFT JOIN recalled_in r ON r.id = m.id WHERE 1 = 1{self._only} GROUP BY m.id) t"
            " GROUP BY 1 ORDER BY 1",
            self._values,
        )
        return {int(number): int(count) for number, count in rows}

    def injection_uses(self) -> list[InjectionUse]:
        """Return the injections by event; nothing where the catalog is older than this table."""
        uses = ", ".join(
            f"sum(CASE WHEN use = '{use}' THEN 1 ELSE 0 END)" for use in ("good", "bad", "again")
        )
        with self._database.read() as connection:
            if not table_exists(self._database, connection, "injections"):
                return []
            rows = connection.execute(
                f"SELECT event, count(*), sum(tokens), {uses}"
                " FROM (SELECT i.event, i.tokens, CASE WHEN l.feedback > 0 THEN 'good'"
                " WHEN l.feedback < 0 THEN 'bad'"
                " WHEN EXISTS (SELECT 1 FROM recalled_in r WHERE r.id = i.memory"
                " AND r.session <> i.session) THEN 'again' ELSE '' END AS use FROM injections i"
                f" LEFT JOIN lives l ON l.id = i.memory WHERE i.memory <> ''{self._injected}) t"
                " GROUP BY event ORDER BY 2 DESC, 1",
                self._values,
            ).fetchall()
        return [InjectionUse(event, *map(int, rest)) for event, *rest in rows]

    def top_entities(self, limit: int) -> list[tuple[str, int]]:
        """Return the most mentioned entities of all projects, with the numbers of memories."""
        with self._database.read() as connection:
            if not table_exists(self._database, connection, "entity_mentions"):
                return []
            rows = connection.execute(
                "SELECT e.canonical, count(DISTINCT s.memory) FROM entity_mentions s"
                " JOIN entity_names e ON e.n = s.name JOIN memories m ON m.n = s.memory"
                f" WHERE 1 = 1{self._only} GROUP BY e.canonical ORDER BY 2 DESC, 1 LIMIT ?",
                [*self._values, limit],
            ).fetchall()
        return [(name, int(count)) for name, count in rows]

    def titles(self, limit: int) -> list[str]:
        """Return titles of memories with vectors, a stable sample of the store."""
        return self._database.select_column(
            f"SELECT m.title FROM memories m WHERE m.title <> '' AND m.state = 'indexed'{self._only}"
            " ORDER BY m.id LIMIT ?",
            [*self._values, limit],
        )

    def _count_by(self, *columns: str) -> list[Any]:
        named = ", ".join(columns)
        return self._database.select(
            f"SELECT {named}, count(*) FROM memories m WHERE 1 = 1{self._only}"
            f" GROUP BY {named} ORDER BY {named}",
            self._values,
        )

    def _number(self, connection: Connection, statement: str) -> int:
        (count,) = connection.execute(statement + self._only, self._values).fetchone()
        return int(count)
