"""Connect an assistant to this home, and disconnect it so that its settings are as they were."""

import difflib
import random
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ragmem import __version__
from ragmem.assistants.command import Program
from ragmem.assistants.json_wiring import Wiring
from ragmem.assistants.model import Assistant
from ragmem.assistants.places import SERVER_FORMS, Scope, SettingsFile, Surroundings, files_of
from ragmem.assistants.table import ASSISTANTS, assistant_named
from ragmem.errors import ConfigError, RagmemError, StorageError, StoreBusyError, UsageError
from ragmem.services.wiring.files import (
    ChangedMeanwhileError,
    made_folders,
    read_settings,
    remove_empty,
    replace_settings,
)
from ragmem.services.wiring.forms import FORMS, Planned
from ragmem.services.wiring.record import Connection, FileRecord, Record, digest
from ragmem.storage.sql.fair_lock import turn

LOCK = "connections.lock"
PATIENCE_S = 10.0
ATTEMPTS = 40
"""Times that a file may change under our hands before we give up."""

PAUSE_S = 0.02
"""Seconds after the first of them, doubled for each of the next."""

LONGEST_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Desk:
    """What wiring needs to know of the world: places, the program to call, the state's folder, the moment."""

    around: Surroundings
    program: Program
    state: Path
    at: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file as it is and as it shall be; None is no file."""

    path: Path
    form: str
    before: str | None
    after: str | None
    wiring: Wiring

    @property
    def changed(self) -> bool:
        """Whether there is anything to be done."""
        return self.before != self.after

    def diff(self) -> list[str]:
        """Return the change as lines of a unified diff; empty where there is none."""
        return list(
            difflib.unified_diff(
                (self.before or "").splitlines(),
                (self.after or "").splitlines(),
                "/dev/null" if self.before is None else str(self.path),
                "/dev/null" if self.after is None else str(self.path),
                lineterm="",
            )
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done, or would be, to connect or disconnect an assistant."""

    assistant: Assistant
    scope: Scope
    changes: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()
    kept: tuple[Path, ...] = ()
    """Where files lie as they were before."""

    @property
    def changed(self) -> bool:
        """Whether any file is another one than before."""
        return any(change.changed for change in self.changes)


def connect(
    desk: Desk, assistant: Assistant, scope: Scope, *, server: bool = True, dry_run: bool = False
) -> Outcome:
    """Wire an assistant's hooks to this home, and name its MCP server unless not wanted; twice is once.

    Raises ConfigError for settings that cannot be read or have another shape, StorageError where they cannot
    be written; then every file is as it was. Raises UsageError for a project where there is none.
    """
    if scope == "project" and not desk.around.in_project:
        raise UsageError(
            f'"{desk.around.project}" is your home, not a project', hint="go to a project's folder"
        )
    return _persistently(
        desk, lambda record: _connect(desk, record, assistant, scope, server=server, dry_run=dry_run), dry_run
    )


def disconnect(desk: Desk, assistant: Assistant, scope: Scope, *, dry_run: bool = False) -> Outcome:
    """Take out what `connect` has put in, and nothing else; what is not connected stays as it is.

    Raises ConfigError for settings that cannot be read, or that were changed so that what is ours cannot be
    told from what is not; StorageError where they cannot be written.
    """
    return _persistently(
        desk, lambda record: _disconnect(desk, record, assistant, scope, dry_run=dry_run), dry_run
    )


def _persistently(desk: Desk, act: Callable[[Record], Outcome], dry_run: bool) -> Outcome:  # noqa: FBT001
    if dry_run:
        return act(Record.read(desk.state))
    try:
        desk.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f'cannot write in "{desk.state}": {str(error.strerror).lower()}',
            hint="check its permissions, or set RAGMEM_HOME to another folder",
        ) from error
    for attempt in range(ATTEMPTS):
        with turn(desk.state / LOCK, timeout=PATIENCE_S):
            try:
                return act(Record.read(desk.state))
            except ChangedMeanwhileError:
                pass
        # Whoever was in between may need as long as we; not all of them at the same moment again.
        time.sleep(min(PAUSE_S * 2**attempt, LONGEST_PAUSE_S) * random.random())  # noqa: S311
    raise StoreBusyError("the settings are being changed by somebody else", hint="run the same command again")


