"""Answer a question about time without a language model: the dated sentences that tell of an event."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import MAXYEAR, datetime, time, timedelta
from enum import StrEnum

from ragmem.domain.model import Memory
from ragmem.domain.retrieval.question_dates import find_dates
from ragmem.domain.retrieval.sentences import Sentence, sentences_of
from ragmem.domain.retrieval.time_questions import Event, TimeAsked, TimeQuestion, time_question
from ragmem.domain.retrieval.whole_dates import whole_dates
from ragmem.domain.secrets.redaction import Redactor, cover
from ragmem.domain.text.spans import MAX_SELECTIVE, Span
from ragmem.domain.text.words import fold_words, words_of
from ragmem.frozen import dataclass
from ragmem.services.retrieval.excerpts import find_secrets_near
from ragmem.services.retrieval.output_fields import rfc3339
from ragmem.services.retrieval.question import Answer, Question
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memory_list import Filter, list_page

DEPTH = 60
"""Memories that are searched for the sentences of an event."""

READ = 60_000
"""Characters of a memory that are read."""

FEW = 3
"""Up to so many words of an event must all stand in a sentence, or in a title or heading above it."""

MOST_WORDS = 0.75
"""Share of the words of a longer event that must."""

IN_SENTENCE = 0.5
"""Minimum share of the words that stand in the sentence itself."""

LONGEST = 240
"""Characters of a sentence that are shown."""

NEIGHBOURS = 8
"""Memories that are listed after or before an event."""

DAY = timedelta(days=1)
SHORTEST = timedelta(microseconds=1)
"""The length of a moment."""

AHEAD = timedelta(days=60)
"""How far ahead of its text a day without a year may be: minutes of January name one of February."""

SHORTEST_ALIKE = 4
"""Minimum letters of a word that another one begins with."""

INCOMPLETE = "some occurrences may not be stored, and others may be mentioned twice"

_UNREAL = re.compile(
    r"\?\s*$|^\W*(?:if|whenever|unless|todo|should|falls|wenn|si)\b|n['\u2019]t\b"
    r"|\b(?:not|never|no longer|avoid\w*|prevent\w*|would|could|might|should|will|plan(?:s|ned|ning)?|in case"
    r"|going to|cannot|nicht|nie|niemals|kein\w*|soll\w*|w\u00fcrde\w*|wird|werden|geplant|jamais|ne|nunca"
    r"|niet|nooit|geen|\u043d\u0435)\b|\u6ca1\u6709|\u672a",
    re.IGNORECASE,
)
"""A sentence that asks, denies, plans or supposes tells of no event that took place."""


class DatedBy(StrEnum):
    """Where the date of an occurrence is."""

    SENTENCE = "sentence"
    HEADING = "heading"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A sentence about an event, with its time: from `start` on, before `end`."""

    memory: Memory
    start: datetime
    end: datetime
    dated_by: DatedBy
    text: str

    @property
    def day(self) -> str:
        """The date as text: a day, or two days for a longer span."""
        last = self.end - SHORTEST
        first = f"{self.start:%Y-%m-%d}"
        return first if last.date() <= self.start.date() else f"{first} to {last:%Y-%m-%d}"


@dataclass(frozen=True, slots=True)
class TimelineAnswer:
    """What the dated sentences say about a question: one line, and the sentences in order of time."""

    line: str
    occurrences: tuple[Occurrence, ...]
    note: str = ""


def answer_by_timeline(
    catalog: Catalog, ask: Callable[[Question], Answer], question: Question, *, now: datetime
) -> TimelineAnswer | None:
    """Return the answer to a question about time from dated sentences; None if it asks for anything else.

    Raises UsageError for an empty or oversized question.
    """
    asked = time_question(question.text, now=now)
    if asked is None:
        return None
    counts = asked.asked is TimeAsked.COUNT
    found = []
    for event in asked.events:
        wanted = replace(question, text=event.text, limit=max(DEPTH, question.limit), history=True)
        memories = [match.memory for match in ask(wanted).matches]
        told = _occurrences(memories, event, counts=counts, redactor=catalog.redactor)
        found.append([one for one in told if one.start <= now and _is_asked(one, asked.times)])
    if asked.asked is TimeAsked.ORDER:
        return _order(asked, found)
    if asked.asked in {TimeAsked.AFTER, TimeAsked.BEFORE}:
        return _beside(catalog, question, asked, found[0])
    return _listed(asked, found[0])


