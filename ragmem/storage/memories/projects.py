"""The projects of memories, and how each is recognized: by folders, first commits, remotes, aliases.

The id is created with the project and never changes; first commit, remotes and folders refer to it. Commits
and remotes are shared by all machines; paths belong to one machine.
"""

from collections.abc import Iterable, Mapping, Sequence

from ragmem.domain.model import NO_PROJECTS
from ragmem.frozen import dataclass
from ragmem.storage.sql.database import Connection, Database, delete_in
from ragmem.storage.sql.machine_id import prefix_of


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """The project data of a path at the last write there."""

    path: str
    project: str
    root_commit: str = ""
    remote: str = ""
    stamp: str = ""


@dataclass(frozen=True, slots=True)
class StoredProject:
    """A stored project; `named` says that a person chose its name."""

    id: str
    name: str
    root: str
    root_commit: str
    remote: str
    named: bool


class Projects:
    """Project ids with their names and references."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def remember(
        self,
        project: str,
        *,
        name: str,
        root: str,
        root_commit: str = "",
        remote: str = "",
        stamp: str = "",
        keep_name: bool = False,
    ) -> None:
        """Store a project and the data of one of its paths; writes nothing if all of it is known.

        A first commit belongs to the project that had it first. A name that a person chose stays, and so does
        any name with `keep_name`.
        """
        path = prefix_of(self._database) + root
        known = self._database.select_row(
            "SELECT p.name, p.named FROM project_paths s JOIN projects p ON p.id = s.project"
            " WHERE p.id = ? AND s.path = ? AND s.root_commit = ? AND s.remote = ? AND s.stamp = ?",
            (project, path, root_commit, remote, stamp),
        )
        if known and (keep_name or known[1] or known[0] == name):
            return
        kept = "projects.name" if keep_name else "CASE projects.named WHEN 1 THEN projects.name ELSE ?1 END"
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO projects (id, name, root, root_commit, remote) VALUES (?2,?1,?3,?4,?5)"
                f" ON CONFLICT (id) DO UPDATE SET name = {kept},"
                " root = CASE ?6 WHEN 1 THEN projects.root ELSE excluded.root END,"
                " root_commit = CASE projects.root_commit WHEN '' THEN excluded.root_commit"
                " ELSE projects.root_commit END,"
                " remote = CASE excluded.remote WHEN '' THEN projects.remote ELSE excluded.remote END",
                (name, project, root, root_commit, remote, int(keep_name)),
            )
            connection.execute(
                "INSERT INTO project_paths (path, project, root_commit, remote, stamp) VALUES (?,?,?,?,?)"
                " ON CONFLICT (path) DO UPDATE SET project = excluded.project,"
                " root_commit = excluded.root_commit, remote = excluded.remote, stamp = excluded.stamp",
                (path, project, root_commit, remote, stamp),
            )
            lead(connection, project, root_commit, remote)

    def claim(self, project: str, *, root_commit: str, remote: str) -> None:
        """Assign a first commit, unless another project has it, and a remote to a project."""
        with self._database.write() as connection:
            lead(connection, project, root_commit, remote)

    def places(self, paths: Iterable[str]) -> dict[str, ProjectPlace]:
        """Return path -> its place on this machine, for known paths."""
        here = prefix_of(self._database)
        found: dict[str, ProjectPlace] = {}
        for path, *rest in self._database.select_in(
            "SELECT path, project, root_commit, remote, stamp FROM project_paths WHERE path IN ({})",
            (here + path for path in paths),
        ):
            place = path.removeprefix(here)
            found[place] = ProjectPlace(place, *rest)
        return found

    def places_with_mark(self, mark: str) -> list[ProjectPlace]:
        """Return the places on this machine whose stamp starts with a repository's mark."""
        return self._places("stamp >= ? AND stamp < ?", f"{mark}|", f"{mark}}}")

    def _places(self, condition: str, *values: str) -> list[ProjectPlace]:
        here = prefix_of(self._database)
        rows = self._database.select(
            "SELECT path, project, root_commit, remote, stamp FROM project_paths"
            f" WHERE {condition} ORDER BY path",
            values,
        )
        return [ProjectPlace(path.removeprefix(here), *rest) for path, *rest in rows if path.startswith(here)]

    def of_commit(self, root_commit: str, remote: str = "") -> str | None:
        """Return the project of a first commit, regardless of the remote and the folder.

        If a person assigned the remote to another project that was seen with this commit, that one is
        returned.
        """
        if not root_commit:
            return None
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT r.project FROM project_remotes r WHERE r.remote = ?1 AND r.pinned = 1 AND ("
                " EXISTS (SELECT 1 FROM projects p WHERE p.id = r.project AND p.root_commit = ?2)"
                " OR EXISTS (SELECT 1 FROM project_paths s WHERE s.project = r.project"
                " AND s.root_commit = ?2)) ORDER BY r.project LIMIT 1",
                (remote, root_commit),
            ).fetchone()
            row = (
                row
                or connection.execute(
                    "SELECT project FROM project_commits WHERE root_commit = ?", (root_commit,)
                ).fetchone()
            )
        return str(row[0]) if row else None

    def of_remote(self, remote: str) -> str | None:
        """Return the only project that was seen with a remote; None for none or several."""
        if not remote:
            return None
        rows = self._database.select(
            "SELECT project FROM project_remotes WHERE remote = ? ORDER BY pinned DESC, project LIMIT 2",
            (remote,),
        )
        return str(rows[0][0]) if len(rows) == 1 else None

    def at(self, paths: Iterable[str]) -> str | None:
        """Return the project that was seen at the first of these paths that is known."""
        wanted = list(paths)
        known = self.places(wanted)
        return next((known[path].project for path in wanted if path in known), None)

    def find(self, name: str) -> list[str]:
        """Return the ids of the projects with this id, former id, name or path."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id FROM projects WHERE (id = ?1 OR lower(name) = lower(?1))"
                " AND id NOT IN (SELECT alias FROM project_aliases)"
                " UNION SELECT project FROM project_paths WHERE path = ?2"
                " UNION SELECT project FROM project_aliases WHERE alias = ?1"
                # The first memory suffices: a project may have all of them.
                " UNION SELECT CAST(?1 AS TEXT) WHERE EXISTS (SELECT 1 FROM memories WHERE project = ?1)"
                " AND NOT EXISTS (SELECT 1 FROM project_aliases WHERE alias = ?1) ORDER BY 1",
                (name, prefix_of(self._database) + name),
            ).fetchall()
            if not rows:
                rows = connection.execute(
                    "SELECT DISTINCT project FROM project_aliases WHERE lower(name) = lower(?) ORDER BY 1",
                    (name,),
                ).fetchall()
        return [project for (project,) in rows]

    def paths(self, project: str) -> list[str]:
        """Return the paths under which a project was seen on this machine."""
        return [place.path for place in self.places_of(project)]

    def places_of(self, project: str) -> list[ProjectPlace]:
        """Return the places of a project on this machine, by path."""
        return self._places("project = ?", project)

    def names(self) -> dict[str, str]:
        """Return project id -> name."""
        return dict(
            self._database.select(
                "SELECT id, name FROM projects WHERE id NOT IN (SELECT alias FROM project_aliases)"
                " ORDER BY name, id"
            )
        )

    def current_projects(self) -> list[StoredProject]:
        """Return all projects by name, without those that were joined with another."""
        rows = self._database.select(
            "SELECT id, name, root, root_commit, remote, named FROM projects"
            " WHERE id NOT IN (SELECT alias FROM project_aliases) ORDER BY lower(name), id"
        )
        return [StoredProject(row[0], row[1], row[2], row[3], row[4], bool(row[5])) for row in rows]

    def root(self, project: str) -> str:
        """Return the first folder of a project, or its successor if that is gone; otherwise ""."""
        row = self._database.select_row("SELECT root FROM projects WHERE id = ?", (project,))
        return str(row[0]) if row else ""

    def remotes(self, *, pinned: bool = True) -> dict[str, list[str]]:
        """Return project id -> its remotes, with or without those that a person assigned."""
        found: dict[str, list[str]] = {}
        given = "" if pinned else " WHERE remote NOT IN (SELECT remote FROM project_remotes WHERE pinned = 1)"
        for remote, project in self._database.select(
            f"SELECT remote, project FROM project_remotes{given} ORDER BY remote"
        ):
            found.setdefault(project, []).append(remote)
        return found

    def aliases(self) -> dict[str, str]:
        """Return former id -> the present project."""
        return dict(self._database.select("SELECT alias, project FROM project_aliases ORDER BY alias"))

    def moved_ids(self, places: Sequence[str]) -> dict[str, str]:
        """Return place id -> the id of a moved memory, for ids that texts get by their places."""
        if self._database.select_row("SELECT 1 FROM project_moves LIMIT 1") is None:
            return {}
        return dict(
            self._database.select_in("SELECT place, memory FROM project_moves WHERE place IN ({})", places)
        )

    def former(self, project: str) -> dict[str, str]:
        """Return memory id -> its former project, for the moved memories of a project."""
        return dict(
            self._database.select(
                "SELECT v.memory, v.former FROM project_moves v JOIN memories m ON m.id = v.memory"
                " WHERE m.project = ?",
                (project,),
            )
        )

    def former_of(self, memory: str) -> str:
        """Return the former project of a memory, perhaps an archived one; "" if it was not moved."""
        row = self._database.select_row("SELECT former FROM project_moves WHERE memory = ?", (memory,))
        return str(row[0]) if row else ""

    def alias_names(self, project: str) -> dict[str, str]:
        """Return former id -> former name of the projects that were joined with a project."""
        return dict(
            self._database.select(
                "SELECT alias, name FROM project_aliases WHERE project = ? ORDER BY alias", (project,)
            )
        )

    def former_names(self) -> dict[str, str]:
        """Return former id -> former name."""
        return dict(self._database.select("SELECT alias, name FROM project_aliases ORDER BY alias"))

    def sessions(self) -> dict[str, str]:
        """Return session of an assistant -> the one project that its transcripts belong to."""
        rows = self._database.select(
            "SELECT session, min(project) FROM transcripts WHERE session <> '' AND project <> ''"
            " GROUP BY session HAVING min(project) = max(project)"
        )
        return {session: project for session, project in rows if project not in NO_PROJECTS}

    def folders(self) -> dict[str, str]:
        """Return path -> project for all known paths on this machine."""
        here = prefix_of(self._database)
        rows = self._database.select("SELECT path, project FROM project_paths ORDER BY path")
        return {path.removeprefix(here): project for path, project in rows if path.startswith(here)}

    def assigned_ids(self, ids: Iterable[str]) -> set[str]:
        """Return those of the memories whose project a person chose."""
        rows = self._database.select_in(
            "SELECT memory FROM project_moves WHERE memory IN ({}) AND former = ''", ids
        )
        return {memory for (memory,) in rows}

    def note_moves(self, moves: Mapping[str, tuple[str, str]]) -> None:
        """Replace the moves of memories: place -> (id of the memory, its former project).

        An empty former project means that a person chose the present one.
        """
        with self._database.write() as connection:
            delete_in(connection, "project_moves", "memory", (memory for memory, _ in moves.values()))
            connection.executemany(
                "INSERT INTO project_moves (place, memory, former) VALUES (?,?,?)"
                " ON CONFLICT (place) DO UPDATE SET memory = excluded.memory, former = excluded.former",
                [(place, *move) for place, move in moves.items() if place != move[0] or not move[1]],
            )

    def forget_moves(self, ids: Iterable[str]) -> None:
        """Delete the moves of memories."""
        with self._database.write() as connection:
            delete_in(connection, "project_moves", "memory", ids)


def lead(connection: Connection, project: str, root_commit: str, remote: str) -> None:
    """Assign a first commit, unless another project has it, and a remote to a project."""
    if root_commit:
        connection.execute(
            "INSERT INTO project_commits (root_commit, project) VALUES (?,?)"
            " ON CONFLICT (root_commit) DO NOTHING",
            (root_commit, project),
        )
    if remote:
        connection.execute(
            "INSERT INTO project_remotes (remote, project) VALUES (?,?)"
            " ON CONFLICT (remote, project) DO NOTHING",
            (remote, project),
        )
