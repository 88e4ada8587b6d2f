"""The coding assistants that ragmem knows, one module each. A new one needs its module and its name here."""

from ragmem.errors import UsageError

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ragmem.assistants.assistant import Assistant

NAMES = (
    "claude-code",
    "codex",
    "cursor",
    "gemini",
    "opencode",
    "copilot",
)
"""`claude-code` is the module `claude_code`, and so on. A hook loads the module of one assistant only."""

DEFAULT = "claude-code"

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Kiro", "Trae", "Antigravity")
_EDITOR_PLACES = ("~/.config", "~/Library/Application Support", "~/AppData/Roaming")
_EDITOR_SERVERS = (
    "vscode-server",
    "vscode-server-insiders",
    "vscode-remote",
    "cursor-server",
    "windsurf-server",
)
_EDITOR_FOLDERS = (
    *(f"{place}/{name}/User" for place in _EDITOR_PLACES for name in _EDITORS),
    *(f"~/.{name}/data/User" for name in _EDITOR_SERVERS),
    "~/.local/share/code-server/User",
    "~/.var/app/com.visualstudio.code/config/Code/User",
)
"""Named in full: other entries of these places may be links that lead anywhere."""

OTHER_SESSION_FILES = (
    *(f"{folder}/globalStorage/*/tasks/*/api_conversation_history.json" for folder in _EDITOR_FOLDERS),
    "~/.cline/data/tasks/*/api_conversation_history.json",
    "~/.cline/data/sessions/*/*.messages.json",
)
"""Globs of the sessions of assistants that cannot be connected: Cline and its forks, in any editor."""


def load_assistant(name: str) -> "Assistant":
    """Return an assistant by its name; raises UsageError for an unknown one."""
    if name not in NAMES:
        raise UsageError(f'there is no assistant "{name}"', hint=f"one of: {', '.join(NAMES)}")
    # Importing importlib would take too long for a hook.
    module = __import__(f"ragmem.assistants.{name.replace('-', '_')}", fromlist=("ASSISTANT",))
    assistant: Assistant = module.ASSISTANT
    return assistant


def load_assistants() -> "tuple[Assistant, ...]":
    """Return all assistants."""
    return tuple(load_assistant(name) for name in NAMES)


def session_files() -> tuple[str, ...]:
    """Return the globs of the sessions of all assistants."""
    return (*(glob for one in load_assistants() for glob in one.session_files), *OTHER_SESSION_FILES)
