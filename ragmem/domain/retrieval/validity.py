"""The time for which a statement says that it holds: since, until, from ... to, no longer."""

import re
from datetime import UTC, datetime, timedelta

from ragmem.domain.retrieval.date_languages import translate_dates
from ragmem.domain.retrieval.date_values import DateExpression, date_span
from ragmem.domain.retrieval.date_words import compile_once, date_pattern
from ragmem.domain.retrieval.question_dates import FIRST_YEAR, TO_LOWER
from ragmem.domain.text.spans import ClosedSpan, Span
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

_HINT = lazy(
    r"\b(?:since|until|till|up to|from|between|as of|starting|no longer|any ?more|used to|formerly|seit|bis"
    r"|ab|vom|von|zwischen|nicht mehr|depuis|jusqu\w*|d\u00e8s|du|entre|desde|hasta|del?|ya no|fino|dal"
    r"|at\u00e9|sinds|tot|vanaf|\u0434\u043e|\u0441|\u0431\u043e\u043b\u044c\u0448\u0435)\b|[\u81ea\u4ece\u5230]|\u307e\u3067"
    r"|\u304b\u3089",
    re.IGNORECASE,
)
"""Every statement of `validity` matches this; most sentences do not."""

_MAY_HAVE_ENDED = lazy(
    r"(?:\b(?:until|till|up to|from|between|bis|vom|von|zwischen|jusqu\w*|entre|hasta|fino|dal|at\u00e9|tot"
    r"|van|\u0434\u043e|\u0441)\b|[\u81ea\u4ece\u5230]|\u307e\u3067|\u304b\u3089)[^\n]{0,60}(?:19|20)\d\d"
    r"|(?:19|20)\d\d[^\n]{0,20}(?:\u307e\u3067|\u4e3a\u6b62)",
    re.IGNORECASE,
)
_YEAR = lazy(r"(?:19|20)\d\d")

BEFORE_YEAR, AFTER_YEAR = 80, 24
"""Characters before and behind a year among which the words stand that make it the end of a time."""

FORMERLY = "formerly"
"""The label of what was so at some time: "we used to fire by hand"."""

_BEGINS = (
    r"\b(?P<word>since|until|till|up to|as of|starting(?: in| on| from)?|from|between)"
    r"\s{1,3}(?:the\s{1,3})?(?:month of\s{1,3})?"
)
_JOINED = (
    r"\s{0,3}(?:,\s)?(?P<joint>to|until|till|through|and|[-\u2013])\s{1,3}(?:the\s{1,3})?|\s?[-\u2013]\s?"
)
_ONWARDS = r"\s{1,3}(?:on|onwards?)\b"
_ANYMORE = r"any\s?more(?=\s*(?:[.,;:!)]|$)|\s+(?:because|since|but|and|as)\b)"
_NO_LONGER = (
    rf"\bno\s+longer\b(?!\s+than\b)|\bnot\b[^.;]{{0,60}}\b{_ANYMORE}|n['\u2019]t\b[^.;]{{0,60}}\b{_ANYMORE}"
    r"|\bnicht\s+mehr\b|\bya\s+no\b|\bnon\b[^.;]{0,30}\bpi\u00f9\b|\bn\u00e3o\b[^.;]{0,40}\bmais\b"
    r"|\bniet\s+(?:langer|meer)\b|\u0431\u043e\u043b\u044c\u0448\u0435\s+\u043d\u0435"
)
_FORMERLY = r"\bformerly\b|\b(?:i|we|you|they|he|she|it|there|everyone|people)\s+used\s+to\s+[a-z]"
_SUPPOSED = (
    r"\b(?:if|when(?:ever)?|once|unless|until|should|must|will|would|can|could|may|might|so that|verify"
    r"|ensure|check|wenn|falls|sobald|soll\w*|muss|m\u00fcssen|wird|kann|si|quand|cuando)\b|\[[ x]\]|\?\s*$"
    r"|(?:^\W*|, |\band )do(?:n['\u2019]t| not)\b"
)
"""A condition, a demand or a plan: what no longer holds in it may still hold."""

_STATE = (
    r"\b(?:was|were|is|are|had|has|have|ran|runs?|held|kept|been|\w{2,}ed|war|waren|hatten?|\u00e9tait|era)\b"
)
"""A verb before "from ... to": without one the dates may be those of data ("logs from ... to ...")."""

_DEMAND = (
    r"\b(?:must|should|shall|has to|have to|need(?:s|ed)? to|due|deadline|will|would|can|could|may|might"
    r"|wait\w*|not|never|valid|expires?|if|muss|m\u00fcssen|soll\w*|kann|nicht|frist|doit|debe)\b|n['\u2019]t\b|\?\s*$"
)
"""A plan, a wish, a deadline or a denial: its dates do not tell how long something was so."""


