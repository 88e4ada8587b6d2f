"""The assistants that ragmem can be connected to; what their events mean stands in `hooks.contracts`."""

from ragmem.assistants.model import Assistant, Wire
from ragmem.errors import UsageError
from ragmem.hooks import adapters
from ragmem.hooks.adapters import Contract


def wires_of(contract: Contract, *, without: tuple[str, ...] = ()) -> tuple[Wire, ...]:
    """Return the events of a contract that are of use, each for the tools that it is of use for."""
    return tuple(
        Wire(event, _matcher(contract, what, form))
        for event, (what, form) in contract.events.items()
        if what != adapters.NOTHING and event not in without
    )


def _matcher(contract: Contract, what: str, form: str) -> str:
    tools: list[str] = []
    if what == adapters.BEFORE_TOOL or (what == adapters.AFTER_TOOL and form != adapters.SILENT):
        tools += contract.questions
    if what == adapters.AFTER_TOOL:
        tools += contract.edits
    return "|".join(tool for tool in tools if tool)


ASSISTANTS: tuple[Assistant, ...] = (
    Assistant(
        name="claude-code",
        title="Claude Code",
        shape="groups",
        wires=wires_of(adapters.CLAUDE_CODE),
        programs=("claude",),
    ),
    Assistant(
        name="codex",
        title="Codex",
        shape="groups",
        wires=wires_of(adapters.CODEX),
        programs=("codex",),
        after="Codex runs a new or changed hook once you trust it: open /hooks in Codex",
    ),
    Assistant(
        name="cursor",
        title="Cursor",
        shape="flat",
        wires=wires_of(adapters.CURSOR),
        programs=("cursor", "cursor-agent"),
        version=1,
        after="Cursor takes no text with a prompt, and 3.x drops what sessionStart is answered: "
        "its sessions are remembered, and it is told little",
    ),
    Assistant(
        name="gemini",
        title="Gemini CLI",
        shape="groups",
        wires=wires_of(adapters.GEMINI),
        programs=("gemini",),
        per_second=1000,
        named=True,
    ),
    Assistant(
        name="opencode",
        title="OpenCode",
        shape="plugin",
        # Its sessions lie in a database of its own, which nothing here reads.
        wires=wires_of(
            adapters.OPENCODE,
            without=("PreCompact", "SubagentStop", "Stop", "SessionEnd"),
        ),
        programs=("opencode",),
        per_second=1000,
        after="OpenCode is told what is remembered; its own sessions are not read",
    ),
)

NAMES = tuple(assistant.name for assistant in ASSISTANTS)


def assistant_named(name: str) -> Assistant:
    """Return the assistant of a name; raises UsageError for one that is not known."""
    for assistant in ASSISTANTS:
        if assistant.name == name:
            return assistant
    raise UsageError(f'no assistant "{name}" is known', hint=f"one of: {', '.join(NAMES)}")
