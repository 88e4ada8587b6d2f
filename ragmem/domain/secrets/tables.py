"""Find passwords in the columns of tables whose heading announces them."""

import re
from collections.abc import Iterator

from ragmem.domain.secrets.names import PASSWORDS
from ragmem.domain.secrets.sentences import foreign_names
from ragmem.domain.secrets.values import (
    HEX,
    UUID,
    Secret,
    is_name,
    is_ordinary,
    is_plausible_password,
    is_random,
    is_word,
)
from ragmem.domain.secrets.words import names_in, places, with_letters
from ragmem.patterns import lazy

_ROW_ENDS = ("\n", "\\n", "<tr")

MOST_WALKED = 2
"""Limit of the work, in text lengths, on rows that may belong to an earlier heading."""

MOST_ROWS = 200
"""Maximum rows of a table."""

MOST_LINE = 600
"""Maximum characters of a line of a table."""

MOST_HEADING = 40
"""Maximum characters of a heading."""

MIN_CELL = 4
MIN_KEY = 16

MOST_BREAK = 6
"""Maximum characters of a line break, as in JSON within JSON."""

_BREAK = lazy(r"\r?\n|\\{1,2}r\\{1,2}n|\\{1,2}n")
_RULE = lazy(r"[\s|+:=│┃┼╪├┤╞╡┌┐└┘─━═┬┴╭╮╰╯_-]+")
"""A line between heading and rows, or around them."""

_WIDE_GAP = lazy(r" {2,}")
_SEPARATORS = ("||", "|", "│", "┃", "\t", "\\t", ";", ",", "&")
_FRAME = " \t|│┃*`\"'_\\+>#-"
_CELL_MARKS = " \t*`\"'_\\"

_NAMES = tuple(
    name.encode()
    for name in (*(name for name in PASSWORDS if " " not in name), "mot de passe", "pass", "pw", "secret")
)
_KEYS = (b"api key", b"api_key", b"apikey", b"token", b"access key", b"private key", b"secret key")
_HEADINGS = with_letters(_NAMES + _KEYS)

_HEADING = lazy(
    r"(?:[\w.&/'-]{1,20}[ _/-]{1,3}){0,3}"
    r"(?:pass\w{0,10}|pwd?|pw|mdp|psk|secret\w{0,2}|[\w-]*pass(?:word|phrase|code)|kennwort|senha|wachtwoord"
    r"|parola|has.o|heslo"
    r"|lozinka|passord|l.senord|adgangskode|salasana|jelsz\w|contrase\w{1,3}|mot de passe|[^\W\d_]{2,12}"
    r"|(?:api|access|private|auth|bearer)[ _-]?(?:key|token)|token)"
    r"(?:[ _/-]{1,3}[\w.()]{1,16}){0,2}",
    re.IGNORECASE,
)

_ROW = lazy(r"<tr\b", re.IGNORECASE)
_TAG_CELL = lazy(
    r"<t[dh]\b[^<>]{0,120}>(?P<cell>[^<]{0,200}(?:<(?!/?t[dhr])[^<>]{0,80}>[^<]{0,200}){0,4})</?t",
    re.IGNORECASE,
)
_TAG = lazy(r"<[^<>]{1,80}>")


