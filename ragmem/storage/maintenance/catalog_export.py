"""Read and write the contents of a catalog in a fixed order, for exports and copies.

The graph of code is left out: every machine derives it from its own files.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from ragmem.domain.model import Chunk, Kind, Memory
from ragmem.frozen import dataclass
from ragmem.storage.lifecycle.archive import Archive
from ragmem.storage.lifecycle.forgotten_texts import forgotten_texts, mark_forgotten, unmark_all_forgotten
from ragmem.storage.memories.files import GONE, SeenFile, file_values
from ragmem.storage.memories.memories import Memories
from ragmem.storage.memories.projects import lead
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.machine_id import prefix_of
from ragmem.storage.sql.rows import SELECT_MEMORY, chunk_from, memory_from, to_stamp

PAGE = 100
"""Memories that are read at a time, to limit main memory."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A filter for memories; empty fields select everything."""

    projects: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    since: datetime | None = None

    @property
    def whole(self) -> bool:
        """Return whether everything is selected."""
        return self == Selection()

    def condition(self) -> tuple[str, list[str | int]]:
        """Return an SQL condition on memories `m`, and its parameters."""
        conditions, parameters = ["1 = 1"], list[str | int]()
        for column, wanted in (("project", self.projects), ("source", self.sources), ("kind", self.kinds)):
            if wanted:
                conditions.append(f"m.{column} IN ({marks(wanted)})")
                parameters += [str(value) for value in wanted]
        if self.since is not None:
            conditions.append("m.event_at >= ?")
            parameters.append(to_stamp(self.since))
        return " AND ".join(conditions), parameters


EVERYTHING = Selection()


@dataclass(frozen=True, slots=True)
class Project:
    """A project with the paths under which it was seen."""

    id: str
    name: str
    root: str
    root_commit: str
    remote: str
    paths: tuple[str, ...]
    named: bool = False
    remotes: Mapping[str, bool] | None = None
    """Its remotes, and whether a person assigned them; None where the export does not say."""
    commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alias:
    """A former project: its name, the present project, and its paths, commits and remotes as JSON."""

    id: str
    project: str
    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class Move:
    """A moved memory: the id that its place would give it, its own id, and its former project."""

    place: str
    memory: str
    former: str


@dataclass(frozen=True, slots=True)
class ForgottenText:
    """The hash of a text that a person forgot, and the run."""

    id: str
    run: str


Tie = Alias | Move | ForgottenText
"""Additional data about projects and memories."""


LogRow = tuple[int, str, str]
"""A row of the log: microseconds since 1970, operation, detail as JSON."""


