"""Names of entities that mean one thing, by project: mentions, statements, and the nodes derived from them.

The mentions and statements of a memory are deleted with it. The rest of `entity_names` is derived from them
(and from `entity_apart`, the separations by people): it is computed again for a class of names whenever one
of them is added, removed or mentioned.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ragmem.ports.principal import confined_member
from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Connection, Database, select_in
from ragmem.storage.sql.migrations import select_from

if TYPE_CHECKING:
    from ragmem.storage.names.node_names import NameStatements

# Every command opens the catalog, and few write to it: the rules for names are imported where needed.

AT_ONCE = 16
"""Memories that one write marks as pending for new names; the rest follow with the next writes."""

_VERSION = "1"
"""Raised when the rules for forms or aliases change: a seed then learns all names anew."""

_LEARNT = "names_learnt"
"""Key in `meta`."""


class EntityNames:
    """The names of entities in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def learn(self, told: "Sequence[NameStatements]", *, most: int = AT_ONCE) -> None:
        """Replace the statements of memories; unknown memories are skipped.

        Memories that mention a name with a new node become pending: `most` of them at once, the others when
        `mark_pending` is called.
        """
        from ragmem.storage.names.node_names import numbers_of, write  # noqa: PLC0415

        with self._database.write() as connection:
            touched: dict[str, set[str]] = {}
            numbers = numbers_of(connection, [one.memory_id for one in told])
            for one in told:
                if one.memory_id in numbers:
                    forms = touched.setdefault(one.project, set())
                    forms |= write(connection, numbers[one.memory_id], one)
            self._update_nodes(connection, touched, max((one.at for one in told), default=0), most)

    @staticmethod
    def _update_nodes(connection: Connection, touched: dict[str, set[str]], at: int, most: int) -> None:
        """Update the nodes of the names of these forms, by project."""
        from ragmem.storage.names.node_names import mark_pending, shared_forms, update_nodes  # noqa: PLC0415

        for project, forms in touched.items():
            for form in sorted(shared_forms(connection, project, forms)):
                update_nodes(connection, project, form, at)
        # A member changes no memory that it does not see; the next write of the owner marks them.
        mark_pending(connection, 0 if confined_member() else most)

    def update_all(self) -> int:
        """Update the nodes of all names; return how many changed, which is 0 in a sound catalog."""
        from ragmem.storage.names.node_names import reset_node, update_nodes  # noqa: PLC0415

        with self._database.write() as connection:
            nodes = "SELECT project, name, canonical FROM entity_names"
            before = set(map(tuple, connection.execute(nodes).fetchall()))
            (at,) = connection.execute("SELECT coalesce(max(updated_at), 0) FROM memories").fetchone()
            rows = connection.execute("SELECT n, project, form FROM entity_names ORDER BY n").fetchall()
            for n in (n for n, _, form in rows if not form):
                reset_node(connection, n, at)
            for project, form in dict.fromkeys((project, form) for _, project, form in rows if form):
                update_nodes(connection, project, form, at)
            return len(before.symmetric_difference(map(tuple, connection.execute(nodes).fetchall()))) // 2

    def forget(self, memory_ids: Iterable[str]) -> None:
        """Remove the statements of memories about names; called before they are deleted."""
        from ragmem.storage.names.node_names import remove_statements  # noqa: PLC0415

        with self._database.write() as connection:
            leaving: dict[str, list[int]] = {}
            latest = 0
            sql = "SELECT n, project, updated_at FROM memories WHERE id IN ({})"
            for number, project, at in select_in(connection, sql, memory_ids):
                leaving.setdefault(project, []).append(number)
                latest = max(latest, at)
            touched = {
                project: remove_statements(connection, numbers) for project, numbers in leaving.items()
            }
            self._update_nodes(connection, touched, latest, AT_ONCE)

    def mark_pending(self, most: int = AT_ONCE) -> int:
        """Mark up to `most` memories as pending that the store has under a former name; return the number."""
        from ragmem.storage.names.node_names import mark_pending  # noqa: PLC0415

        if self._database.select_row("SELECT 1 FROM entity_names WHERE late IS NOT NULL LIMIT 1") is None:
            return 0
        with self._database.write() as connection:
            return mark_pending(connection, most)

    def count_late(self) -> int:
        """Return how many names have memories that the store has under a former name."""
        sql = "SELECT count(*) FROM entity_names WHERE late IS NOT NULL"
        return sum(int(count) for (count,) in select_from(self._database, "entity_names", sql))

    def canonical(self, project: str, names: Iterable[str]) -> dict[str, str]:
        """Return name -> the name of its node, for merged names."""
        return dict(
            self._database.select_in(
                "SELECT name, canonical FROM entity_names WHERE project = ? AND canonical <> name"
                " AND name IN ({})",
                names,
                project,
            )
        )

    def unlearnt(self, ids: Iterable[str]) -> list[str]:
        """Return those of these memories that mention no name yet, in the order in which they were stored."""
        sql = (
            "SELECT m.n, m.id FROM memories m WHERE m.id IN ({})"
            " AND NOT EXISTS (SELECT 1 FROM entity_mentions e WHERE e.memory = m.n)"
        )
        return [identifier for _, identifier in sorted(self._database.select_in(sql, ids))]

    def is_learnt(self) -> bool:
        """Return whether the names of all memories have been learnt by the present rules."""
        with self._database.read() as connection:
            return meta.get(connection, _LEARNT) == _VERSION

    def set_learnt(self) -> None:
        """Record that the names of all memories have been learnt by the present rules."""
        with self._database.write() as connection:
            meta.put(connection, _LEARNT, _VERSION)

    def set_apart(self, project: str, name: str, rule: str, *, at: int) -> None:
        """Never merge a name by this rule again; the memories that mention it become pending."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO entity_apart (project, name, rule, made_at) VALUES (?,?,?,?)"
                " ON CONFLICT (project, name, rule) DO NOTHING",
                (project, name, rule, at),
            )
            self._update_name(connection, project, name, at)

    def rejoin(self, project: str, name: str, rule: str, *, at: int) -> None:
        """Undo `set_apart`."""
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM entity_apart WHERE project = ? AND name = ? AND rule = ?", (project, name, rule)
            )
            self._update_name(connection, project, name, at)

    def _update_name(self, connection: Connection, project: str, name: str, at: int) -> None:
        from ragmem.storage.names.node_names import mark_pending, update_nodes  # noqa: PLC0415

        row = connection.execute(
            "SELECT form FROM entity_names WHERE project = ? AND name = ?", (project, name)
        ).fetchone()
        if row is not None and row[0]:
            update_nodes(connection, project, row[0], at)
            mark_pending(connection, AT_ONCE)

    def separations(self) -> list[tuple[str, str, str, int]]:
        """Return (project, name, rule, made_at) of all separations."""
        return self._database.select(
            "SELECT project, name, rule, made_at FROM entity_apart ORDER BY project, name, rule"
        )


def shorten_types(connection: Connection) -> None:
    """Write the types of all names as letters."""
    from ragmem.domain.entities import type_letters  # noqa: PLC0415

    connection.executemany(
        "UPDATE entity_names SET types = ? WHERE n = ?",
        [
            (type_letters.write(types.split(",")), number)
            for number, types in connection.execute("SELECT n, types FROM entity_names").fetchall()
        ],
    )
