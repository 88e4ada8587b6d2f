"""Read a text as it is seen or meant: without colours, escapes, invisible letters and breaks in a token."""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from ragmem.domain.secrets.values import Secret
from ragmem.domain.secrets.words import lazy, word_set

AROUND = 320
"""Characters before and behind a disguise in which a secret may be dressed with it."""

MOST_GLUED = 96
"""Characters to the next blank, so that no token is read from its middle on."""

_APART = "\n\0\n"

_COLOUR = r"(?:\x1b|\\(?:[uU]00|[xX])1[bB]|\\e|\\033)\[[0-9;?]{0,24}[A-Za-z]|\[\d{1,2}(?:;\d{1,3}){0,4}m"
"""What tells a terminal a colour, also as JSON, Python and the shell write it, or without its escape."""

_BREAK = r"(?:\\{1,2}\r?\n|\\{3}n|\\{4}n)[ \t]{0,40}"
"""A line that a backslash continues, also as JSON writes it."""

_JOIN = (
    r"(?P<quote>\\{0,2}[\"'`])(?:[ \t]{0,8}(?:\+|\.{1,2}|&|\|\||<>|\\)[ \t]{0,8}(?:\\?(?:\r?\n"
    r"|\\n)[ \t]{0,40})?(?:\+[ \t]{0,8})?"
    r"|[ \t]{0,8}\\?(?:\r?\n|\\n)[ \t]{0,40}(?:[+.&][ \t]{0,8})?)(?P=quote)"
)
"""Between the parts of a text that code puts together."""

_LIKE = str.maketrans(
    "аеорсухіѕјԁԛԝһкмтвнАЕОРСХІЅКМТВНΑΒΕΖΗΙΚΜΝΟΡΤΥΧορνικα",
    "aeopcyxisjdqwhkmtbhAEOPCXISKMTBHABEZHIKMNOPTYXopvika",
)
_ALIKE = "".join(map(chr, _LIKE))
_MIXED = rf"(?<=[A-Za-z])[{_ALIKE}]{{1,16}}|[{_ALIKE}]{{1,16}}(?=[A-Za-z])"
"""Letters of other alphabets that look like Latin ones, beside Latin ones."""

_HIDDEN = "\u00ad\u034f\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff\0"
_WIDE = r"[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]"
"""Digits and letters of full width; with them go the marks of full width around them."""

_STYLED = r"[\U0001d400-\U0001d7ff\u2460-\u24ff]"
_SPACED = (
    r"(?<=(?<![A-Za-z])[A-Za-z])[ ._-](?=[A-Za-z](?![A-Za-z]))"
    r"|(?<=[ ._-][A-Za-z])[ ._-](?=[A-Za-z](?![A-Za-z]))"
)

_PLAIN: tuple[tuple[tuple[bytes, ...], re.Pattern[str]], ...] = tuple(
    (gates, lazy(pattern))
    for gates, pattern in (
        ((b"\x1b[", b"[0m", b"1b[", b"1B[", b"\\e[", b"033["), _COLOUR),
        ((b"\\\n", b"\\\r\n", b"\\\\\\n"), _BREAK),
        ((b"=\n", b"=\r\n"), r"=(?<=[A-Za-z0-9+/_-]=)\r?\n(?=[A-Za-z0-9])"),
        (
            (b"&#", b"&quot;", b"&apos;", b"&amp;", b"&equals;", b"&colon;", b"&lt;"),
            r"&(?:#\d{2,5}|#[xX][0-9a-fA-F]{2,4}|quot|apos|amp|lt|gt|equals|colon|nbsp|num|excl|dollar);",
        ),
        ((b"\\x",), r"\\{1,2}x[2-7][0-9a-fA-F]"),
        # Dashes and quotes of print are no part of a secret.
        ((b"\\u",), r"\\{1,2}u(?!20[1-57-9]|00[0189]|d[89a-f]|D[89A-F])[0-9a-fA-F]{4}"),
        ((b"%",), r"%[2-7][0-9a-fA-F]"),
    )
)
"""Disguises in ASCII: a text that has none of the first is not searched for the second."""

_SPACED_OUT = lazy(_SPACED)
_SPELLED = tuple(
    (frozenset(word), tuple(separator.join(word) for separator in (b" ", b".", b"-", b"_")))
    for word in ((b"p", b"a", b"s", b"s"), (b"s", b"e", b"c", b"r"), (b"t", b"o", b"k", b"e"))
)
"""Letters that stand alone in a text in which a telling name is spaced out, and how it is."""

_FOREIGN = lazy(f"(?P<hidden>[{_HIDDEN}])|{_WIDE}|{_STYLED}|{_MIXED}")
_STRANGE = lazy(f"[{_HIDDEN}{_WIDE[1:-1]}{_STYLED[1:-1]}{_ALIKE}]")
"""One of these stands wherever _FOREIGN matches; looking for it first is much faster."""

_FULL = lazy(r"[\uff01-\uff5e]")

