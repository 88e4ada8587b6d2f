"""Find complete dates in a short text, a file name or a title: a day, week or month with a year."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise

from ragmem.domain.retrieval.date_languages import MONTHS as MONTHS_ABROAD
from ragmem.domain.retrieval.date_languages import WEEKDAYS as WEEKDAYS_ABROAD
from ragmem.domain.retrieval.date_words import MONTHS, WEEKDAYS
from ragmem.domain.text.spans import ClosedSpan, days, months, week
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

FIRST_YEAR = 1990
"""An earlier year is a number or content; no note on a computer is that old."""

AHEAD = timedelta(days=366)
"""A name may contain the date of a future event; a later date is a number."""

TOMORROW = timedelta(days=1)
"""Tomorrow has begun somewhere on earth; a later day in a title is a plan."""

DAY = lazy(r"(?<!\d)(?:(?:19|20)\d\d([-_.]?)[01]\d\1[0-3]\d|[0-3]\d([-_.])[0-3]\d\2(?:19|20)\d\d)(?!\d)")
"""A day in a file name, also where the order of day and month is unknown."""

LONGEST = 300
"""Maximum characters of a name or title."""

_YEAR = r"(?P<y>(?:199|20\d)\d)"
_HAS_YEAR = lazy(r"199\d|20\d\d")
"""Every form of a date has a year, and most names and titles have none."""

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
_VERSION = lazy(r"(?:^|[^a-z])(?:v|ver|version|build|port)[-_.:\s]?$|[\d#]\.?$|#$", re.IGNORECASE)
_OTHER_DATE_BEFORE = lazy(
    r"(?:^|[\W_])(?:by|due|until|till|before|after|since|from|to|through|thru|between|than|vs|effective|eta"
    r"|expires?|expiring|deadline|targets?|targeted|planned|scheduled|eol|bis|seit|ab|vor|nach|fällig|zwischen"
    r"|avant|après|depuis|jusqu\S{1,2}|dès|échéance|entre)"
    r"(?:[\W_]{1,3}(?:on|at|for|the|date|zum|zur|am|dem|le|la|au))?[\W_]{0,3}$",
    re.IGNORECASE,
)
"""The text before a date that is not the date of the text: a deadline, or the end of a span."""

_PLAN_AFTER = lazy(
    r"[\W_]{0,3}(?:deadline|due|onwards?|cut-?off|eol|to|until|till|through|bis)(?![^\W_])", re.IGNORECASE
)
_JOINT = lazy(
    r"\s*(?:-{1,2}|[\u2013\u2014_/]|\.{2,3}|\u2026|to|and|until|through|bis|und|au|et)\s*|_to_|-to-"
)
"""The text between the two ends of a span."""


@dataclass(frozen=True, slots=True)
class WholeDate:
    """A date in a text: its place, and its time span in UTC, which is empty for a moment."""

    start: int
    end: int
    stretch: ClosedSpan

    @property
    def is_day(self) -> bool:
        """Return whether it is a day or a moment, not a week or a month."""
        return self.stretch[1] - self.stretch[0] <= timedelta(days=1)

    def moment(self, changed: Callable[[], datetime]) -> datetime:
        """Return the start of the date; for a week or month, the last change if that is within it."""
        first, after = self.stretch
        if self.is_day:
            return first
        moment = changed()
        return moment if first <= moment < after else first


def date_of_name(name: str, *, now: datetime) -> WholeDate | None:
    """Return the first date of a file name; a week or month counts only at the start or end of the name.

    None for a span of two dates, and for a date after "until" and similar words.
    """
    found = whole_dates(name, now=now)
    if _is_stretch(name, found):
        return None
    for one in found:
        if (one.is_day or one.start == 0 or one.end == len(name)) and not _is_other_date(name, one):
            return one
    return None


def date_of_title(title: str, *, now: datetime) -> WholeDate | None:
    """Return the only date of a title, at its start or end, with or without a weekday.

    None for a future date, a deadline or the end of a span.
    """
    found = whole_dates(title, now=now) if len(title) <= LONGEST else []
    if len({one.stretch for one in found}) != 1 or _is_stretch(title, found):
        return None
    bare = _frame_pattern().sub(lambda framed: " " * len(framed[0]), title)
    begin, end = len(bare) - len(bare.lstrip()), len(bare.rstrip())
    for one in found:
        is_at_an_end = one.start <= begin or one.end >= end
        if is_at_an_end and one.stretch[0] <= now + TOMORROW and not _is_other_date(title, one):
            return one
    return None


def whole_dates(text: str, *, now: datetime) -> list[WholeDate]:
    """Return the dates in a text, in order, without those before 1990 or far in the future.

    A day needs a month and a year: `2026-05-17`, `20260517`, `17.05.2026`, `May 17, 2026`, `17 mai 2026`,
    with or without a time of day. A time without a zone is UTC. A week is `2026-W21`, a month `2026-05` or
    `May 2026`. An ambiguous order of day and month, as in `03/04/2026`, is not a date, nor is a version
    number: `v2026.05.17`. Never raises.
    """
    text = text[:LONGEST]
    if not _HAS_YEAR.search(text):
        return []
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


def _is_other_date(text: str, one: WholeDate) -> bool:
    return bool(_OTHER_DATE_BEFORE.search(text[: one.start]) or _PLAN_AFTER.match(text, one.end))


@cache
def _frame_pattern() -> re.Pattern[str]:
    """Return the pattern of punctuation and weekdays around a date at the start or end of a title."""
    english = [rf"{name}(?:s|nes|rs|ur)?(?:day)?" for name in WEEKDAYS]
    names = "|".join([*sorted(WEEKDAYS_ABROAD, key=len, reverse=True), *english])
    return re.compile(
        rf"^[\W_]*(?:(?:{names})(?![^\W_])[\W_]*)?|[\W_]*(?:(?<![^\W_])(?:{names})[\W_]*)?$", re.IGNORECASE
    )


@cache
def _forms() -> Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], ClosedSpan]]]:
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


def _on_day(found: re.Match[str]) -> ClosedSpan:
    return days(date(int(found["y"]), _month(found["m"]), int(found["d"])))


def _numeric(found: re.Match[str]) -> ClosedSpan:
    """Read 25/12/2023 and 12/25/2023; with dots the day is always first."""
    first, second, year = int(found["d"]), int(found["m"]), int(found["y"])
    if found["mark"] == "." or first > 12 or first == second:
        return days(date(year, second, first))
    if second > 12:
        return days(date(year, first, second))
    raise ValueError("the order of day and month is ambiguous")


def _in_week(found: re.Match[str]) -> ClosedSpan:
    return week(int(found["y"]), int(found["w"]))


def _in_month(found: re.Match[str]) -> ClosedSpan:
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
