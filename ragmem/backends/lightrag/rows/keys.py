"""The numbers under which workspaces, chunks, entities and relations are stored."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import orjson

from ragmem.storage.sql.batches import PARAMETERS, batches

SPACE = "(SELECT n FROM store_spaces WHERE name = ?)"
"""The number of a workspace as an SQL expression; NULL for an unknown one, which matches no row."""


def sort_pair(one: str, other: str) -> tuple[str, str]:
    """Return the two ends of an edge in stored order: edges have no direction."""
    return (one, other) if one <= other else (other, one)


# To read many rows, their keys are the outer loop (CROSS JOIN keeps the order). With `IN` and a long list,
# SQLite would read the whole table, or all of an index that begins with the workspace.


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
    condition: str = "1",
) -> dict[str, int]:
    """Return id -> value of a column of those rows of a workspace that exist and meet a condition."""
    found: dict[str, int] = {}
    for part in batches(dict.fromkeys(ids)):
        found.update(
            connection.execute(
                f"SELECT o.id, o.{column} FROM {values_table(part)} CROSS JOIN {table} AS o"
                f" ON o.id = column1 AND o.space = {SPACE} WHERE {condition}",
                (*part, workspace),
            ).fetchall()
        )
    return found


def chunk_numbers(connection: sqlite3.Connection, workspace: str, ids: Iterable[str]) -> dict[str, int]:
    """Return id -> number of those chunks that are known."""
    return by_id(connection, "store_chunks", "n", workspace, ids)


def make_chunks(connection: sqlite3.Connection, workspace: str, ids: Iterable[str]) -> dict[str, int]:
    """Return id -> number of chunks; unknown ones become chunks of no document."""
    wanted = list(dict.fromkeys(ids))
    space = make_space(connection, workspace)
    connection.executemany(
        "INSERT OR IGNORE INTO store_chunks (space, position, id) VALUES (?, 0, ?)",
        [(space, chunk) for chunk in wanted],
    )
    return chunk_numbers(connection, workspace, wanted)


def node_numbers(connection: sqlite3.Connection, workspace: str, names: Iterable[str]) -> dict[str, int]:
    """Return name -> number of those entities that have a row."""
    return by_id(connection, "store_nodes", "n", workspace, names)


def make_nodes(
    connection: sqlite3.Connection, workspace: str, names: Iterable[str], *, present: bool = True
) -> dict[str, int]:
    """Return name -> number of entities; unknown ones get a row, `present` ones become nodes."""
    wanted = sorted(set(names))
    space = make_space(connection, workspace)
    connection.executemany(
        "INSERT INTO store_nodes (space, id, lowered, present) VALUES (?, ?, ?, ?)"
        f" ON CONFLICT (space, id) DO {'UPDATE SET present = 1 WHERE NOT present' if present else 'NOTHING'}",
        [(space, name, None if name == (lowered := name.lower()) else lowered, present) for name in wanted],
    )
    return node_numbers(connection, workspace, wanted)


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
    return {kind: int(count) for kind, _, count in (line.rpartition(":") for line in stored.splitlines())}


def write_types(types: Mapping[str, int]) -> str:
    """Return types and their numbers as lines `type:number`."""
    return "\n".join(f"{kind}:{count}" for kind, count in sorted(types.items()) if count > 0)
