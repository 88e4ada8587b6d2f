"""The forms of settings files, and how our hooks or our MCP server are inserted and removed."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

from ragmem.assistants.assistant import Assistant
from ragmem.errors import ConfigError
from ragmem.services.wiring import hook_insertion, json_servers, servers, toml_settings
from ragmem.services.wiring.command import Program
from ragmem.services.wiring.hook_insertion import InsertionRecord, ShapeError
from ragmem.services.wiring.json_hooks import HOOKS, handwritten_hooks, own_hooks, read_hooks
from ragmem.services.wiring.json_text import Child, JsonTextError, read_json
from ragmem.services.wiring.record import FileRecord, digest


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The new text of a file (None: no file), what we inserted into it, and notes for the person."""

    after: str | None
    wiring: InsertionRecord = field(default_factory=InsertionRecord)
    notes: tuple[str, ...] = ()


class SettingsForm(Protocol):
    """One form of settings; all methods raise ConfigError for a text of another form."""

    def has_ours(self, text: str, assistant: Assistant, program: Program) -> bool:
        """Return whether the text connects this home."""

    def insert(
        self, path: Path, text: str | None, assistant: Assistant, program: Program, old: FileRecord | None
    ) -> FilePlan:
        """Return the file with our part inserted."""

    def remove(
        self, path: Path, text: str, assistant: Assistant, program: Program, old: FileRecord | None
    ) -> FilePlan:
        """Return the file without our part."""


class JsonHooks:
    """Hooks in a JSON file."""

    def has_ours(self, text: str, assistant: Assistant, program: Program) -> bool:
        """Return whether a hook leads to this home."""
        try:
            return bool(own_hooks(read_hooks(text), assistant, program))
        except JsonTextError:  # the next step reports it
            return False

    def insert(
        self, path: Path, text: str | None, assistant: Assistant, program: Program, old: FileRecord | None
    ) -> FilePlan:
        """Return the file with all hooks of the assistant in it."""
        before = InsertionRecord()
        try:
            hooks = read_hooks(text or "")
            if own_hooks(hooks, assistant, program):
                # Without a record it is unknown what ragmem created: empty containers are removed.
                everything = {HOOKS, *(f"{HOOKS}.{event}" for event in assistant.hook_events())}
                before = old.wiring if old is not None else InsertionRecord((), frozenset(everything))
            after, wiring = hook_insertion.insert_hooks(text or "", assistant, program, before)
        except JsonTextError as error:
            raise _json_error(path, error) from error
        except ShapeError as error:
            raise ConfigError(
                f'"{path}" does not have the structure that {assistant.title} expects: {error}',
                hint="fix it, then run the same command again",
            ) from error
        notes = [
            f'is kept next to ours, and does the same: "{hook.command}"' for hook in handwritten_hooks(hooks)
        ]
        others = {
            hook.call.program.variables
            for hook in hooks
            if hook.call is not None and hook.call.program.variables != program.variables
        }
        for variables in sorted(others):
            told = " ".join(f"{name}={value}" for name, value in variables) or "the default home"
            notes.append(f"another ragmem home is also connected: {told}")
        return FilePlan(after, wiring, tuple(notes))

    def remove(
        self, path: Path, text: str, assistant: Assistant, program: Program, old: FileRecord | None
    ) -> FilePlan:
        """Return the file without our hooks; None for an empty file that we created."""
        try:
            after = hook_insertion.remove_hooks(
                text, assistant, program, old.wiring if old is not None else None
            )
            empty = not after.strip("\ufeff \t\r\n") or read_json(after).value in (
                {},
                {} if assistant.version is None else {hook_insertion.VERSION: assistant.version},
            )
            notes = tuple(
                f'is kept, because it was edited: "{hook.command}"'
                for hook in handwritten_hooks(read_hooks(after))
            )
        except JsonTextError as error:
            raise _json_error(path, error) from error
        return FilePlan(None if empty and old is not None and old.created else after, notes=notes)


def _json_error(path: Path, error: JsonTextError) -> ConfigError:
    return ConfigError(
        f"{path}:{error.line}:{error.column}: not valid JSON: {error}",
        hint="fix it; nothing was changed",
    )


class TomlFlag:
    """The switch for hooks in a TOML file."""

    def has_ours(self, text: str, assistant: Assistant, program: Program) -> bool:
        """Return whether hooks are on, whoever turned them on."""
        del program
        try:
            return toml_settings.flag_state(text, assistant) is True
        except tomllib.TOMLDecodeError:  # the next step says where
            return False

    def insert(
        self, path: Path, text: str | None, assistant: Assistant, program: Program, old: FileRecord | None
    ) -> FilePlan:
        """Return the file with the switch on, unless the file already sets it."""
        del program
        try:
            after, wiring = toml_settings.insert_flag(path, text or "", assistant)
        except ConfigError as error:
            if "line by line" not in str(error):
                raise
            return FilePlan(text, notes=(error.full_message,))
        if after == (text or ""):
            notes: tuple[str, ...] = ()
            if toml_settings.flag_state(after, assistant) is False:
                notes = (f'{assistant.title} runs no hooks: "{path}" turns them off',)
            return FilePlan(text, old.wiring if old is not None else wiring, notes)
        return FilePlan(after, wiring)

    def remove(
        self, path: Path, text: str, assistant: Assistant, program: Program, old: FileRecord | None
    ) -> FilePlan:
        """Return the file without the switch, if we inserted it."""
        del program
        if old is None:
            return FilePlan(text)
        after = toml_settings.remove_flag(path, text, assistant, old.wiring)
        return FilePlan(None if old.created and not after.strip() else after)


