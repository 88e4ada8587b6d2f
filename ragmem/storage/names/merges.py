"""The merges of names, with their rules and evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragmem.domain.model import digest
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.migrations import select_from, table_exists

STATED = ("acronym", "alias", "asked")
"""Rules for statements of a text or a person that two names are one."""

KEY_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Merge:
    """A name that shares another name's node: the rule, the moment, and a memory as evidence.

    `head` is the name that the rule compares it with; another rule may have merged that into `into`. `shown`
    are the words to look for in the memory. `at` is when the memory that caused it was written, in
    microseconds since 1970. `undone` merges are never made again.
    """

    project: str
    name: str
    head: str
    into: str
    rule: str
    at: int
    memory_id: str = ""
    shown: tuple[str, ...] = ()
    undone: bool = False

    @property
    def key(self) -> str:
        """The id of the merge in commands."""
        return digest("merge", self.project, self.name, self.rule)[:KEY_LENGTH]


def merges(database: Database, *, projects: Sequence[str] | None = None, name: str = "") -> list[Merge]:
    """Return the merges of these projects (None: all), those of one name if any is given, in any case."""
    condition, values = _condition(projects, name, ("name", "canonical", "head"))
    with database.read() as connection:
        if not table_exists(database, connection, "entity_names"):
            return []
        rows = connection.execute(
            "SELECT n, form, project, name, head, canonical, rule, made_at FROM entity_names"
            f" WHERE canonical <> name {condition} ORDER BY project, canonical, name",
            values,
        ).fetchall()
        found = []
        for number, form, *row in rows:
            merge = Merge(*row)
            memory_id, shown = _evidence(connection, number, form, merge)
            found.append(replace(merge, memory_id=memory_id, shown=shown))
        return found


def undone_merges(
    database: Database, *, projects: Sequence[str] | None = None, name: str = ""
) -> list[Merge]:
    """Return the undone merges of these projects (None: all), of one name if any is given."""
    condition, values = _condition(projects, name, ("name",))
    sql = (
        f"SELECT project, name, rule, made_at FROM entity_apart WHERE name <> '' {condition}"
        " ORDER BY project, name, rule"
    )
    return [
        Merge(project, one, "", "", rule, at, undone=True)
        for project, one, rule, at in select_from(database, "entity_apart", sql, values)
    ]


def _condition(projects: Sequence[str] | None, name: str, columns: Sequence[str]) -> tuple[str, list[str]]:
    conditions, values = "", list[str]()
    if projects is not None:
        conditions += f" AND project IN ({marks(projects)})"
        values += projects
    if name:
        conditions += f" AND ({' OR '.join(f'lower({column}) = lower(?)' for column in columns)})"
        values += [name] * len(columns)
    return conditions, values


def _evidence(connection: Connection, number: int, form: str, merge: Merge) -> tuple[str, tuple[str, ...]]:
    """Return the first memory that is evidence of a merge, and the words in it."""
    if merge.rule in STATED:
        row = connection.execute(
            "SELECT m.id, a.short, a.long FROM entity_aliases a JOIN memories m ON m.n = a.memory"
            " WHERE a.project = ?1 AND (a.short_form = ?2 OR a.long_form = ?2) ORDER BY m.n LIMIT 1",
            (merge.project, form),
        ).fetchone()
        return (row[0], (row[1], row[2])) if row else ("", ())
    row = connection.execute(
        "SELECT m.id FROM entity_mentions e JOIN memories m ON m.n = e.memory"
        " WHERE e.name = ? ORDER BY e.memory LIMIT 1",
        (number,),
    ).fetchone()
    return (row[0], (merge.name,)) if row else ("", ())
