"""Connections between memories of a project, which memories were compared by which model, and the scale."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from ragmem.domain.lifecycle.connections import RARE, Scale
from ragmem.domain.model import UNASSIGNED, State
from ragmem.domain.model.lifecycle import Connection
from ragmem.frozen import dataclass
from ragmem.storage.sql import database as databases
from ragmem.storage.sql import meta
from ragmem.storage.sql.batches import PARAMETERS, batches, marks
from ragmem.storage.sql.database import delete_in, select_in
from ragmem.storage.sql.rows import from_stamp, to_stamp

_SCALE = "connections/"
"""Before the id of the model, in the catalog's table `meta`."""

_ENDS = (
    "SELECT a.id, b.id, c.cosine, c.shared, c.strength FROM connections c"
    " JOIN memories a ON a.n = c.low JOIN memories b ON b.n = c.high"
)

_INSERT = (
    "INSERT INTO connections (low, high, cosine, shared, strength) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (low, high) DO UPDATE SET"
    " cosine = excluded.cosine, shared = excluded.shared, strength = excluded.strength"
)
_COMPARED = (
    "INSERT INTO compared (memory, content_hash, model) SELECT n, content_hash, ?3 FROM memories"
    " WHERE n = ?1 AND content_hash = ?2"
    " ON CONFLICT (memory) DO UPDATE SET content_hash = excluded.content_hash, model = excluded.model"
)


_MENTIONED = (
    "SELECT x.memory, e.canonical FROM memories m JOIN entity_mentions x ON x.memory = m.n"
    " JOIN entity_names e ON e.n = x.name"
)


# Not `=`, or the planner would choose an index by which nearly all memories, or all of a project, are read.
_OF_PROJECT = "m.project = ? AND NOT m.state <> ?"
_AMONG = "NOT m.project <> ? AND NOT m.state <> ?"


class Member(NamedTuple):
    """A memory of a project for comparisons; `compared`: with all others, by its present text and model.

    `before`: it was compared, perhaps with another text or model.
    """

    number: int
    id: str
    spec: str
    content_hash: str
    compared: bool
    before: bool


EdgeRow = tuple[int, int, float, float, float]
"""The columns of an edge; a plain tuple, because a million of them are written at once."""


Text = tuple[int, str, str, str]
"""The number of a memory, its title, text and summary."""


class Edge(NamedTuple):
    """A connection by the numbers of its memories, low < high."""

    low: int
    high: int
    cosine: float
    shared: float
    strength: float


@dataclass(frozen=True, slots=True)
class StoredScale:
    """A scale with the day it was measured."""

    scale: Scale
    measured_at: datetime


