"""Check that connected assistants really reach this memory."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from ragmem import __version__
from ragmem.assistants import load_assistants
from ragmem.assistants.assistant import Assistant
from ragmem.assistants.places import SERVER_FORMS, Places
from ragmem.errors import ConfigError, RagmemError
from ragmem.hooks import limits
from ragmem.hooks.log import FORMER, NAME
from ragmem.services.context.moment_report import moment_figures
from ragmem.services.doctor.report import Check, DoctorContext
from ragmem.services.wiring import toml_settings
from ragmem.services.wiring.command import Program, is_in_cache, this_program
from ragmem.services.wiring.connect import (
    ConnectContext,
    ConnectionState,
    connection_states,
    connection_times,
)
from ragmem.services.wiring.files import read_settings
from ragmem.services.wiring.forms import server_in
from ragmem.services.wiring.hook_insertion import as_present
from ragmem.services.wiring.installed_plugins import DISABLE, find_plugin
from ragmem.services.wiring.json_hooks import Hook, handwritten_hooks, own_hooks, read_hooks
from ragmem.services.wiring.json_text import read_json
from ragmem.storage.activity.moment_counts import MomentCounts

PATIENCE_S = 3.0
"""Seconds for another ragmem to report its version."""

ANSWERS_S = 0.5
"""Seconds in which `ragmem serve` takes a connection."""

SILENT_FOR = timedelta(days=3)
"""Age from which a connection without any call is reported."""

LOG_TAIL = 64 * 1024
"""Bytes at the end of the hooks' log that are searched for the last call."""

_NAME = "hooks"


def check_assistants(patient: DoctorContext) -> Iterator[Check]:
    """Report the state of every connected assistant."""
    setup = _connect_context(patient)
    connected = 0
    for assistant in load_assistants():
        found = list(_check_assistant(patient, setup, assistant))
        connected += bool(found)
        yield from found
    if not connected:
        yield Check(_NAME, "ok", "no assistant is connected")
    elif not patient.settings.hooks.enabled or limits.is_disabled(setup.places.environ):
        yield Check(_NAME, "warning", "hooks are turned off for ragmem", "[hooks] enabled, RAGMEM_HOOKS")
    if connected and shutil.which("ragmem", path=setup.places.environ.get("PATH")) is None:
        detail = "`ragmem` is not on the PATH; hooks do not need it, but hooks/*.sh and your shell do"
        yield Check(_NAME, "ok", detail, f'PATH="{Path(sys.executable).parent}:$PATH"')


def _connect_context(patient: DoctorContext) -> ConnectContext:
    home, cwd = Path.home(), Path.cwd()
    program = this_program(sys.executable, os.environ, home=str(home), cwd=str(cwd))
    return ConnectContext(Places(os.environ, home, cwd), program, patient.settings.places.state, "")


def _check_assistant(patient: DoctorContext, setup: ConnectContext, assistant: Assistant) -> Iterator[Check]:
    fix = f"ragmem connect {assistant.name}"
    recorded = connection_times(setup, assistant)
    # Unreadable settings of an assistant that was never connected are not reported.
    idle = ("no",) if recorded else ("no", "unreadable")
    at = [one for one in connection_states(setup, assistant) if one.state not in idle]
    plugin = find_plugin(assistant, setup.places)
    if plugin and not at:
        yield _check_plugin(patient, setup, assistant, plugin)
        return
    if not at and not recorded:
        return
    if not at:
        detail = f"{assistant.title}: its settings no longer have ragmem's hooks"
        yield Check(_NAME, "warning", detail, f"{fix}, or ragmem disconnect {assistant.name}")
        return
    problems = [check for standing in at for check in _check_connection(setup, assistant, standing)]
    yield from problems
    if plugin:
        detail = (
            f"{assistant.title}: connected twice: by connect and the plug-in {plugin}, whose hooks do nothing"
        )
        off = DISABLE[assistant.name].format(plugin)
        yield Check(_NAME, "warning", detail, f"ragmem disconnect {assistant.name}, or {off}")
    if len(at) > 1:
        detail = f"{assistant.title}: connected twice: for the user and for this project"
        yield Check(_NAME, "warning", detail, f"ragmem disconnect {assistant.name} --scope project")
    if any(check.status != "ok" for check in problems):
        return
    called = last_call(setup.state, assistant.name)
    told = "no hook has run yet" if called is None else f"last hook {_format_age(patient.now - called)}"
    read = _last_read(patient, assistant)
    if read is not None:
        told += f", last session read {_format_age(patient.now - read)}"
    scopes = ", ".join(
        one.scope if one.handler == "command" else f"{one.scope}, hooks by {one.handler}" for one in at
    )
    silent = called is None and recorded and patient.now - min(recorded) > SILENT_FOR
    yield Check(
        _NAME,
        "warning" if silent else "ok",
        f"{assistant.title} ({scopes}): {told}",
        (assistant.note or f"start a session of {assistant.title}, then run ragmem doctor") if silent else "",
    )


