"""Times of day beside a date: "at 14:05", "9 am", "between 2 and 4 pm", "in the evening"."""

import re
from datetime import timedelta, timezone, tzinfo

from ragmem.domain.retrieval.date_words import compile_once
from ragmem.domain.text.spans import ClosedSpan
from ragmem.frozen import dataclass

ROUGHLY = {True: 15, False: 30}
"""Minutes to each side that "around" means: of a time to the minute, and of an hour."""

PARTS_OF_DAY = {"morning": (4, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
"""Hours; those beyond 24 belong to the next day."""

_NAMED = {"noon": 12, "midday": 12, "midnight": 0}
_HOURS_EAST = {
    "z": 0, "utc": 0, "gmt": 0, "bst": 1, "cet": 1, "cest": 2, "eet": 2, "eest": 3, "est": -5, "edt": -4,
    "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "jst": 9,
}  # fmt: skip
"""Unambiguous abbreviations of time zones from RFC 2822 and the IANA database: offset in hours."""

_ = r"\s{0,2}"
_AP = r"(?P<{0}ap>[ap])\.?m\b\.?"


def _one(name: str) -> str:
    """Return the pattern of an unambiguous time; `name` is the prefix of its groups."""
    half = _AP.format(name)
    return (
        rf"(?:(?P<{name}h>[01]?\d|2[0-3])"
        rf"(?::(?P<{name}m>[0-5]\d)(?::[0-5]\d(?:[.,]\d{{1,9}})?)?(?:{_}{half})?"
        rf"|(?:\.(?P<{name}dot>[0-5]\d))?{_}{half.replace('ap>', 'ap2>')}"
        rf"|{_}(?P<{name}clock>o['\u2019]?clock)\b)"
        rf"|(?P<{name}name>{'|'.join(_NAMED)})\b)"
    )


_NAMES = "|".join(sorted(_HOURS_EAST, key=len, reverse=True))
_ZONE = rf"(?:{_}(?P<zone>(?:{_NAMES})\b|[+-]\d\d:?\d\d(?!\d)))?"
_NOT_MORE = r"(?![\w%]|[:/-]\w|[.,]\d)"
_TO = rf"{_}(?:-|\u2013|\bto\b|\band\b|\buntil\b|\btill\b){_}"
_ABOUT = r"(?P<about>around|about|roughly|approximately|circa|ca\.?)\s{1,2}"
TIME = (
    rf"(?:(?:from|between)\s{{1,2}})?(?:(?P<bare>[01]?\d|2[0-3]){_TO}(?=\S{{1,5}}{_}[ap]\.?m))?"
    rf"{_one('a')}(?:(?P<to>{_TO}){_one('b')})?{_ZONE}{_NOT_MORE}"
)
"""A time, or a stretch from one to another: 14:05, 9 am, 2-4 pm, 14:00 to 15:30 UTC."""

AFTER = (
    r"(?:(?:,?\s{1,3}(?:(?:at|by|@)\s{1,3})?|,?\s?@\s?|t)(?:" + _ABOUT + r")?(?:" + TIME + r")"
    r"|,?\s{1,3}(?:in\s{1,2}the\s{1,2}|at\s{1,2})?(?P<part>morning|afternoon|evening|night)\b(?!['\u2019-])"
    r"|\s{1,3}at\s{1,3}(?P<hour>[01]?\d|2[0-3])(?![\w%]|[.:/,-]\w|\s{1,2}\w{1,20}s\b))"
)
"""The time right after a date."""

BEFORE = (
    r"(?:^|(?<=[\s(]))(?:(?:at|@)\s{0,3})?(?:"
    + _ABOUT
    + r")?(?:"
    + TIME
    + r")(?:,|\s{1,3}on)?(?:\s{1,3}the)?\s{1,3}$"
    r"|(?:^|(?<=\s))(?:in\s{1,2}the\s{1,2})?(?P<part>morning|afternoon|evening|night)\s{1,3}(?:of|on)\s{1,3}(?:the\s{1,3})?$"
)
"""The time right before a date."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A part of a day, in minutes from its midnight; `zone` is None if the text names none.

    `again`: twelve hours later is also possible, as for "at 9".
    """

    start: int
    end: int
    zone: tzinfo | None = None
    again: bool = False

    def within(self, day: ClosedSpan) -> ClosedSpan:
        """Return this time on the first day of a span."""
        midnight = day[0]
        return midnight + timedelta(minutes=self.start), midnight + timedelta(minutes=self.end)

    @property
    def later(self) -> "Clock":
        """The same time twelve hours later."""
        return Clock(self.start + 720, self.end + 720, self.zone)


def clock_after(lowered: str, at: int) -> tuple[Clock, int] | None:
    """Return the time of day after a position of a text, and its end."""
    found = compile_once(AFTER).match(lowered, at)
    clock = _clock(found) if found else None
    return (clock, found.end()) if found and clock else None


def clock_before(lowered: str, since: int, at: int) -> tuple[Clock, int] | None:
    """Return the time of day before position `at`, not before `since`, and its start."""
    found = compile_once(BEFORE).search(lowered, since, at)
    clock = _clock(found) if found else None
    return (clock, found.start()) if found and clock else None


def _clock(found: re.Match[str]) -> Clock | None:
    said = found.groupdict()
    if said["part"]:
        first, last = PARTS_OF_DAY[said["part"]]
        return Clock(60 * first, 60 * last)
    if said.get("hour"):
        hour = int(said["hour"])
        return Clock(60 * hour, 60 * hour + 60, again=0 < hour < 12)
    whole = _minutes(said, "a")
    if whole is None:
        return None
    start, to_the_minute = whole
    end = start + (1 if to_the_minute else 60)
    if said["about"]:
        start, end = start - ROUGHLY[to_the_minute], end - 1 + ROUGHLY[to_the_minute]
    until = _minutes(said, "b")
    if said["bare"]:
        half = 720 if (said["aap"] or said["aap2"]) == "p" else 0
        end, start = start, 60 * (int(said["bare"]) % 12) + half
        if start >= end:
            # "from 11 to 1 pm"
            start -= 720
    elif until is not None:
        if said["to"] == "-" and until[0] <= start and (west := _zone(f"-{found['bh']}{found['bm']}")):
            # 09:05-05:00 is a time in the west, and 09:05-10:00 a stretch.
            return Clock(start, end, west)
        end = until[0] + until[1]
    if end <= start:
        # From evening to morning
        end += 1440
    return Clock(start, end, _zone(said["zone"]))


def _minutes(said: dict[str, str | None], name: str) -> tuple[int, bool] | None:
    """Return the minute of the day of one of the times, and whether it is exact to the minute."""
    if named := said[f"{name}name"]:
        return 60 * _NAMED[named], False
    if said[f"{name}h"] is None:
        return None
    hour, minute = int(said[f"{name}h"] or 0), said[f"{name}m"] or said[f"{name}dot"]
    if half := said[f"{name}ap"] or said[f"{name}ap2"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    return 60 * hour + int(minute or 0), minute is not None


def _zone(name: str | None) -> tzinfo | None:
    if not name:
        return None
    if name in _HOURS_EAST:
        return timezone(timedelta(hours=_HOURS_EAST[name]))
    if len(name) < 5 or not name[-2:].isdigit():
        return None
    hours, minutes = int(name[1:3]), int(name[-2:])
    if hours > 14 or minutes > 59:
        return None
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if name[0] == "-" else offset)
