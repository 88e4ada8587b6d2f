"""OpenCode. It has no command hooks; our plug-in calls them with the event names of Claude Code."""

from ragmem.assistants.assistant import Assistant
from ragmem.assistants.claude_code import ClaudeCode

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from ragmem.assistants.places import Form, Places, Scope

_FILE = ("filePath", "file_path", "path")


class OpenCode(Assistant):
    """OpenCode."""

    name = "opencode"
    title = "OpenCode"
    programs = ("opencode",)
    events = {
        "SessionStart": ("start", "nested"),
        "UserPromptSubmit": ("prompt", "nested"),
        "PreToolUse": ("before-tool", "nested"),
        "PostToolUse": ("after-tool", "nested"),
        "Stop": ("stop", "none"),
    }
    questions = ClaudeCode.questions
    edits = {"Write": _FILE, "Edit": _FILE}
    reads = {"Read": _FILE}
    commands = {"Bash": ("command",)}
    memory_file = "AGENTS.md"
    folder = ".config/opencode"
    instruction_files = ("AGENTS.md",)
    parent_variable = "XDG_CONFIG_HOME"
    shape = "plugin"
    units_per_second = 1000
    plugin = "opencode.js"
    servers_key = "mcp"
    session_name = "opencode"
    session_files = ("~/.local/share/opencode/opencode*.db",)
    session_folders = ("opencode",)

    def settings_files(self, places: "Places", scope: "Scope") -> "tuple[tuple[Path, Form], ...]":
        """Return the plug-in and the existing settings file."""
        user = scope == "user"
        folder = self.user_folder(places) if user else places.project / ".opencode"
        # Older versions know only "plugin", newer ones both.
        old = (folder / "plugin").is_dir() and not (folder / "plugins").is_dir()
        place = folder if user else places.project
        names = [name for name in ("opencode.jsonc", "opencode.json") if (place / name).is_file()]
        plugin = folder / ("plugin" if old else "plugins") / "ragmem.js"
        return (plugin, "plugin"), (place / (names[0] if names else "opencode.json"), "json server")

    def server_entry(self, words: list[str], variables: dict[str, str]) -> "dict[str, Any]":
        """Return an entry in OpenCode's own form."""
        environment = {"environment": variables} if variables else {}
        return {"type": "local", "command": words, **environment, "enabled": True}


ASSISTANT = OpenCode()
