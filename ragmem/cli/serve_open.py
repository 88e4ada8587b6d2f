"""Open the page of a running server in the browser, signed in."""

import atexit
from collections.abc import Callable
from pathlib import Path

KEPT_S = 60.0
"""Seconds after which even a browser that has to start first has read the file."""


def open_when_ready(ready: Callable[[], None], url: str, token: str, *, state: Path) -> Callable[[], None]:
    """Return a callback that calls `ready`, then opens the page."""

    def open_then() -> None:
        ready()
        open_page(url, token, state=state)

    return open_then


def open_page(url: str, token: str, *, state: Path) -> None:
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
    forgetting = threading.Timer(KEPT_S, path.unlink, kwargs={"missing_ok": True})
    forgetting.daemon = True
    forgetting.start()