class Plugin:
    """A plug-in that is completely ours."""

    def has_ours(self, text: str, assistant: Assistant, program: Program) -> bool:
        """Return whether the plugin is ours and leads to this home."""
        return is_ours(text, assistant) and _has_home(text, program)

    def insert(
        self, path: Path, text: str | None, assistant: Assistant, program: Program, old: FileRecord | None
    ) -> FilePlan:
        """Return the plugin; raises ConfigError where there is another file."""
        wanted = write_plugin(assistant, program)
        if text is not None and text != wanted:
            if not is_ours(text, assistant):
                raise ConfigError(f'"{path}" was not written by ragmem', hint="give it another name")
            if not _has_home(text, program):
                raise ConfigError(
                    f'"{path}" belongs to another ragmem home',
                    hint=f"disconnect that one first: RAGMEM_HOME=... ragmem disconnect {assistant.name}",
                )
            if old is not None and old.digest != digest(text):
                raise _changed_error(path)
        return FilePlan(wanted)

    def remove(
        self, path: Path, text: str, assistant: Assistant, program: Program, old: FileRecord | None
    ) -> FilePlan:
        """Return no file, if the plugin is as we wrote it."""
        if not self.has_ours(text, assistant, program):
            return FilePlan(text)
        as_written = (
            old.digest == digest(text) if old is not None else text == write_plugin(assistant, program)
        )
        if not as_written:
            raise _changed_error(path)
        return FilePlan(None)


def _changed_error(path: Path) -> ConfigError:
    return ConfigError(
        f'"{path}" was changed since ragmem wrote it',
        hint=f'check it first: less "{path}"; if you remove it, ragmem creates it again',
    )


class McpServer:
    """The MCP server in settings of JSON or TOML. If it cannot be added, a note says so."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def has_ours(self, text: str, assistant: Assistant, program: Program) -> bool:
        """Return whether a server leads to this home."""
        try:
            return servers.is_ours(self._value(text, assistant), program)
        except (JsonTextError, tomllib.TOMLDecodeError):  # the next step says where
            return False

    def insert(
        self, path: Path, text: str | None, assistant: Assistant, program: Program, old: FileRecord | None
    ) -> FilePlan:
        """Return the file with the server inserted."""
        try:
            before = old.wiring if old is not None else InsertionRecord()
            after, wiring = self._module.insert_server(text or "", assistant, program, before)
        except (JsonTextError, tomllib.TOMLDecodeError, ShapeError) as error:
            told = f'the MCP server was not added to "{path}", which cannot be changed: {error}'
            return FilePlan(text, old.wiring if old is not None else InsertionRecord(), (told,))
        notes: tuple[str, ...] = ()
        if not servers.is_ours(self._value(after, assistant), program):
            notes = (f'another MCP server is named {servers.NAME} in "{path}", and is kept',)
        return FilePlan(after if after or text is not None else None, wiring, notes)

    def remove(
        self, path: Path, text: str, assistant: Assistant, program: Program, old: FileRecord | None
    ) -> FilePlan:
        """Return the file without our server; None for an empty file that we created."""
        try:
            wiring = old.wiring if old is not None else None
            after = self._module.remove_server(text, assistant, program, wiring)
        except (JsonTextError, tomllib.TOMLDecodeError, ShapeError) as error:
            return FilePlan(text, notes=(f'the MCP server stays in "{path}": {error}',))
        empty = after.strip("\ufeff \t\r\n") in {"", "{}"}
        return FilePlan(None if empty and old is not None and old.created else after)

    def server(self, text: str, assistant: Assistant) -> servers.Server | None:
        """Return the MCP server of ragmem, None if the text has none."""
        try:
            return servers.read_server(self._value(text, assistant))
        except (JsonTextError, tomllib.TOMLDecodeError):  # others report what is wrong with a file
            return None

    def _value(self, text: str, assistant: Assistant) -> Any:
        found = self._module.find_server(text, assistant)
        return found.node.value if isinstance(found, Child) else found


FORMS: Mapping[str, SettingsForm] = {
    "json": JsonHooks(),
    "toml": TomlFlag(),
    "plugin": Plugin(),
    "json server": McpServer(json_servers),
    "toml server": McpServer(toml_settings),
}


def server_in(form: str, text: str, assistant: Assistant) -> servers.Server | None:
    """Return the MCP server of ragmem in a text, None where there is none or the text cannot be read."""
    settings = FORMS[form]
    assert isinstance(settings, McpServer)
    return settings.server(text, assistant)


_VARIABLES = "const VARIABLES = "


def write_plugin(assistant: Assistant, program: Program) -> str:
    """Return the text of an assistant's plug-in that calls this program."""
    text = files("ragmem.assistants").joinpath(assistant.plugin).read_text(encoding="utf-8")
    for name, value in (
        ("PROGRAM", list(program.words)),
        ("VARIABLES", dict(program.variables)),
        ("TIMEOUT", program.allowed_s * assistant.units_per_second),
    ):
        text = text.replace(f'"@{name}@"', json.dumps(value, ensure_ascii=False))
    return text


def is_ours(text: str, assistant: Assistant) -> bool:
    """Return whether a text is our plug-in, of any version."""
    return text.startswith(f"// The hooks of ragmem for {assistant.title}")


def _has_home(text: str, program: Program) -> bool:
    """Return whether our plug-in uses the home of this program."""
    found = next((line for line in text.splitlines() if line.startswith(_VARIABLES)), "")
    try:
        return bool(json.loads(found.removeprefix(_VARIABLES)) == dict(program.variables))
    except ValueError:
        return False