class Connections:
    """The connections of one database."""

    def __init__(self, database: databases.Database) -> None:
        self._database = database

    def of(self, projects: Sequence[str] | None = None) -> list[Connection]:
        """Return all connections of these projects (None: of all), by their ids."""
        where, given = (
            ("", []) if projects is None else (f" WHERE m.project IN ({marks(projects)})", list(projects))
        )
        with self._database.read() as connection:
            # A large store has a million connections of few memories: each id is read once.
            ids: dict[int, str] = dict(connection.execute(f"SELECT m.n, m.id FROM memories m{where}", given))
            rows = connection.execute(
                "SELECT c.low, c.high, c.cosine, c.shared, c.strength FROM memories m"
                f" JOIN connections c ON c.low = m.n{where}",
                given,
            ).fetchall()
            ids |= dict(
                select_in(
                    connection,
                    "SELECT n, id FROM memories WHERE n IN ({})",
                    {high for _, high, *_ in rows} - ids.keys(),
                )
            )
        return sorted(_connection((ids[low], ids[high], *rest)) for low, high, *rest in rows if high in ids)

    def neighbours(self, identifier: str) -> list[Connection]:
        """Return the connections of one memory, strongest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"{_ENDS} WHERE a.id = ?1 UNION ALL {_ENDS} WHERE b.id = ?1", (identifier,)
            )
            return sorted(map(_connection, rows), key=lambda one: (-one.strength, one.first, one.second))

    def degree(
        self, ids: Iterable[str] | None = None, *, projects: Sequence[str] | None = None
    ) -> dict[str, int]:
        """Return how many connections each memory has; those without any are absent.

        For these ids, otherwise for the memories of these projects (None: all).
        """
        found: dict[str, int] = {}
        with self._database.read() as connection:
            parts: Iterator[tuple[str, list[str]]]
            if ids is not None:
                parts = ((f"WHERE m.id IN ({marks(part)}) ", part) for part in batches(ids))
            elif projects is not None:
                parts = iter([(f"WHERE m.project IN ({marks(projects)}) ", list(projects))])
            else:
                parts = iter([("", [])])
            for where, part in parts:
                for end in ("low", "high"):
                    for key, count in connection.execute(
                        f"SELECT m.id, count(*) FROM memories m JOIN connections c ON c.{end} = m.n"
                        f" {where}GROUP BY m.id",
                        part,
                    ):
                        found[key] = found.get(key, 0) + count
        return found

    def count(self) -> int:
        """Return how many connections there are."""
        return self._database.select_int("SELECT count(*) FROM connections")

    def drop(self, ids: Iterable[str] | None = None) -> None:
        """Delete the connections of some memories, or all; they then count as not compared."""
        with self._database.write() as connection:
            if ids is None:
                for table in ("connections", "compared"):
                    connection.execute(f"DELETE FROM {table}")
                return
            numbers = [n for (n,) in select_in(connection, "SELECT n FROM memories WHERE id IN ({})", ids)]
            for table, column in (("connections", "low"), ("connections", "high"), ("compared", "memory")):
                delete_in(connection, table, column, numbers)

    def sizes(self) -> dict[str, int]:
        """Return how many memories with vectors each project has."""
        return dict(
            self._database.select(
                "SELECT project, count(*) FROM memories WHERE state = ? GROUP BY project ORDER BY project",
                (State.INDEXED.value,),
            )
        )

    def sample(self, project: str, most: int) -> list[str]:
        """Return a stable sample of a project's memories with vectors, the first by id: ids are hashes."""
        return [key for key, _ in self._sample(project, most)]

    def sampled_numbers(self, project: str, most: int) -> list[int]:
        """Return the numbers of the same memories."""
        return [number for _, number in self._sample(project, most)]

    def _sample(self, project: str, most: int) -> list[tuple[str, int]]:
        return self._database.select(
            f"SELECT m.id, m.n FROM memories m WHERE {_OF_PROJECT} ORDER BY m.id LIMIT ?",
            (project, State.INDEXED.value, most),
        )

    def texts(self, numbers: Iterable[int]) -> Iterator[Text]:
        """Yield the texts of these memories that exist, in batches ordered by number."""
        for part in batches(numbers):
            rows = self._database.select(
                f"SELECT n, title, text, summary FROM memories WHERE n IN ({marks(part)}) ORDER BY n",
                part,
            )
            yield from rows

    def count_uncompared(self, model: str) -> dict[str, int]:
        """Return project -> how many of its memories were not compared with their present text by this model.

        Memories without a project are never compared: they may belong to many.
        """
        return dict(
            self._database.select(
                "SELECT m.project, count(*) FROM memories m LEFT JOIN compared c ON c.memory = m.n"
                " WHERE m.state = ? AND (c.memory IS NULL OR c.content_hash <> m.content_hash"
                " OR c.model <> ?) AND m.project <> ? GROUP BY m.project ORDER BY m.project",
                (State.INDEXED.value, model, UNASSIGNED),
            )
        )

    def members(self, project: str, model: str, *, ids: Iterable[str] | None = None) -> list[Member]:
        """Return the memories of a project that have vectors, by entry, or those with these ids."""
        if ids is None:
            return self._members(project, model, _OF_PROJECT)
        return sorted(
            (
                one
                for part in batches(ids)
                for one in self._members(project, model, f"{_AMONG} AND m.id IN ({marks(part)})", part)
            ),
            key=lambda one: one.number,
        )

    def waiting_members(self, project: str, model: str) -> list[Member]:
        """Return the members that were not compared with their present text by this model."""
        where = f"{_OF_PROJECT} AND (c.memory IS NULL OR c.content_hash <> m.content_hash OR c.model <> ?)"
        return self._members(project, model, where, [model])

    def _members(self, project: str, model: str, where: str, parameters: Sequence[str] = ()) -> list[Member]:
        return [
            Member(number, key, spec, digest, known == digest and compared_by == model, known is not None)
            for number, key, spec, digest, known, compared_by in self._database.select(
                "SELECT m.n, m.id, m.spec, m.content_hash, c.content_hash, c.model FROM memories m"
                f" LEFT JOIN compared c ON c.memory = m.n WHERE {where} ORDER BY m.n",
                (project, State.INDEXED.value, *parameters),
            )
        ]

    def names(self, project: str, numbers: Iterable[int] | None = None) -> dict[int, frozenset[str]]:
        """Return memory -> the entities that it mentions, for all memories of a project or some."""
        found: dict[int, set[str]] = {}
        # Share equal names, however many memories mention them.
        same: dict[str, str] = {}
        with self._database.read() as connection:
            if numbers is None:
                parts: Iterator[tuple[str, list[Any]]] = iter([(" WHERE m.project = ?", [project])])
            else:
                # Without the project, of which all names would be read.
                parts = ((f" WHERE m.n IN ({marks(part)})", part) for part in batches(numbers))
            for where, part in parts:
                for memory, name in connection.execute(_MENTIONED + where, part):
                    found.setdefault(memory, set()).add(same.setdefault(name, name))
        return {memory: frozenset(names) for memory, names in found.items()}

    def with_shared_names(self, project: str, ids: Iterable[str]) -> list[str]:
        """Return the memories that share a rare name with one of these, these included."""
        found: dict[str, None] = {}
        with self._database.read() as connection:
            names = select_in(
                connection,
                "SELECT DISTINCT e.canonical FROM memories m JOIN entity_mentions x ON x.memory = m.n"
                " JOIN entity_names e ON e.n = x.name WHERE m.id IN ({})",
                ids,
            )
            for (name,) in dict.fromkeys(names):
                # One more than the limit, so that a hub costs no more than that.
                rows = connection.execute(
                    "SELECT DISTINCT m.id FROM entity_names e JOIN entity_mentions x ON x.name = e.n"
                    " JOIN memories m ON m.n = x.memory WHERE e.project = ?1 AND e.n IN ("
                    " SELECT n FROM entity_names WHERE project = ?1 AND name = ?2 UNION ALL"
                    " SELECT n FROM entity_names WHERE project = ?1 AND canonical = ?2 AND canonical <> name"
                    f") LIMIT {RARE + 1}",
                    (project, name),
                ).fetchall()
                if len(rows) <= RARE:
                    found.update(dict.fromkeys(key for (key,) in rows))
        return list(found)

    def edges(self, numbers: Iterable[int]) -> list[Edge]:
        """Return the connections of these memories, each once."""
        found: dict[tuple[int, int], Edge] = {}
        with self._database.read() as connection:
            for part in batches(numbers):
                for column in ("low", "high"):
                    sql = (
                        "SELECT low, high, cosine, shared, strength FROM connections"
                        f" WHERE {column} IN ({{}})"
                    )
                    found |= {(row[0], row[1]): Edge(*row) for row in select_in(connection, sql, part)}
        return list(found.values())

    def write(
        self,
        edges: Iterable[EdgeRow],
        *,
        project: str,
        compared: Mapping[int, str],
        model: str,
        without: Iterable[tuple[int, int]] = (),
    ) -> int:
        """Write connections and the compared memories (number -> hash of the text) in one transaction.

        `without` are pairs that are no longer connected. Memories that have left the project or have another
        text by now are skipped. Returns how many connections were written.
        """
        # In the order of the table.
        wanted = sorted(edges)
        ends = {one[0] for one in wanted} | {one[1] for one in wanted}
        with self._database.write() as connection:
            there = _in_project(connection, project, ends)
            rows = wanted if len(there) == len(ends) else [one for one in wanted if there.issuperset(one[:2])]
            connection.executemany("DELETE FROM connections WHERE low = ? AND high = ?", list(without))
            connection.executemany(_INSERT, rows)
            connection.executemany(
                _COMPARED, [(number, digest, model) for number, digest in sorted(compared.items())]
            )
        return len(rows)

    def snapshot(self, ids: Iterable[str]) -> dict[str, str]:
        """Return id -> its connections and the model that compared it, as JSON for `put_back`.

        Memories that were never compared are absent.
        """
        found: dict[str, str] = {}
        with self._database.read() as connection:
            for batch in batches(ids):
                compared = {
                    key: [digest, model]
                    for key, digest, model in connection.execute(
                        "SELECT m.id, c.content_hash, c.model FROM memories m JOIN compared c"
                        f" ON c.memory = m.n WHERE m.id IN ({marks(batch)})",
                        batch,
                    )
                }
                links: dict[str, list[list[Any]]] = {key: [] for key in compared}
                for this, other in (("a", "b"), ("b", "a")):
                    for key, *rest in connection.execute(
                        f"SELECT {this}.id, {other}.id, c.cosine, c.shared, c.strength FROM connections c"
                        " JOIN memories a ON a.n = c.low JOIN memories b ON b.n = c.high"
                        f" WHERE {this}.id IN ({marks(batch)})",
                        batch,
                    ):
                        links.get(key, []).append(rest)
                found |= {
                    key: orjson.dumps({"compared": compared[key], "links": sorted(links[key])}).decode()
                    for key in compared
                }
        return found

    def put_back(self, standing: Mapping[str, str]) -> None:
        """Restore the connections of memories that came back, as far as their neighbours still exist."""
        known = {key: orjson.loads(text) for key, text in standing.items()}
        ends = {*known, *(link[0] for one in known.values() for link in one["links"])}
        with self._database.write() as connection:
            rows = select_in(connection, "SELECT id, n, project FROM memories WHERE id IN ({})", ends)
            there: dict[str, tuple[int, str]] = {key: (number, project) for key, number, project in rows}
            for key, one in known.items():
                if key not in there:
                    continue
                number, project = there[key]
                others = (
                    (there[other], rest)
                    for other, *rest in one["links"]
                    if there.get(other, ("",))[-1] == project
                )
                connection.executemany(
                    _INSERT, [(*sorted((number, other)), *rest) for (other, _), rest in others]
                )
                connection.execute(_COMPARED, (number, *one["compared"]))

    def scale(self, model: str) -> StoredScale | None:
        """Return the scale of a model's cosines, None if it was not measured."""
        text = meta.read(self._database, _SCALE + model)
        return None if text is None else _scale_in(text)

    def keep_scale(self, model: str, scale: Scale, *, now: datetime, anew: bool) -> None:
        """Store a scale; with `anew` no memory counts as compared, because another scale was used."""
        content = orjson.dumps({**asdict(scale), "measured_at": to_stamp(now)}).decode()
        with self._database.write() as connection:
            meta.put(connection, _SCALE + model, content)
            if anew:
                connection.execute("UPDATE compared SET model = '' WHERE model = ?", (model,))


