"""`ragmem serve`: answer over HTTP on this machine."""

from typing import Annotated

import typer

from ragmem.cli.common import QuietOption, open_memory, say, tell
from ragmem.errors import EXIT_OK, BackendError, UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem serve
  ragmem serve --port 0
  ragmem serve --print-token

\b
Exit codes:
  0  ended by a signal
  2  usage or configuration
  3  the port is taken
  4  the extra `serve` is missing
"""


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
            "--allow-remote", help="Let other machines connect, on an address that is not loopback."
        ),
    ] = False,
    print_token: Annotated[
        bool, typer.Option("--print-token", help="Print the token that clients send, and exit.")
    ] = False,
    quiet: QuietOption = False,
) -> int:
    """Answer over HTTP on this machine."""
    from ragmem.serve.auth import load_token, token_path
    from ragmem.serve.origin import Names, is_loopback

    with open_memory(quiet=quiet) as memory:
        state = memory.settings.places.state
        if print_token:
            say(load_token(state))
            return EXIT_OK
        where = host or memory.settings.serve.host
        remote = not is_loopback(where)
        if remote and not allow_remote:
            raise UsageError(
                f'"{where}" can be reached from other machines',
                hint="listen on 127.0.0.1, or add --allow-remote if that is meant",
            )
        try:
            from ragmem.serve.app import create_app
            from ragmem.serve.listen import bind, place
            from ragmem.serve.listen import serve as serve_on
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("ragmem"):
                raise
            raise BackendError(
                f"serve needs the package {error.name}", hint="pip install 'ragmem[serve]'"
            ) from error
        token = load_token(state)
        listening = bind(where, memory.settings.serve.port if port is None else port)
        url = f"http://{place(where, listening.getsockname()[1])}"

        def note(line: str) -> None:
            if not quiet:
                tell(line)

        def ready() -> None:
            note(f"listening on {url}, token in {token_path(state)}")

        if remote:
            note(f"warning: other machines can reach {where}, and what they send and get is not encrypted")

        serve_on(
            create_app(
                memory,
                token=token,
                names=Names(where, remote=remote),
                warn=lambda line: note(f"warning: {line}"),
            ),
            listening,
            ready=ready,
            quiet=quiet,
        )
    return EXIT_OK
