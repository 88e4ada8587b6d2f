"""Make the rows of the log of injections."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragmem.domain.model import Match
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.context.context import Context
from ragmem.storage.activity.injections import Injection

MOST_QUESTION = 200
"""Maximum characters of a logged question."""

READ_QUESTION = 4_000
"""Characters of a question that are searched for secrets: many more than logged, so that none is cut."""

MOST_OTHERS = 5
"""Maximum logged matches that were not shown."""


@dataclass(frozen=True, slots=True)
class InjectionRequest:
    """The session, the event and the question of an injection; `agent` is one within the session."""

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
    """Return the rows of a block: one for each memory in it, in the order of the block.

    `matches` are all matches, best first; `floor` is the minimum relevance of an injected memory.
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
            terms = {name: round(value, 4) for name, value in match.terms.items()}
            detail |= {"place": place, "of": len(matches), "terms": terms}
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
    return redactor.truncate(" ".join(redactor.redact(text[:READ_QUESTION])[0].split()), MOST_QUESTION)
