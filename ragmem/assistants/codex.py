"""Codex. See docs/hooks.md and docs/mcp.md for where its formats are documented."""

from ragmem.assistants.assistant import SESSION_END, Assistant

LONGEST_END_S = 3
"""Seconds that Codex gives a hook at a session's end at most."""

_FILE = ("file_path", "path")


class Codex(Assistant):
    """Codex."""

    name = "codex"
    title = "Codex"
    programs = ("codex",)
    note = "Codex runs a new or changed hook once you trust it: open /hooks in Codex"
    events = {
        "SessionStart": ("start", "nested"),
        "UserPromptSubmit": ("prompt", "nested"),
        "PreToolUse": ("before-tool", "nested"),
        "PostToolUse": ("after-tool", "nested"),
        "SubagentStart": ("subagent-start", "nested"),
        "PreCompact": ("pre-compact", "none"),
        "SubagentStop": ("subagent-stop", "none"),
        # Takes no additionalContext.
        "Stop": ("stop", "none"),
        # Since 0.171; older versions pass over it.
        "SessionEnd": ("session-end", "none"),
    }
    other_events = ("PermissionRequest", "StopFailure", "PostCompact", "Interrupt", "PreModelRequest")
    questions = {"web_search": ("query",)}
    # A patch names its files within its text.
    edits = {"apply_patch": ("command", "input", "patch"), "Write": _FILE, "Edit": _FILE}
    commands = {"Bash": ("command",), "shell": ("command",), "exec_command": ("cmd", "command")}
    tasks = {"spawn_agent": ("message", "prompt", "task")}
    memory_file = "AGENTS.md"
    folder = ".codex"
    instruction_files = ("AGENTS.md", "AGENTS.override.md")
    variable = "CODEX_HOME"
    user_files = (("hooks.json", "json"), ("config.toml", "toml"), ("config.toml", "toml server"))
    project_files = (("hooks.json", "json"), ("config.toml", "toml server"))
    # The last key is for versions before 0.130.
    switch = ("features", "hooks", "codex_hooks")
    servers_key = "mcp_servers"
    session_name = "codex"
    session_files = ("~/.codex/sessions/**/rollout-*.jsonl",)

    def hook_entry(self, event: str, command: str, seconds: int) -> dict[str, object]:
        """Return the common entry; a longer time-out of a session's end makes Codex warn."""
        end = self.meaning(event) == SESSION_END
        return super().hook_entry(event, command, min(seconds, LONGEST_END_S) if end else seconds)


ASSISTANT = Codex()
