"""Find the date of an event in a file."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from ragmem.domain.retrieval.date_languages import translate_dates
from ragmem.domain.retrieval.whole_dates import WholeDate, date_of_name, date_of_title, whole_dates
from ragmem.patterns import lazy

_FOLDER_OF_DAY = lazy(r"(?:199|20\d)\d/(?:0[1-9]|1[0-2])(?:/(?:0[1-9]|[12]\d|3[01]))?")
_AFTER_LABEL = r"(?:[*_]{0,3}\s?[:\uff1a|][*_]{0,3}|(?:\*\*|__)(?=\s))\s{0,8}"
"""What stands between a label and its value: a colon, a bar of a table, or the end of bold type."""

_LABELLED_LINE = lazy(
    r"^(?:#\+|[\s>*_|:-]{0,6})"
    r"(?:(?:last[ -])?(?:(?:rev)?date|updated|completed|modified|edited)(?:[ -](?:at|time))?|data|datum|fecha"
    r"|(?:(?:fecha de|última) )?(?:actualización|modificación)|actualizado(?: el)?"
    r"|(?:última )?(?:atualização|modificação)|atualizado(?: em)?"
    r"|(?:dernière )?(?:mise à jour|modification)|mise? à jour le"
    r"|(?:letzte |zuletzt )?(?:aktualisiert|aktualisierung|geändert|änderung)(?: am)?|stand"
    r"|(?:ultimo )?aggiornamento|ultima modifica|aggiornato(?: il)?"
    r"|(?:laatst )?(?:bijgewerkt|gewijzigd)(?: op)?"
    r"|дата(?: (?:обновлен|изменен)ия)?|(?:последнее )?обновлен(?:ие|\u043e)"
    r"|日[付期]|(?:最[終后後近])?更新(?:日|日時|日期|时间|時間)?)" + _AFTER_LABEL,
    re.IGNORECASE,
)
_CREATED_LINE = lazy(
    r"^[\s>*_|:-]{0,6}(?:(?:date )?created(?: at| on| time)?|creation date|erstellt(?: am)?|erstellungsdatum"
    r"|(?:start|incident|meeting|decision|proposal|publication)[ -]date"
    r"|date of (?:the )?(?:incident|meeting|decision|event|report|publication)"
    r"|(?:date )?(?:(?:start|open|propos|assign|submitt|draft|publish|post|accept|decid|approv|adopt)ed"
    r"|reported|written)(?: on| at)?|(?:begonnen|beschlossen|entschieden|veröffentlicht) am"
    r"|(?:publiée?|décidée?|adoptée?) le"
    r"|créée? le|date de création|creado(?: el)?|fecha de creación|criado(?: em)?|data de criação"
    r"|creato(?: il)?|data di creazione|aangemaakt(?: op)?|создано?|дата создания|作成日時?"
    r"|[创創]建(?:日期|时间|時間)?)" + _AFTER_LABEL,
    re.IGNORECASE,
)
_STATUS = r"(?:status|estado|statut|stato|статус|ステータス|状[態态]|狀態)"
_DATED_STATUS = lazy(
    rf"^(?:#{{1,6}}\s+(?:[\d.]+\s+)?{_STATUS}[ \t]*\n\s*|[ \t>*_|-]{{0,6}}{_STATUS}{_AFTER_LABEL})"
    r"[\s*_]{0,6}[^\W\d_]{1,24}(?: [^\W\d_]{1,24})?[\s*_]{0,4}[(\uff08,\u2013\u2014-]{1,2}\s?",
    re.IGNORECASE | re.MULTILINE,
)
"""The status of a decision, up to the day on which it got it: `Accepted (2026-04-01)`."""

_NUMERIC_DAY = lazy(r"(?<!\d)(\d\d)([-_.])(\d\d)\2((?:199|20\d)\d)(?!\d)")

_FIRST_LINES = 20

_FOLDERS_UP = 3
"""Parent folders whose names may carry the date of a file; folders above belong to the machine."""

_LONGEST = 100
"""Maximum characters of a date."""

_MILLISECONDS = 10**11
"""A timestamp above this is in milliseconds: in seconds it would be past the year 5000."""

Changed = Callable[[], datetime]
"""Returns when a file was last changed. It may run git, so it is called only as a last resort."""


def parse_time(value: Any) -> datetime | None:
    """Return a date, time, ISO text or Unix timestamp as an aware datetime; None for any other value.

    A time without a zone counts as UTC, because the zone of the writer is unknown.
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
        days = [one for one in whole_dates(value, now=_now()) if one.is_day] if isinstance(value, str) else []
        return days[0].stretch[0] if days else None


