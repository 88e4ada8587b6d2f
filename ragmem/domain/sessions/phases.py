"""The phases of an exchange, by rule from what was done in which order, and the text that they make up."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby

from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import Act, Deed, Exchange
from ragmem.domain.text.exchanges import clip

MOST_NAMED = 12
"""Files, questions or commands that one line names; the rest of them are counted."""

LEANS = 60
"""Characters below which a question is read with the one before it: "yes", "do the second one"."""


class Phase(StrEnum):
    """A part of an exchange by what it was for."""

    TASK = "task"
    RESEARCH = "research"
    PLAN = "plan"
    CHANGE = "change"
    TEST = "test"
    RESULT = "result"


_OF = {
    Deed.READ: Phase.RESEARCH,
    Deed.SEARCHED: Phase.RESEARCH,
    Deed.DELEGATED: Phase.RESEARCH,
    Deed.PLANNED: Phase.PLAN,
    Deed.CHANGED: Phase.CHANGE,
    Deed.CREATED: Phase.CHANGE,
    Deed.COMMITTED: Phase.CHANGE,
    Deed.TESTED: Phase.TEST,
}
"""What else is done, such as any other command, belongs to the phase in which it is done."""

_LISTED = {
    Deed.READ: "Looked at",
    Deed.SEARCHED: "Searched for",
    Deed.DELEGATED: "Handed on",
    Deed.CHANGED: "Changed",
    Deed.CREATED: "Wrote",
    Deed.RAN: "Ran",
    Deed.TESTED: "Tested with",
    Deed.COMMITTED: "Committed",
    Deed.REPORTED: "Reported",
    Deed.FAILED: "Failed",
}
_ONE_EACH = frozenset((Deed.COMMITTED, Deed.REPORTED, Deed.FAILED))
_LABEL = re.compile(
    r"^(?=(?:\[[^\]\n]{1,60}\][ \t]{0,4})?(?:#{1,6}[ \t]{1,4})?[*_]{0,3}"
    r"(?:user|human|assistant|ai|agent|bot|model|system|tool)\b[^:\n]{0,45}?(?::|[*_]{0,3}[ \t]*$))",
    re.MULTILINE | re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]{0,12}(`{3,}|~{3,})[^`\n]*$", re.MULTILINE)


@dataclass
class Stretch:
    """Acts of one phase that follow each other."""

    phase: Phase
    acts: list[Act] = field(default_factory=list)


def stretches(acts: Sequence[Act]) -> list[Stretch]:
    """Return the phases of an exchange in order.

    Words belong to what follows them, for an assistant says what it will do; the words after the last deed
    are the result. A look at files in the midst of another phase, about which nothing was said, opens none.
    """
    found: list[Stretch] = []
    waiting: list[Act] = []
    for act in acts:
        waiting.append(act)
        if act.deed in {Deed.SAID, Deed.ADDED}:
            continue
        phase = _OF.get(act.deed) or (found[-1].phase if found else Phase.RESEARCH)
        if found and phase is Phase.RESEARCH and len(waiting) == 1:
            phase = found[-1].phase
        if not found or found[-1].phase is not phase:
            found.append(Stretch(phase))
        found[-1].acts += waiting
        waiting = []
    if waiting:
        found.append(Stretch(Phase.RESULT, waiting))
    return found


def phases_of(exchange: Exchange) -> list[Phase]:
    """Return the phases that an exchange went through, each once, in the order in which they began."""
    return list(dict.fromkeys([Phase.TASK, *(stretch.phase for stretch in stretches(exchange.acts))]))


def text_of(exchange: Exchange) -> str:
    """Return the text of an exchange: the question, then the answer under headings of its phases.

    An answer in words alone has no headings. No line of it begins a turn of a conversation but ours.
    """
    parts = [_labelled("User:", _plain(_question(exchange)))]
    told = stretches(exchange.acts)
    if not told:
        return parts[0]
    headed = len(told) > 1 or told[0].phase is not Phase.RESULT
    parts.append("Assistant:")
    for stretch in told:
        if headed:
            parts.append(f"# {stretch.phase.capitalize()}")
        parts += _paragraphs([_nearby(act, exchange.cwd) for act in stretch.acts])
    if exchange.interrupted:
        parts.append("(The user stopped it here.)")
    return "\n\n".join(parts)


def _nearby(act: Act, cwd: str) -> Act:
    """Return an act with paths as they lie in the folder in which the assistant worked."""
    here = f"{cwd.rstrip('/')}/"
    if act.deed in _LISTED and len(here) > len("/x/") and here in act.text:
        return Act(act.deed, act.text.replace(here, ""))
    return act


def _question(exchange: Exchange) -> str:
    asked = exchange.asked
    if exchange.part > 1:
        asked = f"{asked} (part {exchange.part})"
    # A short one leans on what was said before it.
    return f"{asked}\n\n(earlier: {exchange.before})" if exchange.before and len(asked) < LEANS else asked


def _paragraphs(acts: Iterable[Act]) -> Iterator[str]:
    """Yield texts as they are, and what was done between them as a list."""
    for done, group in groupby(acts, key=lambda act: act.deed in _LISTED):
        if done:
            yield "\n".join(_listed(list(group)))
            continue
        for planned, texts in groupby(
            group, key=lambda act: act.deed is Deed.PLANNED and "\n" not in act.text
        ):
            if planned:
                yield "\n".join(f"- Plan: {act.text}" for act in texts)
            else:
                yield from (_told(act) for act in texts)


def _told(act: Act) -> str:
    text = _plain(act.text)
    return _labelled("The user added:", text) if act.deed is Deed.ADDED else text


def _labelled(label: str, text: str) -> str:
    """Return a text behind a label, where a code fence still begins its line."""
    return f"{label}\n\n{text}" if _FENCE.match(text) else f"{label} {text}"


def _listed(acts: Sequence[Act]) -> Iterator[str]:
    for deed, group in groupby(acts, key=lambda act: act.deed):
        counted = Counter(act.text for act in group)
        if deed in _ONE_EACH:
            yield from (f"- {_LISTED[deed]}: {text}" for text in counted)
            continue
        named = [_named(deed, text, times) for text, times in counted.most_common(None)][:MOST_NAMED]
        more = f" and {len(counted) - MOST_NAMED} more" if len(counted) > MOST_NAMED else ""
        yield f"- {_LISTED[deed]} {', '.join(named)}{more}"


def _named(deed: Deed, text: str, times: int) -> str:
    quoted = text if "`" in text or deed is Deed.DELEGATED else f"`{text}`"
    return f"{quoted} ({times} times)" if times > 1 else quoted


def _plain(text: str) -> str:
    """Return a text in which no line looks like a turn's label, and no code fence reaches beyond its end.

    A blank before a label takes that away.
    """
    text = _LABEL.sub(" ", text)
    fences = _FENCE.findall(text)
    return f"{text}\n{fences[-1]}" if len(fences) % 2 else text


def title_of(exchange: Exchange, most: int, redactor: Redactor) -> str:
    """Return what was asked on one line, with what came before where it says little alone."""
    asked = clip(exchange.asked, most, redactor=redactor)
    if exchange.before and len(asked) < LEANS:
        asked = clip(f"{asked} (earlier: {exchange.before})", most, redactor=redactor)
    return f"{asked} (part {exchange.part})" if exchange.part > 1 else asked
