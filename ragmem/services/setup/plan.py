"""The plan of a setup: what would be read, connected and installed, and how long it takes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragmem.assistants.assistant import Assistant
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.errors import RagmemError
from ragmem.services.setup.survey import FileTotals, Survey
from ragmem.services.wiring.command import is_in_cache
from ragmem.services.wiring.connect import ConnectContext, Outcome, connect
from ragmem.services.wiring.shell_completion import Installation, ShellName, plan_installation
from ragmem.storage.home.catalog import Catalog

WORDS_BYTES_A_SECOND = {True: 2_500_000, False: 200_000}
"""Bytes of sessions (True), and of other files, a second until full text finds them.

All three were measured on two cores that other work shared.
"""

VECTORS_BYTES_A_SECOND = {True: 200_000, False: 6_000}
"""The same until their vectors are made: of a session only a small part is text that people wrote."""

STORED_SHARE = {True: 0.3, False: 8.0}
"""Bytes that are stored for each byte that is read, vectors included."""

EMPTY_BYTES = 270_000
"""Bytes of a memory in which nothing is: its tables and their indexes."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds until words and until vectors find everything, and the bytes that are stored."""

    words_s: float = 0.0
    vectors_s: float = 0.0
    bytes: int = 0

    @classmethod
    def of(cls, sessions: FileTotals, files: FileTotals, *, is_new: bool) -> "Estimate":
        """Estimate from the bytes that are to be read, by the measured rates; a memory may be new as well."""
        new = {True: sessions.new_bytes, False: files.new_bytes}
        words = sum(size / WORDS_BYTES_A_SECOND[one] for one, size in new.items())
        vectors = sum(size / VECTORS_BYTES_A_SECOND[one] for one, size in new.items())
        stored = sum(size * STORED_SHARE[one] for one, size in new.items())
        return cls(words, words + vectors, int(stored) + EMPTY_BYTES * is_new)


@dataclass(frozen=True, slots=True)
class Problem:
    """An assistant that cannot be connected, or a shell without completion, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """What a setup would do; a second one after it has nothing left to do."""

    survey: Survey
    sources: tuple[str, ...]
    """Sources whose files are read, the sessions last."""
    files: FileTotals
    sessions: FileTotals
    pending: int
    """Memories of an earlier run that wait for their vectors."""
    is_new: bool
    """Whether there is no memory yet."""
    connections: tuple[Outcome, ...]
    completion: Installation | None
    problems: tuple[Problem, ...]

    @property
    def estimate(self) -> Estimate:
        """What the reading takes, estimated."""
        return Estimate.of(self.sessions, self.files, is_new=self.is_new)

    @property
    def reads(self) -> bool:
        """Return whether something is to be read."""
        return bool(self.files.new or self.sessions.new)

    @property
    def connects(self) -> tuple[Outcome, ...]:
        """The assistants whose settings change."""
        return tuple(one for one in self.connections if one.is_changed)

    @property
    def installs(self) -> bool:
        """Return whether the completion of a shell is to be written."""
        return self.completion is not None and self.completion.change == "written"

    @property
    def is_done(self) -> bool:
        """Return whether nothing is left to do, but for vectors that may be on their way."""
        return not (self.reads or self.connects or self.installs)


def plan_setup(
    found: Survey,
    catalog: Catalog,
    desk: ConnectContext,
    *,
    sessions: bool,
    chosen: Sequence[Assistant],
    shell: ShellName | None,
    environ: Mapping[str, str],
    home: Path,
) -> SetupPlan:
    """Plan a setup that reads the enabled sources and, with `sessions`, the sessions of all assistants.

    `chosen` assistants are connected, and `shell` gets its completion, unless it is None. Nothing is written.
    """
    told = found.sessions if sessions else FileTotals()
    names = [one.name for one in found.sources]
    problems: list[Problem] = []
    return SetupPlan(
        found,
        tuple(names + [SOURCE] * bool(told.files)),
        found.files,
        told,
        len(catalog.memories.pending_ids()) if catalog.exists() else 0,
        not catalog.exists(),
        tuple(_connections(desk, chosen, problems)),
        _completion(shell, environ, home, problems),
        tuple(problems),
    )


def _connections(
    desk: ConnectContext, chosen: Collection[Assistant], problems: list[Problem]
) -> list[Outcome]:
    if chosen and is_in_cache(desk.program):
        reason = (
            "not connected, because this ragmem is in a cache and may vanish;"
            " install it (uv tool, pipx), then `ragmem connect --all`"
        )
        problems.append(Problem("assistants", reason))
        return []
    planned = []
    for one in chosen:
        try:
            planned.append(connect(desk, one, "user", dry_run=True))
        except RagmemError as error:
            problems.append(Problem(one.title, error.full_message))
    return planned


def _completion(
    shell: ShellName | None, environ: Mapping[str, str], home: Path, problems: list[Problem]
) -> Installation | None:
    if shell is None:
        return None
    try:
        return plan_installation(shell, environ, home=home)
    except RagmemError as error:
        problems.append(Problem(f"completion of {shell}", error.full_message))
        return None
