"""The numbers under which workspaces, chunks, entities and relations are stored."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count

import orjson

from ragmem.domain.entities.type_letters import LETTERS, TYPES
from ragmem.storage.sql.batches import PARAMETERS, batches

SPACE = "(SELECT n FROM store_spaces WHERE name = ?)"
"""The number of a workspace as an SQL expression; NULL for an unknown one, which matches no row."""


WEIGHT = 1000.0
"""Weights of edges and evidence are stored in thousandths: most of them are integral then, and small."""


def sort_pair(one: str, other: str) -> tuple[str, str]:
    """Return the two ends of an edge in stored order: edges have no direction."""
    return (one, other) if one <= other else (other, one)


# To read many rows, their keys are the outer loop (CROSS JOIN keeps the order). With `IN` and a long list,
# SQLite would read the whole table, or all of an index that begins with the workspace.


def has_name(row: str, name: str) -> str:
    """Return the condition that a row of nodes has a name; its index compares letters in any case."""
    return f"{row}.id = {name} COLLATE NOCASE AND {row}.id = {name}"


def has_id(row: str, value: str) -> str:
    """Return the condition that a row of chunks has an id; its index has the last letters."""
    return f"substr({row}.id, -6) = substr({value}, -6) AND {row}.id = {value}"


def values_table(rows: Sequence[object]) -> str:
    """Return a table of parameters, `(VALUES (?), ...)`; its columns are column1 and, for pairs, column2."""
    row = "(?, ?)" if isinstance(rows[0], tuple) else "(?)"
    return f"(VALUES {', '.join([row] * len(rows))})"


LISTED = "json_each(?)"
"""A table of any number of values, from the text that `listed` makes: one statement, prepared once."""


def listed(values: Iterable[str | int]) -> str:
    """Return the values for the table `LISTED`."""
    return orjson.dumps(list(values)).decode()


def make_space(connection: sqlite3.Connection, workspace: str) -> int:
    """Return the number of a workspace; an unknown one gets the next number."""
    connection.execute("INSERT OR IGNORE INTO store_spaces (name) VALUES (?)", (workspace,))
    (number,) = connection.execute(f"SELECT {SPACE}", (workspace,)).fetchone()
    return int(number)


def by_id(
    connection: sqlite3.Connection,
    table: str,
    column: str,
    workspace: str,
    ids: Iterable[str],
    *,
    same: str,
    condition: str = "1",
) -> dict[str, int]:
    """Return id -> value of a column of those rows of a workspace that exist and meet a condition."""
    found: dict[str, int] = {}
    for part in batches(dict.fromkeys(ids)):
        found.update(
            connection.execute(
                f"SELECT o.id, o.{column} FROM {values_table(part)} CROSS JOIN {table} AS o"
                f" ON {same} AND o.space = {SPACE} WHERE {condition}",
                (*part, workspace),
            ).fetchall()
        )
    return found


def chunk_numbers(connection: sqlite3.Connection, workspace: str, ids: Iterable[str]) -> dict[str, int]:
    """Return id -> number of those chunks that are known."""
    return by_id(connection, "store_chunks", "n", workspace, ids, same=has_id("o", "column1"))


def make_chunks(connection: sqlite3.Connection, workspace: str, ids: Iterable[str]) -> dict[str, int]:
    """Return id -> number of chunks; unknown ones become chunks of no document."""
    wanted = list(dict.fromkeys(ids))
    space = make_space(connection, workspace)
    found = chunk_numbers(connection, workspace, wanted)
    for chunk in wanted:
        if chunk not in found:
            row = connection.execute(
                "INSERT INTO store_chunks (space, position, id) VALUES (?, 0, ?) RETURNING n", (space, chunk)
            ).fetchone()
            found[chunk] = row[0]
    return found


def node_numbers(connection: sqlite3.Connection, workspace: str, names: Iterable[str]) -> dict[str, int]:
    """Return name -> number of those entities that have a row."""
    return node_values(connection, "n", workspace, names)


def node_values(
    connection: sqlite3.Connection, column: str, workspace: str, names: Iterable[str], *, condition: str = "1"
) -> dict[str, int]:
    """Return name -> value of a column of those entities that have a row and meet a condition."""
    same = has_name("o", "column1")
    return by_id(connection, "store_nodes", column, workspace, names, condition=condition, same=same)


def make_nodes(
    connection: sqlite3.Connection, workspace: str, names: Iterable[str], *, present: bool = True
) -> dict[str, int]:
    """Return name -> number of entities; unknown ones get a row, `present` ones become nodes."""
    wanted = sorted(set(names))
    space = make_space(connection, workspace)
    found = node_numbers(connection, workspace, wanted)
    if present:
        connection.executemany(
            "UPDATE store_nodes SET present = 1 WHERE n = ? AND NOT present",
            [(number,) for number in found.values()],
        )
    (last,) = connection.execute("SELECT max(n) FROM store_nodes").fetchone()
    made = dict(zip((name for name in wanted if name not in found), count((last or 0) + 1), strict=False))
    connection.executemany(
        "INSERT INTO store_nodes (n, space, id, lowered, present)"
        " VALUES (?1, ?2, ?3, nullif(?4, lower(?3)), ?5)",
        [(number, space, name, name.lower(), present) for name, number in made.items()],
    )
    return found | made


def edge_numbers(
    connection: sqlite3.Connection, pairs: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], int]:
    """Return (source, target) -> number of those relations that have a row."""
    found: dict[tuple[int, int], int] = {}
    for part in batches(dict.fromkeys(pairs), PARAMETERS // 2):
        for source, target, number in connection.execute(
            f"SELECT source, target, n FROM {values_table(part)} CROSS JOIN store_edges"
            " ON source = column1 AND target = column2",
            (*chain.from_iterable(part),),
        ):
            found[source, target] = number
    return found


def make_edges(
    connection: sqlite3.Connection, pairs: Iterable[tuple[int, int]], *, present: bool = True
) -> dict[tuple[int, int], int]:
    """Return (source, target) -> number of relations; unknown ones get a row of weight 0."""
    wanted = sorted(set(pairs))
    connection.executemany(
        "INSERT INTO store_edges (source, target, weight, present) VALUES (?, ?, 0, ?)"
        " ON CONFLICT (source, target) DO"
        f" {'UPDATE SET present = 1 WHERE NOT present' if present else 'NOTHING'}",
        [(*pair, present) for pair in wanted],
    )
    return edge_numbers(connection, wanted)


def change_types(connection: sqlite3.Connection, changes: Mapping[int, Mapping[str, int]]) -> None:
    """Add to (or, by negative numbers, take from) the numbers of mentions by type of these nodes."""
    for part in batches(sorted(changes)):
        rows = connection.execute(
            f"SELECT n, types FROM {values_table(part)} CROSS JOIN store_nodes ON n = column1", part
        ).fetchall()
        changed = []
        for node, stored in rows:
            types = Counter(read_types(stored))
            types.update(changes[node])
            changed.append((write_types(types), node))
        connection.executemany("UPDATE store_nodes SET types = ? WHERE n = ?", changed)


def read_types(stored: str) -> dict[str, int]:
    """Return type -> number of mentions, from the form that `write_types` makes."""
    found = {}
    for line in stored.splitlines():
        kind, colon, number = line.rpartition(":")
        if not colon:
            kind, number = TYPES[line[0]], line[1:] or "1"
        found[kind] = int(number)
    return found


def write_types(types: Mapping[str, int]) -> str:
    """Return types and their numbers as lines: `F3`, `F` for `F1`, `type:number` where it has no letter."""
    return "\n".join(
        f"{LETTERS[kind]}{number if number > 1 else ''}" if kind in LETTERS else f"{kind}:{number}"
        for kind, number in sorted(types.items())
        if number > 0
    )
