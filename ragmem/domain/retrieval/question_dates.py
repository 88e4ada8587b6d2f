"""Find the spans of time that a question names."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo

from ragmem.domain.retrieval import date_words as words
from ragmem.domain.retrieval.clock_times import Clock, clock_after, clock_before
from ragmem.domain.retrieval.date_languages import translate_dates
from ragmem.domain.retrieval.date_values import LENGTHS, DateExpression, amount, date_span
from ragmem.domain.retrieval.date_words import compile_once
from ragmem.domain.text.spans import ClosedSpan, Span, days, week_of
from ragmem.frozen import dataclass

MAX_SPANS = 6
"""A text with more dates is a log or a plan and does not ask for a certain time."""

FIRST_YEAR = 1970
"""Earlier years are content, not dates of memories."""

TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_LOOK_BACK = 40
_UNTIL_START = frozenset({"before", "prior to", "earlier than", "older than"})
_UNTIL_END = frozenset({"until", "till", "up to"})
_FROM_START = frozenset({"since", "starting"})
_FROM_END = frozenset({"after", "later than", "newer than"})
_MORE = frozenset({"more than", "over", "at least", "longer than"})
_LESS = frozenset({"less than", "under", "within"})
_TO = frozenset({"to", "until", "till", "through", "-", "\u2013"})
_COMPARED = ("compared with ", "compared to ", "as of ", "than ", "until ", "to ")
_YEARLESS = frozenset({"day_month", "month_day", "month", "quarter", "week"})
_MODAL = frozenset({"may", "mar", "dec"})


@dataclass(frozen=True, slots=True)
class _Place:
    """A possible date at a place, with the preposition before it and the joint to the previous place."""

    said: DateExpression
    link: str
    joint: str | None
    start: int
    end: int
    """Its span, including a time of day beside it."""
    clock: Clock | None = None

    @property
    def form(self) -> str:
        return self.said.form

    @property
    def own_year(self) -> int | None:
        return next((int(self.said.value(part)) for part in ("y", "whole") if self.said.has(part)), None)


@dataclass(frozen=True, slots=True)
class Dates:
    """The time spans of a question; `days` are the days for which it names a time of day."""

    spans: tuple[Span, ...] = ()
    days: tuple[Span, ...] = ()


def find_dates(text: str, *, now: datetime, zone: tzinfo | None = None) -> Dates:
    """Return the time spans of a question, in order, in the time zone of `now`.

    A day or month without a year is in the only year of the question, else the last one that has begun. A
    relative date ("last week") beside an absolute one is ignored, because it is relative to that date. A span
    is open after before, until, after or since. English, ISO 8601 and the languages of `date_languages` are
    read; ambiguous numbers are not dates. Returns nothing for more than six dates.

    Days are those of the time zone of `now`. A time of day without a zone is one in `zone` (None: that of
    `now`), and also the same time in the zone of `now`, which times stored without a zone have.
    """
    lowered, text = _read(text)
    if not lowered:
        return Dates()
    zone = zone or now.tzinfo
    places = _places(lowered, text, now, zone)
    _share_years(places, now.year)
    spans: dict[Span, None] = {}
    around: dict[Span, None] = {}
    at = named = 0
    while at < len(places):
        place = places[at]
        span = _range(place, places[at + 1]) if at + 1 < len(places) else None
        last = place if span is None else places[at + 1]
        at += 1 if span is None else 2
        if span is None and not _is_detail(place, places):
            span = _single_span(place, lowered)
        if span is None:
            continue
        named += 1
        for one in _in_zones(span, place, last, now, zone):
            spans[one] = None
        if place.clock is not None and None not in span:
            day = date_span(place.said)
            around |= dict.fromkeys(_in_zone(day, now.tzinfo, now)) if day else {}
    return Dates() if named > MAX_SPANS else Dates(tuple(spans), tuple(around))


def without_dates(text: str, *, now: datetime) -> str:
    """Return a question with a blank for each of its dates, which are translated into English first."""
    lowered, english = _read(text)
    if not lowered:
        return text
    rest, at = "", 0
    for place in _places(lowered, english, now, now.tzinfo):
        rest += english[at : place.start] + " "
        at = place.end
    return rest + english[at:]


def _read(text: str) -> tuple[str, str]:
    """Return a text in lower case and as it is, with English dates; "" for both if it has no date."""
    text = translate_dates(text)
    lowered = text.translate(TO_LOWER)
    return (lowered, text) if words.HINT.search(lowered) else ("", text)


def _in_zones(span: Span, first: _Place, last: _Place, now: datetime, zone: tzinfo | None) -> Iterator[Span]:
    """Yield a span in the zone of the question; a time of day in its own zone, or in both possible ones."""
    if not (first.clock or last.clock or _is_of_a_day(first)):
        yield from _in_zone(span, now.tzinfo, now)
        return
    said = next((place.clock.zone for place in (last, first) if place.clock and place.clock.zone), None)
    for one in dict.fromkeys([said] if said else [zone, now.tzinfo]):
        yield from _in_zone(span, one, now)
        if first is last and first.clock and first.clock.again and None not in span:
            later = _shift(span, timedelta(hours=12))
            yield from _in_zone(later, one, now) if later else ()


def _shift(span: Span, by: timedelta) -> Span | None:
    start, end = span
    try:
        return start and start + by, end and end + by
    except OverflowError:
        return None


def _in_zone(span: Span, zone: tzinfo | None, now: datetime) -> Iterator[Span]:
    """Yield a span of a zone in that of `now`; nothing at the ends of the calendar."""
    try:
        start, end = (moment and moment.replace(tzinfo=zone).astimezone(now.tzinfo or UTC) for moment in span)
    except (OverflowError, ValueError):
        return
    yield start, end


def _is_of_a_day(place: _Place) -> bool:
    """Return whether a form itself means a part of a day: "this morning"."""
    return place.form in {"this_unit", "last_unit"} and place.said.value("unit") in _OF_A_DAY


_OF_A_DAY = frozenset({"morning", "afternoon", "evening", "night"})


def _places(lowered: str, text: str, now: datetime, zone: tzinfo | None) -> list[_Place]:
    places: list[_Place] = []
    here = _naive(now, zone)
    for found in words.date_pattern().finditer(lowered):
        since = places[-1].end if places else 0
        if found.start() < since:
            continue
        form = found.lastgroup or ""
        said = DateExpression(form, found, now.replace(tzinfo=None))
        place = _with_clock(_Place(said, "", None, found.start(), found.end()), places, lowered, since)
        if place.clock is not None or _is_of_a_day(place):
            place = replace(place, said=replace(said, now=here))
        if places and place.start < places[-1].end:
            # "at 14:05" was parsed alone, but belongs to this day.
            places.pop()
        before = lowered[max(0, place.start - _LOOK_BACK) : place.start]
        link = compile_once(words.LINK).search(before)
        joint = None
        if places and (joined := compile_once(words.JOINED).fullmatch(lowered, places[-1].end, place.start)):
            joint = joined[1] or ""
        place = replace(place, link=_link_of(place, link["word"] if link else ""), joint=joint)
        if _is_date(place, before, lowered, text):
            places.append(place)
    return _join_lone_clock(places)


def _naive(now: datetime, zone: tzinfo | None) -> datetime:
    try:
        return now.astimezone(zone).replace(tzinfo=None) if zone and now.tzinfo else now.replace(tzinfo=None)
    except OverflowError:
        return now.replace(tzinfo=None)


def _with_clock(place: _Place, places: list[_Place], lowered: str, since: int) -> _Place:
    """Return a place with the time of day after or before it."""
    if place.form not in words.OF_A_DAY or (place.said.has("from") or place.said.has("to")):
        return place
    if after := clock_after(lowered, place.end - (1 if place.form == "clock" else 0)):
        return replace(place, clock=after[0], end=after[1])
    alone = places[-1] if places and places[-1].form == "clock" else None
    if before := clock_before(lowered, alone.start if alone else since, place.start):
        return replace(place, clock=before[0], start=before[1])
    return place


def _link_of(place: _Place, link: str) -> str:
    if place.form != "clock":
        return link
    word = place.said.value("word")
    return word if word not in {"at", "around", "about"} else link


def _join_lone_clock(places: list[_Place]) -> list[_Place]:
    """Return the places; the only lone time of day is joined to the only day of the question."""
    alone = [place for place in places if place.form == "clock"]
    bare = [
        place
        for place in places
        if place.form in words.OF_A_DAY and place.form != "clock" and place.clock is None
    ]
    if len(alone) == 1 and len(bare) == 1 and len(places) == 2:
        return [replace(bare[0], clock=alone[0].clock, said=replace(bare[0].said, now=alone[0].said.now))]
    return places


def _is_date(place: _Place, before: str, lowered: str, text: str) -> bool:
    """Return whether a text with the form of a date is one, by the words around it."""
    form, said = place.form, place.said
    year = place.own_year
    if year is not None and not FIRST_YEAR <= year <= said.now.year + 1:
        return False
    if (form in words.NUMERIC and compile_once(words.NAMES_A_NUMBER).search(before)) or not _is_linked(
        place, before, lowered
    ):
        return False
    if form in {"day_month", "month_day"} and year is None and said.value("m") in _MODAL:
        # "may" is a verb more often than a month: in lower case it needs a preposition.
        return said.has("sure") or bool(place.link) or text[said.found.start(f"{form}_m")].isupper()
    if form == "clock":
        return place.clock is not None and compile_once(words.FOLLOWS).match(lowered, place.end) is not None
    if form == "ago":
        return not before.endswith("half ")
    return not (form == "day" and said.value("name") == "today" and before.endswith(_COMPARED))


def _is_linked(place: _Place, before: str, lowered: str) -> bool:
    """Return whether the words around an ambiguous form make it a date."""
    form, said = place.form, place.said
    links = words.LINKED.get(form)
    if links is None or said.has("part") or (said.has("y") and form not in {"compact", "year"}):
        return True
    if form == "clock" or (form in words.OF_A_DAY and place.clock is not None):
        return True
    if form == "weekday":
        if before.endswith(("the ", "a ", "every ", "each ", "next ", "this coming ")):
            return False
        if compile_once(words.ENDS).match(lowered, place.end):
            return True
    opens = form in {"compact", "week"} and not before.strip(" \t(")
    if not (place.link in links or place.joint or opens):
        return False
    return form not in words.COUNTED or compile_once(words.FOLLOWS).match(lowered, place.end) is not None


def _share_years(places: list[_Place], this_year: int) -> None:
    """Set the year of dates without one: the only year of the question, or that of a joined date."""
    years = {place.own_year for place in places} - {None}
    for place in places:
        if place.form in {"last_unit", "this_unit"} and place.said.value("unit") == "year":
            years.add(this_year - (place.form == "last_unit"))
    year = years.pop() if len(years) == 1 else None
    for at in reversed(range(len(places))):
        after = places[at + 1] if at + 1 < len(places) else None
        known = year
        if year is None and after is not None and after.joint and after.form in _YEARLESS:
            # "March and April": both in the year of the later one
            stretch = date_span(after.said)
            known = stretch[0].year if stretch is not None else None
        places[at] = replace(places[at], said=replace(places[at].said, known_year=known))


def _is_detail(place: _Place, places: list[_Place]) -> bool:
    """Return whether a date only details another one: its year, its weekday, or a relative date."""
    others = [other for other in places if other is not place and other.form not in words.RELATIVE]
    if place.form == "year" or place.said.found[0].endswith("year"):
        return not place.said.has("part") and any(other.own_year is None for other in others)
    if place.form in words.RELATIVE and place.joint not in {"and", "or"}:
        return any(other.form != "year" for other in others)
    return False


def _place_span(place: _Place) -> ClosedSpan | None:
    """Return the span of a place: a day, or a time of day; a lone time is the last one that has begun."""
    day = date_span(place.said)
    if day is None or place.clock is None:
        return day
    try:
        if place.form == "clock" and place.clock.within(day)[0] > place.said.now:
            day = days(day[0].date() - timedelta(days=1))
        return place.clock.within(day)
    except OverflowError:
        return None


def _range(first: _Place, last: _Place) -> Span | None:
    """Return the span from one date to another if the question joins them in this order."""
    if not (last.joint in _TO or (last.joint == "and" and first.link == "between")):
        return None
    start, end = _place_span(first), _place_span(last)
    if start is None or end is None:
        return None
    if start[0] >= end[1] and first.own_year is None:
        earlier = replace(first, said=replace(first.said, known_year=end[0].year - 1))
        start = _place_span(earlier) or start
    return (start[0], end[1]) if start[0] < end[1] else None


def _single_span(place: _Place, lowered: str) -> Span | None:
    """Return the span of one date, open on the side that the words around it say."""
    stretch = _place_span(place)
    if stretch is None:
        return None
    start, end = stretch
    link, ago = place.link, place.form == "ago"
    if ago and link in _MORE | _LESS:
        start = end = start + (end - start) / 2
    if lowered.endswith("week of ", 0, place.start):
        start, end = week_of(start.date())
    onwards = link == "from" and compile_once(words.ONWARDS).match(lowered, place.end)
    away = _away(place, lowered) if link in {"before", "after"} else None
    span: Span = start, end
    if away is not None:
        # An event "two weeks before" a day may be recorded at any time from then to the day.
        span = (start - away, end) if link == "before" else (start, end + away)
    elif link in _UNTIL_START or (ago and link in _MORE):
        span = None, start
    elif link in _UNTIL_END:
        span = None, end
    elif onwards or link in _FROM_START or (ago and link in _LESS):
        span = start, None
    elif link in _FROM_END:
        span = end, None
    return span


def _away(place: _Place, lowered: str) -> timedelta | None:
    """Return the distance in the words before a date: "two weeks before", "the Sunday after"."""
    at = place.start
    away = compile_once(words.AWAY).search(lowered[max(0, at - _LOOK_BACK) : at])
    if away is None:
        return None
    _, most = amount(away["n"] or "one")
    return most * LENGTHS.get(away["unit"], LENGTHS["week"])
