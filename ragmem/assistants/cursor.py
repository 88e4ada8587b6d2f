"""Cursor. See docs/hooks.md and docs/mcp.md for where its formats are documented."""

from ragmem.assistants.assistant import Assistant


class Cursor(Assistant):
    """Cursor."""

    name = "cursor"
    title = "Cursor"
    programs = ("cursor", "cursor-agent")
    note = "Cursor before 3.20 drops what its hooks are answered: its sessions are remembered all the same"
    events = {
        "sessionStart": ("start", "flat"),
        # Its documentation lists no additional_context, but Cursor 3.20 takes it.
        "beforeSubmitPrompt": ("prompt", "continue"),
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
    memory_file = ".cursor/rules/ragmem.mdc"
    memory_file_head = "---\ndescription: What ragmem remembers of this project\nalwaysApply: true\n---\n"
    folder = ".cursor"
    instruction_files = ("AGENTS.md", ".cursorrules")
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