def _check_plugin(patient: DoctorContext, setup: ConnectContext, assistant: Assistant, plugin: str) -> Check:
    """Check the plug-in of an assistant that is connected by it alone."""
    if shutil.which("ragmem", path=setup.places.environ.get("PATH")) is None:
        detail = f"{assistant.title}: the plug-in {plugin} needs ragmem on the PATH"
        return Check(_NAME, "warning", detail, "uv tool install ragmem")
    called = last_call(setup.state, assistant.name)
    told = "no hook has run yet" if called is None else f"last hook {_format_age(patient.now - called)}"
    return Check(_NAME, "ok", f"{assistant.title} (plug-in {plugin}): {told}")


def _last_read(patient: DoctorContext, assistant: Assistant) -> datetime | None:
    try:
        return (
            patient.catalog.transcripts.last_read_at(assistant.session_name)
            if patient.catalog.exists()
            else None
        )
    except RagmemError:  # the checks of the database report it
        return None


def _check_connection(
    setup: ConnectContext, assistant: Assistant, standing: ConnectionState
) -> Iterator[Check]:
    fix = f"ragmem connect {assistant.name}" + (" --scope project" if standing.scope == "project" else "")
    if standing.state == "unreadable":
        yield Check(_NAME, "failed", f"{assistant.title}: {standing.problem}", "fix the file")
        return
    if standing.state == "out of date":
        yield Check(
            _NAME, "warning", f'{assistant.title}: the hooks in "{standing.path}" differ from these', fix
        )
    for path, form in assistant.settings_files(setup.places, standing.scope):
        if form in SERVER_FORMS:
            yield from _check_server(setup, assistant, path, form, fix)
            continue
        text = read_settings(path) or ""
        if form == "toml" and toml_settings.flag_state(text, assistant) is False:
            detail = f'{assistant.title} runs no hooks: "{path}" turns them off'
            yield Check(_NAME, "failed", detail, "[{}] {} = true".format(*assistant.switch))
        elif form == "json":
            yield from _check_hooks(setup, assistant, path, text, fix)


def _check_server(
    setup: ConnectContext, assistant: Assistant, path: Path, form: str, fix: str
) -> Iterator[Check]:
    """Check the MCP server, which is optional."""
    try:
        found = server_in(form, read_settings(path) or "", assistant)
    except ConfigError as error:
        yield Check(_NAME, "warning", f"{assistant.title}: {error}", "fix the file")
        return
    if found is None:
        detail = f'{assistant.title}: the MCP server of ragmem is missing in "{path}"'
        yield Check(_NAME, "ok", f"{detail}; `{fix}` adds it")
        return
    words = shutil.which(found.words[0]) or found.words[0]
    program = Program((words, *found.words[1:]), setup.program.variables)
    yield from _check_program(setup, assistant, program, fix)


def _check_hooks(
    setup: ConnectContext, assistant: Assistant, path: Path, text: str, fix: str
) -> Iterator[Check]:
    settings = read_json(text).value
    for reason in assistant.find_hook_blockers(settings) if isinstance(settings, dict) else ():
        yield Check(_NAME, "failed", f"{assistant.title} runs no hooks of ragmem: {reason}", f'"{path}"')
    hooks = read_hooks(text)
    ours = own_hooks(hooks, assistant, setup.program)
    # The MCP server, which answers the others, is checked by itself.
    programs = {
        hook.call.program.words: hook.call.program
        for hook in ours
        if hook.call is not None and hook.handler == "command"
    }
    for program in programs.values():
        yield from _check_program(setup, assistant, program, fix)
    for hook in hooks:
        if meant := _wrong_unit(assistant, hook):
            detail = f"{assistant.title}, {hook.event}: the timeout of a hook is {meant}: {hook.command[:60]}"
            yield Check(_NAME, "warning", detail, fix if hook in ours else f'fix "timeout" in "{path}"')
    if server := as_present(setup.program, ours).server:
        yield from _check_address(assistant, server)
    yield from _check_other_hooks(setup, assistant, path, hooks)


def _check_address(assistant: Assistant, server: str) -> Iterator[Check]:
    """Check that something listens where hooks are sent: the assistant shows an error for each that fails."""
    place = urlsplit(server)
    try:
        with socket.create_connection((place.hostname or "", place.port or 80), timeout=ANSWERS_S):
            return
    except (OSError, ValueError):
        detail = f"{assistant.title} sends its hooks to {server}, which does not answer"
        yield Check(
            _NAME, "warning", detail, f"ragmem serve, or ragmem connect {assistant.name} --handlers mcp"
        )