def root_of(desk: Desk, scope: Scope) -> str:
    """Return the folder of the project that a connection is for, empty for the person's own."""
    return str(desk.around.project) if scope == "project" else ""


def planned(
    desk: Desk, record: Record, assistant: Assistant, scope: Scope, *, server: bool = True
) -> tuple[tuple[FileChange, ...], tuple[str, ...]]:
    """Return the changes that connect an assistant, and what the person should know; nothing is written."""
    connection = record.find(assistant.name, scope, root_of(desk, scope))
    changes: list[FileChange] = []
    notes: list[str] = []
    for file in files_of(assistant, scope, desk.around):
        if file.form in SERVER_FORMS and not server:
            continue
        try:
            before = _as_changed(changes, file.path)
        except ConfigError as error:
            if file.form not in SERVER_FORMS:
                raise
            notes.append(f"the MCP server could not be named: {error}")
            continue
        old = _recorded(connection, file)
        plan = FORMS[file.form].put_in(file.path, before, assistant, desk.program, old)
        changes.append(FileChange(file.path, file.form, before, plan.after, plan.wiring))
        notes += plan.notes
    return tuple(changes), tuple(notes)


def _as_changed(changes: Collection[FileChange], path: Path) -> str | None:
    """Return a file as it will be after these changes; raises ConfigError where it cannot be read."""
    earlier = [change.after for change in changes if change.path == path]
    return earlier[-1] if earlier else read_settings(path)


def _recorded(connection: Connection | None, file: SettingsFile | FileChange) -> FileRecord | None:
    files = connection.files if connection is not None else ()
    return next((one for one in files if (one.path, one.form) == (file.path, file.form)), None)


def _connect(
    desk: Desk, record: Record, assistant: Assistant, scope: Scope, *, server: bool, dry_run: bool
) -> Outcome:
    changes, notes = planned(desk, record, assistant, scope, server=server)
    outcome = Outcome(assistant, scope, changes, notes)
    root = root_of(desk, scope)
    connection = record.find(assistant.name, scope, root)
    if dry_run or (not outcome.changed and connection is not None):
        return outcome
    earlier = list(record.connections)
    kept = []
    files: list[FileRecord] = []
    for change in changes:
        old = _recorded(connection, change)
        fresh = change.before is not None and not FORMS[change.form].has_ours(
            change.before, assistant, desk.program
        )
        first = not any(one.path == change.path for one in files)
        known = connection is not None and record.kept(change.path) is not None
        if change.before is not None and change.changed and fresh and first and not known:
            kept.append(record.keep(change.path, change.before))
        created = change.before is None or (old is not None and old.created and not fresh)
        folders = tuple(made_folders(change.path)) if change.before is None else old.folders if old else ()
        if change.after is not None and (change.changed or old is not None or change.wiring.insertions):
            files.append(
                FileRecord(change.path, change.form, change.wiring, created, folders, digest(change.after))
            )
    if connection is not None and not server:
        # What was named before stays, and so does what is known of it.
        files += [one for one in connection.files if one.form in SERVER_FORMS]
    # Before the files: what a killed process has begun can be taken out again.
    record.put(Connection(assistant.name, scope, root, desk.at, __version__, tuple(files)))
    record.write()
    try:
        _write_all(changes)
    except (RagmemError, ChangedMeanwhileError):
        record.connections = earlier
        record.write()
        raise
    return replace(outcome, kept=tuple(kept))


def _write_all(changes: Collection[FileChange]) -> None:
    """Write every file that changes; where one cannot be written, those before it are put back."""
    done: list[FileChange] = []
    try:
        for change in changes:
            if change.changed:
                replace_settings(change.path, change.before, change.after)
                done.append(change)
    except (RagmemError, ChangedMeanwhileError):
        for change in reversed(done):
            replace_settings(change.path, change.after, change.before)
        raise


