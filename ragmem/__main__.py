"""The entry point: fast paths that skip the command line, and the exit code of every exception."""

import os
import sys

from ragmem import __version__
from ragmem.errors import EXIT_BUG, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, RagmemError, os_reason

# typing.TYPE_CHECKING without importing typing or collections, which a write to the inbox does not need.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OFFLINE = "--offline"
"""Must come before the command, so that it takes effect before the command is imported."""

NEW_OBJECTS = 200_000
"""Objects that a command makes before Python searches them for cycles; few commands make as many."""


def main() -> None:
    """Run the command line of this process and exit."""
    _open_closed_streams()
    if sys.argv[1:2] in (["hook"], ["mcp"]):
        # Everything is written, and an assistant waits: Python's own shutdown takes some milliseconds.
        os._exit(run(sys.argv[1:]))
    import atexit

    codes: list[int] = []
    # The first function registered is the last to be called, once all threads have ended.
    atexit.register(_end_at_once, codes)
    codes.append(run(sys.argv[1:]))
    sys.exit(codes[0])


def _end_at_once(codes: list[int]) -> None:
    """End the process without freeing its objects one by one, a tenth of the time of a cold question."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if codes:
        os._exit(codes[0])


def _open_closed_streams() -> None:
    """Redirect streams that were closed before the start (`>&-`) to null; a file could get their number."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def run(arguments: "Sequence[str]") -> int:
    """Run a command line and return its exit code; every error is one line on stderr."""
    if arguments[:1] == ["hook"]:
        return _hook(arguments[1:])
    if arguments[:2] == [OFFLINE, "hook"]:
        # A hook only uses a local socket; the processes that it starts go offline themselves.
        os.environ["RAGMEM_OFFLINE"] = "1"
        return _hook(arguments[2:])
    if arguments[:1] == [OFFLINE]:
        return _run_offline(arguments[1:])
    if os.environ.get("RAGMEM_OFFLINE"):
        from ragmem.config import offline

        if offline.is_requested(os.environ["RAGMEM_OFFLINE"]):
            offline.go()
    return _run(arguments)


def _run_offline(arguments: "Sequence[str]") -> int:
    """Run a command line that must not reach other machines, and report its connections."""
    from ragmem.config import offline

    offline.go()
    try:
        return _run(arguments)
    finally:
        options = arguments[: arguments.index("--")] if "--" in arguments else arguments
        if not {"-q", "--quiet"}.intersection(options) and options[:1] != ["__complete"]:
            _say_beside(f"{offline.report()}\n")


