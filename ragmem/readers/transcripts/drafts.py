"""Make drafts of the exchanges of a transcript."""

import re
from datetime import datetime
from pathlib import Path

import orjson

from ragmem.domain.classification.greeting import is_greeting, is_order
from ragmem.domain.classification.judge import is_foreign_prose
from ragmem.domain.model import Draft, Scope
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.outline import headline
from ragmem.domain.sessions.phases import asked_of, phases_of, text_of, title_of
from ragmem.domain.sessions.transcript import SOURCE, ActType, Exchange
from ragmem.domain.text.blocks import BlockType, units
from ragmem.domain.text.exchanges import clip
from ragmem.patterns import lazy
from ragmem.readers.files import show
from ragmem.readers.transcripts.cleanup import is_command

MAX_TITLE = 120
MAX_ASKED = 200
_OF_SESSION = ("session", "assistant", "branch", "cwd")
_WORDS = frozenset((ActType.SAID, ActType.ADDED, ActType.PLANNED, ActType.RETURNED))
MIN_ANSWER = 200
"""Minimum characters of a meaningful answer to a greeting or a bare order, in English."""

MOST_TYPED = 1500
"""Maximum characters of a question through the SDK that a person may have typed."""

_ELEMENT = lazy(r"<([a-z][\w-]{0,40})>.*</\1>", re.DOTALL | re.IGNORECASE)

_EDITS = 20
"""Maximum number of times that a file is listed as edited; a higher count says no more."""


def drafts_of(
    exchange: Exchange,
    *,
    path: Path | str,
    scope: Scope,
    modified: datetime | None = None,
    redactor: Redactor,
) -> list[Draft]:
    """Return the drafts of an exchange: one, or none if it is empty, and the summaries of its session.

    It is empty without an answer in words or edits, as for a command of the assistant or an interrupted
    question, for a bare order with a short answer, and if a program asked, such as one that summarizes
    sessions. `modified` is the time of the file, for a transcript without times.
    """
    uri, at = uri_of(exchange, path), exchange.ended or exchange.began or modified
    metadata = _metadata(exchange, redactor)
    found = []
    if holds_something(exchange):
        title = title_of(exchange, MAX_TITLE, redactor=redactor)
        found.append(
            Draft(SOURCE, uri, text_of(exchange), title, event_time=at, scope=scope, metadata=metadata)
        )
    shared = {name: metadata[name] for name in _OF_SESSION if name in metadata}
    for number, text in enumerate(exchange.summaries, start=1):
        found.append(
            Draft(
                SOURCE,
                f"{uri}.summary{number}",
                text,
                clip(f"Session summary: {_topic_of(text)}", MAX_TITLE, redactor),
                event_time=at,
                scope=scope,
                metadata={**shared, "compaction": "yes"},
            )
        )
    return found


def holds_something(exchange: Exchange) -> bool:
    """Return whether an exchange has an answer in words, an edit or a commit."""
    if is_command(exchange.question) and not _has_work(exchange):
        return False
    is_empty = is_greeting(exchange.question) or is_order(exchange.question)
    answer = exchange.answer_text
    if is_empty and len(answer) <= MIN_ANSWER and not (_has_work(exchange) or is_foreign_prose(answer)):
        return False
    if _is_automated(exchange):
        return False
    return bool(exchange.files or exchange.commits) or any(act.deed in _WORDS for act in exchange.acts)


def _has_work(exchange: Exchange) -> bool:
    return any(act.deed is not ActType.SAID for act in exchange.acts)


def _is_automated(exchange: Exchange) -> bool:
    """Return whether a program asked for text: its prompts contain texts, its answers are to be parsed."""
    if _has_work(exchange):
        return False
    if exchange.entry.startswith("sdk") and len(exchange.question) > MOST_TYPED:
        return True
    answer = exchange.answer_text
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
    """Return the uri of an exchange: the file, the session, the number, and the part if there are several."""
    agent = f"/{exchange.agent}" if exchange.agent else ""
    part = f".{exchange.part}" if exchange.part > 1 else ""
    return f"{show(Path(path))}#{exchange.session}{agent}/{exchange.number}{part}"


def _topic_of(text: str) -> str:
    """Return the first sentence of a summary that says something, else its beginning."""
    spans = tuple((start, end) for block, start, end in units(text) if block.form is not BlockType.HEADING)
    return headline(text, spans) or text


def _metadata(exchange: Exchange, redactor: Redactor) -> dict[str, str]:
    paths = [
        _relative(path, exchange.cwd)
        for path, times in exchange.files.items()
        for _ in range(min(times, _EDITS))
    ]
    written = {
        "session": exchange.session,
        "asked": asked_of(exchange, MAX_ASKED, redactor),
        "interrupted": "yes" if exchange.interrupted else "",
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
    if not inside or not path.startswith((f"{inside}/", f"{inside}\\")):
        return path
    path = path[len(inside) + 1 :]
    return path.replace("\\", "/") if "\\" in inside else path