@dataclass(frozen=True, slots=True)
class Validity:
    """The time for which a statement holds: from `since` on, before `until`; None where it names no such end.

    `ended`: by its own words it holds no longer. `label` is the same for people: "until March 2025".
    """

    since: datetime | None = None
    until: datetime | None = None
    ended: bool = False
    label: str = ""

    def contains(self, span: Span) -> bool:
        """Return whether a closed span is entirely within the time, of which at least one end is known."""
        start, end = span
        if start is None or end is None or (self.since is None and self.until is None):
            return False
        return (self.since is None or self.since <= start) and (
            end <= self.until if self.until is not None else not self.ended
        )


def may_have_ended(text: str) -> bool:
    """Return whether a text may say that something has ended at a known time, or was so formerly; few do."""
    plain = text.lower()
    if (FORMERLY in plain or "used" in plain) and compile_once(_FORMERLY).search(plain):
        return True
    return _has_near_year(_MAY_HAVE_ENDED, text)


def may_be_dated(text: str) -> bool:
    """Return whether a text may have a statement whose validity begins or ends at a known time."""
    return _has_near_year(_HINT, text)


def _has_near_year(pattern: re.Pattern[str], text: str) -> bool:
    """Search a pattern around the years of a text only: it takes a hundred times as long as finding these."""
    start = end = 0
    # Only in other scripts do such words follow the year.
    behind = 0 if text.isascii() else AFTER_YEAR
    for year in _YEAR.finditer(text):
        if year.start() - BEFORE_YEAR > end:
            if end and pattern.search(text, start, end):
                return True
            start = year.start() - BEFORE_YEAR
        end = year.end() + behind
    return end > 0 and pattern.search(text, start, end) is not None


def validity(sentence: str, *, now: datetime) -> Validity | None:
    """Return the time for which a statement says that it holds; None if it says nothing of it for sure.

    Only dates with a year count: 2025, March 2025, 2025-03-14, Q1 2025. Of several times the first counts.
    Dates are read in the languages of `date_languages`; demands, plans, denials and questions have no
    validity.
    """
    if not _HINT.search(sentence):
        return None
    text = translate_dates(sentence).translate(TO_LOWER)
    for pattern, label in ((_NO_LONGER, "no longer"), (_FORMERLY, FORMERLY)):
        if compile_once(pattern).search(text):
            supposed = compile_once(_SUPPOSED).search(text)
            return None if supposed else Validity(ended=True, label=label)
    if compile_once(_DEMAND).search(text):
        return None
    read = (_read(text, found, now) for found in compile_once(_BEGINS).finditer(text))
    return next((one for one in read if one is not None), None)


def _read(text: str, found: re.Match[str], now: datetime) -> Validity | None:
    """Return the time that begins with a preposition; None without an absolute date behind it."""
    first = _dated(text, found.end(), now)
    if first is None:
        return None
    word = found["word"].split()[0]
    span, end, said = first
    if word in {"until", "till", "up"}:
        return _of(None, span, f"until {said}", now)
    joined = compile_once(_JOINED).match(text, end)
    last = _dated(text, joined.end(), now) if joined else None
    stated = found.start() == 0 or compile_once(_STATE).search(text, 0, found.start())
    if last is not None and stated and last[0][1] > span[0]:
        return _of(span, last[0], f"{said} to {last[2]}", now)
    if word in {"since", "as", "starting"} or compile_once(_ONWARDS).match(text, end):
        return _of(span, None, f"since {said}", now)
    return None


def _of(first: ClosedSpan | None, last: ClosedSpan | None, label: str, now: datetime) -> Validity:
    since = first[0].replace(tzinfo=UTC) if first else None
    until = last[1].replace(tzinfo=UTC) if last else None
    return Validity(since, until, until is not None and until <= now, label)


def _dated(text: str, start: int, now: datetime) -> tuple[ClosedSpan, int, str] | None:
    """Return the absolute date at a place of a text: its span, its end, and its name for people."""
    found = date_pattern().match(text, start)
    if found is None:
        return None
    said = DateExpression(found.lastgroup or "", found, now.replace(tzinfo=None))
    span = date_span(said) if said.year is not None and said.year >= FIRST_YEAR else None
    if span is None:
        return None
    return span, found.end(), found[0].strip() if said.has("part") else _name(span)


def _name(span: ClosedSpan) -> str:
    """Return a span as a year, a month, or its days."""
    start, end = span
    last = end - timedelta(days=1)
    if (start.month, start.day, last.month, last.day, start.year) == (1, 1, 12, 31, last.year):
        return f"{start:%Y}"
    if start.day == 1 and end.day == 1 and (end - start).days <= 31:
        return f"{start:%B %Y}"
    return f"{start:%Y-%m-%d}" if last <= start else f"{start:%Y-%m-%d} to {last:%Y-%m-%d}"
