"""Update all rows of a project when it is joined with another, split off again, or moved."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from ragmem.storage.sharing.shared_records import move_shared
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.machine_id import prefix_of

_TOLD = ("injections", "violations", "sessions", "transcripts", "skill_drafts")
"""Tables of events in a project, and of what was drafted from them."""


def adopt(database: Database, former: str, project: str) -> None:
    """Transfer all references from one project to another, and make the former id its alias.

    Memories are moved separately. Code is read again where both projects have some.
    """
    with database.write() as connection:
        name = _name(connection, former)
        detail = {
            "paths": _column(connection, "SELECT path FROM project_paths WHERE project = ?", former),
            "commits": _column(
                connection, "SELECT root_commit FROM project_commits WHERE project = ?", former
            ),
            "remotes": connection.execute(
                "SELECT remote, pinned FROM project_remotes WHERE project = ? ORDER BY remote", (former,)
            ).fetchall(),
        }
        connection.execute(
            "INSERT INTO project_aliases (alias, project, name, detail) VALUES (?,?,?,?)"
            " ON CONFLICT (alias) DO UPDATE SET project = excluded.project",
            (former, project, name, orjson.dumps(detail).decode()),
        )
        connection.execute("UPDATE project_aliases SET project = ? WHERE project = ?", (project, former))
        connection.execute("UPDATE project_paths SET project = ? WHERE project = ?", (project, former))
        connection.execute("UPDATE project_commits SET project = ? WHERE project = ?", (project, former))
        connection.execute(
            "INSERT INTO project_remotes (remote, project, pinned)"
            " SELECT remote, ?1, pinned FROM project_remotes WHERE project = ?2"
            " ON CONFLICT (remote, project) DO NOTHING",
            (project, former),
        )
        connection.execute("DELETE FROM project_remotes WHERE project = ?", (former,))
        connection.execute(
            "INSERT INTO entity_apart (project, name, rule, made_at)"
            " SELECT ?1, name, rule, made_at FROM entity_apart WHERE project = ?2"
            " ON CONFLICT (project, name, rule) DO NOTHING",
            (project, former),
        )
        connection.execute("DELETE FROM entity_apart WHERE project = ?", (former,))
        connection.execute(
            "DELETE FROM code_roots WHERE project = ?1"
            " AND EXISTS (SELECT 1 FROM code_roots c WHERE c.project = ?2)",
            (former, project),
        )
        connection.execute("UPDATE code_roots SET project = ? WHERE project = ?", (project, former))
        move_shared(connection, former, project)
        for table in _TOLD:
            connection.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (project, former))


def release(database: Database, alias: str) -> None:
    """Make a former id an independent project again, with its folders, commits and remotes."""
    with database.write() as connection:
        row = connection.execute(
            "SELECT project, detail FROM project_aliases WHERE alias = ?", (alias,)
        ).fetchone()
        if row is None:
            return
        project, detail = row[0], _detail(row[1])
        for batch in batches(detail["paths"]):
            connection.execute(
                f"UPDATE project_paths SET project = ? WHERE path IN ({marks(batch)}) AND project = ?",
                [alias, *batch, project],
            )
        for batch in batches(detail["commits"]):
            connection.execute(
                f"UPDATE project_commits SET project = ? WHERE root_commit IN ({marks(batch)})"
                " AND project = ?",
                [alias, *batch, project],
            )
        for remote, pinned in detail["remotes"]:
            _give(connection, remote, project, alias, pinned=bool(pinned))
        connection.execute("DELETE FROM project_aliases WHERE alias = ?", (alias,))


def part(
    database: Database,
    project: str,
    new: str,
    *,
    name: str,
    root: str,
    paths: Sequence[str],
    pinned: Iterable[str],
) -> None:
    """Create a project from some paths of another; `pinned` remotes belong to it from now on."""
    here = prefix_of(database)
    with database.write() as connection:
        (commit,) = connection.execute(
            "SELECT root_commit FROM projects WHERE id = ?", (project,)
        ).fetchone() or ("",)
        connection.execute(
            "INSERT INTO projects (id, name, root, root_commit, remote, named) VALUES (?,?,?,?,'',1)"
            " ON CONFLICT (id) DO NOTHING",
            (new, name, root, commit),
        )
        for path in paths:
            connection.execute(
                "INSERT INTO project_paths (path, project, root_commit, remote, stamp) VALUES (?,?,'','','')"
                " ON CONFLICT (path) DO UPDATE SET project = excluded.project",
                (here + path, new),
            )
        for remote in pinned:
            _give(connection, remote, project, new, pinned=True)


def rename(database: Database, project: str, name: str) -> None:
    """Give a project a permanent name."""
    with database.write() as connection:
        connection.execute(
            "INSERT INTO projects (id, name, root, named) VALUES (?,?,?,1)"
            " ON CONFLICT (id) DO UPDATE SET name = excluded.name, named = 1",
            (project, name, name),
        )


def move_paths(database: Database, moves: Mapping[str, str]) -> None:
    """Change the paths of places on this machine."""
    here = prefix_of(database)
    with database.write() as connection:
        for old, new in moves.items():
            connection.execute("DELETE FROM project_paths WHERE path = ?", (here + new,))
            connection.execute("UPDATE project_paths SET path = ? WHERE path = ?", (here + new, here + old))
            connection.execute("UPDATE projects SET root = ? WHERE root = ?", (new, old))


def part_supersessions(database: Database, ids: Iterable[str]) -> None:
    """Delete supersessions between memories that are now in different projects."""
    with database.write() as connection:
        for batch in batches(ids):
            connection.execute(
                f"DELETE FROM supersessions WHERE (older IN ({marks(batch)}) OR newer IN ({marks(batch)}))"
                " AND EXISTS (SELECT 1 FROM memories a, memories b WHERE a.id = supersessions.older"
                " AND b.id = supersessions.newer AND a.project <> b.project)",
                [*batch, *batch],
            )


def _give(connection: Connection, remote: str, project: str, new: str, *, pinned: bool) -> None:
    connection.execute("DELETE FROM project_remotes WHERE remote = ? AND project = ?", (remote, project))
    connection.execute(
        "INSERT INTO project_remotes (remote, project, pinned) VALUES (?,?,?)"
        " ON CONFLICT (remote, project) DO UPDATE SET pinned = excluded.pinned",
        (remote, new, int(pinned)),
    )


def _name(connection: Connection, project: str) -> str:
    row = connection.execute("SELECT name FROM projects WHERE id = ?", (project,)).fetchone()
    return str(row[0]) if row else project


def _column(connection: Connection, statement: str, value: str) -> list[str]:
    return [row[0] for row in connection.execute(statement, (value,)).fetchall()]


def _detail(text: str) -> dict[str, Any]:
    found = orjson.loads(text) if text else {}
    return {"paths": [], "commits": [], "remotes": [], **found}