def _in_project(connection: databases.Connection, project: str, numbers: Collection[int]) -> set[int]:
    """Return those of the memories that are in a project."""
    if len(numbers) > PARAMETERS:
        # Reading all of a project from an index is faster than looking up each number in a large table.
        rows = connection.execute("SELECT n FROM memories WHERE project = ?", (project,))
        return {number for (number,) in rows}.intersection(numbers)
    rows = connection.execute(
        f"SELECT n FROM memories WHERE n IN ({marks(list(numbers))}) AND project = ?", (*numbers, project)
    )
    return {number for (number,) in rows}


def compare_again(connection: databases.Connection, number: int, project: str) -> None:
    """Mark a rewritten memory as not compared, and delete its connections to other projects."""
    for this, other in (("low", "high"), ("high", "low")):
        connection.execute(
            f"DELETE FROM connections WHERE {this} = ?1 AND EXISTS"
            f" (SELECT 1 FROM memories m WHERE m.n = {other} AND m.project <> ?2)",
            (number, project),
        )
    connection.execute("UPDATE compared SET model = '' WHERE memory = ?", (number,))


def _connection(row: Sequence[Any]) -> Connection:
    one, other, *rest = row
    return Connection(one, other, *rest) if one < other else Connection(other, one, *rest)


def _scale_in(text: str) -> StoredScale | None:
    """Parse a scale; return None for one that this release cannot read, so that it is measured again."""
    try:
        content = orjson.loads(text)
        scale = Scale(
            float(content["unrelated"]),
            float(content["related"]),
            int(content["memories"]),
            int(content["pairs"]),
        )
        return StoredScale(scale, from_stamp(int(content["measured_at"])))
    except (KeyError, TypeError, ValueError):
        return None
