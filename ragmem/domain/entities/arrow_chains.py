"""Find the names in a chain of arrows, where words between names are names as well."""

import re
from collections.abc import Iterator, Sequence

from ragmem.domain.text.known_names import COMMON_WORDS, NAME_STARTERS
from ragmem.domain.text.token_types import MAX_NAME_CHARS, MIN_NAME_CHARS, WEAK_WEIGHT

Named = tuple[int, int, str, str, float]

MIN_ARROWS = 2
MAX_STEP_WORDS = 3
_ARROW = re.compile(r"\s(?:\u2192|->|=>|-->|\u21d2)\s")
_STEP = re.compile(r"[*_`\"'(]*([A-Za-z][\w.-]*(?: [A-Za-z][\w.-]*)*)[*_`\"')]*[.,;]?$")
_BEFORE = re.compile(r".*[:(|\u2014]\s*", re.DOTALL)
_AFTER = re.compile(r"\s*[(|.;,)].*", re.DOTALL)


def steps(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[Named]:
    """Yield the steps of a chain of two or more arrows outside of these spans.

    A step is one to three capitalized words, or one lower-case word. If fewer than half of the steps are
    known names, the chain describes a process and has none.
    """
    arrows = [found.span() for found in _ARROW.finditer(text)]
    if len(arrows) < MIN_ARROWS:
        return
    starts = [0, *(end for _, end in arrows)]
    ends = [*(start for start, _ in arrows), len(text)]
    found = []
    named = 0
    for start, end in zip(starts, ends, strict=True):
        if any(start <= at < end for at, _ in spans):
            named += 1
        elif (step := _step(text, start, end)) is not None:
            found.append(step)
    if 2 * named >= len(starts):
        for start, end in found:
            yield start, end, text[start:end], "concept" if " " in text[start:end] else "tool", WEAK_WEIGHT


def _step(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of the name in a step, or None."""
    if start == 0 and (before := _BEFORE.match(text, start, end)) is not None:
        start = before.end()
    if end == len(text) and (after := _AFTER.search(text, start, end)) is not None:
        end = after.start()
    found = _STEP.match(text, start, end) if end - start <= MAX_NAME_CHARS else None
    if found is None:
        return None
    words = found.group(1).split()
    lowered = {word.lower() for word in words}
    capital = all(word[0].isupper() for word in words)
    if len(words) > MAX_STEP_WORDS or not (capital or len(words) == 1) or lowered <= COMMON_WORDS:
        return None
    if len(found.group(1)) <= MIN_NAME_CHARS or not lowered.isdisjoint(NAME_STARTERS):
        return None
    return found.span(1)
