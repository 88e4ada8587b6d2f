"""Completion values from the databases, read without a lock and without creating a file.

Each function takes the path of a database (None: nothing can be read) and the typed prefix, and returns up to
`LIMIT` values with their hints.
"""

import sqlite3
from pathlib import Path

from ragmem.storage.sql.sqlite_files import open_read_only

LIMIT = 50
PATIENCE = 0.2
"""Seconds that Tab waits for a database that another process holds."""

FEWEST_LETTERS = 3
"""Letters of a word that is searched in titles: shorter ones occur in most of them."""

SHORT_ID_LENGTH = 12
"""As in `domain.model`, which takes as long to import as everything else; a test compares them."""

Pairs = list[tuple[str, str]]
"""Values and their hints."""


def _query(path: Path | None, sql: str, *parameters: str | int) -> Pairs:
    """Return the two columns of a query as texts; nothing where there is no readable file."""
    if path is None or not path.is_file():
        return []
    try:
        with open_read_only(path, patience=PATIENCE) as connection:
            return [(str(value), str(hint)) for value, hint in connection.execute(sql, parameters)]
    except sqlite3.Error:
        return []


def _above(prefix: str) -> str:
    """Return an upper bound for texts with this prefix; unlike LIKE it has no wildcards."""
    return prefix + "\U0010ffff"


def _count_memories(path: Path | None, column: str, table: str, order: str, prefix: str) -> Pairs:
    """Return the values with this prefix, each with the number of its memories."""
    sql = (
        f"SELECT {column}, count(*) FROM {table} WHERE {column} >= ? AND {column} < ?"
        f" GROUP BY {column} ORDER BY {order} LIMIT {LIMIT}"
    )
    return [(value, memories_hint(count)) for value, count in _query(path, sql, prefix, _above(prefix))]


def memories_hint(count: str) -> str:
    """Return a number of memories as a hint."""
    return "1 memory" if count == "1" else f"{count} memories"


def sources(path: Path | None, prefix: str) -> Pairs:
    """Return the names of sources that were seeded."""
    return _count_memories(path, "source", "memories", "source", prefix)


def projects(path: Path | None, prefix: str) -> Pairs:
    """Return the names of projects, in any case."""
    folded = prefix.lower()
    return _query(
        path,
        "SELECT name, root FROM projects WHERE lower(name) >= ? AND lower(name) < ?"
        f" AND id NOT IN (SELECT alias FROM project_aliases) ORDER BY name, root LIMIT {LIMIT}",
        folded,
        _above(folded),
    )


def project_parts(path: Path | None, prefix: str) -> Pairs:
    """Return the parts that can be split off a project: former ids, remotes and folders."""
    return _query(
        path,
        "SELECT alias, 'was ' || name FROM project_aliases WHERE alias >= ?1 AND alias < ?2"
        " UNION SELECT r.remote, p.name FROM project_remotes r JOIN projects p ON p.id = r.project"
        " WHERE r.remote >= ?1 AND r.remote < ?2"
        " UNION SELECT s.path, p.name FROM project_paths s JOIN projects p ON p.id = s.project"
        f" WHERE s.path >= ?1 AND s.path < ?2 ORDER BY 1 LIMIT {LIMIT}",
        prefix,
        _above(prefix),
    )


def folders(path: Path | None, prefix: str) -> Pairs:
    """Return the folders of projects, including missing ones."""
    return _query(
        path,
        "SELECT s.path, p.name FROM project_paths s JOIN projects p ON p.id = s.project"
        f" WHERE s.path >= ? AND s.path < ? ORDER BY s.path LIMIT {LIMIT}",
        prefix,
        _above(prefix),
    )


def memories(path: Path | None, prefix: str) -> Pairs:
    """Return ids of memories, the latest first."""
    # By number, not by moment: columns after the text require reading the text.
    return _find_memories(path, "memories", "n DESC", prefix)


