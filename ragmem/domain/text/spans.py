"""Spans of time: calendar units, and the distance of a moment from a span."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

Span = tuple[datetime | None, datetime | None]
"""The first moment, and the first one after the span; None is an open end."""

ClosedSpan = tuple[datetime, datetime]
"""A span with both ends, without a time zone, in the calendar of the user."""

OPEN_LENGTH = timedelta(days=7)
"""The tolerance of an open span at its named end: "since Monday" may mean the weekend before."""

MAX_SELECTIVE = timedelta(days=35)
"""Maximum length of a selective span; a longer or open one may contain half of all memories."""

MIN_LENGTH = timedelta(minutes=30)
"""The minimum length by which the distance from a time of day is measured."""

SAME_DAY = 0.5
"""The weight of the day if a question names a time of it; a memory may have only a date."""

ZERO_DISTANCE = 3.0
"""Distance, in lengths of the span, from which the score is 0: half to the power of 9 is 0.2 %."""

_DAY = timedelta(days=1)
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


def days(first: date, count: int = 1) -> ClosedSpan:
    """Return a span of whole days; raises OverflowError beyond the years 1 to 9999."""
    start = datetime.combine(first, time.min)
    return start, start + count * _DAY


def months(year: int, month: int, count: int = 1) -> ClosedSpan:
    """Return a span of whole months; a month below 1 or above 12 counts into other years.

    Raises ValueError beyond the years 1 to 9999.
    """
    return _first_of(year, month), _first_of(year, month + count)


def quarter(year: int, number: int) -> ClosedSpan:
    """Return a quarter of a year, from 1; as in `months`, numbers may count into other years."""
    return months(year, 3 * number - 2, 3)


def season(year: int, name: str) -> ClosedSpan:
    """Return a meteorological season of the northern hemisphere, in whole months."""
    return months(year, _SEASONS[name], 3)


def week(year: int, number: int) -> ClosedSpan:
    """Return a week by ISO 8601; raises ValueError if the year has no such week."""
    return days(date.fromisocalendar(year, number, 1), 7)


def week_of(day: date) -> ClosedSpan:
    """Return the week, from Monday, of a day."""
    return days(day - day.weekday() * _DAY, 7)


def third(stretch: ClosedSpan, number: int) -> ClosedSpan:
    """Return the first (0), middle or last (2) third: early, mid and late May."""
    start, end = stretch
    part = (end - start) / 3
    return start + number * part, start + (number + 1) * part


def seventh(stretch: ClosedSpan, number: int) -> ClosedSpan:
    """Return a week of a month or year, from 1; -1 means its last seven days.

    The fifth week of a month is its remaining days. Raises ValueError if there are none.
    """
    start, end = stretch
    if number < 0:
        return end - 7 * _DAY, end
    first = start + 7 * (number - 1) * _DAY
    if first >= end:
        raise ValueError(number)
    return first, min(first + 7 * _DAY, end)


def half(stretch: ClosedSpan, number: int) -> ClosedSpan:
    """Return the first (1) or second half; of a year from 1 July, of a month from its 16th."""
    start, end = stretch
    if (end - start) > timedelta(days=31):
        return (start, _first_of(start.year, 7)) if number == 1 else (_first_of(start.year, 7), end)
    middle = start + 15 * _DAY
    return (start, middle) if number == 1 else (middle, end)


def shift_months(moment: datetime, count: int) -> datetime:
    """Return the same time of the same day in another month, or of that month's last day.

    Raises ValueError beyond the years 1 to 9999.
    """
    first, after = months(moment.year, moment.month + count)
    day = min(first + (moment.day - 1) * _DAY, after - _DAY)
    return day + (moment - datetime.combine(moment, time.min))


def selective_spans(spans: Sequence[Span]) -> list[tuple[datetime, datetime]]:
    """Return the closed spans that are short enough to be selective."""
    closed = [(start, end) for start, end in spans if start is not None and end is not None]
    return [(start, end) for start, end in closed if end - start <= MAX_SELECTIVE]


def time_match(event_time: datetime, spans: Sequence[Span]) -> float:
    """Return how near a moment is to the nearest of these spans: 1 inside, down to 0.

    Outside it is 2 ** -(distance / length) ** 2: half at one length of the span from its nearest end, 6 % at
    two, 0 from three on. So a named day tolerates a day and a named month a month: an event is often written
    down on the next day, and the error of a remembered date is in proportion to its unit. An open span
    ("before March") falls off over a week at its named end. All moments need a time zone.
    """
    return max((_nearness(event_time, span) for span in spans), default=0.0)


def _nearness(moment: datetime, span: Span) -> float:
    start, end = span
    if start is not None and moment < start:
        distance = start - moment
    elif end is not None and moment >= end:
        distance = moment - end
    else:
        return 1.0
    if start is None or end is None:
        return _decay(distance / OPEN_LENGTH)
    return _decay(distance / min(max(end - start, MIN_LENGTH), MAX_SELECTIVE))


def _decay(lengths: float) -> float:
    return 2.0 ** -(lengths**2) if lengths < ZERO_DISTANCE else 0.0


def _first_of(year: int, month: int) -> datetime:
    return datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)  # noqa: DTZ001 - see ClosedSpan
