"""GitHub Copilot CLI. See docs/hooks.md and docs/mcp.md for where its formats are documented.

Events that are spelled as those of Claude Code get its fields and its names of tools.
"""

from ragmem.assistants.assistant import Assistant
from ragmem.assistants.claude_code import ClaudeCode

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Copilot(Assistant):
    """GitHub Copilot CLI."""

    name = "copilot"
    title = "Copilot CLI"
    programs = ("copilot",)
    events = {
        "SessionStart": ("start", "flat"),
        "UserPromptSubmit": ("prompt", "flat"),
        "PreToolUse": ("before-tool", "flat"),
        "PostToolUse": ("after-tool", "flat"),
        "PostToolUseFailure": ("tool-failure", "flat"),
        "PreCompact": ("pre-compact", "none"),
        "Stop": ("stop", "none"),
        "SessionEnd": ("session-end", "none"),
    }
    # A subagent's work is in the transcript of its session, and its task is not known at its start.
    other_events = ("SubagentStart", "SubagentStop", "ErrorOccurred", "Notification", "PermissionRequest")
    questions = ClaudeCode.questions
    edits = {"Write": ("path", "file_path"), "Edit": ("path", "file_path")}
    reads = {"Read": ("path", "file_path")}
    commands = ClaudeCode.commands
    result_fields = ("tool_result",)
    folder = ".copilot"
    instruction_files = ("AGENTS.md", ".github/copilot-instructions.md", "copilot-instructions.md")
    variable = "COPILOT_HOME"
    project_folder = ".github"
    user_files = (("hooks/ragmem.json", "json"), ("mcp-config.json", "json server"))
    project_files = (("hooks/ragmem.json", "json"), ("mcp.json", "json server"))
    shape = "flat"
    version = 1
    session_name = "copilot"
    session_files = ("~/.copilot/session-state/*/events.jsonl",)
    session_folders = ("session-state",)
    session_globs = ("session-state/{session}/events.jsonl",)

    def answer(self, event: str, text: str) -> "dict[str, Any] | None":
        """Return the text in its own field, without the event's name."""
        return {"additionalContext": text} if text and self.events[event][1] != "none" else None

    def hook_entry(self, event: str, command: str, seconds: int) -> dict[str, object]:
        """Return the common entry with its type."""
        return {"type": "command", **super().hook_entry(event, command, seconds)}

    def server_entry(self, words: list[str], variables: dict[str, str]) -> "dict[str, Any]":
        """Return the common entry with its type and the tools to offer."""
        return {"type": "local", **super().server_entry(words, variables), "tools": ["*"]}


ASSISTANT = Copilot()
