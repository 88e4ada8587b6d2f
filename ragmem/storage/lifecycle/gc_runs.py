"""The runs of gc and their changes outside of the archive, so that they can be undone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Literal

import orjson

from ragmem.frozen import dataclass
from ragmem.storage.sql.database import Database, delete_in
from ragmem.storage.sql.rows import from_stamp, to_stamp

What = Literal["life", "superseded", "made", "connected"]

_COLUMNS = "run, started_at, ended_at, undone_at, caller, archived, counts"


@dataclass(frozen=True, slots=True)
class GcRun:
    """One run: `ended` is None while it runs and after a kill, `undone` is None unless it was undone.

    `counts` is "action/rule" -> memories; `archived` is the number of its memories in the archive now.
    """

    run: str
    started: datetime
    ended: datetime | None
    undone: datetime | None
    caller: str
    archived: int
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GcChange:
    """A value of a memory before and after a run, as JSON; empty without a value."""

    id: str
    before: str
    after: str


class GcRuns:
    """The runs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, run: str, *, caller: str, now: datetime) -> None:
        """Record the start of a run; a known run is continued."""
        with self._database.write() as connection:
            connection.execute(
                f"INSERT INTO gc_runs ({_COLUMNS}) VALUES (?,?,NULL,NULL,?,0,'{{}}')"
                " ON CONFLICT (run) DO NOTHING",
                (run, to_stamp(now), caller),
            )

    def add(self, run: str, counts: Mapping[str, int], *, archived: int = 0) -> None:
        """Add the counts of a step to a run, in the transaction of the step."""
        with self._database.write() as connection:
            row = connection.execute("SELECT counts FROM gc_runs WHERE run = ?", (run,)).fetchone()
            if row is None:
                return
            known = orjson.loads(row[0])
            for name, count in counts.items():
                known[name] = known.get(name, 0) + count
            connection.execute(
                "UPDATE gc_runs SET counts = ?, archived = archived + ? WHERE run = ?",
                (orjson.dumps(known, option=orjson.OPT_SORT_KEYS).decode(), archived, run),
            )

    def end(self, run: str, *, now: datetime) -> None:
        """Record the end of a run."""
        self._stamp(run, "ended_at", now)

    def undo(self, run: str, *, now: datetime) -> None:
        """Record that a run was undone."""
        self._stamp(run, "undone_at", now)

    def _stamp(self, run: str, column: str, now: datetime) -> None:
        with self._database.write() as connection:
            connection.execute(f"UPDATE gc_runs SET {column} = ? WHERE run = ?", (to_stamp(now), run))

    def of(self, run: str) -> GcRun | None:
        """Return a run; None if it is unknown."""
        row = self._database.select_row(f"SELECT {_COLUMNS} FROM gc_runs WHERE run = ?", (run,))
        return None if row is None else _run(row)

    def latest(self, limit: int | None = None) -> list[GcRun]:
        """Return the runs, latest first."""
        rows = self._database.select(
            f"SELECT {_COLUMNS} FROM gc_runs ORDER BY started_at DESC, run DESC"
            + ("" if limit is None else f" LIMIT {limit}")
        )
        return [_run(row) for row in rows]

    def note(self, run: str, what: What, changes: Iterable[GcChange]) -> None:
        """Record changes of a run; for a value that changes twice, the first `before` counts."""
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO gc_changes (run, what, id, before, after) VALUES (?,?,?,?,?)"
                " ON CONFLICT (run, what, id) DO UPDATE SET after = excluded.after",
                [(run, what, change.id, change.before, change.after) for change in changes],
            )

    def changes(self, run: str, what: What) -> list[GcChange]:
        """Return the changes of a run, by id."""
        rows = self._database.select(
            "SELECT id, before, after FROM gc_changes WHERE run = ? AND what = ? ORDER BY id", (run, what)
        )
        return [GcChange(*row) for row in rows]

    def forget_changes(self, run: str) -> None:
        """Delete the changes of a run that was undone."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM gc_changes WHERE run = ?", (run,))

    def forget_memories(self, ids: Iterable[str]) -> None:
        """Delete the changes of memories that are gone for good, and their originals."""
        wanted = list(ids)
        with self._database.write() as connection:
            delete_in(connection, "gc_changes", "id", wanted)
        self.unlink(wanted)

    def merged_memories(self, run: str) -> dict[str, list[str]]:
        """Return the merged memories that a run made, each with the ids of its originals."""
        found: dict[str, list[str]] = {}
        for merged, original in self._database.select(
            "SELECT merged, original FROM merged_from WHERE run = ? ORDER BY merged, original", (run,)
        ):
            found.setdefault(merged, []).append(original)
        return found

    def originals(self, merged: Iterable[str]) -> dict[str, list[str]]:
        """Return merged memory -> the ids of its originals."""
        found: dict[str, list[str]] = {}
        for identifier, original in self._database.select_in(
            "SELECT merged, original FROM merged_from WHERE merged IN ({}) ORDER BY merged, original", merged
        ):
            found.setdefault(identifier, []).append(original)
        return found

    def merged_ids(self) -> list[str]:
        """Return the ids of all merged memories."""
        return self._database.select_column("SELECT DISTINCT merged FROM merged_from ORDER BY merged")

    def link(self, run: str, merged: Mapping[str, Sequence[str]]) -> None:
        """Record the originals of merged memories; the latest run counts."""
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO merged_from (merged, original, run) VALUES (?,?,?)"
                " ON CONFLICT (merged, original) DO UPDATE SET run = excluded.run",
                [(identifier, one, run) for identifier, originals in merged.items() for one in originals],
            )

    def unlink(self, merged: Iterable[str]) -> None:
        """Delete the originals of merged memories that no longer exist."""
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM merged_from WHERE merged = ?", [(identifier,) for identifier in merged]
            )


def _run(row: Sequence[Any]) -> GcRun:
    run, started, ended, undone, caller, archived, counts = row
    return GcRun(
        run,
        from_stamp(started),
        None if ended is None else from_stamp(ended),
        None if undone is None else from_stamp(undone),
        caller,
        archived,
        orjson.loads(counts),
    )