def archived(path: Path | None, prefix: str) -> Pairs:
    """Return ids of memories in the archive, the latest first."""
    # The archive holds each whole row as JSON. A memory that was archived twice is one.
    row = ", ".join(f"json_extract(memory, '$.{name}') AS {name}" for name in ("title", "kind", "event_at"))
    table = f"(SELECT id, {row}, max(archived_at) AS latest FROM archive GROUP BY id)"
    return _find_memories(path, table, "latest DESC, id", prefix)


def proposals(path: Path | None, prefix: str) -> Pairs:
    """Return ids of memories and skills that were proposed, whatever was decided, the latest first."""
    table = (
        "(SELECT m.id, m.title, m.kind, m.event_at FROM memories m JOIN lives l ON l.id = m.id"
        " WHERE l.approval <> ''"
        " UNION ALL SELECT s.id, s.name, 'skill', s.made_at FROM skill_drafts s)"
    )
    return _find_memories(path, table, "event_at DESC, id", prefix)


def shared(path: Path | None, prefix: str) -> Pairs:
    """Return ids of what members have shared, whatever was decided on it, the last to come in first."""
    table = (
        "(SELECT id, coalesce(json_extract(body, '$.title'), '') AS title, 'from ' || member AS kind,"
        " seen_at AS event_at FROM shared_records WHERE kind = 'memory' AND withdrawn = 0)"
    )
    return _find_memories(path, table, "event_at DESC, id", prefix)


def members(path: Path | None, prefix: str) -> Pairs:
    """Return the ids of members who have shared something."""
    return _count_memories(path, "member", "shared_records", "member", prefix)


def _find_memories(path: Path | None, table: str, order: str, prefix: str) -> Pairs:
    """Return ids with this prefix; without a match, ids of memories whose titles have the typed words."""
    folded = prefix.lower()
    words = [word for word in folded.split() if len(word) >= FEWEST_LETTERS]
    select = (
        "SELECT substr(id, 1, ?), kind || ' ' || date(event_at / 1000000, 'unixepoch') || ': ' || title"
        f" FROM {table}"
    )
    end = f"ORDER BY {order} LIMIT {LIMIT}"
    if not prefix:
        return _query(path, f"{select} {end}", SHORT_ID_LENGTH)
    length = max(SHORT_ID_LENGTH, len(prefix))
    # The plus makes SQLite use the index of ids, which finds few, and not the index of the order.
    matches = _query(
        path,
        f"{select} WHERE id >= ? AND id < ? ORDER BY +{order} LIMIT {LIMIT}",
        length,
        folded,
        _above(folded),
    )
    if matches or not words:
        return matches
    titled = " AND ".join("instr(lower(title), ?)" for _ in words)
    return _query(path, f"{select} WHERE {titled} {end}", SHORT_ID_LENGTH, *words)


def tags(path: Path | None, prefix: str) -> Pairs:
    """Return tags, the most frequent first."""
    return _count_memories(
        path, "value", "memories, json_each(memories.tags)", "count(*) DESC, value", prefix
    )


def specs(path: Path | None, prefix: str) -> Pairs:
    """Return specs."""
    return _count_memories(path, "spec", "memories", "spec", prefix)


def sessions(path: Path | None, prefix: str) -> Pairs:
    """Return ids of sessions with a recall, an injection or a transcript, the latest first."""
    return _query(
        path,
        "SELECT session, 'last seen ' || date(max(at) / 1000000, 'unixepoch') FROM ("
        "SELECT session, recalled_at AS at FROM recalled_in UNION ALL"
        " SELECT session, injected_at FROM injections UNION ALL SELECT session, read_at FROM transcripts)"
        f" WHERE session >= ? AND session < ? GROUP BY session ORDER BY max(at) DESC LIMIT {LIMIT}",
        prefix,
        _above(prefix),
    )


def gc_runs(path: Path | None, prefix: str) -> Pairs:
    """Return runs of gc that can be undone, the latest first."""
    return _count_memories(path, "run", "archive", "max(archived_at) DESC", prefix)


