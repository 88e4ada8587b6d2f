"""Divide the stored text of an exchange: question, result, decisions, causes and open points.

The work in between is no part of it. Every function takes linear time.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from ragmem.domain.classification.filler import SentencePurpose, classify_purpose
from ragmem.domain.classification.protection import protection_reasons
from ragmem.domain.classification.substance import MAX_SENTENCE_CHARS, evidence_types
from ragmem.domain.sessions.transcript import (
    ADDED_LABEL,
    ANSWER_LABEL,
    QUESTION_LABEL,
    REPORT_LABEL,
    RESULT_HEADING,
    STOPPED,
)
from ragmem.domain.text.blocks import Block, BlockType, blocks, units
from ragmem.domain.text.words import count_words
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

Span = tuple[int, int]

MIN_WORDS = 4
"""Minimum words of a title."""

MOST_READ = 12
"""Sentences from the beginning that can be a title."""

_ANSWER = lazy(rf"^{ANSWER_LABEL}[ \t]*$", re.MULTILINE)
_PHASE = lazy(r"\s*# (?:Research|Plan|Change|Test|Result)$", re.MULTILINE)
_RESULT = lazy(rf"^{RESULT_HEADING}$", re.MULTILINE)
_OPEN_HEADING = lazy(
    r"(?:what(?:'s|\u2019s| is| remains)? (?:left|open|next|remaining|missing)|next (?:steps?|up)"
    r"|still (?:open|to do|missing)|(?:open|remaining|unfinished|outstanding|pending|deferred) (?:\w+ )?"
    r"(?:points?|items?|issues?|questions?|work|tasks?|todos?|steps?)"
    r"|remaining|outstanding|unfinished|follow[- ]?ups?|to[- ]?dos?|left to do"
    r"|not (?:yet )?(?:done|finished|implemented)"
    r"|n\u00e4chste schritte|offene? (?:punkte|fragen|aufgaben)|noch (?:offen|zu tun)|ausstehend"
    r"|prochaines \u00e9tapes|reste \u00e0 faire|pr\u00f3ximos pasos|pendientes?)\b[^.!?\n]{0,40}",
    re.IGNORECASE,
)
"""A heading, or a line that ends with a colon, above a list of open points."""

_OPEN_ITEM = lazy(
    r"[-*+>\s]*(?:\d{1,3}[.)]\s+)?(?:\[ \]\s|\*{0,2}(?:to-?do|still (?:open|missing|to do)|open|follow-?up"
    r"|not (?:yet )?(?:done|implemented)|next(?: step)?|noch offen|offen)\*{0,2}:)",
    re.IGNORECASE,
)
_CLOSED_ITEM = lazy(
    r"[-*+>\s]*(?:\[[xX]\]|\u2705|\u2713|\u2714|~~|\*{0,2}(?:done|erledigt)\b)", re.IGNORECASE
)
_MARKS = lazy(r"^[\s>#*_\-+|\u2022\u2705\u2713\u2714\u274c!]+|^\d{1,3}[.)]\s+|[\s*_|]+$")
_POINTING = lazy(r"(?:I|you|we|this|that|these|those|it|they|here|there|he|she)\b", re.IGNORECASE)
"""The beginning of a sentence that says little without the one before."""

_OPENER = r"(?:done|perfect|great|excellent|ok(?:ay)?|good|yes|no|sure|all set|fertig|erledigt|alles klar)\b"
_OPENING = lazy(rf"(?:{_OPENER}(?:\s*[!.:,\u2014\u2013\u2705]+\s*|\s+-\s+|\s+(?={_OPENER})))+", re.IGNORECASE)
"""What a sentence begins with and says nothing of; without a mark behind it, it is part of the sentence."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The parts of the text of an exchange, as spans of whole sentences and list items in their order.

    `result` is what the assistant said after its last action; decisions and causes are sentences of it, or of
    what the user said. `reports` are the findings of subagents. Without a result the exchange was broken off.
    """

    question: Span
    result: tuple[Span, ...] = ()
    decisions: tuple[Span, ...] = ()
    causes: tuple[Span, ...] = ()
    open_points: tuple[Span, ...] = ()
    reports: tuple[Span, ...] = ()


def outline_of(text: str) -> Outline | None:
    """Return the outline of the text of an exchange; None for any other text."""
    if not text.startswith(QUESTION_LABEL):
        return None
    answer = _ANSWER.search(text)
    if answer is None:
        return Outline((len(QUESTION_LABEL), len(text)))
    question = (len(QUESTION_LABEL), answer.start())
    begin = _begin_of_result(text, answer.end())
    result, points = _result(text, begin)
    words = [
        *(
            (start, end)
            for block, start, end in units(text, *question)
            if block.form is not BlockType.HEADING
        ),
        *_spans_after(text, ADDED_LABEL, answer.end(), begin),
    ]
    return Outline(
        question,
        tuple(result),
        tuple(span for span in (*words, *result) if protection_reasons(text[slice(*span)])),
        tuple(span for span in result if "cause" in evidence_types(text[slice(*span)])),
        tuple(points),
        tuple(_spans_after(text, REPORT_LABEL, answer.end(), begin)),
    )


def result_of(text: str) -> tuple[Span, ...]:
    """Return the result in the text of an exchange, as `Outline` has it; empty for any other text."""
    answer = _ANSWER.search(text) if text.startswith(QUESTION_LABEL) else None
    return tuple(_result(text, _begin_of_result(text, answer.end()))[0]) if answer else ()


def _begin_of_result(text: str, begin: int) -> int:
    """Return where the result begins in an answer: after its last heading, if the answer has phases."""
    if not _PHASE.match(text, begin):
        return begin
    return max((found.end() for found in _RESULT.finditer(text, begin)), default=len(text))


def _result(text: str, begin: int) -> tuple[list[Span], list[Span]]:
    """Return the sentences of a result, and apart from them the points that it leaves open."""
    said = [item for item in units(text, begin) if not text.startswith(STOPPED, item[1])]
    result: list[Span] = []
    points: list[Span] = []
    for is_open, start, end in _with_state(text, said):
        (points if is_open else result).append((start, end))
    return result, points


def headline(text: str, spans: Iterable[Span]) -> str:
    """Return the sentence that fits as a title, in plain words and in one line; "" without one.

    It is the first of these sentences that names or explains something by itself, else the first one that
    states something. Thanks, intentions, announcements, questions and code do not count.
    """
    stated = ""
    for start, end in islice(prose_of(text, spans), MOST_READ):
        sentence = _MARKS.sub("", _MARKS.sub("", text[start : min(end, start + MAX_SENTENCE_CHARS)]))
        sentence = sentence[found.end() :] if (found := _OPENING.match(sentence)) else sentence
        sentence = " ".join(sentence.replace("**", "").split())
        if count_words(sentence) < MIN_WORDS or sentence.endswith((":", "?", "\uff1a", "\uff1f")):
            continue
        if classify_purpose(sentence) is SentencePurpose.CHATTER:
            continue
        if evidence_types(sentence) and not _POINTING.match(sentence):
            return sentence
        stated = stated or sentence
    return stated


def prose_of(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans that are neither in a code fence nor in a table."""
    code = [block for block in blocks(text) if block.form in {BlockType.FENCE, BlockType.TABLE}]
    return (span for span in spans if not any(block.start <= span[0] < block.end for block in code))


