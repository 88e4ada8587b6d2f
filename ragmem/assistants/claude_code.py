"""Claude Code. See docs/hooks.md and docs/mcp.md for where its formats are documented."""

from ragmem.assistants.assistant import HOOK_SERVER, HOOK_TOOL, TOKEN_VARIABLE, Assistant

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from ragmem.assistants.assistant import Handler
    from ragmem.assistants.places import Form, Places, Scope

_FILE = ("file_path", "path")

_FILLED_IN = ("session_id", "cwd", "agent_id")
"""Fields of every event that Claude Code fills in for the tool of an MCP server."""

_FILLED_IN_BY_EVENT = {
    "UserPromptSubmit": ("prompt", "source"),
    "UserPromptExpansion": ("command_args", "source"),
    "PreToolUse": ("tool_name", "tool_input"),
    "PostToolUse": ("tool_name", "tool_input"),
    "PostToolUseFailure": ("tool_name", "tool_input", "error", "is_interrupt"),
    "SubagentStart": ("agent_type", "transcript_path"),
}

_OUTPUT = {name: f"${{tool_response.{name}}}" for name in ("stdout", "stderr")}
"""What is needed of a result: that of a command. The one of a read may be a whole picture."""


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
    handlers = ("command", "mcp", "http")
    folder = ".claude"
    instruction_files = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/", "rules/")
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

    def handler_entry(self, handler: "Handler", event: str, target: str, seconds: int) -> dict[str, object]:
        """Return the entry of type `mcp_tool` or `http`.

        The values of the first are texts that Claude Code fills in; the second posts the whole event.
        """
        if handler == "command":
            return self.hook_entry(event, target, seconds)
        if handler == "http":
            headers = {"Authorization": f"Bearer ${TOKEN_VARIABLE}"}
            said = {"type": "http", "url": target, "headers": headers, "allowedEnvVars": [TOKEN_VARIABLE]}
        else:
            names = (*_FILLED_IN, *_FILLED_IN_BY_EVENT[event])
            filled: dict[str, object] = {name: f"${{{name}}}" for name in names}
            if event == "PostToolUse":
                filled["tool_response"] = dict(_OUTPUT)
            given = {"call": target, **filled}
            said = {"type": "mcp_tool", "server": HOOK_SERVER, "tool": HOOK_TOOL, "input": given}
        return {**self.hook_entry(event, "", 0), "hooks": [{**said, "timeout": seconds}]}

    def server_entry(self, words: list[str], variables: dict[str, str]) -> "dict[str, Any]":
        """Return the common entry with its type."""
        return {"type": "stdio", **super().server_entry(words, variables)}

    def find_hook_blockers(self, settings: dict[str, object]) -> list[str]:
        """Return `disableAllHooks`, if it is set."""
        return ["disableAllHooks is true"] if settings.get("disableAllHooks") is True else []


ASSISTANT = ClaudeCode()