def time_of_file(
    path: Path, changed: Changed, *, told: datetime | None = None, text: str = "", title: str = ""
) -> datetime:
    """Return the time of the event that a file describes.

    The first of these counts: the time in its own fields (`told`), its name (03-05-2026 in the order of day
    and month that other names of its folder have), a line such as
    `**Date:** 2026-04-01` or `Status: Accepted (2026-04-01)` near the beginning of its text, its title, the
    names of the folders above it, a line such as `Created: 2026-04-01`, and when it was last `changed`. For a
    month or a week it is the time of the change if that is within it, else the first day.
    """
    now = _now()
    if told is not None:
        return told
    found = date_of_name(path.stem, now=now) or _date_by_neighbours(path, now)
    found = found or _labelled_date(text, now) or date_of_title(title, now=now)
    found = (
        found or _folder_date(path, now) or _date_after(_CREATED_LINE, text.splitlines()[:_FIRST_LINES], now)
    )
    return found.moment(changed) if found else changed()


def _date_by_neighbours(path: Path, now: datetime) -> WholeDate | None:
    """Return the date of a name such as `03-05-2026`; the other files of the folder show the order."""
    if not _NUMERIC_DAY.search(path.stem):
        return None
    try:
        order = _order_of_days(path.parent, path.parent.stat().st_mtime_ns)
    except OSError:
        return None  # the text was handed in without its folder
    return date_of_name(_NUMERIC_DAY.sub(order, path.stem), now=now) if order else None


@lru_cache(maxsize=16)
def _order_of_days(folder: Path, _changed_ns: int) -> str:
    """Return how to write the days in the names of a folder from the year on; empty if unclear."""
    days = [found for path in folder.iterdir() if (found := _NUMERIC_DAY.search(path.name))]
    orders = {r"\4-\3-\1" for found in days if int(found[1]) > 12}
    orders |= {r"\4-\1-\3" for found in days if int(found[3]) > 12}
    return orders.pop() if len(orders) == 1 else ""


def _labelled_date(text: str, now: datetime) -> WholeDate | None:
    lines = text.splitlines()[:_FIRST_LINES]
    head = "\n".join(lines)
    status = [head[found.end() :].partition("\n")[0] for found in _DATED_STATUS.finditer(head)]
    return _date_after(_LABELLED_LINE, lines, now) or _first_date(status, now)


def _date_after(label: re.Pattern[str], lines: Sequence[str], now: datetime) -> WholeDate | None:
    return _first_date([line[found.end() :] for line in lines if (found := label.match(line))], now)


def _first_date(values: Iterable[str], now: datetime) -> WholeDate | None:
    """Return the date with which the first of these values begins that begins with one."""
    for value in values:
        found = whole_dates(translate_dates(value[:_LONGEST]), now=now)
        if found and found[0].start == 0:
            return found[0]
    return None


def _folder_date(path: Path, now: datetime) -> WholeDate | None:
    folders = list(path.parents)[:_FOLDERS_UP]
    for at, folder in enumerate(folders):
        # A month must be the whole name: `release-2026-05` holds more than the files of that month.
        found = date_of_name(folder.name, now=now)
        if found and (found.is_day or (found.start, found.end) == (0, len(folder.name))):
            return found
        for count in (3, 2):
            nested = "/".join(one.name for one in reversed(folders[at : at + count]))
            if _FOLDER_OF_DAY.fullmatch(nested) and (
                found := date_of_name(nested.replace("/", "-"), now=now)
            ):
                return found
    return None


def first_time(values: Iterable[Any]) -> datetime | None:
    """Return the first of these values that is a time."""
    return next((moment for value in values if (moment := parse_time(value))), None)


def rfc3339(*values: Any) -> str:
    """Return the first of these values that is a time, as RFC 3339; empty without one."""
    moment = first_time(values)
    return moment.isoformat().replace("+00:00", "Z") if moment else ""


def _now() -> datetime:
    return datetime.now(UTC)
