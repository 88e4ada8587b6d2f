"""Which names of entities mean one thing, project by project: what memories mention, and what follows of it.

What each memory mentions and states is kept with it and goes with it. The rest of `entity_names` follows from
that (and from `entity_apart`, where people say what is not so): it is worked out anew for a class of names
whenever one of them comes, goes or is told of.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Connection, Database, select_in
from ragmem.storage.sql.migrations import table_exists

if TYPE_CHECKING:
    from ragmem.storage.names.settling import NameStatements

# Every command opens the catalog, and few write to it: what works names out is imported where it is needed.

AT_ONCE = 16
"""Memories that one write lets wait to be put under other names; the rest follow with the next ones."""

_VERSION = "1"
"""Raised when the rules for forms or aliases change: a seed then learns all names anew."""

_LEARNT = "names_learnt"
"""Key in `meta`."""


class EntityNames:
    """The names of entities in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def learn(self, told: "Sequence[NameStatements]", *, most: int = AT_ONCE) -> None:
        """Write what memories say, in place of what they said before; unknown memories are left out.

        Memories that mention a name which gets another node by this wait to be put once more: so many of them
        at once, the others when `let_wait` is called.
        """
        from ragmem.storage.names.settling import numbers_of, write  # noqa: PLC0415

        with self._database.write() as connection:
            touched: dict[str, set[str]] = {}
            numbers = numbers_of(connection, [one.memory_id for one in told])
            for one in told:
                if one.memory_id in numbers:
                    forms = touched.setdefault(one.project, set())
                    forms |= write(connection, numbers[one.memory_id], one)
            self._settle(connection, touched, max((one.at for one in told), default=0), most)

    @staticmethod
    def _settle(connection: Connection, touched: dict[str, set[str]], at: int, most: int) -> None:
        """Work out the nodes of the names of these forms, by project."""
        from ragmem.storage.names.settling import let_wait, settle, shared_forms  # noqa: PLC0415

        for project, forms in touched.items():
            for form in sorted(shared_forms(connection, project, forms)):
                settle(connection, project, form, at)
        let_wait(connection, most)

    def settle_all(self) -> int:
        """Work the nodes of all names out anew; return how many names got another, which is none if sound."""
        from ragmem.storage.names.settling import settle, stand_alone  # noqa: PLC0415

        with self._database.write() as connection:
            nodes = "SELECT project, name, canonical FROM entity_names"
            before = set(map(tuple, connection.execute(nodes).fetchall()))
            at = max((made for (made,) in connection.execute("SELECT made_at FROM entity_names")), default=0)
            rows = connection.execute("SELECT n, project, form FROM entity_names ORDER BY n").fetchall()
            for n in (n for n, _, form in rows if not form):
                stand_alone(connection, n, at)
            for project, form in dict.fromkeys((project, form) for _, project, form in rows if form):
                settle(connection, project, form, at)
            return len(before.symmetric_difference(map(tuple, connection.execute(nodes).fetchall()))) // 2

    def forget(self, memory_ids: Iterable[str]) -> None:
        """Take back what memories say of names; called before they leave."""
        from ragmem.storage.names.leaving import unsay  # noqa: PLC0415

        with self._database.write() as connection:
            leaving: dict[str, list[int]] = {}
            latest = 0
            sql = "SELECT n, project, updated_at FROM memories WHERE id IN ({})"
            for number, project, at in select_in(connection, sql, memory_ids):
                leaving.setdefault(project, []).append(number)
                latest = max(latest, at)
            touched = {project: unsay(connection, numbers) for project, numbers in leaving.items()}
            self._settle(connection, touched, latest, AT_ONCE)

    def let_wait(self, most: int = AT_ONCE) -> int:
        """Let so many memories wait that are in the store under a former name; return how many."""
        from ragmem.storage.names.settling import let_wait  # noqa: PLC0415

        if self._database.select_row("SELECT 1 FROM entity_names WHERE late IS NOT NULL LIMIT 1") is None:
            return 0
        with self._database.write() as connection:
            return let_wait(connection, most)

    def late(self) -> int:
        """Return how many names have memories that are in the store under a former name."""
        with self._database.read() as connection:
            if not table_exists(self._database, connection, "entity_names"):
                return 0
            (count,) = connection.execute(
                "SELECT count(*) FROM entity_names WHERE late IS NOT NULL"
            ).fetchone()
        return int(count)

    def canonical(self, project: str, names: Iterable[str]) -> dict[str, str]:
        """Return name -> the name of its node, for those that have another one's."""
        return dict(
            self._database.select_in(
                "SELECT name, canonical FROM entity_names WHERE project = ? AND canonical <> name"
                " AND name IN ({})",
                names,
                project,
            )
        )

    def is_learnt(self) -> bool:
        """Tell whether the names of all memories that were stored before have been learnt by these rules."""
        with self._database.read() as connection:
            return meta.get(connection, _LEARNT) == _VERSION

    def set_learnt(self) -> None:
        """Remember that the names of all memories have been learnt by these rules."""
        with self._database.write() as connection:
            meta.put(connection, _LEARNT, _VERSION)

    def set_apart(self, project: str, name: str, rule: str, *, at: int) -> None:
        """Never take a name for another one by this rule again, and let what mentions it wait."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO entity_apart (project, name, rule, made_at) VALUES (?,?,?,?)"
                " ON CONFLICT (project, name, rule) DO NOTHING",
                (project, name, rule, at),
            )
            self._settle_name(connection, project, name, at)

    def rejoin(self, project: str, name: str, rule: str, *, at: int) -> None:
        """Take back `set_apart`."""
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM entity_apart WHERE project = ? AND name = ? AND rule = ?", (project, name, rule)
            )
            self._settle_name(connection, project, name, at)

    def _settle_name(self, connection: Connection, project: str, name: str, at: int) -> None:
        from ragmem.storage.names.settling import let_wait, settle  # noqa: PLC0415

        row = connection.execute(
            "SELECT form FROM entity_names WHERE project = ? AND name = ?", (project, name)
        ).fetchone()
        if row is not None and row[0]:
            settle(connection, project, row[0], at)
            let_wait(connection, AT_ONCE)

    def apart(self) -> list[tuple[str, str, str, int]]:
        """Return (project, name, rule, made_at) of all that was set apart."""
        return self._database.select(
            "SELECT project, name, rule, made_at FROM entity_apart ORDER BY project, name, rule"
        )

    def write_apart(self, rows: Iterable[tuple[str, str, str, int]]) -> None:
        """Write what was set apart in another catalog."""
        for project, name, rule, at in rows:
            self.set_apart(project, name, rule, at=at)
