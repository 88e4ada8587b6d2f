"""Connect an assistant to this home, and disconnect it, which restores its settings."""

import difflib
import random
import shutil
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ragmem import __version__
from ragmem.assistants import load_assistant, load_assistants
from ragmem.assistants.assistant import TOKEN_VARIABLE, Assistant
from ragmem.assistants.places import SERVER_FORMS, Places, Scope
from ragmem.errors import ConfigError, RagmemError, StorageError, StoreBusyError, UsageError
from ragmem.services.wiring.command import Program
from ragmem.services.wiring.files import (
    ChangedMeanwhileError,
    missing_folders,
    read_settings,
    remove_empty,
    replace_settings,
)
from ragmem.services.wiring.forms import FORMS, FilePlan
from ragmem.services.wiring.hook_insertion import InsertionRecord, as_present
from ragmem.services.wiring.installed_plugins import DISABLE, find_plugin
from ragmem.services.wiring.json_hooks import own_hooks, read_hooks
from ragmem.services.wiring.record import Connection, FileRecord, Record, digest
from ragmem.storage.sql.fair_lock import turn

LOCK = "connections.lock"
PATIENCE_S = 10.0
ATTEMPTS = 40
"""Times that a file may change meanwhile before we give up."""

PAUSE_S = 0.02
"""Seconds after the first attempt, doubled for each of the next."""

LONGEST_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class ConnectContext:
    """The environment of a connection: places, the program to call, the state folder, the moment."""

    places: Places
    program: Program
    state: Path
    at: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """The present and the new text of a file; None means no file."""

    path: Path
    form: str
    before: str | None
    after: str | None
    wiring: InsertionRecord

    @property
    def is_changed(self) -> bool:
        """Return whether the file changes."""
        return self.before != self.after

    def diff(self) -> list[str]:
        """Return the change as lines of a unified diff."""
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
    """The changes that connect or disconnect an assistant, done or planned."""

    assistant: Assistant
    scope: Scope
    changes: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()
    kept: tuple[Path, ...] = ()
    """Backups of the files before the change."""

    plugin: str = ""
    """The plug-in of the assistant that does the same, so that nothing was connected."""

    @property
    def is_changed(self) -> bool:
        """Return whether any file changes."""
        return any(change.is_changed for change in self.changes)


def connect(
    desk: ConnectContext, assistant: Assistant, scope: Scope, *, server: bool = True, dry_run: bool = False
) -> Outcome:
    """Insert the hooks and, with `server`, the MCP server into an assistant's settings; idempotent.

    Nothing is inserted where the assistant has a plug-in that does the same.
    Raises ConfigError for settings that cannot be read or have another shape, StorageError where they cannot
    be written; then no file has changed. Raises UsageError for the scope of a project outside of one.
    """
    if scope == "project" and not desk.places.in_project:
        raise UsageError(
            f'"{desk.places.project}" is your home, not a project', hint="change to a project folder"
        )
    return _with_retries(
        desk, lambda record: _connect(desk, record, assistant, scope, server=server, dry_run=dry_run), dry_run
    )


def disconnect(desk: ConnectContext, assistant: Assistant, scope: Scope, *, dry_run: bool = False) -> Outcome:
    """Remove exactly what `connect` has inserted; without a connection nothing changes.

    Raises ConfigError for settings that cannot be read, or were changed so that our part cannot be
    recognized; StorageError where they cannot be written.
    """
    return _with_retries(
        desk, lambda record: _disconnect(desk, record, assistant, scope, dry_run=dry_run), dry_run
    )


def _with_retries(desk: ConnectContext, act: Callable[[Record], Outcome], dry_run: bool) -> Outcome:  # noqa: FBT001
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
        # A random pause, so that competing processes do not retry at the same moment.
        time.sleep(min(PAUSE_S * 2**attempt, LONGEST_PAUSE_S) * random.random())  # noqa: S311
    raise StoreBusyError("another program is changing the settings", hint="run the same command again")


def project_root(desk: ConnectContext, scope: Scope) -> str:
    """Return the folder of the project that a connection is for, an empty text for the user's scope."""
    return str(desk.places.project) if scope == "project" else ""


def plan_changes(
    desk: ConnectContext, record: Record, assistant: Assistant, scope: Scope, *, server: bool = True
) -> tuple[tuple[FileChange, ...], tuple[str, ...]]:
    """Return the changes that connect an assistant, and notes for the person; writes nothing."""
    connection = record.find(assistant.name, scope, project_root(desk, scope))
    changes: list[FileChange] = []
    notes: list[str] = []
    for path, form in assistant.settings_files(desk.places, scope):
        if form in SERVER_FORMS and not server:
            continue
        try:
            before = _text_after(changes, path)
        except ConfigError as error:
            if form not in SERVER_FORMS:
                raise
            notes.append(f"the MCP server could not be added: {error}")
            continue
        old = _find_record(connection, path, form)
        plan = FORMS[form].insert(path, before, assistant, desk.program, old)
        changes.append(FileChange(path, form, before, plan.after, plan.wiring))
        notes += plan.notes
    return tuple(changes), tuple(notes)


