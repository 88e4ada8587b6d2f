"""Split an exchange into phases by rule, and render its text."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby

from ragmem.domain.classification.greeting import is_order
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.outline import headline, result_of
from ragmem.domain.sessions.transcript import (
    ADDED_LABEL,
    ANSWER_LABEL,
    QUESTION_LABEL,
    STOPPED,
    Act,
    ActType,
    Exchange,
)
from ragmem.domain.text.blocks import units
from ragmem.domain.text.exchanges import clip
from ragmem.patterns import lazy

MOST_NAMED = 12
"""Maximum files, questions or commands in one line; the number of others is added."""

MIN_STANDALONE = 60
"""A shorter question needs the previous one as context: "yes", "do the second one"."""


class Phase(StrEnum):
    """The purpose of a part of an exchange."""

    TASK = "task"
    RESEARCH = "research"
    PLAN = "plan"
    CHANGE = "change"
    TEST = "test"
    RESULT = "result"


_PHASES = {
    ActType.READ: Phase.RESEARCH,
    ActType.SEARCHED: Phase.RESEARCH,
    ActType.DELEGATED: Phase.RESEARCH,
    ActType.RETURNED: Phase.RESEARCH,
    ActType.PLANNED: Phase.PLAN,
    ActType.CHANGED: Phase.CHANGE,
    ActType.CREATED: Phase.CHANGE,
    ActType.COMMITTED: Phase.CHANGE,
    ActType.TESTED: Phase.TEST,
}
"""All other actions belong to the phase in which they occur."""

_ACTION_LABELS = {
    ActType.READ: "Looked at",
    ActType.SEARCHED: "Searched for",
    ActType.DELEGATED: "Handed on",
    ActType.CHANGED: "Changed",
    ActType.CREATED: "Wrote",
    ActType.RAN: "Ran",
    ActType.TESTED: "Tested with",
    ActType.COMMITTED: "Committed",
    ActType.REPORTED: "Reported",
    ActType.FAILED: "Failed",
}
_ONE_PER_LINE = frozenset((ActType.COMMITTED, ActType.REPORTED, ActType.FAILED))
_LABEL = lazy(
    r"^(?=(?:\[[^\]\n]{1,60}\][ \t]{0,4})?(?:#{1,6}[ \t]{1,4})?[*_]{0,3}"
    r"(?:user|human|assistant|ai|agent|bot|model|system|tool)\b[^:\n]{0,45}?(?::|[*_]{0,3}[ \t]*$))",
    re.MULTILINE | re.IGNORECASE,
)
_FENCE = lazy(r"^[ \t]{0,12}(`{3,}|~{3,})[^`\n]*$", re.MULTILINE)


@dataclass
class PhaseSpan:
    """Consecutive acts of one phase."""

    phase: Phase
    acts: list[Act] = field(default_factory=list)


def phase_spans(acts: Sequence[Act]) -> list[PhaseSpan]:
    """Return the phases of an exchange in order.

    Text belongs to the next action, because an assistant announces its actions; the text after the last
    action is the result. Reading files within another phase starts a new phase only if the assistant
    announces it.
    """
    found: list[PhaseSpan] = []
    waiting: list[Act] = []
    for act in acts:
        waiting.append(act)
        if act.deed in {ActType.SAID, ActType.ADDED}:
            continue
        phase = _PHASES.get(act.deed) or (found[-1].phase if found else Phase.RESEARCH)
        if found and phase is Phase.RESEARCH and len(waiting) == 1:
            phase = found[-1].phase
        if not found or found[-1].phase is not phase:
            found.append(PhaseSpan(phase))
        found[-1].acts += waiting
        waiting = []
    if waiting:
        found.append(PhaseSpan(Phase.RESULT, waiting))
    return found


def phases_of(exchange: Exchange) -> list[Phase]:
    """Return the phases of an exchange, each once, in the order of their start."""
    return list(dict.fromkeys([Phase.TASK, *(span.phase for span in phase_spans(exchange.acts))]))


def text_of(exchange: Exchange) -> str:
    """Return the text of an exchange: the question, then the answer under headings of its phases.

    An answer without actions has no headings. No line of a quoted text looks like the start of a turn.
    """
    parts = [_with_label(QUESTION_LABEL, _plain(_question(exchange)))]
    spans = phase_spans(exchange.acts)
    if not spans:
        return parts[0]
    with_headings = len(spans) > 1 or spans[0].phase is not Phase.RESULT
    parts.append(ANSWER_LABEL)
    for span in spans:
        if with_headings:
            parts.append(f"# {span.phase.capitalize()}")
        parts += _paragraphs([_relative_act(act, exchange.cwd) for act in span.acts])
    if exchange.interrupted:
        parts.append(STOPPED)
    return "\n\n".join(parts)


def _relative_act(act: Act, cwd: str) -> Act:
    """Return an act with paths relative to the assistant's working folder."""
    here = f"{cwd.rstrip('/')}/"
    if act.deed in _ACTION_LABELS and len(here) > len("/x/") and here in act.text:
        return Act(act.deed, act.text.replace(here, ""))
    return act


