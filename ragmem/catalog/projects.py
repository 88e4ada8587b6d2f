"""The projects that memories belong to, and the paths under which each was seen.

The id comes from the repository's first commit and remote, so a project that moves keeps its memories.
"""

from collections.abc import Iterable

from ragmem.catalog.database import Database


class Projects:
    """Project ids with their names and paths."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def remember(self, project: str, *, name: str, root: str) -> None:
        """Keep a project and one more path of it; no write when both are known."""
        with self._database.read() as connection:
            known = connection.execute(
                "SELECT 1 FROM project_paths JOIN projects ON projects.id = project_paths.project"
                " WHERE project_paths.path = ? AND project_paths.project = ?",
                (root, project),
            ).fetchone()
        if known:
            return
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO projects (id, name, root) VALUES (?,?,?)"
                " ON CONFLICT (id) DO UPDATE SET root = excluded.root",
                (project, name, root),
            )
            connection.execute(
                "INSERT OR REPLACE INTO project_paths (path, project) VALUES (?,?)", (root, project)
            )

    def at(self, paths: Iterable[str]) -> str | None:
        """Return the project that was seen at the first of these paths that is known."""
        with self._database.read() as connection:
            for path in paths:
                row = connection.execute(
                    "SELECT project FROM project_paths WHERE path = ?", (path,)
                ).fetchone()
                if row:
                    return str(row[0])
        return None

    def find(self, name: str) -> list[str]:
        """Return the ids of the projects with this id or name, or whose path it is."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id FROM projects WHERE id = ?1 OR lower(name) = lower(?1)"
                " UNION SELECT project FROM project_paths WHERE path = ?1"
                " UNION SELECT DISTINCT project FROM memories WHERE project = ?1 ORDER BY 1",
                (name,),
            ).fetchall()
        return [project for (project,) in rows]

    def names(self) -> dict[str, str]:
        """Return project id -> name."""
        with self._database.read() as connection:
            return dict(connection.execute("SELECT id, name FROM projects ORDER BY name, id").fetchall())