_JOINED = lazy(_JOIN)
_MAY_JOIN = lazy(
    rb"[\"'`](?:[ \t]{0,8}(?:\+|\.{1,2}|&|\|\||<>|\\)[ \t]{0,8}"
    rb"(?:\\?(?:\r?\n|\\n)[ \t]{0,40})?(?:\+[ \t]{0,8})?"
    rb"|[ \t]{0,8}\\?(?:\r?\n|\\n)[ \t]{0,40}(?:[+.&][ \t]{0,8})?)(?=\\{0,2}[\"'`])"
)
"""The same from its quote on, in bytes and without saying that both quotes are alike."""


_ESCAPED = lazy(r"\\{1,2}(?:x|u)([0-9a-fA-F]{2}|[0-9a-fA-F]{4})")


def undressed(text: str, raw: bytes, small: bytes) -> "Undressed | None":
    """Return the text without its disguises, as far as it has any; nothing where it has none."""
    spans: list[tuple[int, int, str]] = []
    for gates, pattern in _PLAIN:
        if any(gate in small for gate in gates):
            spans += ((*one.span(), _meant(one.group())) for one in pattern.finditer(text))
    words = word_set(small)
    if any(letters <= words and any(one in small for one in spelled) for letters, spelled in _SPELLED):
        spans += ((*one.span(), "") for one in _SPACED_OUT.finditer(text))
    spans += _joins(text, raw)
    if b"\0" in raw or (not text.isascii() and _STRANGE.search(text)):
        found = [(*one.span(), _meant(one.group())) for one in _FOREIGN.finditer(text)]
        if any(len(said) and _FULL.match(text, start) for start, _, said in found):
            known = {start for start, _, _ in found}
            found += [
                (*one.span(), chr(ord(one.group()) - 0xFEE0))
                for one in _FULL.finditer(text)
                if one.start() not in known
            ]
        spans += found
    return Undressed(text, spans) if spans else None


def _joins(text: str, raw: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield what stands between the parts of a text that code puts together."""
    at = 0
    while candidate := _MAY_JOIN.search(raw, at):
        place = candidate.start()
        at = place + 1
        # Up to two backslashes before a quote belong to it.
        low = place
        while low > max(0, place - 2) and raw[low - 1 : low] == b"\\":
            low -= 1
        for start in range(low, place + 1):
            if found := _JOINED.match(text, start):
                yield (*found.span(), "")
                at = max(at, found.end())
                break


def _meant(seen: str) -> str:
    """Return what a disguise stands for."""
    first = seen[0]
    if first == "&" and seen[-1:] == ";":
        return html.unescape(seen)[:1]
    if first == "%" and len(seen) > 1:
        return chr(int(seen[1:], 16))
    if escaped := _ESCAPED.fullmatch(seen):
        said = chr(int(escaped[1], 16))
        return "" if said in _HIDDEN else said
    if not first.isascii() and first not in _HIDDEN:
        return seen.translate(_LIKE) if first in _ALIKE else unicodedata.normalize("NFKC", seen)[:1]
    return ""


class Undressed:
    """What a text says around its disguises, and where that stands in it."""

    def __init__(self, text: str, spans: list[tuple[int, int, str]]) -> None:
        parts: list[str] = []
        # Where each part begins in what is said, and which span of the text it is.
        self._places: list[int] = []
        self._spans: list[tuple[int, int]] = []
        length = at = reach = 0

        def say(said: str, start: int, end: int) -> None:
            nonlocal length
            if said:
                self._places.append(length)
                self._spans.append((start, end))
                parts.append(said)
                length += len(said)

        for start, end, said in sorted(spans):
            if start < at:
                continue
            low = start - AROUND
            if low > reach and (blank := _blank_before(text, low, reach)) > reach:
                say(text[at:reach], at, reach)
                say(_APART, reach, reach)
                at = blank
            say(text[at:start], at, start)
            say(said, start, end)
            at, reach = end, _blank_behind(text, end + AROUND)
        say(text[at:reach], at, reach)
        self.text = "".join(parts)

    def secrets(self, found: Iterable[Secret]) -> Iterator[Secret]:
        """Yield the secrets of what is said where they stand in the text, with the disguises in them."""
        for one in found:
            start, end = self._place(one.start)[0], self._place(one.end - 1)[1]
            if start < end:
                yield Secret(start, end, one.kind)

    def _place(self, at: int) -> tuple[int, int]:
        part = bisect_right(self._places, at) - 1
        start, end = self._spans[part]
        size = (self._places[part + 1] if part + 1 < len(self._places) else len(self.text)) - self._places[
            part
        ]
        # A part that stands for another is one thing; any other is as long as what it says.
        if size == end - start:
            return start + at - self._places[part], start + at - self._places[part] + 1
        return start, end


_BLANK = lazy(r"[\s\"',;<>]")


def _blank_before(text: str, at: int, least: int) -> int:
    """Return where the token begins that stands at this place, as far as it is not too long."""
    low = max(least, at - MOST_GLUED)
    ends = [one.end() for one in _BLANK.finditer(text, low, at)]
    return ends[-1] if ends else low


def _blank_behind(text: str, at: int) -> int:
    found = _BLANK.search(text, at, at + MOST_GLUED)
    return found.start() if found else min(len(text), at + MOST_GLUED)
