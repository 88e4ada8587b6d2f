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
