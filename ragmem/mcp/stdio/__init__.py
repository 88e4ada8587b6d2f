"""`ragmem mcp`: MCP on standard input and output, with the standard library alone.

The official SDK takes longer to import than a handshake may take (docs/adr/012-mcp-on-stdio.md).
"""

import _signal  # type: ignore[import-not-found]  # signal itself takes 5 ms, for its enums
import os
import time

from ragmem.config.folders import folder_of
from ragmem.mcp.stdio.call_handler import CallHandler
from ragmem.mcp.stdio.session import Session
from ragmem.mcp.stdio.wire import Wire

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ragmem.mcp.definitions import Profile

PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"
"""The variable in which Claude Code passes the open project to a server."""

SESSION_VARIABLE = "RAGMEM_SESSION"

GRACE_S = 0.8
"""Seconds that running calls have after the end of the input."""

INTERRUPTED = 130


class Options:
    """The options of `ragmem mcp`; an empty `project` means the folder that the client has open."""

    __slots__ = ("profile", "project", "structured")

    def __init__(
        self, profile: "Profile" = "default", *, project: str = "", structured: bool = False
    ) -> None:
        self.profile = profile
        self.project = project
        self.structured = structured


def options_of(arguments: list[str]) -> Options | None:
    """Return the options of a command line; None where the full command line has to report an error."""
    profile, project, structured = "default", "", False
    rest = list(arguments)
    while rest:
        match rest:
            case ["--structured", *rest]:
                structured = True
            case ["--profile", ("default" | "full") as profile, *rest]:
                pass
            case ["--project", project, *rest] if os.path.isdir(project):  # noqa: PTH112 - pathlib takes 10 ms
                pass
            case _:
                return None
    return Options("full" if profile == "full" else "default", project=project, structured=structured)


def run(options: Options) -> int:
    """Answer the client on standard input until it closes that; return the exit code."""
    # The output of a library or a child process must not mix with the messages.
    source, sink = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    before = {number: _signal.signal(number, _end) for number in (_signal.SIGTERM, _signal.SIGHUP)}
    before[_signal.SIGINT] = _signal.signal(_signal.SIGINT, _interrupt)
    # A signal just before a read, or to another thread, would otherwise be handled only after that read.
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    woken_before = _signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    try:
        _serve(options, Wire(source, sink, woken=woken, on_close=_end))
    finally:
        _signal.set_wakeup_fd(woken_before)
        os.dup2(source, 0)
        os.dup2(sink, 1)
        for descriptor in (source, sink, nowhere, woken, wake):
            os.close(descriptor)
        for number, handler in before.items():
            _signal.signal(number, handler)
    return 0


def _serve(options: Options, wire: Wire) -> None:
    here = os.getcwd()  # noqa: PTH109 - pathlib takes 10 ms to import
    data = folder_of("data", os.environ, home=os.path.expanduser("~"), cwd=here)  # noqa: PTH111
    session = os.environ.get(SESSION_VARIABLE) or f"mcp-{os.getpid()}-{time.time_ns():x}"
    handler = CallHandler(data, session=session, profile=options.profile, structured=options.structured)
    client = Session(
        wire,
        handler.answer,
        profile=options.profile,
        folder=_start_folder(options.project, here),
        fixed_folder=bool(options.project),
    )
    for line in wire.lines():
        client.take(line)
    until = time.monotonic() + GRACE_S
    while client.is_busy and time.monotonic() < until:
        time.sleep(0.005)
    if not client.is_busy:
        handler.close()


def _start_folder(project: str, here: str) -> str:
    """Return the folder that counts as the client's until it names another."""
    given = os.environ.get(PROJECT_VARIABLE, "")
    if project:
        return os.path.abspath(project)  # noqa: PTH100
    return given if os.path.isabs(given) and os.path.isdir(given) else here  # noqa: PTH112, PTH117


def _end(*_: object) -> None:
    """Exit at once: no call is half stored, and nobody reads its answer."""
    os._exit(0)


def _interrupt(*_: object) -> None:
    os._exit(INTERRUPTED)
