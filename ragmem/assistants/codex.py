"""Codex. See docs/hooks.md and docs/mcp.md for where its formats are documented."""

from ragmem.assistants.assistant import Assistant

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
        "PostToolUse": ("after-tool", "none"),
        "PreCompact": ("pre-compact", "none"),
        "SubagentStop": ("subagent-stop", "none"),
        # Takes no additionalContext.
        "Stop": ("stop", "none"),
    }
    other_events = ("PermissionRequest", "SubagentStart", "StopFailure", "PostCompact")
    questions = {"web_search": ("query",)}
    # A patch names its files within its text.
    edits = {"apply_patch": ("command", "input", "patch"), "Write": _FILE, "Edit": _FILE}
    folder = ".codex"
    variable = "CODEX_HOME"
    user_files = (("hooks.json", "json"), ("config.toml", "toml"), ("config.toml", "toml server"))
    project_files = (("hooks.json", "json"), ("config.toml", "toml server"))
    # The last key is for versions before 0.130.
    switch = ("features", "hooks", "codex_hooks")
    servers_key = "mcp_servers"
    session_name = "codex"
    session_files = ("~/.codex/sessions/**/rollout-*.jsonl",)


ASSISTANT = Codex()
