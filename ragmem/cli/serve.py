"""`ragmem serve`: run the HTTP server on this machine."""

import atexit
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragmem.cli import serve_members
from ragmem.cli.common import open_memory, say, tell
from ragmem.cli.options import QuietOption
from ragmem.errors import EXIT_OK, BackendError, UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.server.security.origin import Names
    from ragmem.server.security.team import Team

EPILOG = """\b
Examples:
  ragmem serve
  ragmem serve --open
  ragmem serve --port 0
  ragmem serve --print-token
  ragmem serve --install
  ragmem serve members add ann --role writer
  ragmem serve --team --host 0.0.0.0 --cert chain.pem --key key.pem

\b
Exit codes:
  0  stopped by a signal
  1  nothing to uninstall
  2  usage or configuration
  3  the port is taken
  4  the extra `serve` is missing, or `team` for --team
"""

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Run the HTTP server on this machine.",
    epilog=EPILOG,
)
app.add_typer(serve_members.app, name="members")


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
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
            help="Let other machines connect; [serve] allow_remote must be set too.",
        ),
    ] = False,
    team: Annotated[
        bool,
        typer.Option(
            "--team", help="Serve team members with roles; needs PostgreSQL, and TLS for other machines."
        ),
    ] = False,
    cert: Annotated[
        str, typer.Option("--cert", metavar="FILE", help="Certificate for https; else [serve] tls_cert.")
    ] = "",
    key: Annotated[
        str, typer.Option("--key", metavar="FILE", help="Its private key; else [serve] tls_key.")
    ] = "",
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the web page in the browser, signed in.")
    ] = False,
    print_token: Annotated[
        bool, typer.Option("--print-token", help="Print the token for clients, and exit.")
    ] = False,
    renew_token: Annotated[
        bool,
        typer.Option("--new-token", help="Replace the token, print the new one, and exit."),
    ] = False,
    log_format: Annotated[
        Literal["text", "json"] | None,
        typer.Option("--log-format", help="Format of the log; else [serve] log_format."),
    ] = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"] | None,
        typer.Option("--log-level", help="Lowest level to log; info logs each request."),
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Start it at login, with these options.")
    ] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="No longer start it at login.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what --install or --uninstall would do.")
    ] = False,
    quiet: QuietOption = False,
) -> int:
    """Run the HTTP server on this machine."""
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return EXIT_OK
    one_of = {
        "--open": open_browser,
        "--print-token": print_token,
        "--new-token": renew_token,
        "--install": install,
        "--uninstall": uninstall,
    }
    _require_one([name for name, given in one_of.items() if given], dry_run=dry_run)
    from ragmem.server.security.auth import load_token, new_token
    from ragmem.server.security.origin import names_of
    from ragmem.server.security.tls import check_pair

    with open_memory(quiet=quiet) as memory:
        state = memory.settings.places.state
        if print_token or renew_token:
            say(new_token(state) if renew_token else load_token(state))
            if renew_token and not quiet:
                tell("a running server accepts the old token until it is restarted")
            return EXIT_OK
        if uninstall:
            from ragmem.cli.serve_install import uninstall as uninstall_service

            return uninstall_service(home=memory.home, state=state, dry_run=dry_run, quiet=quiet)
        where = host or memory.settings.serve.host
        cert, key = cert or memory.settings.serve.tls_cert, key or memory.settings.serve.tls_key
        encrypted = check_pair(cert, key)
        names = names_of(where, memory.settings.serve, allow_remote=allow_remote or team, encrypted=encrypted)
        if install:
            from ragmem.cli.serve_install import install as install_service

            given = {"host": host, "port": port, "log-format": log_format, "log-level": log_level}
            options = [f"--{name}={value}" for name, value in given.items() if value not in {None, ""}]
            options += ["--allow-remote"] if allow_remote else []
            options += ["--team"] if team else []
            options += [f"--cert={Path(cert).absolute()}", f"--key={Path(key).absolute()}"] if cert else []
            return install_service(options, home=memory.home, state=state, dry_run=dry_run, quiet=quiet)
        settings = memory.settings.serve
        _run(
            memory,
            names,
            port=settings.port if port is None else port,
            tls=(Path(cert), Path(key)) if encrypted else None,
            team=team,
            open_browser=open_browser,
            json_log=(log_format or settings.log_format) == "json",
            level="error" if quiet else str(log_level or settings.log_level),
            quiet=quiet,
        )
    return EXIT_OK


