"""The usage and cost of providers, by day, backend, model and purpose."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, fields
from datetime import datetime, timedelta
from typing import NamedTuple, Self

from ragmem.frozen import dataclass
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.machine_id import prefix_of
from ragmem.storage.sql.migrations import table_exists
from ragmem.storage.sql.rows import to_stamp


class Use(NamedTuple):
    """The key of a sum; `day` is UTC: 2026-11-22."""

    day: str
    backend: str
    model: str
    purpose: str


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over requests; `invalid` counts unusable answers, `cost` uses the prices of the day."""

    calls: int = 0
    failures: int = 0
    invalid: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    milliseconds: int = 0
    cost: float = 0.0

    def __add__(self, other: Self) -> "Sums":
        return Sums(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))

    @property
    def tokens(self) -> int:
        """Tokens in both directions."""
        return self.tokens_in + self.tokens_out


Counted = Mapping[Use, Sums]

KEEP = timedelta(hours=1)
"""How long the name of a deleted file is kept, for a process that read it just before."""

_SUMS = tuple(field.name for field in fields(Sums))
_KEY = Use._fields
_ADD = (
    f"INSERT INTO usage ({', '.join((*_KEY, *_SUMS))}) VALUES ({', '.join('?' * (len(_KEY) + len(_SUMS)))})"
    f" ON CONFLICT ({', '.join(_KEY)}) DO UPDATE SET "
    + ", ".join(f"{name} = usage.{name} + excluded.{name}" for name in _SUMS)
)


def merge_sums(counted: Iterable[Counted]) -> dict[Use, Sums]:
    """Add up several counts by their keys."""
    result: dict[Use, Sums] = {}
    for one in counted:
        for use, sums in one.items():
            result[use] = result.get(use, Sums()) + sums
    return result


class Usage:
    """The sums in the catalog, and the names of the files that were added to them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(self, *, since: str = "") -> dict[Use, Sums]:
        """Return the sums from a day on; none where the catalog is older than this table."""
        return self.beside([], since=since)[0]

    def beside(self, names: Iterable[str], *, since: str = "") -> tuple[dict[Use, Sums], set[str]]:
        """Return, consistently, the sums from a day on and which of these local files they include.

        Read the files first: a file that is added meanwhile is then reported as included.
        """
        if not self._database.exists():
            return {}, set()
        with self._database.read() as connection:
            if not table_exists(self._database, connection, "usage"):
                return {}, set()
            wanted = ", ".join((*_KEY, *_SUMS))
            found = connection.execute(f"SELECT {wanted} FROM usage WHERE day >= ?", (since,)).fetchall()
            here = prefix_of(self._database)
            added: set[str] = set()
            for batch in batches(sorted(names)):
                rows = connection.execute(
                    f"SELECT name FROM usage_files WHERE name IN ({marks(batch)})",
                    [here + name for name in batch],
                ).fetchall()
                added |= {name.removeprefix(here) for (name,) in rows}
        split = len(_KEY)
        return {Use(*row[:split]): Sums(*row[split:]) for row in found}, added

    def add(
        self,
        files: Mapping[str, Counted],
        *,
        left: Callable[[], Iterable[str]],
        now: datetime,
        patience: float | None = None,
    ) -> set[str]:
        """Add the sums of files, each once, and return the new ones.

        `left` returns the files that still exist; the names of others are deleted later. Raises
        StoreBusyError after `patience` seconds (None: the configured ones).
        """
        with self._database.write(patience=patience) as connection:
            here = prefix_of(self._database)
            known = dict(
                connection.execute(
                    "SELECT name, absorbed_at FROM usage_files WHERE substr(name, 1, ?) = ?",
                    (len(here), here),
                ).fetchall()
            )
            there = {here + name for name in left()}
            # A file that was deleted since it was read is already included.
            fresh = [name for name in files if here + name in there - set(known)]
            sums = merge_sums(files[name] for name in fresh)
            connection.executemany(_ADD, [(*use, *astuple(one)) for use, one in sorted(sums.items())])
            connection.executemany(
                "INSERT INTO usage_files (name, absorbed_at) VALUES (?,?)",
                [(here + name, to_stamp(now)) for name in sorted(fresh)],
            )
            before = to_stamp(now - KEEP)
            connection.executemany(
                "DELETE FROM usage_files WHERE name = ?",
                [(name,) for name, at in sorted(known.items()) if name not in there and at < before],
            )
        return set(fresh)
