"""The projects that memories belong to, and by what each is known: folders, first commits, remotes, aliases.

The id is made when a project is founded and stays; first commit, remotes and folders lead to it. Commits and
remotes are the same for all machines that share the database; the paths are each machine's own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragmem.domain.model import NO_PROJECTS
from ragmem.storage.sql.database import Connection, Database, delete_in
from ragmem.storage.sql.machine_id import prefix_of


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """What was seen at a path the last time that something was written there."""

    path: str
    project: str
    root_commit: str = ""
    remote: str = ""
    stamp: str = ""


@dataclass(frozen=True, slots=True)
class StoredProject:
    """A project as the catalog has it; `named` says that a person gave it its name."""

    id: str
    name: str
    root: str
    root_commit: str
    remote: str
    named: bool


class Projects:
    """Project ids with their names and what leads to them."""

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
        """Keep a project and what was seen at one more path of it; no write when all of it is known.

        A first commit belongs to the project that had it first. A name that a person gave stays, and so does
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
        """Let a first commit, where no other project has it, and a remote lead to a project."""
        with self._database.write() as connection:
            lead(connection, project, root_commit, remote)

    def places(self, paths: Iterable[str]) -> dict[str, ProjectPlace]:
        """Return path -> what was seen there on this machine, of those paths that are known."""
        here = prefix_of(self._database)
        found: dict[str, ProjectPlace] = {}
        for path, *rest in self._database.select_in(
            "SELECT path, project, root_commit, remote, stamp FROM project_paths WHERE path IN ({})",
            (here + path for path in paths),
        ):
            place = path.removeprefix(here)
            found[place] = ProjectPlace(place, *rest)
        return found

    def marked(self, mark: str) -> list[ProjectPlace]:
        """Return the places on this machine whose stamp begins with a repository's mark."""
        here = prefix_of(self._database)
        rows = self._database.select(
            "SELECT path, project, root_commit, remote, stamp FROM project_paths"
            " WHERE stamp >= ? AND stamp < ? ORDER BY path",
            (f"{mark}|", f"{mark}}}"),
        )
        return [ProjectPlace(path.removeprefix(here), *rest) for path, *rest in rows if path.startswith(here)]

    def of_commit(self, root_commit: str, remote: str = "") -> str | None:
        """Return the project of a first commit, whatever the remote is and wherever the repository lies.

        Where a person gave the remote to another project that was seen with this commit, that is the one.
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
        """Return the one project that was seen with a remote; None where none was, or several."""
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
        """Return the ids of the projects with this id, former id or name, or whose path it is."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id FROM projects WHERE (id = ?1 OR lower(name) = lower(?1))"
                " AND id NOT IN (SELECT alias FROM project_aliases)"
                " UNION SELECT project FROM project_paths WHERE path = ?2"
                " UNION SELECT project FROM project_aliases WHERE alias = ?1"
                " UNION SELECT DISTINCT project FROM memories WHERE project = ?1"
                " AND project NOT IN (SELECT alias FROM project_aliases) ORDER BY 1",
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
        """Return what was seen at the paths of a project on this machine, in the order of the paths."""
        here = prefix_of(self._database)
        rows = self._database.select(
            "SELECT path, project, root_commit, remote, stamp FROM project_paths WHERE project = ?"
            " ORDER BY path",
            (project,),
        )
        return [ProjectPlace(path.removeprefix(here), *rest) for path, *rest in rows if path.startswith(here)]

    def names(self) -> dict[str, str]:
        """Return project id -> name."""
        return dict(
            self._database.select(
                "SELECT id, name FROM projects WHERE id NOT IN (SELECT alias FROM project_aliases)"
                " ORDER BY name, id"
            )
        )

    def standing(self) -> list[StoredProject]:
        """Return all projects in the order of their names, without those that were joined with another."""
        rows = self._database.select(
            "SELECT id, name, root, root_commit, remote, named FROM projects"
            " WHERE id NOT IN (SELECT alias FROM project_aliases) ORDER BY lower(name), id"
        )
        return [StoredProject(row[0], row[1], row[2], row[3], row[4], bool(row[5])) for row in rows]

    def root(self, project: str) -> str:
        """Return the folder in which a project was seen first, or is seen since that is gone; else ""."""
        row = self._database.select_row("SELECT root FROM projects WHERE id = ?", (project,))
        return str(row[0]) if row else ""

    def remotes(self, *, pinned: bool = True) -> dict[str, list[str]]:
        """Return project id -> the remotes that it was seen with, or those that no person gave to one."""
        found: dict[str, list[str]] = {}
        given = "" if pinned else " WHERE remote NOT IN (SELECT remote FROM project_remotes WHERE pinned = 1)"
        for remote, project in self._database.select(
            f"SELECT remote, project FROM project_remotes{given} ORDER BY remote"
        ):
            found.setdefault(project, []).append(remote)
        return found

    def aliases(self) -> dict[str, str]:
        """Return former id -> the project that it is now."""
        return dict(self._database.select("SELECT alias, project FROM project_aliases ORDER BY alias"))

    def moved_ids(self, places: Sequence[str]) -> dict[str, str]:
        """Return, of ids that texts would get by their places, those whose memories have another id."""
        if self._database.select_row("SELECT 1 FROM project_moves LIMIT 1") is None:
            return {}
        return dict(
            self._database.select_in("SELECT place, memory FROM project_moves WHERE place IN ({})", places)
        )

    def former(self, project: str) -> dict[str, str]:
        """Return memory id -> the project that it was moved from, of memories that are in a project now."""
        return dict(
            self._database.select(
                "SELECT v.memory, v.former FROM project_moves v JOIN memories m ON m.id = v.memory"
                " WHERE m.project = ?",
                (project,),
            )
        )

    def former_of(self, memory: str) -> str:
        """Return the project that a memory, perhaps an archived one, was moved from; "" where it was not."""
        row = self._database.select_row("SELECT former FROM project_moves WHERE memory = ?", (memory,))
        return str(row[0]) if row else ""

    def alias_names(self, project: str) -> dict[str, str]:
        """Return former id -> former name, of what was joined with a project."""
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
        """Return path -> project, of all paths at which any was seen on this machine."""
        here = prefix_of(self._database)
        rows = self._database.select("SELECT path, project FROM project_paths ORDER BY path")
        return {path.removeprefix(here): project for path, project in rows if path.startswith(here)}

    def assigned(self, ids: Iterable[str]) -> set[str]:
        """Return those memories whose project a person chose."""
        rows = self._database.select_in(
            "SELECT memory FROM project_moves WHERE memory IN ({}) AND former = ''", ids
        )
        return {memory for (memory,) in rows}

    def note_moves(self, moves: Mapping[str, tuple[str, str]]) -> None:
        """Keep place -> (id of the memory, its project before); what was known of these memories goes.

        Without a project before, a person has chosen the one that it has.
        """
        with self._database.write() as connection:
            delete_in(connection, "project_moves", "memory", (memory for memory, _ in moves.values()))
            connection.executemany(
                "INSERT INTO project_moves (place, memory, former) VALUES (?,?,?)"
                " ON CONFLICT (place) DO UPDATE SET memory = excluded.memory, former = excluded.former",
                [(place, *move) for place, move in moves.items() if place != move[0] or not move[1]],
            )

    def forget_moves(self, ids: Iterable[str]) -> None:
        """Forget that memories were moved."""
        with self._database.write() as connection:
            delete_in(connection, "project_moves", "memory", ids)


def lead(connection: Connection, project: str, root_commit: str, remote: str) -> None:
    """Let a first commit, where no other project has it, and a remote lead to a project."""
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
