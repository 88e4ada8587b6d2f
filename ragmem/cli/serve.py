"""`ragmem serve`: answer over HTTP on this machine."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from ragmem.cli.common import open_memory, say, tell
from ragmem.cli.options import QuietOption
from ragmem.cli.serve_open import open_when_ready
from ragmem.errors import EXIT_OK, BackendError, UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem serve
  ragmem serve --open
  ragmem serve --port 0
  ragmem serve --print-token
  ragmem serve --install

\b
Exit codes:
  0  ended by a signal
  1  nothing to uninstall
  2  usage or configuration
  3  the port is taken
  4  the extra `serve` is missing
"""


class LogFormat(StrEnum):
    """The form of the log."""

    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    """The lowest level of the log."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@app.command(epilog=EPILOG)
def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on; else [serve] host.")] = "",
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=0, max=65_535, help="Port to listen on, 0 for a free one; else [serve] port."
        ),
    ] = None,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote",
            help="Let other machines connect, where [serve] allow_remote says so as well.",
        ),
    ] = False,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser, signed in.")
    ] = False,
    print_token: Annotated[
        bool, typer.Option("--print-token", help="Print the token that clients send, and exit.")
    ] = False,
    renew_token: Annotated[
        bool,
        typer.Option("--new-token", help="Make and print another token in the place of this one, and exit."),
    ] = False,
    log_format: Annotated[
        LogFormat | None, typer.Option("--log-format", help="Form of the log; else [serve] log_format.")
    ] = None,
    log_level: Annotated[
        LogLevel | None,
        typer.Option("--log-level", help="Lowest level to log; info: a line for each request."),
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Have the system start it at login, with these options.")
    ] = False,
    uninstall: Annotated[
        bool, typer.Option("--uninstall", help="Stop the system from starting it at login.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what --install or --uninstall would do.")
    ] = False,
    quiet: QuietOption = False,
) -> int:
    """Answer over HTTP on this machine."""
    one_of = {
        "--open": open_browser,
        "--print-token": print_token,
        "--new-token": renew_token,
        "--install": install,
        "--uninstall": uninstall,
    }
    _require_one([name for name, given in one_of.items() if given], dry_run=dry_run)
    from ragmem.daemon.embedded_server import EmbeddedServer
    from ragmem.server.security.auth import load_token, new_token, token_path
    from ragmem.server.security.origin import names_of

    with open_memory(quiet=quiet) as memory:
        state = memory.settings.places.state
        if print_token or renew_token:
            say(new_token(state) if renew_token else load_token(state))
            if renew_token and not quiet:
                tell("a server that runs takes the token before until it is started again")
            return EXIT_OK
        if uninstall:
            from ragmem.cli.serve_install import uninstall as uninstall_service

            return uninstall_service(home=memory.home, state=state, dry_run=dry_run, quiet=quiet)
        where = host or memory.settings.serve.host
        names = names_of(where, memory.settings.serve, allow_remote=allow_remote)
        if install:
            from ragmem.cli.serve_install import install as install_service

            given = {"host": host, "port": port, "log-format": log_format, "log-level": log_level}
            options = [f"--{name}={value}" for name, value in given.items() if value not in {None, ""}]
            options += ["--allow-remote"] if allow_remote else []
            return install_service(options, home=memory.home, state=state, dry_run=dry_run, quiet=quiet)
        try:
            from ragmem.server.app import create_app
            from ragmem.server.http.log import Log
            from ragmem.server.security.connections import limits_of
            from ragmem.server.uvicorn_server import bind, place
            from ragmem.server.uvicorn_server import serve as serve_on
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("ragmem"):
                raise
            raise BackendError(
                f"serve needs the package {error.name}", hint="pip install 'ragmem[serve]'"
            ) from error
        token = load_token(state)
        listening = bind(where, memory.settings.serve.port if port is None else port, remote=names.remote)
        url = f"http://{place(where, listening.getsockname()[1])}"

        settings = memory.settings.serve
        log = Log(
            json=(log_format or settings.log_format) == "json",
            level="error" if quiet else str(log_level or settings.log_level),
            quiet=quiet,
        )

        def ready() -> None:
            path = token_path(state)
            log.announce(f"listening on {url}, token in {path}", event="listening", url=url, token=str(path))
            guest.begin()

        warn = log.warning
        if names.remote:
            warn(f"other machines can reach {where}, and what they send and get is not encrypted")
        guest = EmbeddedServer(memory, warn=warn)
        try:
            serve_on(
                create_app(memory, token=token, names=names, warn=warn, log=log),
                listening,
                within=limits_of(settings),
                ready=open_when_ready(ready, url, token, state=state) if open_browser else ready,
                log=log,
            )
        finally:
            guest.end()
            log.close()
    return EXIT_OK


def _require_one(chosen: Sequence[str], *, dry_run: bool) -> None:
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} exclude each other", hint="give one of them")
    if dry_run and not {"--install", "--uninstall"}.intersection(chosen):
        raise UsageError(
            "--dry-run is for --install and --uninstall", hint="ragmem serve --install --dry-run"
        )