def _check_other_hooks(
    setup: ConnectContext, assistant: Assistant, path: Path, hooks: Sequence[Hook]
) -> Iterator[Check]:
    for hook in handwritten_hooks(hooks):
        detail = f"{assistant.title}, {hook.event}: a second hook calls ragmem: {hook.command[:80]}"
        yield Check(_NAME, "warning", detail, f'remove it from "{path}"')
    calls = [hook.call for hook in hooks if hook.call is not None]
    homes = {call.program.variables for call in calls} - {setup.program.variables}
    if homes:
        yield Check(_NAME, "ok", f"{assistant.title}: {len(homes)} other ragmem homes are also connected")
    others = sorted({name for hook in hooks if (name := _other_memory(hook))})
    if others:
        yield Check(
            _NAME, "ok", f"{assistant.title}: another ragmem home is also connected: {', '.join(others)}"
        )


def _check_program(
    setup: ConnectContext, assistant: Assistant, program: Program, fix: str
) -> Iterator[Check]:
    path = program.words[0]
    if not os.access(path, os.X_OK) or not Path(path).is_file():
        yield Check(_NAME, "failed", f'{assistant.title} calls "{path}", which is not executable', fix)
        return
    if is_in_cache(program):
        detail = f'{assistant.title} calls "{path}", which is in a cache and may be deleted'
        yield Check(_NAME, "warning", detail, "install ragmem (pipx, uv tool), then connect again")
    if program.words != setup.program.words and (other := _version(program)) != __version__:
        detail = f"{assistant.title} calls ragmem {other or 'of an unknown version'}, this is {__version__}"
        yield Check(_NAME, "warning", f'{detail}: "{path}"', fix)


def _version(program: Program) -> str:
    try:
        said = subprocess.run(  # noqa: S603 - the program that the settings call anyway
            [*program.words, "--version"], capture_output=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):  # then the version is unknown
        return ""
    return said.stdout.decode("utf-8", "replace").removeprefix("ragmem ").strip()


def last_call(state: Path, assistant: str) -> datetime | None:
    """Return the time of an assistant's last call of a hook in this home, None if the log has none."""
    for name in (NAME, FORMER):
        try:
            with (state / name).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_TAIL))
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:  # there is none
            continue
        for line in reversed(lines):
            moment, _, said = line.partition(" ")
            if said.startswith(f"{assistant} "):
                return datetime.fromisoformat(moment)
    return None


def _format_age(age: timedelta) -> str:
    minutes = int(age.total_seconds() // 60)
    if minutes < 1:
        return "now"
    if minutes < 120:
        return f"{minutes} minutes ago"
    return f"{minutes // 60} hours ago" if minutes < 48 * 60 else f"{minutes // 1440} days ago"


_LATELY = timedelta(days=30)

_LEAST_JUDGED = 20
"""Minimum texts of a moment whose use is judged before few useful ones are a finding."""

_LEAST_USEFUL = 0.2


def check_moments(patient: DoctorContext) -> Iterator[Check]:
    """Report each moment of the last 30 days, with a warning if few of its injections were useful."""
    counts = MomentCounts(patient.settings.places.state)
    came = False
    for one in moment_figures(patient.catalog, counts, since=patient.now - _LATELY):
        if not one.told and not one.silent:
            continue
        came = True
        told = f"{one.moment}: injected {one.told:,} of {one.told + one.silent:,} times in 30 days"
        use = f", used {one.useful:,} of the {one.judged:,} that can be evaluated" if one.judged else ""
        poor = one.judged >= _LEAST_JUDGED and one.useful < _LEAST_USEFUL * one.judged
        yield Check(
            "moments",
            "warning" if poor else "ok",
            told + use,
            "rate injections: ragmem feedback ID bad" if poor else "",
        )
    if not came:
        yield Check("moments", "ok", "nothing was injected automatically yet")


_OTHER_MEMORIES = (
    "agentmemory",
    "basic-memory",
    "claude-mem",
    "hindsight",
    "mcp-memory-service",
    "mem0",
    "memos-cli",
    "mempalace",
    "memsearch",
    "supermemory",
)
"""Other tools that remember sessions, by a word in the commands of their hooks."""

_MAX_SENSIBLE_S = 600
"""No hook runs for longer; a larger number was meant in milliseconds."""

_MIN_SENSIBLE_MS = 100
"""A shorter time-out was meant in seconds."""


def _wrong_unit(assistant: Assistant, hook: Hook) -> str:
    """Return the real meaning of a time-out in the wrong unit; an empty text for a sensible one."""
    timeout = hook.timeout
    if not isinstance(timeout, int | float) or isinstance(timeout, bool):
        return ""
    if assistant.units_per_second == 1 and timeout > _MAX_SENSIBLE_S:
        return f"{timeout:g} seconds, which is {timeout / 60:.0f} minutes"
    if assistant.units_per_second > 1 and 0 < timeout < _MIN_SENSIBLE_MS:
        return f"{timeout:g} milliseconds, too short to start anything"
    return ""


def _other_memory(hook: Hook) -> str:
    """Return the name of another memory tool that a hook belongs to, or an empty text."""
    command = hook.command.lower()
    return next((name for name in _OTHER_MEMORIES if name in command), "")
