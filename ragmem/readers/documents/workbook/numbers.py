"""Format numbers as a sheet shows them: dates as ISO 8601, percentages, currencies, decimals."""

import re
from datetime import date, datetime, time, timedelta
from functools import cache

from openpyxl.styles.numbers import is_date_format, is_timedelta_format
from openpyxl.utils.datetime import CALENDAR_MAC_1904, CALENDAR_WINDOWS_1900, from_excel

_CONDITION = re.compile(r"\[(?!\$)[^\]]*\]")
_CURRENCY = re.compile(r"\[\$([^\-\]]*)(?:-[^\]]*)?\]")
_SPACING = re.compile(r"_.|\*.")
_QUOTED = re.compile(r'"([^"]*)"')
_ESCAPED = re.compile(r"\\(.)")
_DIGITS = re.compile(r"[#0?][#0?,. ]*(?:[eE][-+][#0?]+)?")
_MOST_DECIMALS = 12
_GENERAL = "General"


def format_number(value: float, format_code: str, *, is_1904: bool = False) -> str:
    """Return a number as its format shows it; fractions and powers of ten become plain decimals."""
    if format_code == _GENERAL:
        return plain(value)
    if _is_date(format_code):
        return _moment(value, format_code, is_1904=is_1904) or plain(value)
    section, is_negative_section = _section(value, format_code)
    digits = _DIGITS.search(_mask_literals(section))
    if format_code in {"", "@"} or digits is None or "/" in section or "E" in digits.group().upper():
        return plain(value)
    number = abs(value) if is_negative_section else value
    scaled = number * 100 if "%" in section else number
    pattern = digits.group().rstrip(" ")
    scaled /= 1000 ** (len(pattern) - len(pattern.rstrip(",")))
    _, _, after = pattern.rstrip(",").partition(".")
    decimals = min(sum(sign in "0#?" for sign in after), _MOST_DECIMALS)
    commas = "," if "," in pattern.rstrip(",") else ""
    body = f"{scaled:{commas}.{decimals}f}"
    end = digits.start() + len(pattern)
    before, behind = _literal(section[: digits.start()]), _literal(section[end:])
    minus, bare = ("-", body[1:]) if body.startswith("-") else ("", body)
    return " ".join(f"{minus}{before}{bare}{behind}".split())


@cache
def _is_date(format_code: str) -> bool:
    return bool(format_code) and bool(is_date_format(format_code))


def plain(value: float) -> str:
    """Return a number as a person writes it, without rounding errors of its binary form."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.12g}"


def _section(value: float, format_code: str) -> tuple[str, bool]:
    """Return the section of a format for this value, and whether that section writes the sign itself."""
    sections = format_code.split(";")
    if value < 0 and len(sections) > 1 and sections[1].strip():
        return sections[1], True
    if value == 0 and len(sections) > 2 and _DIGITS.search(_mask_literals(sections[2])):
        return sections[2], False
    return sections[0], False


def _mask_literals(section: str) -> str:
    """Return a section of the same length in which literals are masked, so that they contain no digits."""

    def blank(found: re.Match[str]) -> str:
        return "~" * len(found.group())

    for pattern in (_QUOTED, _CURRENCY, _CONDITION, _ESCAPED, _SPACING):
        section = pattern.sub(blank, section)
    return section


def _literal(section: str) -> str:
    """Return the literal text of a section."""
    for pattern, instead in (
        (_CURRENCY, r"\1"),
        (_CONDITION, ""),
        (_QUOTED, r"\1"),
        (_SPACING, ""),
        (_ESCAPED, r"\1"),
    ):
        section = pattern.sub(instead, section)
    return section


def _moment(value: float, format_code: str, *, is_1904: bool) -> str:
    """Return a date, a time or both; empty for a number outside of the calendar."""
    epoch = CALENDAR_MAC_1904 if is_1904 else CALENDAR_WINDOWS_1900
    try:
        moment = from_excel(value, epoch, timedelta=is_timedelta_format(format_code))
    except (ValueError, OverflowError):
        return ""
    if isinstance(moment, timedelta):
        seconds = round(moment.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if isinstance(moment, datetime) and moment.time() == time():
        return moment.date().isoformat()
    if isinstance(moment, datetime):
        return moment.isoformat(" ", "seconds" if moment.second else "minutes")
    if isinstance(moment, time):
        return moment.isoformat("seconds" if moment.second else "minutes")
    return moment.isoformat() if isinstance(moment, date) else ""