def _disconnect(desk: Desk, record: Record, assistant: Assistant, scope: Scope, *, dry_run: bool) -> Outcome:
    connection = record.find(assistant.name, scope, root_of(desk, scope))
    changes: list[FileChange] = []
    notes: list[str] = []
    # The latest first: what was put in last stands where it was put. The switch reads its file itself.
    latest_first = reversed(files_of(assistant, scope, desk.around))
    for file in sorted(latest_first, key=lambda one: one.form != "toml"):
        try:
            before = _as_changed(changes, file.path)
        except ConfigError:
            if file.form not in SERVER_FORMS or _recorded(connection, file) is not None:
                raise
            continue
        old = _recorded(connection, file)
        if before is None:
            if old is not None:
                notes.append(f'"{file.path}" is gone')
            continue
        if old is not None and connection is not None:
            made = any(one.created for one in connection.files if one.path == file.path)
            old = replace(old, created=made)
        plan: Planned = FORMS[file.form].take_out(file.path, before, assistant, desk.program, old)
        if old is not None and plan.after == before and old.wiring.insertions:
            notes.append(f'nothing of ragmem is in "{file.path}" any more')
        notes += plan.notes
        changes.append(FileChange(file.path, file.form, before, plan.after, plan.wiring))
    outcome = Outcome(assistant, scope, tuple(changes), tuple(notes))
    if not dry_run:
        _write_all(changes)
        _forget(record, connection)
    return outcome


def _forget(record: Record, connection: Connection | None) -> None:
    """Remember a connection no longer, and take away the folders that were made for it."""
    if connection is None:
        return
    for old in connection.files:
        remove_empty(list(old.folders))
    record.drop(connection.key)
    record.write()
    record.forget([old.path for old in connection.files])


@dataclass(frozen=True, slots=True)
class Standing:
    """How an assistant is connected in a scope, and the file that says so."""

    assistant: Assistant
    scope: Scope
    path: Path
    state: str
    """"connected", "out of date", "no", or "unreadable"."""
    problem: str = ""


def standing(desk: Desk, record: Record, assistant: Assistant, scope: Scope) -> Standing:
    """Return how an assistant is connected; never raises for what is wrong with its settings."""
    first = files_of(assistant, scope, desk.around)[0]
    try:
        before = read_settings(first.path)
        named = _names_server(record.find(assistant.name, scope, root_of(desk, scope)))
        changes = planned(desk, record, assistant, scope, server=named)[0] if before is not None else ()
    except ConfigError as error:
        return Standing(assistant, scope, first.path, "unreadable", str(error))
    if before is None or not FORMS[first.form].has_ours(before, assistant, desk.program):
        return Standing(assistant, scope, first.path, "no")
    current = not any(change.changed for change in changes)
    return Standing(assistant, scope, first.path, "connected" if current else "out of date")


def _names_server(connection: Connection | None) -> bool:
    """Tell whether a connection has an MCP server; one that nothing is recorded of is to have one."""
    return connection is None or any(one.form in SERVER_FORMS for one in connection.files)


def connected_at(desk: Desk, assistant: Assistant) -> list[datetime]:
    """Return when an assistant was connected, once for each scope that is recorded."""
    record = Record.read(desk.state)
    return [datetime.fromisoformat(one.at) for one in record.connections if one.assistant == assistant.name]


def everything(desk: Desk) -> list[tuple[Assistant, Scope, Desk]]:
    """Return what can be disconnected: every assistant of the person, and what is recorded of projects.

    Each comes with the desk that stands in its project.
    """
    found: list[tuple[Assistant, Scope, Desk]] = [(one, "user", desk) for one in ASSISTANTS]
    for connection in Record.read(desk.state).connections:
        if connection.scope == "project":
            there = replace(desk, around=replace(desk.around, cwd=Path(connection.root)))
            found.append((assistant_named(connection.assistant), "project", there))
    return found


def standings(desk: Desk, assistant: Assistant) -> list[Standing]:
    """Return how an assistant is connected for the person, and in the project one is in."""
    record = Record.read(desk.state)
    scopes: tuple[Scope, ...] = ("user", "project") if desk.around.in_project else ("user",)
    return [standing(desk, record, assistant, scope) for scope in scopes]
