"""Cursor. See docs/hooks.md and docs/mcp.md for where its formats are documented."""

from ragmem.assistants.assistant import Assistant


class Cursor(Assistant):
    """Cursor."""

    name = "cursor"
    title = "Cursor"
    programs = ("cursor", "cursor-agent")
    note = (
        "Cursor takes no text with a prompt, and 3.x drops what sessionStart is answered: "
        "its sessions are remembered, and it is told little"
    )
    events = {
        # Documented to take additional_context; Cursor 3.x drops it.
        "sessionStart": ("start", "flat"),
        # It can be stopped, but takes no text.
        "beforeSubmitPrompt": ("nothing", "continue"),
        "afterFileEdit": ("after-tool", "none"),
        "preCompact": ("pre-compact", "none"),
        "subagentStop": ("subagent-stop", "none"),
        "stop": ("stop", "none"),
        "sessionEnd": ("session-end", "none"),
    }
    other_events = (
        *("preToolUse", "postToolUse", "postToolUseFailure", "subagentStart", "beforeShellExecution"),
        *("afterShellExecution", "beforeMCPExecution", "afterMCPExecution", "beforeReadFile"),
        *("beforeTabFileRead", "afterTabFileEdit", "afterAgentResponse", "afterAgentThought"),
    )
    session_fields = ("conversation_id", "session_id")
    cwd_fields = ("cwd", "workspace_roots")
    # afterFileEdit names no tool, and has the file among its own fields.
    edits = {"": ("file_path", "path")}
    folder = ".cursor"
    user_files = (("hooks.json", "json"), ("mcp.json", "json server"))
    shape = "flat"
    version = 1
    session_name = "cursor"
    session_files = ("~/.cursor/projects/*/agent-transcripts/*/*.jsonl",)
    session_folders = ("agent-transcripts",)
    session_globs = (
        "projects/*/agent-transcripts/{session}/{session}.jsonl",
        "projects/*/agent-transcripts/{session}.jsonl",
    )


ASSISTANT = Cursor()
