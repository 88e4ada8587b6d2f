"""Drafts of exchanges: what is stored of a transcript."""

import re
from datetime import datetime
from pathlib import Path

import orjson

from ragmem.domain.classification.signal import is_greeting
from ragmem.domain.model import Draft, Scope
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.phases import phases_of, text_of, title_of
from ragmem.domain.sessions.transcript import SOURCE, ActType, Exchange
from ragmem.readers.files import show
from ragmem.readers.transcripts.cleaning import is_command

MAX_TITLE = 120
_WORDS = frozenset((ActType.SAID, ActType.ADDED, ActType.PLANNED))
MIN_ANSWER = 200
"""Characters of an answer to a greeting from which on it says something."""

MOST_TYPED = 1500
"""Characters of a question through a program that a person may have typed into it."""

_ELEMENT = re.compile(r"<([a-z][\w-]{0,40})>.*</\1>", re.DOTALL | re.IGNORECASE)

_EDITS = 20
"""How often one file stands in the list of edits at most: beyond that the count says no more."""


def drafts_of(
    exchange: Exchange,
    *,
    path: Path | str,
    scope: Scope,
    modified: datetime | None = None,
    redactor: Redactor,
) -> list[Draft]:
    """Return the drafts of an exchange: one, or none where it holds nothing.

    It holds nothing where neither words nor edits answer, as for a command of the assistant's or a question
    that was broken off, nor where a program asked, as one that has sessions summed up does. `modified` is
    when the file was written, for a transcript without times.
    """
    if not holds_something(exchange):
        return []
    return [
        Draft(
            source=SOURCE,
            uri=uri_of(exchange, path),
            text=text_of(exchange),
            title=title_of(exchange, MAX_TITLE, redactor=redactor),
            event_time=exchange.ended or exchange.began or modified,
            scope=scope,
            metadata=_metadata(exchange),
        )
    ]


def holds_something(exchange: Exchange) -> bool:
    """Tell whether anything came of a question: words for an answer, an edit, a commit."""
    if is_command(exchange.asked) and not _edit_counts(exchange):
        return False
    if is_greeting(exchange.asked) and len(exchange.answered) <= MIN_ANSWER and not _edit_counts(exchange):
        return False
    if _is_for_a_program(exchange):
        return False
    return bool(exchange.files or exchange.commits) or any(act.deed in _WORDS for act in exchange.acts)


def _edit_counts(exchange: Exchange) -> bool:
    return any(act.deed is not ActType.SAID for act in exchange.acts)


def _is_for_a_program(exchange: Exchange) -> bool:
    """Tell whether a program asked for words alone: its prompts hold texts, its answers are for parsing."""
    if _edit_counts(exchange):
        return False
    if exchange.entry.startswith("sdk") and len(exchange.asked) > MOST_TYPED:
        return True
    answer = exchange.answered
    if _ELEMENT.fullmatch(answer):
        return True
    if answer[:1] + answer[-1:] not in {"{}", "[]"}:
        return False
    try:
        orjson.loads(answer)
    except orjson.JSONDecodeError:
        return False
    return True


def uri_of(exchange: Exchange, path: Path | str) -> str:
    """Return the place of an exchange: the file, the session, the number, and the part from the second on."""
    agent = f"/{exchange.agent}" if exchange.agent else ""
    part = f".{exchange.part}" if exchange.part > 1 else ""
    return f"{show(Path(path))}#{exchange.session}{agent}/{exchange.number}{part}"


def _metadata(exchange: Exchange) -> dict[str, str]:
    paths = [
        _relative(path, exchange.cwd)
        for path, times in exchange.files.items()
        for _ in range(min(times, _EDITS))
    ]
    written = {
        "session": exchange.session,
        "assistant": exchange.assistant,
        "exchange": exchange.key,
        "agent": exchange.agent,
        "model": exchange.model,
        "branch": exchange.branch,
        "cwd": exchange.cwd,
        "commits": ", ".join(exchange.commits),
        "pull_requests": ", ".join(exchange.pull_requests),
        "files": "\n".join(paths),
        "phases": ", ".join(phases_of(exchange)),
        "part": str(exchange.part) if exchange.part > 1 else "",
    }
    return {name: value for name, value in written.items() if value}


def _relative(path: str, cwd: str) -> str:
    inside = cwd.rstrip("/\\")
    if inside and path.startswith((f"{inside}/", f"{inside}\\")):
        return path[len(inside) + 1 :]
    return path