def _with_state(text: str, said: list[tuple[Block, int, int]]) -> Iterator[tuple[bool, int, int]]:
    """Yield the sentences of a result, each with whether it is an open point."""
    under = False
    level = 0
    for block, start, end in said:
        sentence = text[start : min(end, start + MAX_SENTENCE_CHARS)]
        plain = _MARKS.sub("", _MARKS.sub("", sentence)).rstrip(":").rstrip("*_ ")
        heads = block.form is BlockType.HEADING or (
            start == block.start and end == block.end and sentence.rstrip("*_ ").endswith((":", "**"))
        )
        if heads and _OPEN_HEADING.fullmatch(plain):
            under, level = True, block.level
        elif block.form is BlockType.HEADING:
            under = under and level > 0 and block.level > level
        elif heads or (under and not level and block.form is not BlockType.ITEM):
            under = under and level > 0 and not heads
            yield False, start, end
        elif block.form in {BlockType.FENCE, BlockType.TABLE}:
            yield False, start, end
        else:
            is_open = under or _OPEN_ITEM.match(sentence) is not None
            is_asked = sentence.rstrip("*_ ").endswith("?")
            yield is_open and not is_asked and not _CLOSED_ITEM.match(sentence), start, end


def _spans_after(text: str, label: str, begin: int, stop: int) -> Iterator[Span]:
    """Yield the sentences of the paragraphs that begin with a label, up to the next action or heading."""
    at = text.find(f"\n{label}", begin, stop)
    while at >= 0:
        ends = [
            found
            for mark in ("\n\n- ", "\n\n# ", f"\n{label}")
            if (found := text.find(mark, at + 1, stop)) >= 0
        ]
        end = min(ends, default=stop)
        for block, start, last in units(text, at + 1, end):
            if block.form is not BlockType.HEADING:
                yield start, last
        at = text.find(f"\n{label}", end, stop) if end < stop else -1
