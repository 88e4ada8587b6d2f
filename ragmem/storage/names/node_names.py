"""The rows of names: the statements of a memory, and the nodes that follow for all names of a class."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragmem.domain.entities import type_letters
from ragmem.domain.entities.aliases import Alias
from ragmem.domain.entities.canonical_names import STATEMENTS, AliasForm, CatalogName, choose_nodes
from ragmem.domain.entities.resolution import canonical_form
from ragmem.domain.model import State
from ragmem.frozen import dataclass
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.database import Connection, select_in

MAX_FORMS = 16
"""Classes of names that statements may join; more of them cannot mean one thing."""

MAX_SEARCHED = 256
"""Classes that are searched where statements join too many."""

PARTNER = (
    "SELECT {other} FROM entity_aliases WHERE project = ? AND {column} = ? AND {other} > ?"
    " ORDER BY {other} LIMIT 1"
)
"""The next form that is stated to equal a form: a thousand memories may state the same."""

STATED = (
    "SELECT 1 FROM entity_aliases WHERE project = ? AND short_form = ? AND long_form = ? AND rule = ? LIMIT 1"
)

MAX_COUNTED = 200
"""Limit for counting the mentions of a name to compare frequencies."""


@dataclass(frozen=True, slots=True)
class NameStatements:
    """The statements of a memory about names: mentions with their types, and aliases.

    `at` is when the memory was written, in microseconds since 1970.
    """

    memory_id: str
    project: str
    at: int
    names: Mapping[str, str]
    aliases: tuple[Alias, ...] = ()


def numbers_of(connection: Connection, ids: Sequence[str]) -> dict[str, int]:
    """Return id -> number of those memories that exist."""
    return dict(select_in(connection, "SELECT id, n FROM memories WHERE id IN ({})", ids))


def write(connection: Connection, number: int, told: NameStatements) -> set[str]:
    """Write the statements of one memory; return the affected forms."""
    before = dict(
        connection.execute(
            "SELECT n.name, n.n FROM entity_mentions e JOIN entity_names n ON n.n = e.name"
            " WHERE e.memory = ?",
            (number,),
        ).fetchall()
    )
    touched = _write_names(connection, number, told, before)
    touched |= _write_aliases(connection, number, told)
    gone = [n for name, n in before.items() if name not in told.names]
    connection.executemany(
        "DELETE FROM entity_mentions WHERE name = ? AND memory = ?", [(n, number) for n in gone]
    )
    touched.update(drop_orphans(connection, gone))
    return touched - {""}


def _write_names(
    connection: Connection, number: int, told: NameStatements, before: Mapping[str, int]
) -> set[str]:
    sql = "SELECT name, n, types, form FROM entity_names WHERE project = ? AND name IN ({})"
    known: dict[str, tuple[int, set[str], str]] = {
        name: (n, set(type_letters.read(types)), form)
        for name, n, types, form in select_in(connection, sql, told.names, told.project)
    }
    touched: set[str] = set()
    mentioned: list[tuple[int, int]] = []
    for name, kind in told.names.items():
        if name not in known:
            form = canonical_form(name, (kind,))
            (n,) = connection.execute(
                "INSERT INTO entity_names (project, name, types, form, rule, made_at)"
                " VALUES (?,?,?,?,'',0) RETURNING n",
                (told.project, name, type_letters.write({kind}), form),
            ).fetchone()
            touched.add(form)
        else:
            n, types, old = known[name]
            seen = {kind, *types}
            form = canonical_form(name, seen)
            if (seen, form) != (types, old):
                connection.execute(
                    "UPDATE entity_names SET types = ?, form = ? WHERE n = ?",
                    (type_letters.write(seen), form, n),
                )
                touched |= {old, form}
                if not form:
                    reset_node(connection, n, told.at)
        if name not in before:
            mentioned.append((n, number))
    connection.executemany("INSERT INTO entity_mentions (name, memory) VALUES (?,?)", mentioned)
    return touched


def reset_node(connection: Connection, number: int, at: int) -> None:
    """Give a name that has no other spelling its own node."""
    connection.execute(
        "UPDATE entity_names SET spelling = NULL, node = NULL, rule = '', made_at = ?, late = 0"
        " WHERE n = ? AND canonical <> name",
        (at, number),
    )


def _write_aliases(connection: Connection, number: int, told: NameStatements) -> set[str]:
    before = {
        (short, long): (short_form, long_form)
        for short, long, short_form, long_form in connection.execute(
            "SELECT short, long, short_form, long_form FROM entity_aliases WHERE memory = ?", (number,)
        )
    }
    now = {(one.short, one.long): one for one in told.aliases}
    touched: set[str] = set()
    for key, forms in before.items():
        if key not in now:
            touched.update(forms)
            connection.execute(
                "DELETE FROM entity_aliases WHERE memory = ? AND short = ? AND long = ?", (number, *key)
            )
    for key, one in now.items():
        forms = (canonical_form(one.short, ()), canonical_form(one.long, ()))
        if key not in before and all(forms) and forms[0] != forms[1]:
            touched.update(forms)
            connection.execute(
                "INSERT INTO entity_aliases (memory, project, short, long, short_form, long_form, rule)"
                " VALUES (?,?,?,?,?,?,?)",
                (number, told.project, *key, *forms, one.rule),
            )
    return touched


def shared_forms(connection: Connection, project: str, forms: set[str]) -> set[str]:
    """Return those of the forms that several names share, or that a statement mentions."""
    found: set[str] = set()
    for batch in batches(sorted(forms)):
        wanted = f"WITH wanted(form) AS (VALUES {','.join('(?)' for _ in batch)})"
        stated = " OR ".join(
            f"EXISTS (SELECT 1 FROM entity_aliases a WHERE a.project = ? AND a.{side} = wanted.form)"
            for side in ("short_form", "long_form")
        )
        several = (
            f"SELECT form FROM entity_names WHERE project = ? AND form IN ({marks(batch)}) AND form <> ''"
            " GROUP BY form HAVING count(*) > 1 OR min(canonical) <> min(name)"
        )
        found.update(form for (form,) in connection.execute(several, (project, *batch)))
        spoken_of = f"{wanted} SELECT form FROM wanted WHERE {stated}"
        found.update(form for (form,) in connection.execute(spoken_of, (*batch, project, project)))
    return found


def update_nodes(connection: Connection, project: str, form: str, at: int) -> None:
    """Compute and write the nodes of the names of a form and of the forms that statements join with it."""
    forms, stated = _joined_forms(connection, project, form)
    rows = connection.execute(
        "SELECT n.name, n.types, n.n, n.form, n.head, n.canonical, n.rule FROM entity_names n"
        f" WHERE n.project = ? AND n.form IN ({marks(forms)}) AND n.form <> ''",
        (project, *forms),
    ).fetchall()
    apart: dict[str, set[str]] = {}
    sql = "SELECT name, rule FROM entity_apart WHERE project = ? AND name IN ({})"
    for name, rule in select_in(connection, sql, [row[0] for row in rows], project):
        apart.setdefault(name, set()).add(rule)
    known = [
        CatalogName(name, frozenset(type_letters.read(types)), n, apart.get(name, set()), of_form, canonical)
        for name, types, n, of_form, _, canonical, _ in rows
    ]
    wanted = choose_nodes(known, stated, lambda number: _mentions(connection, number))
    for name, _, n, _, head, canonical, rule in rows:
        node = wanted[name]
        if (node.head, node.canonical, node.rule) != (head, canonical, rule):
            late = ", late = 0" if node.canonical != canonical else ""
            connection.execute(
                "UPDATE entity_names SET spelling = nullif(?, name), node = nullif(?, name),"
                f" rule = ?, made_at = ?{late} WHERE n = ?",
                (node.head, node.canonical, node.rule, at, n),
            )


def _mentions(connection: Connection, number: int) -> int:
    (count,) = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM entity_mentions WHERE name = ? LIMIT ?) AS counted",
        (number, MAX_COUNTED),
    ).fetchone()
    return int(count)


def _joined_forms(connection: Connection, project: str, form: str) -> tuple[list[str], list[AliasForm]]:
    """Return the forms that statements join with one, and the statements.

    If there are too many, only the form itself and those that were joined before are returned.
    """
    forms, stated, at = {form: None}, set[AliasForm](), 0
    while at < len(forms) < MAX_SEARCHED:
        found = _statements(connection, project, list(forms)[at])
        stated |= found
        forms |= dict.fromkeys(
            other for one in sorted(found, key=_by_form) for other in (one.short, one.long)
        )
        at += 1
    if len(forms) <= MAX_FORMS:
        return list(forms), sorted(stated, key=_by_form)
    joined = connection.execute(
        f"SELECT DISTINCT form FROM entity_names WHERE project = ? AND form IN ({marks(list(forms))})"
        " AND form <> ''"
        f" AND rule IN ({marks(list(STATEMENTS))})",
        (project, *forms, *STATEMENTS),
    ).fetchall()
    return list(dict.fromkeys([form, *(other for (other,) in joined)])), []


def _by_form(one: AliasForm) -> tuple[str, str, str]:
    return one.short, one.long, one.rule


def _statements(connection: Connection, project: str, form: str) -> set[AliasForm]:
    found: set[AliasForm] = set()
    for column, other in (("short_form", "long_form"), ("long_form", "short_form")):
        query, after = PARTNER.format(column=column, other=other), ""
        while row := connection.execute(query, (project, form, after)).fetchone():
            (after,) = row
            short, long = (form, after) if other == "long_form" else (after, form)
            found |= {
                AliasForm(short, long, rule)
                for rule in STATEMENTS
                if connection.execute(STATED, (project, short, long, rule)).fetchone()
            }
    return found


def mark_pending(connection: Connection, most: int) -> int:
    """Mark up to `most` memories as pending that mention names with a new node; return the number."""
    room = most
    for n, done in connection.execute(
        "SELECT n, late FROM entity_names WHERE late IS NOT NULL ORDER BY n LIMIT ?", (most,)
    ).fetchall():
        if room <= 0:
            break
        memories = [
            memory
            for (memory,) in connection.execute(
                "SELECT memory FROM entity_mentions WHERE name = ? AND memory > ? ORDER BY memory LIMIT ?",
                (n, done, room),
            )
        ]
        connection.executemany(
            "UPDATE memories SET state = ? WHERE n = ? AND state = ?",
            [(State.PENDING.value, memory, State.INDEXED.value) for memory in memories],
        )
        after: Any = memories[-1] if len(memories) == room else None
        connection.execute("UPDATE entity_names SET late = ? WHERE n = ?", (after, n))
        room -= len(memories)
    return most - room


def remove_statements(connection: Connection, numbers: Sequence[int]) -> set[str]:
    """Remove all statements of memories; return the affected forms."""
    touched: set[str] = set()
    mentioned: set[int] = set()
    for batch in batches(numbers):
        of_them = f"memory IN ({marks(batch)})"
        mentioned.update(
            name for (name,) in connection.execute(f"SELECT name FROM entity_mentions WHERE {of_them}", batch)
        )
        for forms in connection.execute(
            f"SELECT short_form, long_form FROM entity_aliases WHERE {of_them}", batch
        ):
            touched.update(forms)
        for table in ("entity_mentions", "entity_aliases"):
            connection.execute(f"DELETE FROM {table} WHERE {of_them}", batch)
    return (touched | drop_orphans(connection, sorted(mentioned))) - {""}


def drop_orphans(connection: Connection, names: Sequence[int]) -> set[str]:
    """Remove those of the names that no memory mentions any more; return their forms."""
    found: set[str] = set()
    for batch in batches(names):
        orphans = connection.execute(
            f"SELECT n, form FROM entity_names WHERE n IN ({marks(batch)})"
            " AND NOT EXISTS (SELECT 1 FROM entity_mentions e WHERE e.name = entity_names.n)"
            " AND NOT EXISTS (SELECT 1 FROM entity_apart a"
            " WHERE a.project = entity_names.project AND a.name = entity_names.name)",
            batch,
        ).fetchall()
        connection.executemany("DELETE FROM entity_names WHERE n = ?", [(n,) for n, _ in orphans])
        found.update(form for _, form in orphans)
    return found