def _run(arguments: "Sequence[str]") -> int:
    if (failures := sys.modules.get("ragmem.readers.failures")) is not None:
        # Forget what an earlier command of this process logged.
        failures.LOG.written = None
    try:
        code = _dispatch(arguments)
        # Flush here, not while Python exits: a full disk and a closed pipe have exit codes of their own.
        sys.stdout.flush()
        _tell_of_failures()
    except RagmemError as error:
        _complain(str(error), error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        # A ^C inside `exec` (dataclasses use it) makes CPython kill the process with the signal at exit, even
        # if the exception is caught. Another `exec` clears that flag.
        exec("")  # noqa: S102 - nothing is executed
        _complain("interrupted; finished work is stored", "run the same command again to go on")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has left: exit quietly.
        _lead_nowhere(sys.stdout.fileno())
        return EXIT_OK
    except OSError as error:
        _complain(*_refusal(error))
        _drop_unwritten()
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001 - the one place that turns a bug into a report
        return _report_bug(error)
    return code


def _refusal(error: OSError) -> tuple[str, str]:
    """Return message and hint for what the operating system refused."""
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return "the working folder no longer exists", "go to one that does, then run it again"
    where = f' "{error.filename}"' if error.filename else ""
    return (
        f"the system refused{where}: {os_reason(error)}",
        "check free space and permissions, or set RAGMEM_HOME to another folder",
    )


def _tell_of_failures() -> None:
    """Name the log that has the traceback of an input that failed without ending the command."""
    failures = sys.modules.get("ragmem.readers.failures")
    if failures is not None and failures.LOG.written is not None:
        _say_beside(f"note: the traceback is in {failures.LOG.written}\n")


def _dispatch(arguments: "Sequence[str]") -> int:
    match list(arguments):
        case ["--version"]:
            print(f"ragmem {__version__}")
            return EXIT_OK
        case ["__complete", *rest]:
            from ragmem.complete import complete

            return complete(rest)
        case ["ingest", *rest] if "--buffer" in rest:
            from ragmem.inbox.buffer import accept, request_of

            # The full command line reports unknown options and errors.
            if request := request_of(rest):
                return accept(request, environ=os.environ, home=_home(), cwd=os.getcwd())  # noqa: PTH109
        case ["mcp", *rest]:
            from ragmem.mcp import stdio

            # An assistant waits for the handshake.
            if options := stdio.options_of(rest):
                return stdio.run(options)
        case [] | [*_, "--help" | "-h"]:
            from ragmem.cli.help import on_terminal, read_help

            # The full command line handles unknown commands and very narrow terminals.
            if text := read_help(list(arguments[:-1]), framed=on_terminal()):
                print(text, end="")
                if not arguments:
                    _offer_setup()
                return EXIT_OK
    return _run_command(arguments)


def _run_command(arguments: "Sequence[str]") -> int:
    _start_fast(arguments)
    if arguments[:1] == ["query"]:
        from ragmem.cli.query import app, query

        # Most questions are asked without anything that Typer is needed for.
        if (values := app.read(arguments[1:])) is not None:
            return query(**values)
    from ragmem.cli.app import run_command_line

    return run_command_line(arguments)


def _start_fast(arguments: "Sequence[str]") -> None:
    # Set before numpy is imported: its threads cost 70 ms of processor time at each start, and they would
    # compete with the threads of the embedder.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if arguments[:1] != ["serve"]:
        # What is imported stays: searches for cycles would take a tenth of the time of a cold question.
        import gc

        gc.set_threshold(NEW_OBJECTS)


def _offer_setup() -> None:
    """Name the command that fills the memory, if this home has none."""
    from ragmem.config.folders import folder_of

    data = folder_of("data", os.environ, home=_home(), cwd=os.getcwd())  # noqa: PTH109
    # A shared memory has no file here, but its folder.
    if not os.path.isdir(data):  # noqa: PTH112
        sys.stdout.flush()
        _say_beside(
            "\nThere is no memory yet: `ragmem setup` shows what is on this machine, and asks first.\n"
        )


def _hook(arguments: "Sequence[str]") -> int:
    """Run the hook of an assistant; not even a broken installation may disturb the assistant."""
    try:
        from ragmem.hooks.entry import hook

        return hook(arguments)
    except BaseException:  # noqa: BLE001 - `ragmem doctor` tells a person what is wrong
        return EXIT_OK


def _home() -> str:
    """Return the person's folder as `Path.home` does, without pathlib, which takes 10 ms to import."""
    return os.path.expanduser("~")  # noqa: PTH111


def _complain(message: str, hint: str) -> None:
    # File names may hold bytes that are not UTF-8, queries may hold line breaks: print one line.
    line = " ".join(message.split())
    _say_beside(f"ragmem: {line}\n" + (f"\nhint: {' '.join(hint.split())}\n" if hint else ""))


def _say_beside(text: str) -> None:
    from ragmem.charts.widths import replace_controls

    encoding = sys.stderr.encoding or "utf-8"
    try:
        sys.stderr.write(replace_controls(text).encode(encoding, "backslashreplace").decode(encoding))
        sys.stderr.flush()
    except OSError:
        # The message is lost; the exit code remains.
        _lead_nowhere(sys.stderr.fileno())


def _drop_unwritten() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _lead_nowhere(sys.stdout.fileno())


def _lead_nowhere(descriptor: int) -> None:
    """Discard what a stream still holds; Python would try to write it at exit, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _report_bug(error: Exception) -> int:
    import tempfile
    import traceback

    from ragmem.domain.secrets.redaction import DEFAULT

    with tempfile.NamedTemporaryFile(
        "w", prefix="ragmem-bug-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
    ) as file:
        file.write(f"ragmem {__version__}, Python {sys.version}\n")
        # The report is sent to others, and a message may quote an input.
        file.write(DEFAULT.redact("".join(traceback.format_exception(error)))[0])
    _complain(
        DEFAULT.redact(f"this is a bug in ragmem: {type(error).__name__}: {error}")[0],
        f"please report it with {file.name}",
    )
    return EXIT_BUG


if __name__ == "__main__":
    main()
