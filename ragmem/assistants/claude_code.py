"""Claude Code. See docs/hooks.md and docs/mcp.md for where its formats are documented."""

from ragmem.assistants.assistant import Assistant

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from ragmem.assistants.places import Form, Places, Scope

_FILE = ("file_path", "path")


class ClaudeCode(Assistant):
    """Claude Code."""

    name = "claude-code"
    title = "Claude Code"
    programs = ("claude",)
    events = {
        "SessionStart": ("start", "nested"),
        "UserPromptSubmit": ("prompt", "nested"),
        # Follows UserPromptSubmit, which knows a command by its name alone.
        "UserPromptExpansion": ("prompt", "nested"),
        "PreToolUse": ("before-tool", "nested"),
        "PostToolUse": ("after-tool", "nested"),
        "PostToolUseFailure": ("tool-failure", "nested"),
        "SubagentStart": ("subagent-start", "nested"),
        "PreCompact": ("pre-compact", "none"),
        "PostCompact": ("post-compact", "none"),
        "SubagentStop": ("subagent-stop", "none"),
        "Stop": ("stop", "none"),
        "SessionEnd": ("session-end", "none"),
    }
    other_events = (
        *("Setup", "PermissionRequest", "PermissionDenied", "Notification"),
        *("TaskCreated", "TaskCompleted", "TeammateIdle", "StopFailure", "PostToolBatch"),
        *("InstructionsLoaded", "ConfigChange", "CwdChanged", "FileChanged", "WorktreeCreate"),
        *("WorktreeRemove", "Elicitation", "ElicitationResult", "PreModelSwitch", "PostModelSwitch"),
        *("DirectoryAdded", "MessageDisplay", "PreSkillShellCommand"),
    )
    questions = {
        # The tool that starts a subagent is Agent since 2.1.63, and was Task before.
        "Task": ("description", "prompt"),
        "Agent": ("description", "prompt"),
        "WebSearch": ("query",),
        "WebFetch": ("prompt", "url"),
        "Grep": ("pattern",),
        "Glob": ("pattern",),
    }
    edits = {"Write": _FILE, "Edit": _FILE, "MultiEdit": _FILE, "NotebookEdit": ("notebook_path",)}
    reads = {"Read": _FILE}
    commands = {"Bash": ("command",), "PowerShell": ("command",)}
    tasks = {"Agent": ("prompt",), "Task": ("prompt",)}
    folder = ".claude"
    variable = "CLAUDE_CONFIG_DIR"
    session_name = "claude"
    session_files = ("~/.claude/projects/*/*.jsonl",)
    session_folders = ("projects",)

    def settings_files(self, places: "Places", scope: "Scope") -> "tuple[tuple[Path, Form], ...]":
        """Return settings.json and .claude.json, which are in different folders."""
        if scope == "user":
            servers = places.folder(self.variable, places.home) / ".claude.json"
            return (self.user_folder(places) / "settings.json", "json"), (servers, "json server")
        # A project's settings.json is shared, and the command contains a path of this machine.
        hooks = places.project / ".claude" / "settings.local.json"
        return (hooks, "json"), (places.project / ".mcp.json", "json server")

    def server_entry(self, words: list[str], variables: dict[str, str]) -> "dict[str, Any]":
        """Return the common entry with its type."""
        return {"type": "stdio", **super().server_entry(words, variables)}

    def find_hook_blockers(self, settings: dict[str, object]) -> list[str]:
        """Return `disableAllHooks`, if it is set."""
        return ["disableAllHooks is true"] if settings.get("disableAllHooks") is True else []


ASSISTANT = ClaudeCode()
