"""Find passwords in the lines below a heading or label that announces them."""

from collections.abc import Iterator

from ragmem.domain.secrets.names import PASSWORDS
from ragmem.domain.secrets.sentences import foreign_names, is_code
from ragmem.domain.secrets.values import Secret, is_dense, is_ordinary
from ragmem.domain.secrets.words import names_in, places, with_letters
from ragmem.patterns import lazy

MOST_LABEL = 60
"""Maximum characters of a line that is only a heading or a label."""

MOST_LINES = 12
MOST_LINE = 160
MOST_SKIPPED = 2
"""Lines without a password that are skipped: a name, an empty line."""

_NAMES = with_letters(
    name.encode()
    for name in (
        *PASSWORDS,
        *("credential", "logins", "secrets", "zugangsdaten", "identifiant", "auth-user-pass"),
    )
)
_LABEL = lazy(
    r"[ \t>]{0,12}(?:(?P<head>#{1,6}|//|;|=+)[ \t]{0,4}[^.!?=|]{1,60}"
    r"|(?:[-*\u2022][ \t])?[*_]{0,2}[^.!?=|,(]{1,48}[:\uff1a][*_]{0,2}"
    r"|(?P<alone>[*_]{0,2}[^\W\d_]{4,16}(?:[ -][^\W\d_]{2,10})?[*_]{0,2}))[ \t]{0,4}"
)
_ENTRY = lazy(
    r"[ \t>]{0,12}(?:(?:[-*+\u2022]|\d{1,2}[.)])[ \t]{1,4})?"
    r"(?:[*_`\"']{0,3}[\w @.()/-]{1,40}?[*_`\"']{0,3}[ \t]{0,3}(?::|=|\u2192|->|=>"
    r"|[\u2013\u2014/-](?=[ \t]))[ \t]{0,4}){0,2}"
    r"[*_`\"']{0,3}(?P<value>[^\s\"'`]{6,128}?)[*_`\"']{0,3}[ \t]{0,4}"
)


def find_listed_passwords(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the passwords below a heading such as `## Passwords`, or below a label alone in its line."""
    found = {at for name in names_in(small, _NAMES) for at in places(small, name)}
    found |= {at for at, _ in foreign_names(text)}
    behind = 0
    for at in sorted(found):
        low, end = raw.rfind(b"\n", max(0, at - MOST_LABEL), at) + 1, raw.find(b"\n", at, at + MOST_LABEL)
        if end < 0 or end - low > MOST_LABEL or at < behind:
            continue
        behind = end
        if label := _LABEL.fullmatch(text, low, end):
            yield from _following_items(text, end + 1, alone=label["alone"] is not None)


def _following_items(text: str, start: int, *, alone: bool) -> Iterator[Secret]:
    skipped = 0
    for _ in range(MOST_LINES):
        end = text.find("\n", start, start + MOST_LINE)
        end = end if end >= 0 else min(len(text), start + MOST_LINE)
        entry = _ENTRY.fullmatch(text, start, end)
        value = entry["value"].rstrip(",;") if entry else ""
        if entry and is_dense(value) and not is_ordinary(value) and not is_code(value):
            yield Secret(entry.start("value"), entry.start("value") + len(value), "password")
            if alone:
                return
        elif skipped >= MOST_SKIPPED or alone or end >= len(text) or text[start : start + 1] == "#":
            return
        else:
            skipped += 1
        start = end + 1
