"""The stretch of time that each form of a date names."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from ragmem.domain.retrieval.date_words import HALVES, LAST, MONTHS, NTH, NUMBERS, ORDINALS, PARTS, WEEKDAYS
from ragmem.domain.text.spans import (
    Stretch,
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

_DAY = timedelta(days=1)
_LEAP = 8
"""Years to look back for a day: 29 February may be missing for eight."""

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
"""Units of time, the uneven ones at their longest."""

_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
_HOURS = {"morning": (4, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (-6, 6)}


@dataclass(frozen=True, slots=True)
class Said:
    """A date as it is said: its form and its words; `known_year` is told by the rest of the question."""

    form: str
    found: re.Match[str]
    now: datetime
    known_year: int | None = None

    def value(self, key: str) -> str:
        """Return the words of a part of the form, or ""."""
        return self.found[f"{self.form}_{key}"] or ""

    def has(self, key: str) -> bool:
        """Tell whether the form has this part and it is said."""
        name = f"{self.form}_{key}"
        return name in self.found.re.groupindex and bool(self.found[name])

    @property
    def number(self) -> int:
        """The number of a week, a quarter or a half; LAST for the last one."""
        return int(self.value("n")) if self.has("n") else (ORDINALS | NTH)[self.value("o")]

    @property
    def month(self) -> int:
        """The number of the month that is said by its name or in two digits."""
        name = self.value("m")
        return int(name) if name.isdigit() else MONTHS.index(name[:3]) + 1

    @property
    def year(self) -> int | None:
        """The year that is said with it, else the one that is known."""
        for part in ("y", "whole"):
            if self.has(part):
                return int(self.value(part))
        return self.known_year


def stretch_of(said: Said) -> Stretch | None:
    """Return the stretch of time that a date names; None where the calendar has no such date."""
    try:
        found = _READERS[said.form](said)
        return (
            third(found, PARTS[said.value("part").split()[0].rstrip("-")])
            if found and said.has("part")
            else found
        )
    except (ValueError, OverflowError):
        return None


def _in_some_year(said: Said, make: Callable[[int], Stretch]) -> Stretch | None:
    """Return a date in its year, or, where none is known, the last one that has begun."""
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


def _on_day(said: Said) -> Stretch | None:
    day = int(said.value("d"))
    first = int(said.value("from")) if said.has("from") else day
    last = int(said.value("to")) if said.has("to") else day
    if last < first:
        return None
    return _in_some_year(
        said, lambda year: (days(date(year, said.month, first))[0], days(date(year, said.month, last))[1])
    )


def _in_month(said: Said) -> Stretch | None:
    return _in_some_year(said, lambda year: months(year, said.month))


def _in_week(said: Said) -> Stretch | None:
    return _in_some_year(said, lambda year: week(year, said.number))


def _in_quarter(said: Said) -> Stretch | None:
    return _in_some_year(said, lambda year: quarter(year, said.number))


def _in_half(said: Said) -> Stretch | None:
    return _in_some_year(said, lambda year: months(year, 6 * said.number - 5, 6))


def _whole(said: Said) -> Stretch | None:
    """Return the month or the year of which a part is said."""
    if said.has("m"):
        return _in_month(said)
    if said.has("whole"):
        return _in_year(said)
    count = _MONTHS_IN[said.value("unit")]
    first = said.now.month if count == 1 else 1
    return months(said.now.year, first - (count if said.value("rel") == "last" else 0), count)


def _in_month_week(said: Said) -> Stretch | None:
    whole = _whole(said)
    return seventh(whole, said.number) if whole else None


def _in_month_weekday(said: Said) -> Stretch | None:
    """Return the nth such day of the week; None where the month has fewer."""
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


def _in_part_half(said: Said) -> Stretch | None:
    whole = _whole(said)
    return half(whole, HALVES[said.value("o")]) if whole else None


def _in_season(said: Said) -> Stretch | None:
    return _in_some_year(said, lambda year: season(year, said.value("name")))


def _in_year(said: Said) -> Stretch | None:
    return _in_some_year(said, lambda year: months(year, 1, 12))


def _numeric(said: Said) -> Stretch | None:
    """Read 25/12/2023 and 12/25/2023; 8/5/2023 may be either, but with dots the day is always first."""
    first, second, year = int(said.value("a")), int(said.value("b")), int(said.value("y"))
    if said.value("mark") == "." or first == second or first > 12:
        return days(date(year, second, first))
    return days(date(year, first, second)) if second > 12 else None


def _last_month(said: Said) -> Stretch:
    return months(said.now.year - (said.month >= said.now.month), said.month)


def _last_season(said: Said) -> Stretch | None:
    found = _in_some_year(said, lambda year: season(year, said.value("name")))
    if found is None or said.value("mark") != "last" or found[1] <= said.now:
        return found
    return season(found[0].year - 1, said.value("name"))


def _weekday(said: Said) -> Stretch:
    """Return the last such day before today."""
    back = (said.now.weekday() - WEEKDAYS.index(said.value("d")[:3]) - 1) % 7 + 1
    return days(said.now.date() - back * _DAY)


def _day(said: Said) -> Stretch:
    name = said.value("name")
    back = 2 if "before" in name else 1 if name == "yesterday" else 0
    return days(said.now.date() - back * _DAY)


def _today(said: Said) -> Stretch:
    return days(said.now.date())


def _ago(said: Said) -> Stretch:
    """Return the time around the moment so long ago, half a unit to each side; of days the whole day.

    People round: "two weeks ago" is a matter of days, "two months ago" one of weeks.
    """
    least, most = amount(said.value("n"))
    unit = said.value("unit")
    early, late = _back(said.now, most, unit), _back(said.now, least, unit)
    if unit == "day":
        return days(early.date())[0], days(late.date())[1]
    half = (said.now - _back(said.now, 1, unit)) / 2
    return early - half, late + half


def _rolling(said: Said) -> Stretch:
    """Return the time from so long ago to now; of days, weeks and so on the first counts whole."""
    _, most = amount(said.value("n") or "one")
    unit = said.value("unit")
    start = _back(said.now, most, unit)
    return start if unit in {"minute", "hour"} else days(start.date())[0], days(said.now.date())[1]


def _unit(said: Said) -> Stretch:
    """Return this, the last or the last but one week, month and so on of the calendar."""
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
    """Return the least and the most that a number in words may mean: "a few" is 2 to 5."""
    last = text.rsplit(maxsplit=1)[-1]
    return (int(last), int(last)) if last.isdigit() else NUMBERS[last]


def _back(now: datetime, count: int, unit: str) -> datetime:
    return shift_months(now, -count * _MONTHS_IN[unit]) if unit in _MONTHS_IN else now - count * LENGTHS[unit]


_READERS: Mapping[str, Callable[[Said], Stretch | None]] = {
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
    "clock": _today,
    "season": _in_season,
    "year": _in_year,
    "last_month": _last_month,
    "last_season": _last_season,
    "last_weekday": _weekday,
    "weekday": _weekday,
    "day": _day,
    "ago": _ago,
    "rolling": _rolling,
    "past_unit": _rolling,
    "this_unit": _unit,
    "last_unit": _unit,
    "before_last": _unit,
}
