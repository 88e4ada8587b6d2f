"""Rank by what sentences say of their own time: a state that has ended, and one of the time asked for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from ragmem.domain.model import Match
from ragmem.domain.retrieval.question import Query
from ragmem.domain.retrieval.sentences import sentences_of
from ragmem.domain.retrieval.validity import FORMERLY, Validity, may_be_dated, may_have_ended, validity
from ragmem.domain.text.spans import Span
from ragmem.patterns import lazy
from ragmem.services.retrieval.excerpts import answer_order

ENDED = 0.6
"""Factor of the score of a match whose answer has ended, for a question about the state now: it then stands
behind all that answer nearly as well."""

READ = 3
"""Sentences that answer best, in which the named time is looked for."""

LONGEST = 4_000
"""Maximum characters of a chunk that is read."""

_NOW = lazy(
    r"\b(?:what|which|where|who|how)\b.{0,60}?\b(?:is|are|do|does)\b|^\W*(?:is|are|do|does)\b"
    r"|\b(?:what|who|where)['\u2019]s\b"
    r"|\b(?:ist|sind|nutzen|benutzen|verwenden|l\u00e4uft|laufen|aktuell|derzeit|utilisons|est|sont|actuellement"
    r"|usamos|es|est\u00e1|actualmente)\b",
    re.IGNORECASE,
)
_THEN = lazy(
    r"\b(?:did|was|were|had|been|used|ago|war|waren|hatten?|wurden?|\u00e9tait|avait|era|fue|before|until|since|first"
    r"|originally|ever|when|why|warum|wann|pourquoi|quand)\b",
    re.IGNORECASE,
)
_CURRENT = lazy(
    r"\b(?:now|today|currently|instead|since then|nowadays|replaced|moved to|switched to|migrated to"
    r"|in favou?r of|jetzt|heute|stattdessen|seitdem|seither|ersetzt|maintenant|d\u00e9sormais|ahora"
    r"|actualmente)\b",
    re.IGNORECASE,
)
"""A sentence that tells what came after what ended answers the question."""


def prefer_valid(matches: list[Match], query: Query, *, weight: float, now: datetime) -> list[Match]:
    """Return the matches, their scores changed by what their sentences say of their own time.

    For a question about the state now, a match whose best sentence says that it has ended loses two fifths,
    unless the chunk tells what came next. For a question about a past time, a match with a sentence that
    holds then gains up to `weight`, as if it had been written then. All others stay as they are.
    """
    asks_now = query.wants_newest or (
        not query.times
        and not query.wants_history
        and not query.asks_when
        and _NOW.search(query.text) is not None
        and _THEN.search(query.text) is None
    )
    spans = [span for span in query.times if None not in span]
    if not asks_now and not spans:
        return matches
    # Ranking the sentences of a text takes a hundred times as long as this search.
    may_change = may_be_dated if spans else may_have_ended

    def weighed(match: Match) -> Match:
        if len(match.chunk.text) > LONGEST or not may_change(match.chunk.text):
            return match
        return _of_then(match, query, spans, weight=weight, now=now) if spans else _of_now(match, query, now)

    return list(map(weighed, matches))


def _of_then(match: Match, query: Query, spans: Sequence[Span], *, weight: float, now: datetime) -> Match:
    told = [one for one in _of_answers(match, query, now) if one is not None]
    if not any(one.contains(span) for one in told for span in spans):
        return match
    gain = weight * (1.0 - match.terms.get("time", 0.0))
    return _scored(match, min(1.0, match.score + gain), "valid_then")


def _of_now(match: Match, query: Query, now: datetime) -> Match:
    best = next(_of_answers(match, query, now), None)
    text = match.chunk.text
    # "We no longer use it" tells of the state now.
    if best is None or not (best.ended and (best.until or best.label == FORMERLY)) or _CURRENT.search(text):
        return match
    said = (validity(text[one.start : one.end], now=now) for one in sentences_of(text))
    if any(one is not None and not one.ended for one in said):
        return match
    return _scored(match, ENDED * match.score, "ended")


def _scored(match: Match, score: float, term: str) -> Match:
    return replace(match, score=score, terms=dict(match.terms) | {term: score})


def _of_answers(match: Match, query: Query, now: datetime) -> Iterator[Validity | None]:
    """Yield what the sentences that answer best say of their time, the best first."""
    text = match.memory.indexed_text
    for start, end in answer_order(text, query.text, [(match.chunk.start, match.chunk.end)])[:READ]:
        yield validity(text[start:end], now=now)
