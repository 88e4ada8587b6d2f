"""How often a moment was met with silence, and why: one short line each in a file of the state folder.

Most moments are silent, so that a row in the database for each would cost more than all that is told.
"""

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

NAME = "moments.counts"

KEEP = timedelta(days=30)
MOST_BYTES = 131_072
"""Size from which the lines of a day are added up."""

_SEPARATOR = "\t"


class MomentCounts:
    """The counts of one home; a line is day, number, moment and reason. A few may be lost to a crash."""

    def __init__(self, state: Path) -> None:
        self._path = state / NAME

    def add(self, moment: str, reason: str, *, now: datetime) -> None:
        """Count a silent moment; never fails, and never waits for another process."""
        line = _SEPARATOR.join((f"{now:%Y-%m-%d}", "1", moment, " ".join(reason.split()))) + "\n"
        with suppress(OSError):  # a read-only home, a full disk: the answer counts, not its number
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, line.encode("utf-8", "replace"))
                size = os.fstat(descriptor).st_size
            finally:
                os.close(descriptor)
            if size > MOST_BYTES:
                self._shorten(now)

    def since(self, day: datetime) -> dict[str, Counter[str]]:
        """Return moment -> reason -> number, from a day on."""
        found: dict[str, Counter[str]] = {}
        for (when, moment, reason), number in self._read().items():
            if when >= f"{day:%Y-%m-%d}":
                found.setdefault(moment, Counter())[reason] += number
        return found

    def _read(self) -> Mapping[tuple[str, str, str], int]:
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:  # nothing was counted yet
            return {}
        counted: Counter[tuple[str, str, str]] = Counter()
        for line in lines:
            parts = line.split(_SEPARATOR)
            if len(parts) == 4 and parts[1].isdecimal():
                counted[parts[0], parts[2], parts[3]] += int(parts[1])
        return counted

    def _shorten(self, now: datetime) -> None:
        oldest = f"{now - KEEP:%Y-%m-%d}"
        lines = [
            _SEPARATOR.join((when, str(number), moment, reason))
            for (when, moment, reason), number in sorted(self._read().items())
            if when >= oldest
        ]
        part = self._path.with_name(f"{NAME}.part")
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        part.chmod(0o600)
        part.replace(self._path)
