"""The projects that memories belong to, and the paths under which each was seen.

The id comes from the repository's first commit and remote, so a project that moves keeps its memories, and
is the same for all machines that share the database; the paths are each machine's own.
"""

from collections.abc import Iterable

from ragmem.catalog.database import Database
from ragmem.catalog.machine import prefix_of


class Projects:
    """Project ids with their names and paths."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def remember(
        self, project: str, *, name: str, root: str, root_commit: str = "", remote: str = ""
    ) -> None:
        """Keep a project and one more path of it; no write when all of it is known."""
        values = (project, name, root, root_commit, remote)
        path = prefix_of(self._database) + root
        with self._database.read() as connection:
            known = connection.execute(
                "SELECT 1 FROM project_paths JOIN projects ON projects.id = project_paths.project"
                " WHERE id = ? AND name = ? AND path = ? AND root_commit = ? AND remote = ?",
                (project, name, path, root_commit, remote),
            ).fetchone()
        if known:
            return
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO projects (id, name, root, root_commit, remote) VALUES (?,?,?,?,?)"
                " ON CONFLICT (id) DO UPDATE SET name = excluded.name, root = excluded.root,"
                " root_commit = excluded.root_commit, remote = excluded.remote",
                values,
            )
            connection.execute(
                "INSERT INTO project_paths (path, project) VALUES (?,?)"
                " ON CONFLICT (path) DO UPDATE SET project = excluded.project",
                (path, project),
            )

    def of_repository(self, root_commit: str, remote: str) -> str | None:
        """Return the project of a repository wherever it lies and whatever its folder is called.

        One that had no remote when it was first seen, or has lost it, is the same project; another remote
        is a fork, and another project.
        """
        if not root_commit:
            return None
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT id FROM projects WHERE root_commit = ?1 AND (remote = ?2 OR remote = '' OR ?2 = '')"
                " ORDER BY remote = ?2 DESC, id LIMIT 1",
                (root_commit, remote),
            ).fetchone()
        return str(row[0]) if row else None

    def at(self, paths: Iterable[str]) -> str | None:
        """Return the project that was seen at the first of these paths that is known."""
        here = prefix_of(self._database)
        with self._database.read() as connection:
            for path in paths:
                row = connection.execute(
                    "SELECT project FROM project_paths WHERE path = ?", (here + path,)
                ).fetchone()
                if row:
                    return str(row[0])
        return None

    def find(self, name: str) -> list[str]:
        """Return the ids of the projects with this id or name, or whose path it is."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id FROM projects WHERE id = ?1 OR lower(name) = lower(?1)"
                " UNION SELECT project FROM project_paths WHERE path = ?2"
                " UNION SELECT DISTINCT project FROM memories WHERE project = ?1 ORDER BY 1",
                (name, prefix_of(self._database) + name),
            ).fetchall()
        return [project for (project,) in rows]

    def paths(self, project: str) -> list[str]:
        """Return the paths under which a project was seen on this machine."""
        here = prefix_of(self._database)
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT path FROM project_paths WHERE project = ? ORDER BY path", (project,)
            ).fetchall()
        return [path.removeprefix(here) for (path,) in rows if path.startswith(here)]

    def names(self) -> dict[str, str]:
        """Return project id -> name."""
        with self._database.read() as connection:
            return dict(connection.execute("SELECT id, name FROM projects ORDER BY name, id").fetchall())
