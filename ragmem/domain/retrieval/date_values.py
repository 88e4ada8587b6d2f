"""The time span that each form of a date means."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta

from ragmem.domain.retrieval.date_words import HALVES, LAST, MONTHS, NTH, NUMBERS, ORDINALS, PARTS, WEEKDAYS
from ragmem.domain.text.spans import (
    ClosedSpan,
    days,
    half,
    months,
    quarter,
    season,
    seventh,
    shift_months,
    third,
    week,
    week_of,
)
from ragmem.frozen import dataclass

_DAY = timedelta(days=1)
_LEAP = 8
"""Years to look back for a day; 29 February may be missing for eight."""

LENGTHS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": _DAY,
    "week": 7 * _DAY,
    "fortnight": 14 * _DAY,
    "night": _DAY,
    "month": 31 * _DAY,
    "quarter": 92 * _DAY,
    "year": 366 * _DAY,
}
"""Units of time at their maximum length."""

_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
_HOURS = {"morning": (4, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (-6, 6)}


@dataclass(frozen=True, slots=True)
class DateExpression:
    """A date in a question: its form and its words; `known_year` comes from the rest of the question."""

    form: str
    found: re.Match[str]
    now: datetime
    known_year: int | None = None

    def value(self, key: str) -> str:
        """Return the text of a part of the form, or ""."""
        return self.found[f"{self.form}_{key}"] or ""

    def has(self, key: str) -> bool:
        """Return whether the form has this part and the text contains it."""
        name = f"{self.form}_{key}"
        return name in self.found.re.groupindex and bool(self.found[name])

    @property
    def number(self) -> int:
        """The number of a week, a quarter or a half; LAST for the last one."""
        return int(self.value("n")) if self.has("n") else (ORDINALS | NTH)[self.value("o")]

    @property
    def month(self) -> int:
        """The number of the month, from its name or two digits."""
        name = self.value("m")
        return int(name) if name.isdigit() else MONTHS.index(name[:3]) + 1

    @property
    def year(self) -> int | None:
        """The year in the expression, else the one from the question."""
        for part in ("y", "whole"):
            if self.has(part):
                return int(self.value(part))
        return self.known_year


def date_span(said: DateExpression) -> ClosedSpan | None:
    """Return the time span of a date; None if the calendar has no such date."""
    try:
        found = _READERS[said.form](said)
        return (
            third(found, PARTS[said.value("part").split()[0].rstrip("-")])
            if found and said.has("part")
            else found
        )
    except (ValueError, OverflowError):
        return None


def _in_some_year(said: DateExpression, make: Callable[[int], ClosedSpan]) -> ClosedSpan | None:
    """Return a date in its year; without a known year the latest one that has begun."""
    if said.year is not None:
        return make(said.year)
    for year in range(said.now.year, said.now.year - _LEAP - 1, -1):
        try:
            found = make(year)
        except ValueError:
            continue
        if found[0] <= said.now:
            return found
    return None


def _on_day(said: DateExpression) -> ClosedSpan | None:
    day = int(said.value("d"))
    first = int(said.value("from")) if said.has("from") else day
    last = int(said.value("to")) if said.has("to") else day
    if last < first:
        return None
    return _in_some_year(
        said, lambda year: (days(date(year, said.month, first))[0], days(date(year, said.month, last))[1])
    )


def _latest(
    make: Callable[[DateExpression, int], ClosedSpan],
) -> Callable[[DateExpression], ClosedSpan | None]:
    """Return a reader of a form whose span in a year `make` returns."""
    return lambda said: _in_some_year(said, lambda year: make(said, year))


_in_month = _latest(lambda said, year: months(year, said.month))
_in_week = _latest(lambda said, year: week(year, said.number))
_in_quarter = _latest(lambda said, year: quarter(year, said.number))
_in_half = _latest(lambda said, year: months(year, 6 * said.number - 5, 6))
_in_last_season = _latest(lambda said, year: season(year, said.value("name")))
_in_year = _latest(lambda _, year: months(year, 1, 12))


def _whole(said: DateExpression) -> ClosedSpan | None:
    """Return the month or year of which the expression means a part."""
    if said.has("m"):
        return _in_month(said)
    if said.has("whole"):
        return _in_year(said)
    count = _MONTHS_IN[said.value("unit")]
    first = said.now.month if count == 1 else 1
    return months(said.now.year, first - (count if said.value("rel") == "last" else 0), count)


def _in_month_week(said: DateExpression) -> ClosedSpan | None:
    whole = _whole(said)
    return seventh(whole, said.number) if whole else None


def _in_month_weekday(said: DateExpression) -> ClosedSpan | None:
    """Return the nth such day of the week; None if the month has fewer."""
    whole = _whole(said)
    if whole is None:
        return None
    first, after = whole
    wanted, number = WEEKDAYS.index(said.value("d")[:3]), said.number
    if number == LAST:
        back = (after.weekday() - wanted - 1) % 7 + 1
        return days(after.date() - back * _DAY)
    found = first + ((wanted - first.weekday()) % 7 + 7 * (number - 1)) * _DAY
    return days(found.date()) if found < after else None


def _in_part_half(said: DateExpression) -> ClosedSpan | None:
    whole = _whole(said)
    return half(whole, HALVES[said.value("o")]) if whole else None


def _numeric(said: DateExpression) -> ClosedSpan | None:
    """Read 25/12/2023 and 12/25/2023; 8/5/2023 may be either, but with dots the day is always first."""
    first, second, year = int(said.value("a")), int(said.value("b")), int(said.value("y"))
    if said.value("mark") == "." or first == second or first > 12:
        return days(date(year, second, first))
    return days(date(year, first, second)) if second > 12 else None


def _last_month(said: DateExpression) -> ClosedSpan:
    return months(said.now.year - (said.month >= said.now.month), said.month)


def _in_season(said: DateExpression) -> ClosedSpan | None:
    if said.has("rel"):
        return season(said.now.year - (said.value("rel") == "last"), said.value("name"))
    return _in_last_season(said)


def _last_season(said: DateExpression) -> ClosedSpan | None:
    found = _in_last_season(said)
    if found is None or said.value("mark") != "last" or found[1] <= said.now:
        return found
    return season(found[0].year - 1, said.value("name"))


def _weekday(said: DateExpression) -> ClosedSpan:
    """Return the last such weekday before today."""
    back = (said.now.weekday() - WEEKDAYS.index(said.value("d")[:3]) - 1) % 7 + 1
    return days(said.now.date() - back * _DAY)


def _day_in_week(said: DateExpression) -> ClosedSpan:
    """Return a day of the last or of this week; the whole week where the day is yet to come."""
    whole = week_of(said.now.date() - (0 if said.value("rel") == "this" else 7) * _DAY)
    day = days(whole[0].date() + WEEKDAYS.index(said.value("d")[:3]) * _DAY)
    return day if day[0] <= said.now else whole


def _day(said: DateExpression) -> ClosedSpan:
    name = said.value("name")
    back = 2 if "before" in name else 1 if name == "yesterday" else 0
    return days(said.now.date() - back * _DAY)


def _ago(said: DateExpression) -> ClosedSpan:
    """Return the time around a moment in the past, half a unit to each side; for days the whole day.

    People round: "two weeks ago" is accurate to days, "two months ago" to weeks.
    """
    least, most = amount(said.value("n"))
    unit = said.value("unit")
    early, late = _back(said.now, most, unit), _back(said.now, least, unit)
    if unit == "day":
        return days(early.date())[0], days(late.date())[1]
    half = (said.now - _back(said.now, 1, unit)) / 2
    return early - half, late + half


def _rolling_window(said: DateExpression) -> ClosedSpan:
    """Return the time from a moment in the past to now; the first day is included as a whole."""
    _, most = amount(said.value("n") or "one")
    unit = said.value("unit")
    start = _back(said.now, most, unit)
    return start if unit in {"minute", "hour"} else days(start.date())[0], days(said.now.date())[1]


def _unit(said: DateExpression) -> ClosedSpan:
    """Return the current, last or last but one calendar week, month and so on."""
    back = {"this_unit": 0, "last_unit": 1, "before_last": 2}[said.form]
    unit, now = said.value("unit"), said.now
    midnight = datetime.combine(now.date(), time.min)
    if unit in _HOURS:
        first, last = _HOURS[unit]
        return midnight + timedelta(hours=first), midnight + timedelta(hours=last)
    if unit == "week":
        return week_of(now.date() - 7 * back * _DAY)
    if unit == "weekend":
        return days(week_of(now.date())[0].date() + (5 - 7 * back) * _DAY, 2)
    length = _MONTHS_IN[unit]
    first_month = now.month - (now.month - 1) % length
    return months(now.year, first_month - length * back, length)


def amount(text: str) -> tuple[int, int]:
    """Return the minimum and maximum that an amount in words may mean: "a few" is 2 to 5."""
    last = text.rsplit(maxsplit=1)[-1]
    return (int(last), int(last)) if last.isdigit() else NUMBERS[last]


def _back(now: datetime, count: int, unit: str) -> datetime:
    return shift_months(now, -count * _MONTHS_IN[unit]) if unit in _MONTHS_IN else now - count * LENGTHS[unit]


_READERS: Mapping[str, Callable[[DateExpression], ClosedSpan | None]] = {
    "iso": _on_day,
    "compact": _on_day,
    "day_month": _on_day,
    "month_day": _on_day,
    "numeric": _numeric,
    "iso_week": _in_week,
    "week": _in_week,
    "iso_month": _in_month,
    "month_year": _in_month,
    "month": _in_month,
    "year_quarter": _in_quarter,
    "quarter": _in_quarter,
    "half": _in_half,
    "year_half": _in_half,
    "part_half": _in_part_half,
    "month_week": _in_month_week,
    "month_weekday": _in_month_weekday,
    "year_week": _in_week,
    "clock": lambda said: days(said.now.date()),
    "season": _in_season,
    "year": _in_year,
    "last_month": _last_month,
    "last_season": _last_season,
    "last_weekday": _weekday,
    "weekday": _weekday,
    "week_day": _day_in_week,
    "day_in_week": _day_in_week,
    "day": _day,
    "ago": _ago,
    "rolling": _rolling_window,
    "past_unit": _rolling_window,
    "this_unit": _unit,
    "last_unit": _unit,
    "before_last": _unit,
}