def _text_after(changes: Collection[FileChange], path: Path) -> str | None:
    """Return the text of a file after these changes; raises ConfigError where it cannot be read."""
    earlier = [change.after for change in changes if change.path == path]
    return earlier[-1] if earlier else read_settings(path)


def _find_record(connection: Connection | None, path: Path, form: str) -> FileRecord | None:
    files = connection.files if connection is not None else ()
    return next((one for one in files if (one.path, one.form) == (path, form)), None)


def _connect(
    desk: ConnectContext, record: Record, assistant: Assistant, scope: Scope, *, server: bool, dry_run: bool
) -> Outcome:
    plugin = find_plugin(assistant, desk.places)
    if plugin and all(one.state == "no" for one in connection_states(desk, assistant)):
        return Outcome(assistant, scope, (), plugin=plugin)
    changes, notes = plan_changes(desk, record, assistant, scope, server=server)
    notes = (*notes, *_handler_notes(desk, assistant, changes))
    if plugin:
        notes = (
            *notes,
            f"the plug-in {plugin} does nothing while these hooks are active; {_advise(assistant, plugin)}",
        )
    outcome = Outcome(assistant, scope, changes, notes)
    root = project_root(desk, scope)
    connection = record.find(assistant.name, scope, root)
    if dry_run or (not outcome.is_changed and connection is not None):
        return outcome
    earlier = list(record.connections)
    kept = []
    files: list[FileRecord] = []
    for change in changes:
        old = _find_record(connection, change.path, change.form)
        fresh = change.before is not None and not FORMS[change.form].has_ours(
            change.before, assistant, desk.program
        )
        first = not any(one.path == change.path for one in files)
        known = connection is not None and record.find_backup(change.path) is not None
        if change.before is not None and change.is_changed and fresh and first and not known:
            kept.append(record.back_up(change.path, change.before))
        created = change.before is None or (old is not None and old.created and not fresh)
        folders = tuple(missing_folders(change.path)) if change.before is None else old.folders if old else ()
        if change.after is not None and (change.is_changed or old is not None or change.wiring.insertions):
            files.append(
                FileRecord(change.path, change.form, change.wiring, created, folders, digest(change.after))
            )
    if connection is not None and not server:
        # A server that was added before stays, and so does its record.
        files += [one for one in connection.files if one.form in SERVER_FORMS]
    # Before the files, so that the changes of a killed process can be removed.
    record.put(Connection(assistant.name, scope, root, desk.at, __version__, tuple(files)))
    record.write()
    try:
        _write_all(changes)
    except (RagmemError, ChangedMeanwhileError):
        record.connections = earlier
        record.write()
        raise
    return replace(outcome, kept=tuple(kept))


def _handler_notes(
    desk: ConnectContext, assistant: Assistant, changes: Collection[FileChange]
) -> tuple[str, ...]:
    """Return what the wanted handler needs; raises ConfigError where hooks would reach another's server."""
    handler = desk.program.handler
    if handler is None or handler == "command":
        return ()
    if handler not in assistant.handlers:
        return (f"{assistant.title} supports only command hooks",)
    if handler == "http":
        needed = f"`ragmem serve` at {desk.program.server}, and {TOKEN_VARIABLE} in its environment"
        return (f"{assistant.title} needs {needed}; `ragmem serve --print-token` prints the token",)
    served = [change for change in changes if change.form in SERVER_FORMS]
    if not any(FORMS[one.form].has_ours(one.after or "", assistant, desk.program) for one in served):
        raise ConfigError(
            "the settings have no MCP server of this home to send hooks to",
            hint=f"ragmem connect {assistant.name} --handlers command",
        )
    return ()


def _advise(assistant: Assistant, plugin: str) -> str:
    off = DISABLE[assistant.name].format(plugin)
    return f"remove one of them: `ragmem disconnect {assistant.name}`, or `{off}`"


def _write_all(changes: Collection[FileChange]) -> None:
    """Write every file that changes; if one cannot be written, restore those before it."""
    done: list[FileChange] = []
    try:
        for change in changes:
            if change.is_changed:
                replace_settings(change.path, change.before, change.after)
                done.append(change)
    except (RagmemError, ChangedMeanwhileError):
        for change in reversed(done):
            replace_settings(change.path, change.after, change.before)
        raise


