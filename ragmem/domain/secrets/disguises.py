"""Remove disguises from a text: colours, escapes, invisible letters and breaks within a token."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from ragmem.domain.secrets.values import Secret
from ragmem.domain.secrets.words import foreign_letters, word_set
from ragmem.patterns import lazy

AROUND = 320
"""Maximum characters of a secret before and after a disguise."""

MOST_GLUED = 96
"""Maximum characters to the next blank, so that tokens are read from their beginning."""

_APART = "\n\0\n"

_COLOUR = r"(?:\x1b|\\(?:[uU]00|[xX])1[bB]|\\e|\\033)\[[0-9;?]{0,24}[A-Za-z]|\[\d{1,2}(?:;\d{1,3}){0,4}m"
"""Terminal colours, also as JSON, Python and the shell write them, or without the escape character."""

_BREAK = r"\\(?:\\?\r?\n|\\{2}n|\\{3}n)[ \t]{0,40}"
"""A line that a backslash continues, also in JSON; a pattern that begins with one letter is found fast."""

_JOIN = (
    r"(?P<quote>\\{0,2}[\"'`])(?:[ \t]{0,8}(?:\+|\.{1,2}|&|\|\||<>|\\)[ \t]{0,8}(?:\\?(?:\r?\n"
    r"|\\n)[ \t]{0,40})?(?:\+[ \t]{0,8})?"
    r"|[ \t]{0,8}\\?(?:\r?\n|\\n)[ \t]{0,40}(?:[+.&][ \t]{0,8})?)(?P=quote)"
)
"""Between the parts of a string that code concatenates."""

_LIKE = str.maketrans(
    "аеорсухіѕјԁԛԝһкмтвнАЕОРСХІЅКМТВНΑΒΕΖΗΙΚΜΝΟΡΤΥΧορνικα",
    "aeopcyxisjdqwhkmtbhAEOPCXISKMTBHABEZHIKMNOPTYXopvika",
)
_ALIKE = "".join(map(chr, _LIKE))
_MIXED = rf"(?<=[A-Za-z])[{_ALIKE}]{{1,16}}|[{_ALIKE}]{{1,16}}(?=[A-Za-z])"
"""Letters of other alphabets that look like Latin ones, next to Latin ones."""

_HIDDEN = "\u00ad\u034f\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff\0"
_WIDE = r"[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]"
"""Full-width digits and letters, and the full-width punctuation around them."""

_STYLED = r"[\U0001d400-\U0001d7ff\u2460-\u24ff]"
_SPACED = (
    r"(?<=(?<![A-Za-z])[A-Za-z])[ ._-](?=[A-Za-z](?![A-Za-z]))"
    r"|(?<=[ ._-][A-Za-z])[ ._-](?=[A-Za-z](?![A-Za-z]))"
)

_PLAIN: tuple[tuple[bytes, re.Pattern[bytes], re.Pattern[str]], ...] = tuple(
    (mark, lazy(re.escape(mark) + beside), lazy(pattern))
    for mark, beside, pattern in (
        (b"[", rb"(?:(?<=\x1b\[)|(?<=1b\[)|(?<=\\e\[)|(?<=033\[)|(?=0m))", _COLOUR),
        (b"\\", rb"(?=\r?\n|\\\\n)", _BREAK),
        (b"=", rb"(?=\r?\n)", r"=(?<=[A-Za-z0-9+/_-]=)\r?\n(?=[A-Za-z0-9])"),
        (
            b"&",
            rb"(?=#|(?:quot|apos|amp|equals|colon|lt);)",
            r"&(?:#\d{2,5}|#[xX][0-9a-fA-F]{2,4}|quot|apos|amp|lt|gt|equals|colon|nbsp|num|excl|dollar);",
        ),
        (b"\\", rb"(?=x)", r"\\{1,2}x[2-7][0-9a-fA-F]"),
        # Typographic dashes and quotes are not part of a secret.
        (b"\\", rb"(?=u)", r"\\{1,2}u(?!20[1-57-9]|00[0189]|d[89a-f]|D[89A-F])[0-9a-fA-F]{4}"),
        (b"%", b"", r"%[2-7][0-9a-fA-F]"),
    )
)
"""ASCII disguises: a mark that they have, what stands beside it in lower case, and the whole pattern.