def storing_runs(path: Path | None, prefix: str) -> Pairs:
    """Return runs that stored memories, the latest first."""
    from ragmem.domain.model import digest  # noqa: PLC0415 - only these runs need it, and it costs 15 ms

    # As `storage.activity.storing_runs` names them.
    rows = _query(
        path,
        "SELECT updated_at, datetime(updated_at / 1000000, 'unixepoch') || ',' || count(*)"
        " FROM memories GROUP BY updated_at ORDER BY updated_at DESC",
    )
    found = []
    for stamp, hint in rows:
        run = digest("stored", stamp)[:8]
        if run.startswith(prefix.lower()):
            moment, _, count = hint.rpartition(",")
            found.append((run, f"{moment}, {memories_hint(count)}"))
    return found


def entities(path: Path | None, prefix: str) -> Pairs:
    """Return names of entities, in any case, the best connected first."""
    folded = prefix.lower()
    # An entity has a row in each project.
    return _query(
        path,
        "SELECT id, max(degree) || iif(max(degree) = 1, ' relation', ' relations') FROM store_nodes"
        " WHERE folded >= ? AND folded < ? AND present"
        f" GROUP BY id ORDER BY max(degree) DESC, id LIMIT {LIMIT}",
        folded,
        _above(folded),
    )


def symbols(path: Path | None, prefix: str) -> Pairs:
    """Return names, qualified names and paths of indexed code."""
    # Each by the index that starts with the root; a dot indicates a qualified name, a slash a path.
    column, table = ("path", "code_files") if "/" in prefix else ("name", "code_symbols")
    if "/" not in prefix and any(mark in prefix for mark in ".:#"):
        column = "qualified"
    hint = "t.language" if table == "code_files" else "t.kind || ' ' || f.path"
    files = "" if table == "code_files" else "JOIN code_files f ON f.n = t.file"
    return _query(
        path,
        f"SELECT t.{column}, min({hint}) FROM code_roots r JOIN {table} t ON t.root = r.n {files}"
        f" WHERE t.{column} >= ? AND t.{column} < ? GROUP BY t.{column} ORDER BY t.{column} LIMIT {LIMIT}",
        prefix,
        _above(prefix),
    )


def merges(path: Path | None, prefix: str) -> Pairs:
    """Return keys of merges, also by the names that were merged."""
    hint = "name || ' is ' || canonical || ', by ' || rule"
    return _find_merges(path, hint, "entity_names WHERE canonical <> name ORDER BY canonical, name", prefix)


def undone_merges(path: Path | None, prefix: str) -> Pairs:
    """Return keys of undone merges, also by the names that are kept apart."""
    hint = "name || ', no longer by ' || rule"
    return _find_merges(path, hint, "entity_apart WHERE name <> '' ORDER BY name", prefix)


def _find_merges(path: Path | None, hint: str, rows: str, prefix: str) -> Pairs:
    from ragmem.domain.model import digest  # noqa: PLC0415 - only keys of merges need it, and it costs 15 ms

    # As `storage.names.merges` makes them.
    folded = prefix.lower()
    sql = f"SELECT project || char(31) || name || char(31) || rule, {hint} FROM {rows}"
    keyed = [
        (digest("merge", *parts.split("\x1f"), length=8), explained) for parts, explained in _query(path, sql)
    ]
    found = [(key, explained) for key, explained in keyed if key.startswith(folded)]
    return found or [(key, explained) for key, explained in keyed if folded in explained.lower()]


def agents(path: Path | None, prefix: str) -> Pairs:
    """Return the ids of agents, the latest first."""
    sql = "SELECT id, status || ' ' || current_task FROM agents"
    return _query_latest(path, sql, "id", "seen_at", prefix)


def events(path: Path | None, prefix: str) -> Pairs:
    """Return the types of events that happened, the latest first."""
    sql = "SELECT type, 'latest by ' || agent FROM events"
    return _query_latest(path, sql, "type", "max(id)", prefix)


def _query_latest(path: Path | None, sql: str, column: str, latest: str, prefix: str) -> Pairs:
    return _query(
        path,
        f"{sql} WHERE {column} >= ? AND {column} < ? GROUP BY {column} ORDER BY {latest} DESC LIMIT {LIMIT}",
        prefix,
        _above(prefix),
    )
