"""Where each assistant keeps its settings, for the person and for one project."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragmem.assistants.model import Assistant

Scope = Literal["user", "project"]
Form = Literal["json", "toml", "plugin", "json server", "toml server"]
"""What is in a file, and how: hooks as JSON, their switch, a plugin; the MCP server as JSON or as TOML."""

SERVER_FORMS: tuple[Form, ...] = ("json server", "toml server")

PLUGIN_FILE = "ragmem.js"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What tells where settings lie: the environment, the person's home, the folder one is in."""

    environ: Mapping[str, str]
    home: Path
    cwd: Path

    def folder(self, variable: str, *default: str) -> Path:
        """Return the folder that a variable names, if absolute, else this one below the home."""
        named = self.environ.get(variable, "")
        return Path(named) if Path(named).is_absolute() else self.home.joinpath(*default)

    @property
    def project(self) -> Path:
        """The folder of the project one is in: where its repository begins, else the folder itself."""
        here = self.cwd
        return next((one for one in (here, *here.parents) if (one / ".git").exists()), here)

    @property
    def in_project(self) -> bool:
        """Whether one is in a project; the home is none, because its settings are those for all work."""
        return self.project != self.home


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file of an assistant, and how it is written."""

    path: Path
    form: Form


def user_folder(assistant: Assistant, around: Surroundings) -> Path:
    """Return where an assistant keeps the person's settings."""
    match assistant.name:
        case "claude-code":
            return around.folder("CLAUDE_CONFIG_DIR", ".claude")
        case "codex":
            return around.folder("CODEX_HOME", ".codex")
        case "gemini":
            return around.folder("GEMINI_CLI_HOME") / ".gemini"
        case "opencode":
            return around.folder("XDG_CONFIG_HOME", ".config") / "opencode"
        case name:
            return around.home / f".{name}"


def project_folder(assistant: Assistant, root: Path) -> Path:
    """Return where an assistant keeps the settings of one project."""
    return root / {"claude-code": ".claude"}.get(assistant.name, f".{assistant.name}")


def files_of(assistant: Assistant, scope: Scope, around: Surroundings) -> tuple[SettingsFile, ...]:
    """Return the files that are changed to connect an assistant, the one with the hooks first.

    One file may be there twice, where hooks and the MCP server stand in it.
    """
    return (*_hook_files(assistant, scope, around), _server_file(assistant, scope, around))


def _server_file(assistant: Assistant, scope: Scope, around: Surroundings) -> SettingsFile:
    """Return the file that names MCP servers; see docs/mcp.md for where that is documented."""
    user = scope == "user"
    folder = user_folder(assistant, around) if user else project_folder(assistant, around.project)
    match assistant.name:
        case "claude-code":
            own = around.folder("CLAUDE_CONFIG_DIR") / ".claude.json"
            return SettingsFile(own if user else around.project / ".mcp.json", "json server")
        case "codex":
            return SettingsFile(folder / "config.toml", "toml server")
        case "cursor":
            return SettingsFile(folder / "mcp.json", "json server")
        case "gemini":
            return SettingsFile(folder / "settings.json", "json server")
        case _:
            place = folder if user else around.project
            names = [name for name in ("opencode.jsonc", "opencode.json") if (place / name).is_file()]
            return SettingsFile(place / (names[0] if names else "opencode.json"), "json server")


def _hook_files(assistant: Assistant, scope: Scope, around: Surroundings) -> tuple[SettingsFile, ...]:
    user = scope == "user"
    folder = user_folder(assistant, around) if user else project_folder(assistant, around.project)
    match assistant.name:
        case "claude-code":
            # A project's settings.json is everybody's, and the command has this machine's path in it.
            return (SettingsFile(folder / ("settings.json" if user else "settings.local.json"), "json"),)
        case "codex":
            hooks = SettingsFile(folder / "hooks.json", "json")
            return (hooks, SettingsFile(folder / "config.toml", "toml")) if user else (hooks,)
        case "cursor":
            return (SettingsFile(folder / "hooks.json", "json"),)
        case "gemini":
            return (SettingsFile(folder / "settings.json", "json"),)
        case _:
            # Older versions know only the one, newer ones both.
            old = (folder / "plugin").is_dir() and not (folder / "plugins").is_dir()
            return (SettingsFile(folder / ("plugin" if old else "plugins") / PLUGIN_FILE, "plugin"),)


def found_here(assistant: Assistant, around: Surroundings) -> bool:
    """Tell whether the assistant is on this machine: by its folder, or by its program."""
    if user_folder(assistant, around).is_dir():
        return True
    search = around.environ.get("PATH")
    return any(shutil.which(program, path=search) for program in assistant.programs)