A single byte is searched much faster than a pattern, and a pattern that begins with one much faster than any.
"""

_SPACED_OUT = lazy(_SPACED)
_SPELLED = tuple(
    (frozenset(word), tuple(separator.join(word) for separator in (b" ", b".", b"-", b"_")))
    for word in ((b"p", b"a", b"s", b"s"), (b"s", b"e", b"c", b"r"), (b"t", b"o", b"k", b"e"))
)
"""Single letters of a spaced-out name, and the pattern of it."""

_FOREIGN = lazy(f"(?P<hidden>[{_HIDDEN}])|{_WIDE}|{_STYLED}|{_MIXED}")
_STRANGE = lazy(f"[{_HIDDEN}{_WIDE[1:-1]}{_STYLED[1:-1]}{_ALIKE}]")
"""Every match of _FOREIGN has one of these; this search is much faster."""

_FULL = lazy(r"[\uff01-\uff5e]")

_JOINED = lazy(_JOIN)
_MAY_JOIN = lazy(
    rb"[\"'`](?:[ \t]{0,8}(?:\+|\.{1,2}|&|\|\||<>|\\)[ \t]{0,8}"
    rb"(?:\\?(?:\r?\n|\\n)[ \t]{0,40})?(?:\+[ \t]{0,8})?"
    rb"|[ \t]{0,8}\\?(?:\r?\n|\\n)[ \t]{0,40}(?:[+.&][ \t]{0,8})?)(?=\\{0,2}[\"'`])"
)
"""The same pattern for bytes from the first quote on, without the check that both quotes are equal."""


_ESCAPED = lazy(r"\\{1,2}(?:x|u)([0-9a-fA-F]{2}|[0-9a-fA-F]{4})")


def remove_disguises(text: str, raw: bytes, small: bytes) -> "PlainText | None":
    """Return the text without its disguises; None if it has none."""
    spans: list[tuple[int, int, str]] = []
    for mark, gate, pattern in _PLAIN:
        if mark in small and gate.search(small):
            spans += ((*one.span(), _original_character(one.group())) for one in pattern.finditer(text))
    words = word_set(small)
    if any(letters <= words and any(one in small for one in spelled) for letters, spelled in _SPELLED):
        spans += ((*one.span(), "") for one in _SPACED_OUT.finditer(text))
    spans += _joins(text, raw)
    if b"\0" in raw or (not text.isascii() and _STRANGE.search(foreign_letters(text))):
        found = [(*one.span(), _original_character(one.group())) for one in _foreign_matches(text)]
        if any(len(said) and _FULL.match(text, start) for start, _, said in found):
            known = {start for start, _, _ in found}
            found += [
                (*one.span(), chr(ord(one.group()) - 0xFEE0))
                for one in _FULL.finditer(text)
                if one.start() not in known
            ]
        spans += found
    return PlainText(text, spans) if spans else None


def _foreign_matches(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of _FOREIGN, which is tried where _STRANGE has found something."""
    at = 0
    while seen := _STRANGE.search(text, at):
        found = _FOREIGN.match(text, seen.start())
        at = found.end() if found else seen.end()
        if found:
            yield found


def _joins(text: str, raw: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield the text between the parts of a concatenated string."""
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


def _original_character(seen: str) -> str:
    """Return the text that a disguise stands for."""
    first = seen[0]
    if first == "&" and seen[-1:] == ";":
        # Its table of two thousand names is rarely needed.
        import html  # noqa: PLC0415

        return html.unescape(seen)[:1]
    if first == "%" and len(seen) > 1:
        return chr(int(seen[1:], 16))
    if escaped := _ESCAPED.fullmatch(seen):
        said = chr(int(escaped[1], 16))
        return "" if said in _HIDDEN else said
    if not first.isascii() and first not in _HIDDEN:
        return seen.translate(_LIKE) if first in _ALIKE else unicodedata.normalize("NFKC", seen)[:1]
    return ""


class PlainText:
    """A text without its disguises, with the mapping of offsets to the original."""

    def __init__(self, text: str, spans: list[tuple[int, int, str]]) -> None:
        parts: list[str] = []
        # The start of each part in the plain text, and its span in the original.
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
            at, reach = end, _blank_after(text, end + AROUND)
        say(text[at:reach], at, reach)
        self.text = "".join(parts)

    def secrets(self, found: Iterable[Secret]) -> Iterator[Secret]:
        """Yield the secrets at their place in the original text, including the disguises."""
        for one in found:
            start, end = self._original_position(one.start)[0], self._original_position(one.end - 1)[1]
            if start < end:
                yield Secret(start, end, one.kind)

    def _original_position(self, at: int) -> tuple[int, int]:
        part = bisect_right(self._places, at) - 1
        start, end = self._spans[part]
        size = (self._places[part + 1] if part + 1 < len(self._places) else len(self.text)) - self._places[
            part
        ]
        # A replaced part is one unit; any other has the same length in both texts.
        if size == end - start:
            return start + at - self._places[part], start + at - self._places[part] + 1
        return start, end


_BLANK = lazy(r"[\s\"',;<>]")


def _blank_before(text: str, at: int, least: int) -> int:
    """Return the start of the token at this place, unless it is too long."""
    low = max(least, at - MOST_GLUED)
    ends = [one.end() for one in _BLANK.finditer(text, low, at)]
    return ends[-1] if ends else low


def _blank_after(text: str, at: int) -> int:
    found = _BLANK.search(text, at, at + MOST_GLUED)
    return found.start() if found else min(len(text), at + MOST_GLUED)