def _run(
    memory: "Ragmem",
    names: "Names",
    *,
    port: int,
    tls: tuple[Path, Path] | None,
    team: bool,
    open_browser: bool,
    json_log: bool,
    level: str,
    quiet: bool,
) -> None:
    """Serve until a signal; `tls` has the files of the certificate and of its private key."""
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
    from ragmem.daemon.embedded_server import EmbeddedServer
    from ragmem.server.security.auth import load_token, token_path
    from ragmem.server.security.tls import server_context

    state = memory.settings.places.state
    token = load_token(state)
    context = server_context(*tls) if tls else None
    log = Log(json=json_log, level=level, quiet=quiet)
    warn = log.warning
    guest = EmbeddedServer(memory, warn=warn)
    try:
        members = _team_of(memory, warn=warn) if team else None
        listening = bind(names.host, port, remote=names.remote)
        url = f"{'https' if tls else 'http'}://{place(names.host, listening.getsockname()[1])}"

        def ready() -> None:
            path = token_path(state)
            log.announce(f"listening on {url}, token in {path}", event="listening", url=url, token=str(path))
            guest.begin()

        serve_on(
            create_app(memory, token=token, names=names, team=members, warn=warn, log=log),
            listening,
            within=limits_of(memory.settings.serve),
            ready=_open_when_ready(ready, url, token, state=state) if open_browser else ready,
            log=log,
            tls=context,
        )
    finally:
        guest.end()
        log.close()


def _team_of(memory: "Ragmem", *, warn: Callable[[str], None]) -> "Team":
    """Return the members of the server; raises UsageError for a store that cannot keep them apart."""
    from ragmem.server.security.members import Members
    from ragmem.server.security.oauth import ResourceServer, check_settings
    from ragmem.server.security.team import Team
    from ragmem.storage.home.postgres_members import prepare_members

    profile = memory.settings.store.profile
    if profile != "postgres":
        raise UsageError(
            f'--team needs the store in PostgreSQL, and it is "{profile}"',
            hint="ragmem store migrate --to postgres --url postgresql://HOST/NAME",
        )
    settings = memory.settings.serve
    check_settings(settings)
    members = Members(memory.settings.places.state, warn=warn)
    if not members.all() and not settings.issuer:
        warn("there are no members yet; add one: `ragmem serve members add NAME --role writer`")
    memory.prepare()  # by the owner: a member has no right to make tables
    prepare_members(memory.catalog.database)
    oauth = ResourceServer(settings, warn=warn) if settings.issuer else None
    return Team(members, oauth=oauth, requests_per_minute=settings.requests_per_minute)


def _refuse_options(context: typer.Context) -> None:
    """Raise UsageError for an option before the name of a command, which that command would not see."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                f"{parameter.opts[0]} must follow {context.invoked_subcommand}",
                hint=f"ragmem serve {context.invoked_subcommand} --help",
            )


def _require_one(chosen: Sequence[str], *, dry_run: bool) -> None:
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} are mutually exclusive", hint="give one of them")
    if dry_run and not {"--install", "--uninstall"}.intersection(chosen):
        raise UsageError(
            "--dry-run works only with --install and --uninstall", hint="ragmem serve --install --dry-run"
        )


_KEPT_S = 60.0
"""Seconds after which even a browser that has to start first has read the file."""


def _open_when_ready(ready: Callable[[], None], url: str, token: str, *, state: Path) -> Callable[[], None]:
    """Return a callback that calls `ready`, then opens the page."""

    def open_then() -> None:
        ready()
        _open_page(url, token, state=state)

    return open_then


def _open_page(url: str, token: str, *, state: Path) -> None:
    """Open the page by a redirecting file that only its owner can read and that is deleted after a minute.

    This keeps the token out of command lines, which other users could see; as a fragment it is never sent.
    Without a browser nothing happens.
    """
    import html
    import os
    import secrets
    import threading
    import webbrowser

    target = html.escape(f"{url}/#token={token}")
    page = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={target}">'
    path = state / f"open-{secrets.token_hex(8)}.html"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(page)
    atexit.register(path.unlink, missing_ok=True)
    # Some browsers do not return until they are closed.
    threading.Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()
    forgetting = threading.Timer(_KEPT_S, path.unlink, kwargs={"missing_ok": True})
    forgetting.daemon = True
    forgetting.start()
