"""Dates that stand whole in a short text, a file's name or a title: day, week or month with a year."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise

from ragmem.domain.retrieval.date_languages import MONTHS as MONTHS_ABROAD
from ragmem.domain.retrieval.date_languages import WEEKDAYS as WEEKDAYS_ABROAD
from ragmem.domain.retrieval.date_words import MONTHS, WEEKDAYS
from ragmem.domain.text.spans import Stretch, days, months, week

FIRST_YEAR = 1990
"""An earlier year is a number, or a part of the story: no note on a computer is that old."""

AHEAD = timedelta(days=366)
"""A name may tell of an event to come; what lies further ahead is a number."""

TOMORROW = timedelta(days=1)
"""It has begun somewhere on earth. A title that names a later day tells of a plan."""

LONGEST = 300
"""Characters that are looked at: what is longer is no name and no title."""

_YEAR = r"(?P<y>(?:199|20\d)\d)"
_DAY = r"(?P<d>0?[1-9]|[12]\d|3[01])"
_ALONE = r"(?<![^\W_])"
_ENDS = r"(?![^\W_])"
_GAP = r"[\s_.,-]{1,2}"
_CLOCK = (
    # What looks like a time may be the year of another date.
    r"(?:(?P<t>T|,?\s(?:at\s)?|[_-]|%s)(?!\d{4}(?P<other>[-_./])\d\d(?P=other)\d\d(?!\d))(?P<clock>(?:[01]\d|2[0-3])(?P<colon>[-_:.h]?)[0-5]\d"
    r"(?:[-_:.]?[0-5]\d(?:[.,]\d{1,9})?)?)(?!\d|\s?[ap]\.?m\b)"
    r"(?:\s?(?:Z|UTC|GMT)(?![^\W_])|\s?(?P<offset>[+-](?:0\d|1[0-4]):?(?:00|15|30|45))(?!\d))?)?"
)
_VERSION = re.compile(r"(?:^|[^a-z])(?:v|ver|version|build|port)[-_.:\s]?$|[\d#]\.?$|#$", re.IGNORECASE)
_ANOTHER_SENSE = re.compile(
    r"(?:^|[\W_])(?:by|due|until|till|before|after|since|from|to|through|thru|between|than|vs|effective|eta"
    r"|expires?|expiring|deadline|targets?|targeted|planned|scheduled|eol|bis|seit|ab|vor|nach|fällig|zwischen"
    r"|avant|après|depuis|jusqu\S{1,2}|dès|échéance|entre)"
    r"(?:[\W_]{1,3}(?:on|at|for|the|date|zum|zur|am|dem|le|la|au))?[\W_]{0,3}$",
    re.IGNORECASE,
)
"""What stands before a date that is not the one of the text: a deadline, or the end of a stretch of time."""

_TELLS_OF_A_PLAN = re.compile(
    r"[\W_]{0,3}(?:deadline|due|onwards?|cut-?off|eol|to|until|till|through|bis)(?![^\W_])", re.IGNORECASE
)
_JOINT = re.compile(
    r"\s*(?:-{1,2}|[\u2013\u2014_/]|\.{2,3}|\u2026|to|and|until|through|bis|und|au|et)\s*|_to_|-to-"
)
"""What stands between the two ends of a stretch of time."""


@dataclass(frozen=True, slots=True)
class WholeDate:
    """A date in a text: where it stands, and its stretch of time in UTC, which is empty for a moment."""

    start: int
    end: int
    stretch: Stretch

    @property
    def is_day(self) -> bool:
        """Whether it is a day or a moment of one, and not a week or a month."""
        return self.stretch[1] - self.stretch[0] <= timedelta(days=1)

    def moment(self, changed: Callable[[], datetime]) -> datetime:
        """Return the beginning; of a week or a month, when the text was changed if that lies in it."""
        first, after = self.stretch
        if self.is_day:
            return first
        moment = changed()
        return moment if first <= moment < after else first


def date_of_name(name: str, *, now: datetime) -> WholeDate | None:
    """Return the first date of a file's name; a week or a month counts where the name begins or ends with it.

    None for a stretch of time, and for a date behind "until" and the like.
    """
    found = whole_dates(name, now=now)
    if _is_stretch(name, found):
        return None
    for one in found:
        if (one.is_day or one.start == 0 or one.end == len(name)) and not _is_of_another(name, one):
            return one
    return None


def date_of_title(title: str, *, now: datetime) -> WholeDate | None:
    """Return the one date with which a title begins or ends, a weekday beside it or not.

    None where it lies ahead, or is a deadline or the end of a stretch of time by the words beside it.
    """
    found = whole_dates(title, now=now) if len(title) <= LONGEST else []
    if len({one.stretch for one in found}) != 1 or _is_stretch(title, found):
        return None
    bare = _framing().sub(lambda framed: " " * len(framed[0]), title)
    begin, end = len(bare) - len(bare.lstrip()), len(bare.rstrip())
    for one in found:
        is_at_an_end = one.start <= begin or one.end >= end
        if is_at_an_end and one.stretch[0] <= now + TOMORROW and not _is_of_another(title, one):
            return one
    return None


def whole_dates(text: str, *, now: datetime) -> list[WholeDate]:
    """Return the dates in a text, in its order; those before 1990 or far ahead of `now` are none.

    A day has a month and a year beside it: `2026-05-17`, `20260517`, `17.05.2026`, `May 17, 2026`,
    `17 mai 2026`, with or without a time of day. A time without a zone is taken as UTC. A week is `2026-W21`,
    a month `2026-05` or `May 2026`. Day and month that may be either way round, as in `03/04/2026`, are no
    date, and neither is the number of a version: `v2026.05.17`. Never raises.
    """
    text = text[:LONGEST]
    taken: list[tuple[int, int]] = []
    found: list[WholeDate] = []
    for pattern, read in _forms():
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < after and begin < end for begin, after in taken):
                continue
            taken.append((start, end))
            if _VERSION.search(text[:start]):
                continue
            try:
                first, after = read(match)
                at = _clock(match, first)
                stretch = (at, at) if at else (first.replace(tzinfo=UTC), after.replace(tzinfo=UTC))
                if stretch[0].year >= FIRST_YEAR and stretch[0] <= now + AHEAD:
                    found.append(WholeDate(start, end, stretch))
            except (ValueError, OverflowError):
                continue  # the calendar has no such date
    return sorted(found, key=lambda one: one.start)


def _is_stretch(text: str, found: Sequence[WholeDate]) -> bool:
    return any(
        one.stretch != other.stretch and _JOINT.fullmatch(text, one.end, other.start)
        for one, other in pairwise(found)
    )


def _is_of_another(text: str, one: WholeDate) -> bool:
    return bool(_ANOTHER_SENSE.search(text[: one.start]) or _TELLS_OF_A_PLAN.match(text, one.end))


@cache
def _framing() -> re.Pattern[str]:
    """Return what may stand around the date at the beginning or the end of a title."""
    english = [rf"{name}(?:s|nes|rs|ur)?(?:day)?" for name in WEEKDAYS]
    names = "|".join([*sorted(WEEKDAYS_ABROAD, key=len, reverse=True), *english])
    return re.compile(
        rf"^[\W_]*(?:(?:{names})(?![^\W_])[\W_]*)?|[\W_]*(?:(?<![^\W_])(?:{names})[\W_]*)?$", re.IGNORECASE
    )


@cache
def _forms() -> Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], Stretch]]]:
    english = [rf"{name}[a-z]*" for name in MONTHS]
    month = rf"(?P<m>{'|'.join([*sorted(MONTHS_ABROAD, key=len, reverse=True), *english])})(?![^\W\d_])\.?"
    clock, compact_clock = _CLOCK % " ", _CLOCK % ""
    in_digits = r"(?P<mark>[-_./]?)(?P<m>0[1-9]|1[0-2])(?P=mark)(?P<d>0[1-9]|[12]\d|3[01])"
    forms = (
        (rf"(?<!\d){_YEAR}{in_digits}{compact_clock}(?!\d)", _on_day),
        (rf"(?<!\d)(?P<d>\d\d?)(?P<mark>[-_./])(?P<m>\d\d?)(?P=mark){_YEAR}{clock}(?!\d|\.\d)", _numeric),
        (
            rf"(?<!\d){_DAY}(?:st|nd|rd|th|er|\.)?(?:\sof)?(?:{_GAP})?{month}(?:{_GAP})?{_YEAR}{clock}{_ENDS}",
            _on_day,
        ),
        (rf"{_ALONE}{month}{_GAP}{_DAY}(?:st|nd|rd|th)?{_GAP}{_YEAR}{clock}{_ENDS}", _on_day),
        (rf"(?<!\d){_YEAR}{_GAP}{month}{_GAP}{_DAY}{_ENDS}", _on_day),
        (rf"{_ALONE}{_YEAR}-?W(?P<w>0[1-9]|[1-4]\d|5[0-3]){_ENDS}", _in_week),
        (rf"{_ALONE}{_YEAR}[-_](?P<m>0[1-9]|1[0-2]){_ENDS}(?![-_./]\d)", _in_month),
        (rf"{_ALONE}{month}{_GAP}{_YEAR}{_ENDS}", _in_month),
    )
    return tuple((re.compile(form, re.IGNORECASE), read) for form, read in forms)


def _on_day(found: re.Match[str]) -> Stretch:
    return days(date(int(found["y"]), _month(found["m"]), int(found["d"])))


def _numeric(found: re.Match[str]) -> Stretch:
    """Read 25/12/2023 and 12/25/2023; with dots the day is always first."""
    first, second, year = int(found["d"]), int(found["m"]), int(found["y"])
    if found["mark"] == "." or first > 12 or first == second:
        return days(date(year, second, first))
    if second > 12:
        return days(date(year, first, second))
    raise ValueError("day and month may be either way round")


def _in_week(found: re.Match[str]) -> Stretch:
    return week(int(found["y"]), int(found["w"]))


def _in_month(found: re.Match[str]) -> Stretch:
    year, number = int(found["y"]), _month(found["m"])
    if found["m"].isdigit() and year % 100 < number and year >= 2000:
        raise ValueError("2009-11 may be the years 2009 to 2011")
    return months(year, number)


def _month(name: str) -> int:
    if name.isdigit():
        return int(name)
    return MONTHS.index(MONTHS_ABROAD.get(name.lower(), name)[:3].lower()) + 1


def _clock(found: re.Match[str], day: datetime) -> datetime | None:
    """Return the moment of a date with a time of day; raises OverflowError at the ends of the calendar."""
    parts = found.groupdict()
    if not parts.get("clock"):
        return None
    digits = re.sub(r"\D", "", parts["clock"])
    moment = day.replace(
        hour=int(digits[:2]), minute=int(digits[2:4]), second=int(digits[4:6] or 0), tzinfo=UTC
    )
    offset = parts["offset"]
    # "-0030" behind a time without colons may count on something else.
    if offset and (offset[0] == "+" or parts["t"] in "tT" or parts["colon"] == ":"):
        distance = timedelta(hours=int(offset[1:3]), minutes=int(offset[-2:]))
        moment += distance if offset[0] == "-" else -distance
    return moment