def _occurrences(
    memories: Sequence[Memory], event: Event, *, counts: bool, redactor: Redactor
) -> list[Occurrence]:
    """Return the dated sentences of an event in order of time, each once."""
    found: dict[tuple[str, str], Occurrence] = {}
    for memory in memories:
        for one in _told_in(memory, event, counts=counts, redactor=redactor):
            found.setdefault((one.day, " ".join(fold_words(one.text))), one)
    return sorted(found.values(), key=lambda one: (one.start, one.memory.id))


def _is_asked(one: Occurrence, times: Sequence[Span]) -> bool:
    """Return whether an occurrence begins in one of some spans; without any it does."""
    return not times or any(
        (start is None or one.start >= start) and (end is None or one.start < end) for start, end in times
    )


def _told_in(memory: Memory, event: Event, *, counts: bool, redactor: Redactor) -> Iterator[Occurrence]:
    text = memory.indexed_text
    title = _stems(memory.title)
    sentences = sentences_of(text, 0, min(len(text), READ))
    for one in sentences:
        said = text[one.start : one.end]
        if _UNREAL.search(said) or not _tells(said, title | _stems(one.heading), event.words):
            continue
        shown = _shown(memory, one, redactor)
        for start, end, source in _times(said, one, memory, counts=counts):
            yield Occurrence(memory, start, end, source, shown)


def _tells(said: str, above: frozenset[str], wanted: frozenset[str]) -> bool:
    own, framed = _held(wanted, _stems(said)), _held(wanted, above)
    least = len(wanted) if len(wanted) <= FEW else MOST_WORDS * len(wanted)
    return len(own | framed) >= least and len(own) >= IN_SENTENCE * len(wanted)


def _stems(text: str) -> frozenset[str]:
    return frozenset(words_of(text))


def _held(wanted: frozenset[str], words: frozenset[str]) -> frozenset[str]:
    """Return the wanted words that are among some words; of long ones the beginning is enough."""
    return frozenset(
        one
        for one in wanted
        if one in words
        or (
            len(one) >= SHORTEST_ALIKE
            and any(
                len(word) >= SHORTEST_ALIKE and (word.startswith(one) or one.startswith(word))
                for word in words
            )
        )
    )


def _times(
    said: str, sentence: Sentence, memory: Memory, *, counts: bool
) -> Iterator[tuple[datetime, datetime, DatedBy]]:
    """Yield the times of a sentence: the dates in it, else that of its heading, else that of the memory.

    Relative dates and times of day count from the heading or the memory. A state ("since March") is no
    occurrence to count.
    """
    moment = memory.event_time
    above = [one for one in whole_dates(sentence.heading, now=moment) if one.is_day]
    written = above[-1].stretch[0] if above else moment
    if written.time() == time():
        # A day without a time of day: all of it has begun.
        written += timedelta(hours=23, minutes=59)
    spans = _nearest_days(said, written)
    for start, end in spans:
        if start is not None and end is not None and end - start <= MAX_SELECTIVE:
            yield start, end, DatedBy.SENTENCE
        elif start is not None and end is None and not counts:
            yield start, start + timedelta(days=1), DatedBy.SENTENCE
    if above and not spans:
        start, end = above[-1].stretch
        yield start, max(end, start + SHORTEST), DatedBy.HEADING
    elif not spans:
        yield moment, moment + SHORTEST, DatedBy.MEMORY


def _nearest_days(said: str, written: datetime) -> Sequence[Span]:
    """Return the spans that a sentence names; a day without a year may be one of the next weeks."""
    spans = find_dates(said, now=written).spans
    if not spans or written.year == MAXYEAR:
        return spans
    ahead = find_dates(said, now=written + AHEAD).spans
    if len(ahead) != len(spans):
        return spans
    return [
        later if _is_a_year_later(later, span) else span for span, later in zip(spans, ahead, strict=True)
    ]