def _question(exchange: Exchange) -> str:
    question = exchange.question
    if exchange.part > 1:
        question = f"{question} (part {exchange.part})"
    needs_context = exchange.before and len(question) < MIN_STANDALONE
    return f"{question}\n\n(earlier: {exchange.before})" if needs_context else question


def _paragraphs(acts: Iterable[Act]) -> Iterator[str]:
    """Yield texts unchanged, and the actions between them as a list."""
    for done, group in groupby(acts, key=lambda act: act.deed in _ACTION_LABELS):
        if done:
            yield "\n".join(_action_lines(list(group)))
            continue
        for planned, texts in groupby(
            group, key=lambda act: act.deed is ActType.PLANNED and "\n" not in act.text
        ):
            if planned:
                yield "\n".join(f"- Plan: {act.text}" for act in texts)
            else:
                for act in texts:
                    text = _plain(act.text)
                    yield _with_label(ADDED_LABEL, text) if act.deed is ActType.ADDED else text


def _with_label(label: str, text: str) -> str:
    """Return a text after a label; a code fence stays at the beginning of its line."""
    return f"{label}\n\n{text}" if _FENCE.match(text) else f"{label} {text}"


def _action_lines(acts: Sequence[Act]) -> Iterator[str]:
    for deed, group in groupby(acts, key=lambda act: act.deed):
        counted = Counter(act.text for act in group)
        if deed in _ONE_PER_LINE:
            yield from (f"- {_ACTION_LABELS[deed]}: {text}" for text in counted)
            continue
        named = [_action_line(deed, text, times) for text, times in counted.most_common(None)][:MOST_NAMED]
        more = f" and {len(counted) - MOST_NAMED} more" if len(counted) > MOST_NAMED else ""
        yield f"- {_ACTION_LABELS[deed]} {', '.join(named)}{more}"


def _action_line(deed: ActType, text: str, times: int) -> str:
    quoted = text if "`" in text or deed is ActType.DELEGATED else f"`{text}`"
    return f"{quoted} ({times} times)" if times > 1 else quoted


def _plain(text: str) -> str:
    """Return a text with a blank before lines that look like labels of turns, and with closed fences."""
    text = _LABEL.sub(" ", text)
    fences = _FENCE.findall(text)
    return f"{text}\n{fences[-1]}" if len(fences) % 2 else text


def title_of(exchange: Exchange, most: int, redactor: Redactor) -> str:
    """Return the title of an exchange in one line of at most `most` characters, plus the number of its part.

    It is the subject of its last commit, else the title of its pull request, else the first sentence of its
    result that says something, else its question, with the previous one if it is short. A bare order such as
    "continue" is no title if the assistant said anything.
    """
    title = _subject_of(exchange)
    if not title:
        text = text_of(exchange)
        title = headline(text, result_of(text))
    if not title and is_order(exchange.question):
        said = exchange.answer_text
        title = headline(said, ((start, end) for _, start, end in units(said)))
    title = clip(title, most, redactor=redactor) if title else asked_of(exchange, most, redactor)
    return f"{title} (part {exchange.part})" if exchange.part > 1 else title


def asked_of(exchange: Exchange, most: int, redactor: Redactor) -> str:
    """Return the question in one line of at most `most` characters, with the previous one if it is short."""
    asked = clip(exchange.question, most, redactor=redactor)
    if exchange.before and len(asked) < MIN_STANDALONE:
        asked = clip(f"{asked} (earlier: {exchange.before})", most, redactor=redactor)
    return asked


def _subject_of(exchange: Exchange) -> str:
    """Return the subject of the last commit, else the title of the last pull request, else ""."""
    for deed, marks in ((ActType.COMMITTED, ""), (ActType.REPORTED, "https://")):
        for act in reversed(exchange.acts):
            mark, _, subject = act.text.partition(" ")
            if act.deed is deed and mark.startswith(marks) and subject.strip():
                return subject.strip()
    return ""
