"""What each assistant calls its events and fields, which of them may bring text, and how it takes it.

docs/hooks.md has the same as a table. Fields that no contract names are never looked at.
"""

from ragmem.hooks import spool

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

START, PROMPT, BEFORE_TOOL, AFTER_TOOL, NOTHING = "start", "prompt", "before-tool", "after-tool", ""
"""What an event is to ragmem, besides those of `spool.KINDS`."""

NESTED, FLAT, CONTINUE, SILENT = "hookSpecificOutput", "additional_context", "continue", ""
"""How an event takes an answer: within hookSpecificOutput, as a field, as leave to go on, or not at all."""


class Contract:
    """An assistant's own words.

    `events`: name -> (what it is to ragmem, how it takes an answer). `others`: names of events that are known
    and of no interest. The fields are tried in their order. `questions`: tool -> fields of its input that
    make up the question. `edits`: tool -> fields that name the file which it wrote.
    """

    __slots__ = (
        "agent",
        "cwd",
        "edits",
        "events",
        "message",
        "name",
        "others",
        "prompt",
        "questions",
        "session",
        "tool",
        "tool_input",
        "transcript",
    )

    def __init__(
        self,
        name: str,
        events: "Mapping[str, tuple[str, str]]",
        *,
        others: tuple[str, ...] = (),
        session: tuple[str, ...] = ("session_id",),
        transcript: tuple[str, ...] = ("transcript_path",),
        cwd: tuple[str, ...] = ("cwd",),
        message: tuple[str, ...] = ("last_assistant_message",),
        questions: "Mapping[str, tuple[str, ...]] | None" = None,
        edits: "Mapping[str, tuple[str, ...]] | None" = None,
    ) -> None:
        self.name = name
        self.events = events
        self.others = others
        self.session = session
        self.agent = ("agent_id",)
        self.transcript = transcript
        self.cwd = cwd
        self.prompt = ("prompt",)
        self.message = message
        self.tool = ("tool_name",)
        self.tool_input = ("tool_input",)
        self.questions = questions or {}
        self.edits = edits or {}

    def fields(self) -> tuple[str, ...]:
        """Return the names of the fields that hold short texts."""
        names = ("hook_event_name", "source", "reason", "trigger", "agent_transcript_path", "file_path")
        return (*names, *self.session, *self.agent, *self.transcript, *self.cwd, *self.tool)


_FILE = ("file_path", "path")

CLAUDE_CODE = Contract(
    "claude-code",
    {
        "SessionStart": (START, NESTED),
        "UserPromptSubmit": (PROMPT, NESTED),
        "PreToolUse": (BEFORE_TOOL, NESTED),
        "PostToolUse": (AFTER_TOOL, SILENT),
        "PreCompact": (spool.PRE_COMPACT, SILENT),
        "SubagentStop": (spool.SUBAGENT_STOP, SILENT),
        "Stop": (spool.STOP, SILENT),
        "SessionEnd": (spool.SESSION_END, SILENT),
    },
    others=(
        *("Setup", "PermissionRequest", "PermissionDenied", "PostToolUseFailure", "Notification"),
        *("SubagentStart", "TaskCreated", "TaskCompleted", "TeammateIdle", "StopFailure", "PostCompact"),
        *("InstructionsLoaded", "ConfigChange", "CwdChanged", "FileChanged", "WorktreeCreate"),
        *("WorktreeRemove", "Elicitation", "ElicitationResult"),
    ),
    questions={
        # The tool that starts a subagent is Agent since 2.1.63, and was Task before.
        "Task": ("description", "prompt"),
        "Agent": ("description", "prompt"),
        "WebSearch": ("query",),
        "WebFetch": ("prompt", "url"),
        "Grep": ("pattern",),
        "Glob": ("pattern",),
    },
    edits={"Write": _FILE, "Edit": _FILE, "MultiEdit": _FILE},
)

