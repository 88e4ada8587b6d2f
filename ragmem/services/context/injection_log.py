"""What the log of injections keeps of a text that an assistant is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragmem.domain.model import Match
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.context.context import Context
from ragmem.storage.activity.injections import Injection

MOST_QUESTION = 200
"""Characters of a question that are kept."""

READ_QUESTION = 4_000
"""Characters of a question in which secrets are looked for: many more than are kept, so that none is cut."""

MOST_OTHERS = 5
"""Memories that were found beside those that were shown, and are named."""


@dataclass(frozen=True, slots=True)
class InjectionRequest:
    """Who is given something, on which occasion, and what was asked; `agent` is one within the session."""

    event: str
    session: str
    agent: str = ""
    assistant: str = ""
    project: str = ""
    question: str = ""


def injection_rows(
    asked: InjectionRequest,
    block: Context,
    *,
    reason: str,
    now: datetime,
    matches: Sequence[Match] = (),
    floor: float | None = None,
    redactor: Redactor,
) -> list[Injection]:
    """Return what is to be kept of a block: a row for each memory in it, in the order they are shown.

    `matches` are all that was found, best first, `floor` is the relevance from which one is told.
    """
    found = {match.memory.id: (place, match) for place, match in enumerate(matches, start=1)}
    shown = {memory.id for memory in block.memories}
    others = [
        {"id": match.memory.id, "score": round(match.score, 4)}
        for match in matches
        if match.memory.id not in shown
    ][:MOST_OTHERS]
    question = question_of(asked.question, redactor=redactor)
    rows = []
    for number, memory in enumerate(block.memories):
        place, match = found.get(memory.id, (0, None))
        detail: dict[str, Any] = {"shown": number + 1}
        if match is not None:
            detail |= {"place": place, "of": len(matches), "terms": _round(match.terms)}
        if floor is not None:
            detail["floor"] = round(floor, 4)
        if others:
            detail["others"] = others
        rows.append(
            Injection(
                now,
                asked.session,
                asked.event,
                memory.id,
                asked.agent,
                asked.assistant,
                asked.project,
                None if match is None else round(match.score, 4),
                block.sizes[number] if number < len(block.sizes) else 0,
                question,
                reason,
                detail,
            )
        )
    return rows


def question_of(text: str, redactor: Redactor) -> str:
    """Return the beginning of a question on one line, without secrets."""
    return redactor.beginning(" ".join(redactor.redact(text[:READ_QUESTION])[0].split()), MOST_QUESTION)


def _round(terms: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in terms.items()}