class Contents:
    """The rows of one catalog. Within `database.read()` all reads are consistent."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._memories = Memories(database)
        self.archive = Archive(database)

    def counts(self, selection: Selection = EVERYTHING) -> dict[str, int]:
        """Return the numbers of projects, memories, archived memories and seen files.

        Only a complete selection has an archive and files, and all projects; otherwise the projects are those
        of the memories.
        """
        condition, parameters = selection.condition()
        with self._database.read() as connection:
            (memories,) = connection.execute(
                f"SELECT count(*) FROM memories m WHERE {condition}", parameters
            ).fetchone()
            counts = {"projects": len(self.projects(selection)), "memories": int(memories)}
            counts["archive"] = self.archive.count() if selection.whole else 0
            counts["files"] = len(self.files()) if selection.whole else 0
        return counts

    def memories(
        self, selection: Selection = EVERYTHING, *, after: str = ""
    ) -> Iterator[tuple[Memory, tuple[Chunk, ...]]]:
        """Yield memories with their chunks in the order of their ids, those after an id, a page at a time.

        Until the iterator is exhausted, the same thread cannot write to the database.
        """
        condition, parameters = selection.condition()
        while True:
            with self._database.read() as connection:
                ids = [
                    identifier
                    for (identifier,) in connection.execute(
                        f"SELECT m.id FROM memories m WHERE m.id > ? AND {condition}"
                        f" ORDER BY m.id LIMIT {PAGE}",
                        [after, *parameters],
                    )
                ]
                yield from self.of(ids)
            if not ids:
                return
            after = ids[-1]

    def of(self, ids: Sequence[str]) -> Iterator[tuple[Memory, tuple[Chunk, ...]]]:
        """Yield those of a page of memories that exist, with their chunks."""
        if not ids:
            return
        with self._database.read() as connection:
            spans: dict[str, list[Any]] = {}
            for identifier, *span in connection.execute(
                "SELECT m.id, c.id, c.position, c.heading, c.begin_at, c.end_at FROM chunks c"
                f" JOIN memories m ON m.n = c.memory WHERE m.id IN ({marks(ids)})"
                " ORDER BY c.memory, c.position",
                ids,
            ):
                spans.setdefault(identifier, []).append(span)
            # One at a time, because a page of the largest texts would not fit into main memory.
            for identifier in ids:
                row = connection.execute(
                    f"SELECT {SELECT_MEMORY} FROM memories m WHERE m.id = ?", (identifier,)
                ).fetchone()
                if row is not None:
                    memory = memory_from(row)
                    chunks = (chunk_from(memory, tuple(span)) for span in spans.get(identifier, []))
                    yield memory, tuple(chunks)

    def projects(self, selection: Selection = EVERYTHING) -> list[Project]:
        """Return the projects in the order of their ids: all, or those of the selected memories."""
        condition, parameters = selection.condition()
        here = prefix_of(self._database)
        paths: dict[str, list[str]] = {}
        with self._database.read() as connection:
            for path, project in connection.execute("SELECT path, project FROM project_paths"):
                if path.startswith(here):
                    paths.setdefault(project, []).append(path.removeprefix(here))
            rows = connection.execute(
                "SELECT id, name, root, root_commit, remote, named FROM projects"
            ).fetchall()
            remotes: dict[str, dict[str, bool]] = {}
            for remote, project, pinned in connection.execute(
                "SELECT remote, project, pinned FROM project_remotes"
            ):
                remotes.setdefault(project, {})[remote] = bool(pinned)
            commits: dict[str, list[str]] = {}
            for commit, project in connection.execute("SELECT root_commit, project FROM project_commits"):
                commits.setdefault(project, []).append(commit)
            if not selection.whole:
                wanted = {
                    project
                    for (project,) in connection.execute(
                        f"SELECT DISTINCT m.project FROM memories m WHERE {condition}", parameters
                    )
                }
                rows = [row for row in rows if row[0] in wanted]
        return [
            Project(
                identifier,
                name,
                root,
                commit,
                remote,
                tuple(sorted(paths.get(identifier, []))),
                bool(named),
                dict(sorted(remotes.get(identifier, {}).items())),
                tuple(sorted(commits.get(identifier, []))),
            )
            for identifier, name, root, commit, remote, named in sorted(rows)
        ]

    def aliases(self, selection: Selection = EVERYTHING) -> list[Alias]:
        """Return the former projects in the order of their ids: all, or those of the selected memories'."""
        rows = self._database.select("SELECT alias, project, name, detail FROM project_aliases")
        wanted = None if selection.whole else {project.id for project in self.projects(selection)}
        return [Alias(*row) for row in sorted(rows) if wanted is None or row[1] in wanted]

    def moves(self, selection: Selection = EVERYTHING) -> list[Move]:
        """Return the moves of all or the selected memories, in the order of their places."""
        condition, parameters = selection.condition()
        only = "" if selection.whole else f" WHERE memory IN (SELECT m.id FROM memories m WHERE {condition})"
        rows = self._database.select(
            f"SELECT place, memory, former FROM project_moves{only}",
            [] if selection.whole else parameters,
        )
        return [Move(*row) for row in sorted(rows)]

    def forgotten(self) -> list[ForgottenText]:
        """Return the texts that a person forgot, in the order of their hashes."""
        with self._database.read() as connection:
            return [ForgottenText(*row) for row in forgotten_texts(connection)]

    def files(self) -> list[SeenFile]:
        """Return the files that this machine has seeded and still has, in the order of source and path."""
        here = prefix_of(self._database)
        rows = self._database.select("SELECT source, path, size, modified_ns, rules, tally FROM files")
        # Sorted here and not by the database, whose collation may depend on its locale.
        return [
            SeenFile(source, path.removeprefix(here), size, modified, rules, orjson.loads(tally))
            for source, path, size, modified, rules, tally in sorted(rows)
            if path.startswith(here) and size != GONE
        ]

    def log(self) -> list[LogRow]:
        """Return the log, latest last."""
        return self._database.select("SELECT at, operation, detail FROM log ORDER BY n")

    def write_memories(self, items: Sequence[tuple[Memory, Sequence[Chunk]]]) -> None:
        """Write memories unchanged; existing ones are replaced, including recalls and creation date."""
        with self._database.write() as connection:
            self._memories.accept(items)
            connection.executemany(
                "UPDATE memories SET recalls = ?, created_at = ? WHERE id = ?",
                [(memory.recalls, to_stamp(memory.created_at), memory.id) for memory, _ in items],
            )

    def write_projects(self, projects: Iterable[Project], *, replace: bool = False) -> int:
        """Add projects and paths; existing ones stay unless `replace`. Return the number of new projects."""
        update = (
            "UPDATE SET name = excluded.name, root = excluded.root, root_commit = excluded.root_commit,"
            " remote = excluded.remote, named = excluded.named"
        )
        added = 0
        here = prefix_of(self._database)
        with self._database.write() as connection:
            for project in projects:
                known = connection.execute("SELECT 1 FROM projects WHERE id = ?", (project.id,)).fetchone()
                added += known is None
                connection.execute(
                    "INSERT INTO projects (id, name, root, root_commit, remote, named) VALUES (?,?,?,?,?,?)"
                    f" ON CONFLICT (id) DO {update if replace else 'NOTHING'}",
                    (
                        project.id,
                        project.name,
                        project.root,
                        project.root_commit,
                        project.remote,
                        int(project.named),
                    ),
                )
                connection.executemany(
                    "INSERT INTO project_paths (path, project, root_commit, remote) VALUES (?,?,?,?)"
                    " ON CONFLICT (path) DO "
                    + ("UPDATE SET project = excluded.project" if replace else "NOTHING"),
                    [
                        (here + path, project.id, project.root_commit, project.remote)
                        for path in project.paths
                    ],
                )
                if project.remotes is None:
                    lead(connection, project.id, project.root_commit, project.remote)
                for commit in project.commits:
                    lead(connection, project.id, commit, "")
                connection.executemany(
                    "INSERT INTO project_remotes (remote, project, pinned) VALUES (?,?,?)"
                    " ON CONFLICT (remote, project) DO NOTHING",
                    [(remote, project.id, int(pinned)) for remote, pinned in (project.remotes or {}).items()],
                )
        return added

    def clear_ties(self) -> None:
        """Delete remotes, commits, aliases, moves and forgotten texts."""
        with self._database.write() as connection:
            for table in ("project_remotes", "project_commits", "project_aliases", "project_moves"):
                connection.execute(f"DELETE FROM {table}")
            unmark_all_forgotten(connection)

    def write_ties(self, ties: Iterable[Tie]) -> None:
        """Add aliases, moves and forgotten texts; existing ones stay.

        A project that has memories here under its own id was not joined with another.
        """
        with self._database.write() as connection:
            for tie in ties:
                match tie:
                    case Alias():
                        connection.execute(
                            "INSERT INTO project_aliases (alias, project, name, detail)"
                            " SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS"
                            " (SELECT 1 FROM memories WHERE project = ?1)"
                            " ON CONFLICT (alias) DO NOTHING",
                            (tie.id, tie.project, tie.name, tie.detail),
                        )
                    case Move():
                        connection.execute(
                            "INSERT INTO project_moves (place, memory, former) VALUES (?,?,?)"
                            " ON CONFLICT (place) DO NOTHING",
                            (tie.place, tie.memory, tie.former),
                        )
                    case ForgottenText():
                        mark_forgotten(connection, tie.id, tie.run)

    def write_files(self, files: Sequence[SeenFile]) -> int:
        """Add files that this machine has seen; existing ones stay. Return how many were new."""
        here = prefix_of(self._database)
        with self._database.write() as connection:
            (before,) = connection.execute("SELECT count(*) FROM files").fetchone()
            connection.executemany(
                "INSERT INTO files (source, path, size, modified_ns, rules, tally) VALUES (?,?,?,?,?,?)"
                " ON CONFLICT (source, path) DO NOTHING",
                [file_values(file, here) for file in files],
            )
            (after,) = connection.execute("SELECT count(*) FROM files").fetchone()
        return int(after) - int(before)

    def write_log(self, rows: Sequence[LogRow]) -> None:
        """Add rows to the log unless they exist."""
        with self._database.write() as connection:
            known = set(map(tuple, connection.execute("SELECT at, operation, detail FROM log").fetchall()))
            connection.executemany(
                "INSERT INTO log (at, operation, detail) VALUES (?,?,?)",
                [row for row in rows if tuple(row) not in known],
            )
