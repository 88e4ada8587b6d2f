"""Compose a report of a problem for an issue: what is installed, what doctor says, where it failed lately."""

import os
import platform
import re
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ragmem import __version__
from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers import failures
from ragmem.services.doctor.report import Report
from ragmem.storage.sql.sqlite_files import library_version

LIBRARIES = ("lightrag-hku", "numpy", "orjson", "rich", "typer", "onnxruntime", "mlx", "fastapi", "textual")
"""Libraries whose version may matter."""

MOST_ERRORS = 5
"""Errors of the report at most, the latest ones."""

TAIL = 256 * 1024
"""Bytes at the end of a log that are read."""

_ENTRY = re.compile(r"^(?=\d{4}-\d\d-\d\dT[\d:]{8}Z ragmem )", re.MULTILINE)
_FRAME = re.compile(
    r'^ +File "(?:[^"\n]*/)?((?:ragmem|site-packages|python3\.\d+)/[^"\n]+)", line (\d+), in (\S+)$',
    re.MULTILINE,
)
_CLASS = re.compile(r"^([A-Za-z_][\w.]*)(?::|$)", re.MULTILINE)
"""The class of an error stands where its traceback ends, before its message."""


def compose_report(report: Report, *, state: Path | None, home: Path, redactor: Redactor) -> str:
    """Return Markdown with versions, the checks, and the recent errors of the logs in the folder `state`.

    No text of a memory is in it: messages of errors may quote one, so that only their classes and the places
    in the code are told, and of a check that is well only its name. Secrets are redacted, and the home of the
    person is "~".
    """
    sqlite = ".".join(map(str, library_version()))
    lines = [
        "# Report of a problem with ragmem",
        "",
        "What I did, what I expected, and what happened instead:",
        "",
        "## Versions",
        "",
        f"- ragmem {__version__}",
        f"- Python {platform.python_version()} ({platform.python_implementation()}), SQLite {sqlite}",
        f"- {platform.platform()}",
        f"- {', '.join(_libraries())}",
        "",
        "## Doctor",
        "",
        f"- ok: {', '.join(one.name for one in report.checks if one.status == 'ok') or 'none'}",
        *(f"- {one.status}: {one.name}: {one.detail}" for one in report.checks if one.status != "ok"),
        "",
        "## Recent errors",
        "",
    ]
    # The same error is reported once, with its latest time.
    latest = {error: moment for moment, error in sorted(_errors(state))}
    for error, moment in sorted(latest.items(), key=lambda item: item[1])[-MOST_ERRORS:]:
        lines += [f"- {moment} {error[0]}", *(f"  - {place}" for place in error[1:])]
    lines += [] if latest else ["- none"]
    text = redactor.redact("\n".join(lines))[0]
    for folder in {str(home), os.path.realpath(home)} - {"/"}:
        text = re.sub(rf"{re.escape(folder)}(?![\w.-])", "~", text)
    return text + "\n"


def _libraries() -> Iterator[str]:
    for name in LIBRARIES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue


def _errors(state: Path | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the moment of each logged error, its class with the version, and the places in the code."""
    for path in [state / f"{failures.NAME}.1", state / failures.NAME] if state else []:
        for entry in _ENTRY.split(_tail(path)):
            head, _, trace = entry.partition("\n")
            if _ENTRY.match(head):
                yield head[:20], _shorten(head[21:].partition(",")[0], trace)
    for path in Path(tempfile.gettempdir()).glob("ragmem-bug-*.txt"):
        try:
            status = path.stat()
        except OSError:
            continue  # removed meanwhile
        if status.st_uid == os.getuid():
            head, _, trace = _tail(path).partition("\n")
            moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(status.st_mtime))
            yield moment, _shorten(f"{head.partition(',')[0]}, a bug", trace)


def _shorten(head: str, trace: str) -> tuple[str, ...]:
    frames = list(_FRAME.finditer(trace))
    name = _CLASS.search(trace, frames[-1].end()) if frames else None
    return (
        f"{head}: {name[1] if name else 'an error'}",
        *(f"{one[1]}:{one[2]} in {one[3]}" for one in frames),
    )


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL))
            return file.read().decode("utf-8", "replace")
    except OSError:  # there is none, or it is not ours
        return ""
