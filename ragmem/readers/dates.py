"""When something happened, as far as a file tells."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

_IN_NAME = re.compile(
    r"(?<!\d)(?P<date>20\d\d(?P<dash>[-_.]?)(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12]\d|3[01]))"
    r"(?:[T_ -]?(?P<time>(?:[01]\d|2[0-3])[-_:.h]?[0-5]\d(?:[-_:.]?[0-5]\d)?)(?P<zone>Z)?)?(?!\d)"
)
_MONTH_FOLDER = re.compile(r"(20\d\d)[-_](0[1-9]|1[0-2])")
_LABELLED_LINE = re.compile(
    r"^[\s>*_-]{0,6}(?:last[ -])?(?:date|updated|completed|modified)(?:[ -]at)?[*_]{0,3}:[*_]{0,3}\s*"
    r"(20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)",
    re.IGNORECASE,
)
_FIRST_LINES = 20
_NOT_A_DIGIT = re.compile(r"\D")

_FOLDERS_UP = 3
"""Folders above a file whose names may carry its date: more belong to the machine, not to the file."""

_LONGEST = 100
"""Characters of a value that are looked at: a longer one is no date."""

_MILLISECONDS = 10**11
"""A timestamp above this counts milliseconds: in seconds it would lie past the year 5000."""


def parse_time(value: Any) -> datetime | None:
    """Return a date, time, ISO text or Unix timestamp as an aware datetime; None where it is none of these.

    A time without a zone is taken as UTC, because the zone of the writer is not known.
    """
    try:
        if isinstance(value, datetime):
            moment = value
        elif isinstance(value, date):
            moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
        elif isinstance(value, bool):
            return None
        elif isinstance(value, int | float):
            seconds = value / 1000 if abs(value) > _MILLISECONDS else value
            # A small number is a count or a version, not a time.
            return datetime.fromtimestamp(seconds, tz=UTC) if seconds > 10**8 else None
        elif isinstance(value, str):
            value = value[:_LONGEST].strip()
            moment = datetime.fromisoformat(value)
        else:
            return None
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return _date_in(value) if isinstance(value, str) else None


def time_in_path(path: Path, *, modified: datetime) -> datetime | None:
    """Return the time that a file's name or the folders right above it carry; None where they carry none.

    A folder of a month (`2026-03`) gives the time of modification where that lies in it, else its first day.
    """
    names = [path.stem, *(folder.name for folder in list(path.parents)[:_FOLDERS_UP])]
    for name in names:
        if found := _date_in(name):
            return found
        if month := _MONTH_FOLDER.fullmatch(name):
            year, number = int(month[1]), int(month[2])
            same = (modified.year, modified.month) == (year, number)
            return modified if same else datetime(year, number, 1, tzinfo=UTC)
    return None


def time_in_text(text: str) -> datetime | None:
    """Return the time of a line such as `**Date:** 2026-04-01` near the beginning of a text."""
    for line in text.splitlines()[:_FIRST_LINES]:
        if (found := _LABELLED_LINE.match(line)) and (moment := parse_time(found[1])):
            return moment
    return None


def first_time(values: Iterable[Any]) -> datetime | None:
    """Return the first of these values that is a time."""
    return next((moment for value in values if (moment := parse_time(value))), None)


def _date_in(text: str) -> datetime | None:
    for found in _IN_NAME.finditer(text):
        day = _NOT_A_DIGIT.sub("", found["date"])
        clock = _NOT_A_DIGIT.sub("", found["time"] or "")
        try:
            return datetime.strptime(day + clock.ljust(6, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
