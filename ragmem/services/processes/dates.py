"""Parse dates as users type them: 2026-03-15, 2026-03-15T10:00, 7d, 3w, 6m, 2y, yesterday."""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from ragmem.errors import UsageError

_SPAN = re.compile(r"(\d{1,5})\s*([hdwmy])", re.IGNORECASE)
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}


class _Local(tzinfo):
    """The time zone of this machine, with its daylight saving time at any date."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return _local(moment).utcoffset()

    def dst(self, moment: datetime | None) -> timedelta | None:  # noqa: ARG002 - the offset has it
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return _local(moment).tzname()

    def fromutc(self, moment: datetime) -> datetime:
        here = moment.replace(tzinfo=UTC).astimezone()
        return here.replace(tzinfo=self)


def _local(moment: datetime | None) -> datetime:
    try:
        return (moment or datetime.now(tz=UTC)).replace(tzinfo=None).astimezone()
    except (OverflowError, OSError, ValueError):
        # The system's library may not support the ends of the calendar.
        return datetime.now(tz=UTC).astimezone()


LOCAL = _Local()
"""The time zone of this machine's user."""


def parse_moment(text: str, *, now: datetime) -> datetime:
    """Return the timezone-aware moment of a text; a bare date is its midnight in UTC.

    A span ("7d") counts back from now. Raises UsageError for other texts.
    """
    wanted = text.strip().lower()
    if wanted in {"now", "today"}:
        return now if wanted == "now" else now.replace(hour=0, minute=0, second=0, microsecond=0)
    if wanted == "yesterday":
        return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
    if span := _SPAN.fullmatch(wanted):
        try:
            return now - timedelta(days=int(span[1]) * _DAYS[span[2].lower()])
        except OverflowError:
            raise UsageError(f'"{text}" is before year 1', hint="write a shorter span") from None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f'"{text}" is not a date', hint="write 2026-03-15, 2026-03-15T10:00, or a span such as 7d, 3w, 6m"
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(f'"{text}" is not a date of the years 1 to 9999', hint="write 2026-03-15") from None
    return moment


def parse_span(
    since: str | None, until: str | None, *, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """Return the first moment of a span and the first one after it; None for an open end.

    Raises UsageError for a text that `parse_moment` refuses, and for an empty span.
    """
    first, end = (parse_moment(text, now=now) if text else None for text in (since, until))
    if first and end and first >= end:
        single = "the end is not included: for a single day, end with the next one"
        raise UsageError(
            f'the period from "{since}" until "{until}" is empty',
            hint="exchange the two dates" if first > end else single,
        )
    return first, end