def _is_a_year_later(later: Span, span: Span) -> bool:
    """Return whether two spans are the same day of two years."""
    (start, end), (next_start, _) = span, later
    if start is None or end is None or next_start is None:
        return False
    return end - start <= DAY and timedelta(days=365) <= next_start - start <= timedelta(days=366)


def _shown(memory: Memory, one: Sentence, redactor: Redactor) -> str:
    secrets = find_secrets_near(memory, [(one.start, one.end)], redactor)
    line = " ".join(cover(memory.indexed_text, secrets, one.start, one.end).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}\u2026"


def occurrence_shape(one: Occurrence) -> dict[str, str]:
    """Return an occurrence as JSON fields; `end` is the first moment after it."""
    return {
        "start": rfc3339(one.start),
        "end": rfc3339(one.end),
        "dated_by": one.dated_by.value,
        "text": one.text,
        "id": one.memory.short_id,
        "full_id": one.memory.id,
    }


def _listed(asked: TimeQuestion, found: Sequence[Occurrence]) -> TimelineAnswer:
    if not found:
        return TimelineAnswer(f'no dated mention of "{asked.events[0].text}"', ())
    days = sorted({one.day for one in found})
    line = f"found {_mentions(found)}"
    if len(days) > 1:
        line += f" on {len(days)} dates, from {days[0][:10]} to {days[-1][-10:]}"
    return TimelineAnswer(f"{line}:", tuple(found), INCOMPLETE)


def _mentions(found: Sequence[Occurrence]) -> str:
    dated = sum(one.dated_by is DatedBy.MEMORY for one in found)
    count = "1 dated mention" if len(found) == 1 else f"{len(found)} dated mentions"
    return f"{count} ({dated} by the date of the memory)" if dated else count


def _order(asked: TimeQuestion, found: Sequence[list[Occurrence]]) -> TimelineAnswer:
    """Return which of two events is mentioned with the earlier date; no claim where the days overlap."""
    both = tuple(sorted((one for listed in found for one in listed), key=lambda one: one.start))
    missing = [event.text for event, listed in zip(asked.events, found, strict=True) if not listed]
    if missing:
        return TimelineAnswer(f'no dated mention of "{missing[0]}", so the order is not known', both)
    firsts = [min(listed, key=lambda one: one.start) for listed in found]
    (one, first), (other, second) = sorted(
        zip(asked.events, firsts, strict=True), key=lambda pair: pair[1].start
    )
    if first.end > second.start or first.day == second.day:
        line = f'"{one.text}" and "{other.text}" are first mentioned at the same time, {first.day}'
        return TimelineAnswer(f"{line}: the order is not known", both)
    line = f'"{one.text}" is first dated {first.day}, "{other.text}" {second.day}:'
    weak = DatedBy.MEMORY in {first.dated_by, second.dated_by}
    note = "some dates are those of memories, which may describe something earlier" if weak else INCOMPLETE
    return TimelineAnswer(line, both, note)


def _beside(
    catalog: Catalog, question: Question, asked: TimeQuestion, found: Sequence[Occurrence]
) -> TimelineAnswer:
    """Return the memories that follow or precede an event, if all its mentions are of one date."""
    event = asked.events[0].text
    if not found:
        return TimelineAnswer(f'no dated mention of "{event}"', ())
    days = sorted({one.day for one in found})
    if len(days) > 1:
        line = f'"{event}" is mentioned with {len(days)} dates; ask again with one of these:'
        return TimelineAnswer(line, tuple(found))
    after = asked.asked is TimeAsked.AFTER
    wanted = Filter(
        projects=question.projects,
        since=max(one.end for one in found) if after else None,
        until=None if after else min(one.start for one in found),
    )
    page, _ = list_page(catalog.database, wanted, order="oldest" if after else "newest", limit=NEIGHBOURS)
    beside = tuple(
        Occurrence(
            one,
            one.event_time,
            one.event_time + SHORTEST,
            DatedBy.MEMORY,
            catalog.redactor.redact(" ".join((one.title or one.uri).split()))[0][:LONGEST],
        )
        for one in page
    )
    where = "after" if after else "before"
    if not beside:
        return TimelineAnswer(f'"{event}" is dated {days[0]}; there are no memories from {where} it', ())
    line = f'"{event}" is dated {days[0]}; memories from {where} it, nearest first:'
    return TimelineAnswer(line, beside)
