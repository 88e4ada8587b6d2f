"""Hooks in a settings file of JSON, and which of them are ours."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragmem.assistants.assistant import HOOK_SERVER, HOOK_TOOL, Assistant
from ragmem.services.wiring.command import Call, Program, looks_like_ours, read_call
from ragmem.services.wiring.json_text import Child, Node, read_json

if TYPE_CHECKING:
    from ragmem.assistants.assistant import Handler

HOOKS = "hooks"


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook of a settings file; `call` is its parsed command, if we wrote it."""

    event: str
    handler: "Handler"
    command: str
    """Of another handler than a command what stands for it: an address, or a server and its tool."""
    timeout: Any
    matcher: Any
    call: Call | None
    group: Child
    """The entry in the list of the event."""
    child: Child
    """The hook itself, in its group; the group itself where there are none."""
    siblings: int

    @property
    def alone(self) -> bool:
        """Return whether its group has no other hook, and is removed with it."""
        return self.siblings == 1


def read_hooks(text: str) -> list[Hook]:
    """Return every hook of a settings file in order; entries of another form are skipped.

    Raises JsonTextError for invalid JSON.
    """
    return list(iterate_hooks(read_json(text))) if text.strip("\ufeff \t\r\n") else []


def iterate_hooks(root: Node) -> Iterator[Hook]:
    """Yield the hooks of a parsed document."""
    hooks = root.get(HOOKS) if root.kind == "object" else None
    if hooks is None or hooks.kind != "object":
        return
    for event in hooks.children:
        for group in event.node.children if event.node.kind == "array" else ():
            inner = group.node.get(HOOKS) if group.node.kind == "object" else None
            nested = inner is not None and inner.kind == "array"
            children = inner.children if inner is not None and nested else (group,)
            for child in children:
                value = child.node.value
                if isinstance(value, dict) and (said := _handler_of(value)) is not None:
                    yield Hook(
                        event.name or "",
                        *said,
                        value.get("timeout"),
                        group.node.value.get("matcher"),
                        read_call(said[1]),
                        group,
                        child,
                        len(children),
                    )


def _handler_of(value: dict[str, Any]) -> "tuple[Handler, str] | None":
    """Return the handler of an entry, and its command or what stands for it; None for other entries."""
    if isinstance(command := value.get("command"), str):
        return "command", command
    if value.get("type") == "http" and isinstance(url := value.get("url"), str):
        return "http", url
    if value.get("type") != "mcp_tool":
        return None
    tool = f"{value.get('server')} {value.get('tool')}"
    given = value.get("input")
    call = given.get("call") if isinstance(given, dict) and tool == f"{HOOK_SERVER} {HOOK_TOOL}" else None
    return "mcp", call if isinstance(call, str) else tool


def own_hooks(hooks: Collection[Hook], assistant: Assistant, program: Program) -> list[Hook]:
    """Return the hooks of the same home as `program`, whichever version wrote them."""
    return [
        hook
        for hook in hooks
        if hook.call is not None
        and hook.call.assistant == assistant.name
        and hook.call.program.variables == program.variables
    ]


def handwritten_hooks(hooks: Collection[Hook]) -> list[Hook]:
    """Return the hooks that call ragmem and were not written by it."""
    return [hook for hook in hooks if hook.call is None and looks_like_ours(hook.command)]
