"""Open the page of a running server in the browser, signed in."""

import atexit
from collections.abc import Callable
from pathlib import Path

KEPT_S = 60.0
"""Seconds in which a browser that has to start first will have read the file."""


def then_open(ready: Callable[[], None], url: str, token: str, *, state: Path) -> Callable[[], None]:
    """Return what is to be called when the server answers: what was before, and then the page opens."""

    def opened() -> None:
        ready()
        open_page(url, token, state=state)

    return opened


def open_page(url: str, token: str, *, state: Path) -> None:
    """Open the page by a file that only its owner can read, and that is gone after a minute.

    The token is in no command line that way, where other users of the machine would see it, and as a
    fragment it is never sent. Where no browser can be had nothing happens.
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
    forgetting = threading.Timer(KEPT_S, path.unlink, kwargs={"missing_ok": True})
    forgetting.daemon = True
    forgetting.start()
