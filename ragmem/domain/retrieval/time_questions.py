"""Recognise a question about points in time: how often, when, which came first, what came after."""

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from ragmem.domain.retrieval.question_dates import find_dates, without_dates
from ragmem.domain.text.keywords import is_stop_word
from ragmem.domain.text.language import detect, function_words
from ragmem.domain.text.spans import Span
from ragmem.domain.text.words import fold_words, stem
from ragmem.frozen import dataclass


class TimeAsked(StrEnum):
    """What a question wants to know about the time of an event."""

    COUNT = "count"
    WHEN = "when"
    ORDER = "order"
    AFTER = "after"
    BEFORE = "before"


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """A question about time: its events, two for an order; `times` are the spans that it names."""

    asked: TimeAsked
    events: tuple["Event", ...]
    times: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """An event as the question names it, and the stems of the words that identify it."""

    text: str
    words: frozenset[str]


LONGEST = 300
"""Maximum characters of a question about time; a longer text is pasted."""

_HOW_OFTEN = (
    r"how\s+(?:many\s+times|often|frequently)|(?:what\s+is\s+)?the\s+number\s+of\s+times"
    r"|wie\s+(?:oft|h\u00e4ufig|haeufig|viele\s+male?)|combien\s+de\s+fois|cu[a\u00e1]ntas\s+veces|quante\s+volte"
    r"|quantas\s+vezes|hoe\s+(?:vaak|dikwijls)|\u0441\u043a\u043e\u043b\u044c\u043a\u043e\s+\u0440\u0430\u0437"
)
_WHEN = (
    r"(?:on\s+)?(?:what|which)\s+(?:day|date|month|year)s?|when(?=['\u2019]?s?\s)|wann|quand|cu[a\u00e1]ndo|quando"
    r"|wanneer|\u043a\u043e\u0433\u0434\u0430"
)
_FIRST = (
    r"first|earlier|earliest|last|later|latest|zuerst|zuletzt|fr\u00fcher|sp\u00e4ter|d['\u2019]abord|en\s+premier"
    r"|primero|antes|prima|primeiro|eerst"
)
_OR = r"\s+(?:or|oder|ou|o|u|of)\s+"
_AFTER = r"after|following|nach(?:dem)?|apr\u00e8s|despu\u00e9s\s+del?|dopo|depois\s+d[eoa]|na"
_BEFORE = r"before|prior\s+to|vor|bevor|avant|antes\s+del?|prima\s+d[ei]l?"
_HAPPENED = (
    r"happen(?:ed|s)?|came|changed?|followed|did\s+(?:we|i|you|they)\s+do|passier\w*|geschah|geschehen|kam"
    r"|s['\u2019]est[\s-]il\s+pass\u00e9|pas\u00f3|sucedi\u00f3|ocurri\u00f3|successo|aconteceu|gebeurde"
)
_WHAT = r"(?:what|was|qu['\u2019]est-ce\s+qui|que|qu\u00e9|cosa|o\s+que|wat)"
_WHICH = r"(?:which|what|who|was|wer|welche\w*|qu\S+|cosa|wat)"
_NO_ADVICE = r"(?!\s+(?:do|does|to|should|can|could|would|must)\b)"
_FORMS = (
    (TimeAsked.COUNT, rf"^(?:{_HOW_OFTEN})\b(?P<x>.+)$"),
    (TimeAsked.COUNT, rf"^(?P<x>.+)\b(?:{_HOW_OFTEN})$"),
    (
        TimeAsked.ORDER,
        rf"^{_WHICH}\b[^,:]{{0,60}}?\b(?:{_FIRST})\b\s*[,:;\u2013-]?\s*(?P<x>.+?){_OR}(?P<y>.+)$",
    ),
    (
        TimeAsked.ORDER,
        r"^(?:did|was|were|had|has|have)\s+(?P<x>.+?)\s+(?:before|after)(?:\s+or\s+(?:before|after))?\s+(?P<y>.+)$",
    ),
    (TimeAsked.AFTER, rf"^{_WHAT}\s+(?:{_HAPPENED})\s+(?:(?:right|just|next)\s+)?(?:{_AFTER})\s+(?P<x>.+)$"),
    (TimeAsked.BEFORE, rf"^{_WHAT}\s+(?:{_HAPPENED})\s+(?:(?:right|just)\s+)?(?:{_BEFORE})\s+(?P<x>.+)$"),
    (TimeAsked.WHEN, rf"^(?:{_WHEN})\b{_NO_ADVICE}(?P<x>.+)$"),
)
_WITHIN = frozenset({TimeAsked.COUNT, TimeAsked.WHEN})
"""What may be asked of a span of time: "how often in 2025"."""

_COUNT_WITHOUT_SPACES = re.compile("\u591a\u5c11\u6b21|\u51e0\u6b21|\u5e7e\u6b21|\u4f55\u56de|\u4f55\u5ea6")
_GENERAL = frozenset(
    "time times day date happen happened happening occur occurred event do did done doing we i you they it "
    "last first start started latest already so far ever yet again total much many often come came get got "
    "was wann wie oft haben habe hat wurde wurden ist sind schon bisher mal male passiert bereits man "
    "fois fait ete veces hemos ha han vez volte abbiamo vezes keer \u4e86".split()
)
"""Words that say nothing about which event is meant."""


def time_question(text: str, *, now: datetime) -> TimeQuestion | None:
    """Return what a question wants to know about time; None for any other question.

    Read are English, German, French, Spanish, Italian, Portuguese, Dutch and Russian forms, and "how many
    times" in Chinese and Japanese. A question without words for an event is none, and neither is one for what
    was before or after a date, which the search by dates answers.
    """
    asked = " ".join(text.split()).strip(" ?!.\u00bf\u00a1\uff1f\u3002")
    if len(asked) > LONGEST:
        return None
    for form, pattern in _FORMS:
        if found := re.match(pattern, asked, re.IGNORECASE):
            events = [found[name] for name in found.groupdict()]
            return _question(form, events, asked, now)
    if _COUNT_WITHOUT_SPACES.search(asked):
        return _question(TimeAsked.COUNT, [_COUNT_WITHOUT_SPACES.sub(" ", asked)], asked, now)
    return None


def _question(form: TimeAsked, named: Sequence[str], asked: str, now: datetime) -> TimeQuestion | None:
    times = find_dates(asked, now=now).spans
    language = detect(asked)
    events = []
    for name in named:
        text = without_dates(name, now=now)
        words, spoken = _event_words(text, language), text.split()
        while spoken and words.isdisjoint(map(stem, fold_words(spoken[0]))):
            spoken.pop(0)
        events.append(Event(" ".join(spoken).strip(" ,;:"), words))
    if not all(event.words for event in events) or (times and form not in _WITHIN):
        return None
    return TimeQuestion(form, tuple(events), times)


def _event_words(text: str, language: str | None) -> frozenset[str]:
    """Return the stems of the words of an event, without those that any question may have."""
    general = _GENERAL | function_words().get(language or "", frozenset())
    return frozenset(
        stem(word) for word in fold_words(text) if not is_stop_word(word) and word not in general
    )