CODEX = Contract(
    "codex",
    {
        "SessionStart": (START, NESTED),
        "UserPromptSubmit": (PROMPT, NESTED),
        "PreToolUse": (BEFORE_TOOL, NESTED),
        "PostToolUse": (AFTER_TOOL, SILENT),
        "PreCompact": (spool.PRE_COMPACT, SILENT),
        "SubagentStop": (spool.SUBAGENT_STOP, SILENT),
        # Takes no additionalContext.
        "Stop": (spool.STOP, SILENT),
    },
    others=("PermissionRequest", "SubagentStart", "StopFailure", "PostCompact"),
    questions={"web_search": ("query",)},
    # A patch names its files within its text.
    edits={"apply_patch": ("command", "input", "patch"), "Write": _FILE, "Edit": _FILE},
)

CURSOR = Contract(
    "cursor",
    {
        # Documented to take additional_context; Cursor 3.x drops it.
        "sessionStart": (START, FLAT),
        # Can be stopped, and nothing can be added to it.
        "beforeSubmitPrompt": (NOTHING, CONTINUE),
        "afterFileEdit": (AFTER_TOOL, SILENT),
        "preCompact": (spool.PRE_COMPACT, SILENT),
        "subagentStop": (spool.SUBAGENT_STOP, SILENT),
        "stop": (spool.STOP, SILENT),
        "sessionEnd": (spool.SESSION_END, SILENT),
    },
    others=(
        *("preToolUse", "postToolUse", "postToolUseFailure", "subagentStart", "beforeShellExecution"),
        *("afterShellExecution", "beforeMCPExecution", "afterMCPExecution", "beforeReadFile"),
        *("beforeTabFileRead", "afterTabFileEdit", "afterAgentResponse", "afterAgentThought"),
    ),
    session=("conversation_id", "session_id"),
    cwd=("cwd", "workspace_roots"),
    # afterFileEdit names no tool, and its file beside the other fields.
    edits={"": _FILE},
)

GEMINI = Contract(
    "gemini",
    {
        "SessionStart": (START, NESTED),
        "BeforeAgent": (PROMPT, NESTED),
        # BeforeTool takes no text; what AfterTool is answered stands behind the tool's own result.
        "AfterTool": (AFTER_TOOL, NESTED),
        "PreCompress": (spool.PRE_COMPACT, SILENT),
        "AfterAgent": (spool.STOP, SILENT),
        "SessionEnd": (spool.SESSION_END, SILENT),
    },
    others=("BeforeTool", "BeforeModel", "AfterModel", "BeforeToolSelection", "Notification"),
    message=("prompt_response",),
    questions={
        "google_web_search": ("query",),
        "web_fetch": ("prompt",),
        "codebase_investigator": ("objective",),
        "search_file_content": ("pattern",),
        "grep_search": ("pattern",),
        "glob": ("pattern",),
    },
    edits={"write_file": _FILE, "replace": _FILE},
)

# Our own plugin calls its hooks by the names of Claude Code.
OPENCODE = Contract("opencode", CLAUDE_CODE.events, questions=CLAUDE_CODE.questions, edits=CLAUDE_CODE.edits)

CONTRACTS = {contract.name: contract for contract in (CLAUDE_CODE, CODEX, CURSOR, GEMINI, OPENCODE)}

DEFAULT = CLAUDE_CODE.name


def known_event(contract: Contract, *said: str) -> str:
    """Return the assistant's own name of an event, by the first that is known however it is spelled."""
    for name in said:
        wanted = _plain(name)
        for known in (*contract.events, *contract.others):
            if wanted and _plain(known) == wanted:
                return known
    return ""


def answer(contract: Contract, event: str, text: str) -> "dict[str, Any] | None":
    """Return what the assistant is answered; None: nothing at all."""
    _, form = contract.events[event]
    if form == CONTINUE:
        return {"continue": True}
    if not text or form == SILENT:
        return None
    if form == FLAT:
        return {"additional_context": text}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
