"""Which spans of time a question names."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ragmem.domain import date_words as words
from ragmem.domain.date_values import LENGTHS, Said, amount, stretch_of
from ragmem.domain.date_words import compiled
from ragmem.domain.spans import Span, week_of

MAX_SPANS = 6
"""A text that names more dates than these is a log or a plan, and asks for none in particular."""

FIRST_YEAR = 1970
"""A year before is a part of the story: nothing that a computer keeps was written then."""

_SMALL = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
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
    """A place that may name a date, with the preposition before it and what joins it to the last place."""

    said: Said
    link: str
    joint: str | None

    @property
    def form(self) -> str:
        return self.said.form

    @property
    def own_year(self) -> int | None:
        return int(self.said.value("y")) if self.said.has("y") else None


def dates_asked(text: str, *, now: datetime) -> tuple[Span, ...]:
    """Return the spans of time that a question names, in its order, in the time zone of `now`.

    A day or month without a year is the last one that has begun, or of the one year that the question names.
    What is told from now ("last week") is left out beside a date, for it is told from that date then. A span
    is open where the question says before, until, after or since. English and ISO 8601; a number that only
    may be a date is none. Nothing where more than six are named.
    """
    small = text.translate(_SMALL)
    if not words.HINT.search(small):
        return ()
    places = _places(small, text, now.replace(tzinfo=None))
    _share_years(places, now.year)
    spans: dict[Span, None] = {}
    at = 0
    while at < len(places):
        place = places[at]
        span = _range(place, places[at + 1]) if at + 1 < len(places) else None
        at += 1 if span is None else 2
        if span is None and not _only_tells_more(place, places):
            span = _directed(place, small)
        if span is not None:
            spans[span] = None
    if len(spans) > MAX_SPANS:
        return ()
    zone = now.tzinfo
    return tuple(
        (start and start.replace(tzinfo=zone), end and end.replace(tzinfo=zone)) for start, end in spans
    )


def without_dates(text: str, *, now: datetime) -> str:
    """Return a question without the dates that it names, a blank for each."""
    small = text.translate(_SMALL)
    if not words.HINT.search(small):
        return text
    rest, at = "", 0
    for place in _places(small, text, now.replace(tzinfo=None)):
        start, end = place.said.found.span()
        rest += text[at:start] + " "
        at = end
    return rest + text[at:]


def _places(small: str, text: str, now: datetime) -> list[_Place]:
    places: list[_Place] = []
    for found in words.date_pattern().finditer(small):
        before = small[max(0, found.start() - _LOOK_BACK) : found.start()]
        link = compiled(words.LINK).search(before)
        joint = None
        if places and (
            joined := compiled(words.JOINED).fullmatch(small, places[-1].said.found.end(), found.start())
        ):
            joint = joined[1] or ""
        place = _Place(Said(found.lastgroup or "", found, now), link["word"] if link else "", joint)
        if _is_date(place, before, small, text):
            places.append(place)
    return places


def _is_date(place: _Place, before: str, small: str, text: str) -> bool:
    """Tell whether what has the form of a date surely is one, by the words around it."""
    form, said = place.form, place.said
    year = place.own_year
    if year is not None and not FIRST_YEAR <= year <= said.now.year + 1:
        return False
    if (form in words.NUMERIC and compiled(words.NAMES_A_NUMBER).search(before)) or not _is_linked(
        place, before, small
    ):
        return False
    if form in {"day_month", "month_day"} and year is None and said.value("m") in _MODAL:
        # "may" is a verb more often than a month: in small letters it needs a preposition.
        return said.has("sure") or bool(place.link) or text[said.found.start(f"{form}_m")].isupper()
    if form == "ago":
        return not before.endswith("half ")
    return not (form == "day" and said.value("name") == "today" and before.endswith(_COMPARED))


def _is_linked(place: _Place, before: str, small: str) -> bool:
    """Tell whether a form that is no date by itself has the words around it that make it one."""
    form, said = place.form, place.said
    links = words.LINKED.get(form)
    if links is None or said.has("part") or (said.has("y") and form not in {"compact", "year"}):
        return True
    if form == "weekday" and before.endswith("the "):
        return False
    opens = form == "compact" and not before.strip()
    if not (place.link in links or place.joint or opens):
        return False
    return form not in words.COUNTED or compiled(words.FOLLOWS).match(small, said.found.end()) is not None


def _share_years(places: list[_Place], this_year: int) -> None:
    """Give the dates without a year the only year of the question, or that of the date they are joined to."""
    years = {place.own_year for place in places} - {None}
    for place in places:
        if place.form in {"last_unit", "this_unit"} and place.said.value("unit") == "year":
            years.add(this_year - (place.form == "last_unit"))
    year = years.pop() if len(years) == 1 else None
    for at in reversed(range(len(places))):
        after = places[at + 1] if at + 1 < len(places) else None
        known = year
        if year is None and after is not None and after.joint and after.form in _YEARLESS:
            # "March and April": both of the year in which the later one lies.
            stretch = stretch_of(after.said)
            known = stretch[0].year if stretch is not None else None
        places[at] = replace(places[at], said=replace(places[at].said, known_year=known))


def _only_tells_more(place: _Place, places: list[_Place]) -> bool:
    """Tell whether a date only says more of another one: its year, its weekday, or what is told from it."""
    others = [other for other in places if other is not place and other.form not in words.RELATIVE]
    if place.form == "year" or place.said.found[0].endswith("year"):
        return not place.said.has("part") and any(other.own_year is None for other in others)
    if place.form in words.RELATIVE and place.joint not in {"and", "or"}:
        return any(other.form != "year" for other in others)
    return False


def _range(first: _Place, last: _Place) -> Span | None:
    """Return the span from one date to another, where the question joins them and they lie so."""
    if not (last.joint in _TO or (last.joint == "and" and first.link == "between")):
        return None
    start, end = stretch_of(first.said), stretch_of(last.said)
    if start is None or end is None:
        return None
    if start[0] >= end[1] and first.own_year is None:
        start = stretch_of(replace(first.said, known_year=end[0].year - 1)) or start
    return (start[0], end[1]) if start[0] < end[1] else None


def _directed(place: _Place, small: str) -> Span | None:
    """Return the span of one date, open on a side where the words around it say so."""
    stretch = stretch_of(place.said)
    if stretch is None:
        return None
    start, end = stretch
    link, ago = place.link, place.form == "ago"
    if ago and link in _MORE | _LESS:
        start = end = start + (end - start) / 2
    if small.endswith("week of ", 0, place.said.found.start()):
        start, end = week_of(start.date())
    onwards = link == "from" and compiled(words.ONWARDS).match(small, place.said.found.end())
    away = _away(place, small) if link in {"before", "after"} else None
    span: Span = start, end
    if away is not None:
        # What happened so long before a day happened there, and was told between there and the day.
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


def _away(place: _Place, small: str) -> timedelta | None:
    """Return the distance that the words before a date tell: "two weeks before", "the Sunday after"."""
    at = place.said.found.start()
    away = compiled(words.AWAY).search(small[max(0, at - _LOOK_BACK) : at])
    if away is None:
        return None
    _, most = amount(away["n"] or "one")
    return most * LENGTHS.get(away["unit"], LENGTHS["week"])