def _disconnect(
    desk: ConnectContext, record: Record, assistant: Assistant, scope: Scope, *, dry_run: bool
) -> Outcome:
    connection = record.find(assistant.name, scope, project_root(desk, scope))
    changes: list[FileChange] = []
    notes: list[str] = []
    # In reverse order of insertion. The switch comes first, because it reads its file itself.
    latest_first = reversed(assistant.settings_files(desk.places, scope))
    for path, form in sorted(latest_first, key=lambda one: one[1] != "toml"):
        old = _find_record(connection, path, form)
        try:
            before = _text_after(changes, path)
        except ConfigError:
            if form not in SERVER_FORMS or old is not None:
                raise
            continue
        if before is None:
            if old is not None:
                notes.append(f'"{path}" no longer exists')
            continue
        if old is not None and connection is not None:
            made = any(one.created for one in connection.files if one.path == path)
            old = replace(old, created=made)
        plan: FilePlan = FORMS[form].remove(path, before, assistant, desk.program, old)
        if old is not None and plan.after == before and old.wiring.insertions:
            notes.append(f'"{path}" no longer has any entries of ragmem')
        notes += plan.notes
        changes.append(FileChange(path, form, before, plan.after, plan.wiring))
    if plugin := find_plugin(assistant, desk.places):
        notes.append(f"its plug-in stays enabled; `{DISABLE[assistant.name].format(plugin)}` disables it")
    outcome = Outcome(assistant, scope, tuple(changes), tuple(notes))
    if not dry_run:
        _write_all(changes)
        _forget(record, connection)
    return outcome


def _forget(record: Record, connection: Connection | None) -> None:
    """Remove a connection from the record, and the folders that were created for it."""
    if connection is None:
        return
    for old in connection.files:
        remove_empty(list(old.folders))
    record.drop(connection.key)
    record.write()
    record.forget([old.path for old in connection.files])


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """The state of an assistant's connection in a scope, and the settings file."""

    assistant: Assistant
    scope: Scope
    path: Path
    state: str
    """"connected", "out of date", "no", or "unreadable"."""
    problem: str = ""
    handler: str = "command"
    """What its hooks within a session are."""


def find_state(desk: ConnectContext, record: Record, assistant: Assistant, scope: Scope) -> ConnectionState:
    """Return the state of a connection; invalid settings raise nothing."""
    path, form = assistant.settings_files(desk.places, scope)[0]
    try:
        before = read_settings(path)
        named = _names_server(record.find(assistant.name, scope, project_root(desk, scope)))
        changes = plan_changes(desk, record, assistant, scope, server=named)[0] if before is not None else ()
    except ConfigError as error:
        return ConnectionState(assistant, scope, path, "unreadable", str(error))
    if before is None or not FORMS[form].has_ours(before, assistant, desk.program):
        return ConnectionState(assistant, scope, path, "no")
    current = not any(change.is_changed for change in changes)
    handler = "command"
    if form == "json":
        ours = own_hooks(read_hooks(before), assistant, desk.program)
        handler = as_present(desk.program, ours).handler or handler
    return ConnectionState(assistant, scope, path, "connected" if current else "out of date", handler=handler)


def _names_server(connection: Connection | None) -> bool:
    """Return whether a connection has an MCP server; an unrecorded one should have it."""
    return connection is None or any(one.form in SERVER_FORMS for one in connection.files)


def is_installed(assistant: Assistant, places: Places) -> bool:
    """Return whether an assistant is installed: by its folder, or by its program."""
    if assistant.user_folder(places).is_dir():
        return True
    search = places.environ.get("PATH")
    return any(shutil.which(program, path=search) for program in assistant.programs)


def connection_times(desk: ConnectContext, assistant: Assistant) -> list[datetime]:
    """Return the moments at which an assistant was connected, one for each recorded scope."""
    record = Record.read(desk.state)
    return [datetime.fromisoformat(one.at) for one in record.connections if one.assistant == assistant.name]


def find_connections(desk: ConnectContext) -> list[tuple[Assistant, Scope, ConnectContext]]:
    """Return what can be disconnected: every assistant in the user's scope, and recorded projects.

    Each comes with the context of its project.
    """
    found: list[tuple[Assistant, Scope, ConnectContext]] = [(one, "user", desk) for one in load_assistants()]
    for connection in Record.read(desk.state).connections:
        if connection.scope == "project":
            there = replace(desk, places=replace(desk.places, cwd=Path(connection.root)))
            found.append((load_assistant(connection.assistant), "project", there))
    return found


def connection_states(desk: ConnectContext, assistant: Assistant) -> list[ConnectionState]:
    """Return the states of an assistant's connections: for the user, and in the current project."""
    record = Record.read(desk.state)
    scopes: tuple[Scope, ...] = ("user", "project") if desk.places.in_project else ("user",)
    return [find_state(desk, record, assistant, scope) for scope in scopes]