def find_table_secrets(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the passwords and keys in columns whose heading announces them."""
    rows = behind = 0
    # Rows that are headings themselves would be searched once for each of them.
    left = MOST_WALKED * len(text)
    for at, end, key in sorted(_headings(text, raw, small)):
        if rows <= at < behind:
            continue
        found, reached = _column_values(text, at, end, key=key)
        yield from found
        left -= reached - end
        if found or left < 0:
            # Other columns of this heading are still searched, but headings in its rows are not.
            rows = min(
                (place for mark in _ROW_ENDS if (place := text.find(mark, end, reached)) >= 0), default=end
            )
            behind = reached
    yield from _in_one_line(text, raw)


_FLAT_RULE = lazy(r"\|(?:[ \t]?:?-{2,60}:?[ \t]?\|){2,12}")
MOST_FLAT = 2_000
"""Maximum characters of the rows of a table within one line."""


def _in_one_line(text: str, raw: bytes) -> Iterator[Secret]:
    """Yield the passwords of a Markdown table whose lines were joined to one."""
    for sought in (b"| |-", b"| | -", b"| |:-", b"| | :-"):
        at = raw.find(sought)
        while at >= 0:
            behind = at + 1
            if rule := _FLAT_RULE.match(text, at + 2):
                count = rule.group().count("|") - 1
                low = max(text.rfind("\n", 0, at) + 1, at - MOST_LINE)
                names = [name.strip(_FRAME) for name in text[low:at].split("|")[-count:]]
                stop = text.find("\n", rule.end(), rule.end() + MOST_FLAT)
                stop = stop if stop >= 0 else rule.end() + MOST_FLAT
                # The next table has its own headings.
                following = _FLAT_RULE.search(text, rule.end(), stop)
                rows = text[rule.end() : following.start() if following else stop].split("|")
                for column in range(len(names)):
                    name = names[column]
                    if name.isascii() and _PASSWORD.search(name) and _is_heading(names, column):
                        yield from _of_flat(rows, rule.end(), column, names)
                behind = rule.end()
            at = raw.find(sought, behind)


_PASSWORD = lazy("|".join(re.escape(name) for name in (*PASSWORDS, "pass", "pw")), re.IGNORECASE)


def _of_flat(rows: list[str], at: int, column: int, names: list[str]) -> Iterator[Secret]:
    for number, cell in enumerate(rows):
        # An empty cell separates two rows.
        if number % (len(names) + 1) == column + 1:
            yield from _cell(cell, at, names, key=False)
        at += len(cell) + 1


def _headings(text: str, raw: bytes, small: bytes) -> Iterator[tuple[int, int, bool]]:
    for name in names_in(small, _HEADINGS):
        for at in places(small, name, step=len(name)):
            end = at + len(name)
            # A mark or a blank stands on both sides of a heading in its cell.
            if small[end : end + 1] in _AFTER_NAME and not (
                raw[at - 1 : at].isalpha() and raw[at : at + 1].islower()
            ):
                yield at, end, name in _KEYS or name == b"secret"
    yield from ((at, end, False) for at, end in foreign_names(text))


_AFTER_NAME = frozenset(bytes((code,)) for code in b"|\t,;\n\r\\<*`\"' )?:sceart&_=") | {b""}


def _column_values(text: str, at: int, end: int, *, key: bool) -> tuple[list[Secret], int]:
    """Return the values below a heading, and the end of the table."""
    low, high = max(0, at - MOST_LINE), end + MOST_LINE
    tag = text.rfind("<", max(0, at - MOST_HEADING), at)
    if tag >= 0 and text[tag : tag + 3].lower() in {"<th", "<td"}:
        return _in_markup(text, tag, key=key)
    ends = [place for mark in ("\n", "\\n") if (place := text.find(mark, end, high)) >= 0]
    # The backslashes before the mark belong to the line break.
    close = _BREAK.search(text, max(end, min(ends) - MOST_BREAK), high) if ends else None
    if close is None:
        return [], end
    first = max(
        (start + len(mark) for mark in ("\n", "\\n") if (start := text.rfind(mark, low, at)) >= 0),
        default=low,
    )
    # A quote and the text before it are JSON around the text, not its first line.
    heading = text[first : close.start()]
    if (
        (opened := heading.rfind('"', 0, at - first)) >= 0
        and '"' not in heading[at - first :]
        and "," not in heading[opened:]
    ):
        first += opened + 1
        heading = heading[opened + 1 :]
    for separator in _SEPARATORS:
        if separator in heading:
            return _in_rows(text, first, at, close.end(), heading=heading, separator=separator, key=key)
    if _WIDE_GAP.search(heading.strip()):
        return _in_columns(text, first, at, close.end(), heading=heading, key=key)
    return [], end


def _in_rows(
    text: str, first: int, at: int, start: int, *, heading: str, separator: str, key: bool
) -> tuple[list[Secret], int]:
    cells = heading.split(separator)
    column = heading[: at - first].count(separator)
    names = [cell.strip(_FRAME) for cell in cells]
    if not _is_heading(names, column):
        return [], start
    plain = separator in {",", ";", "&"}
    found: list[Secret] = []
    lines = list(_lines(text, start))
    if (
        separator == "|"
        and "|" in text[text.rfind("\n", 0, max(0, first - 1)) + 1 : first]
        and not (lines and _RULE.fullmatch(text[slice(*lines[0])]))
    ):
        # A row in the middle of a table, that tells of a setting for a password
        return [], start
    for low, high in lines:
        line = text[low:high]
        if _RULE.fullmatch(line):
            continue
        parts = line.split("|" if separator == "||" and "||" not in line else separator)
        shift = separator == "||" and "||" not in line
        if len(parts) < 2 or column >= len(parts) or (plain and len(parts) != len(cells)):
            break
        before = sum(len(part) + len("|" if shift else separator) for part in parts[:column])
        found += _cell(parts[column], low + before, names, key=key)
        start = high
    return found, start


def _in_columns(
    text: str, first: int, at: int, start: int, *, heading: str, key: bool
) -> tuple[list[Secret], int]:
    """Return the values below a heading of a table that is aligned with blanks."""
    names = [name.strip(_FRAME) for name in _WIDE_GAP.split(heading.strip())]
    place = at - first
    number = len(_WIDE_GAP.findall(heading[:place].lstrip(" ")))
    begin = heading.rfind("  ", 0, place)
    begin = place if begin < 0 else begin + 2
    if len(names) < 2 or number >= len(names) or not _is_heading(names, number):
        return [], start
    found: list[Secret] = []
    for low, high in _lines(text, start):
        line = text[low:high]
        if _RULE.fullmatch(line):
            if found:
                break
            continue
        if len(line) <= begin or (begin and line[begin - 1] != " ") or line[begin] == " ":
            break
        word = line[begin:].split("  ")[0].rstrip()
        found += _cell(word, low + begin, names, key=key)
        start = high
    return found, start


def _in_markup(text: str, tag: int, *, key: bool) -> tuple[list[Secret], int]:
    """Return the values below a heading of an HTML table."""
    row = text.lower().rfind("<tr", max(0, tag - 2 * MOST_LINE), tag) if tag else -1
    if row < 0:
        return [], tag
    column = sum(1 for one in _TAG_CELL.finditer(text, row, tag))
    limit = min(len(text), tag + 40 * MOST_LINE)
    rows = [one.start() for one in _ROW.finditer(text, tag, limit)][: MOST_ROWS + 1]
    heading_end = rows[0] if rows else tag
    names = [_TAG.sub("", one["cell"]).strip() for one in _TAG_CELL.finditer(text, row, heading_end)]
    if not _is_heading(names, column):
        return [], tag
    close = text.find("</table", tag, limit)
    found: list[Secret] = []
    for number, begin in enumerate(rows):
        if 0 <= close < begin:
            break
        last_stop = close if close > begin else min(limit, begin + 4 * MOST_LINE)
        stop = rows[number + 1] if number + 1 < len(rows) else last_stop
        cells = list(_TAG_CELL.finditer(text, begin, stop))
        if column < len(cells):
            found += _cell(cells[column]["cell"], cells[column].start("cell"), names, key=key)
    return found, rows[-1] if rows else tag


def _lines(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the following lines, up to an empty one."""
    for _ in range(MOST_ROWS):
        if start >= len(text):
            return
        found = _BREAK.search(text, start, start + MOST_LINE)
        end = found.start() if found else min(len(text), start + MOST_LINE)
        if not text[start:end].strip():
            return
        yield start, end
        if not found:
            return
        start = found.end()


_OTHERS = lazy(
    r"user|login|e?-?mail|name|host|server|account|konto|benutzer|nutzer|utilisateur|usuario|utente|usu.rio"
    r"|gebruiker"
    r"|service|system|url|site|dienst|role|rolle|env|stage|database|db|ip|id|client|app|port|website|who|wer"
    r"|what|key|note"
    r"|имя|логин|пользоват|用户|账号|帳號|ユーザ|사용자|이름|użytkown|kullan|anv.ndare|bruger|bruker|k.ytt|u.ivatel"
    r"|felhaszn",
    re.IGNORECASE,
)


def _is_heading(names: list[str], column: int) -> bool:
    """Return whether these are the headings of a table, and this one the heading of passwords."""
    named = [name for name in names if name]
    if len(named) < 2 or column >= len(names) or not 1 < len(names[column]) + 1 <= MOST_HEADING:
        return False
    if not _HEADING.fullmatch(names[column]) and names[column].isascii():
        return False
    others = [name for number, name in enumerate(names) if number != column and name]
    return all(len(name) <= MOST_HEADING for name in named) and any(map(_OTHERS.search, others))


def _cell(cell: str, at: int, names: list[str], *, key: bool) -> list[Secret]:
    inner = _TAG.sub(lambda tag: " " * len(tag.group()), cell)
    value = inner.strip(_CELL_MARKS)
    if not value or any(map(str.isspace, value)):
        return []
    start = at + inner.index(value)
    value = value.rstrip(",;")
    if len(value) < (MIN_KEY if key else MIN_CELL) or is_ordinary(value) or is_word(value) or value in names:
        return []
    if key:
        known = UUID.fullmatch(value) or HEX.fullmatch(value) or not is_random(value)
    elif value.isdigit():
        known = len(value) < 6
    else:
        known = not (
            is_plausible_password(value)
            or (value.isalpha() and value.islower() and len(value) > 5 and not is_name(value))
        )
        known = known or bool(UUID.fullmatch(value))
    return [] if known else [Secret(start, start + len(value), "secret" if key else "password")]
