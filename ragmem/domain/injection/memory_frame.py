"""The frame around text that an assistant reads as data; no stored text can close it.

Text within the frame is verbatim. If it contains a tag of the frame, a hash of the text, which no text can
foresee, is added to the name of the frame.
"""

import base64
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from ragmem.patterns import lazy

FRAME_TAG = "ragmem-memory"
"""The tag around injected text; text within it is never stored again."""

OPENING = f"<{FRAME_TAG}>"
CLOSING = f"</{FRAME_TAG}>"

SUFFIX = "-[a-z2-7]{6}"
"""The pattern of the hash after the name of a frame."""

FIRST_WORDS = "From earlier work, most useful first"
"""The first words in every frame; they identify a truncated frame."""

_BRACKETS = frozenset("<‹«≪⟨〈《❮❬˂ᐸᗏ𝈶⧼﹤＜")  # noqa: RUF001 - look-alikes are the point
_LOOK_ALIKES = {
    **dict.fromkeys("аαɑᴀ", "a"),
    **dict.fromkeys("еєᴇҽεℯ", "e"),
    **dict.fromkeys("ɡցᶃɢԍ", "g"),
    **dict.fromkeys("мʍᴍмμ", "m"),
    **dict.fromkeys("оοօᴏ0", "o"),  # noqa: RUF001
    **dict.fromkeys("гᴦʀѓɾ", "r"),
    **dict.fromkeys("уγүʏყ", "y"),  # noqa: RUF001
    **dict.fromkeys("ѕꜱƽ", "s"),  # noqa: RUF001
    **dict.fromkeys("тτᴛ", "t"),
    **dict.fromkeys("ԁɗᴅ", "d"),
    **dict.fromkeys("іιıɪ1l", "i"),  # noqa: RUF001
    **dict.fromkeys("пηɴ", "n"),
}
_NOTHING = "\0"


class _Skeleton(dict[int, str]):
    """Code point -> the lower-case Latin letter, digit or bracket that it looks like, or NUL."""

    def __missing__(self, code: int) -> str:
        self[code] = character = _visible_character(chr(code))
        return character


def _visible_character(character: str) -> str:
    if character in _BRACKETS:
        return "<"
    for form in (character, character.casefold(), unicodedata.normalize("NFKD", character).casefold()):
        if form[:1] in _LOOK_ALIKES:
            return _LOOK_ALIKES[form[0]]
    plain = unicodedata.normalize("NFKD", character).casefold()[:1]
    return plain if plain.isalnum() and plain.isascii() else _NOTHING


_SKELETON = _Skeleton()


def _name_pattern(name: str) -> str:
    """Return a pattern of a name that allows other characters between its letters."""
    letters = (r"(?:m|r\0{0,16}n)" if letter == "m" else letter for letter in name)
    return r"\0{0,16}".join(letters)


# Assistants wrap the output of hooks in this tag. At least one character separates its words, because
# SystemReminder is a name in a program.
_REMINDER = lazy(rf"{_name_pattern('system')}\0{{1,16}}{_name_pattern('reminder')}")
# Of a bracket as HTML, JSON or URL escape (&lt; &#60; \\u003c %3C) only letters and digits are left.
_OPENERS = lazy(r"<|(?<![a-z])it|6o|3c")
_ESCAPES = {
    "it": lazy(r"&\Z"),
    "6o": lazy(r"&#0*\Z"),
    "3c": lazy(r"(?:%|\\u00|\\x|&#x0*)\Z", re.IGNORECASE),
}
_SLASHES = frozenset("/\u2044\u2215\u29f8\uff0f")
_ESCAPE = "\\"
_ENDS = lazy(r"[\s/]*(?:[>\uff1e\u203a\u276f\u27e9\u3009\u300b]|&gt|&#|%3e|\\u003e)", re.IGNORECASE)


@cache
def _tags_of(name: str) -> re.Pattern[str]:
    return re.compile(_name_pattern("".join(filter(str.isalpha, name))))


def wrap_in_tags(text: str, *, name: str = FRAME_TAG) -> str:
    """Return a text between tags with a name that no tag in the text has; the result is deterministic.

    The text is unchanged, except that a memory frame has its `system-reminder` tags escaped.
    """
    inside = escape_tags(text) if name == FRAME_TAG else text
    tag = name
    skeleton = inside.translate(_SKELETON)
    if any(True for _ in _places(skeleton, _tags_of(name))):
        letters = skeleton.replace(_NOTHING, "")
        number = 0
        while tag == name or tag[len(name) :].translate(_SKELETON).replace(_NOTHING, "") in letters:
            tag = f"{name}-{_hash(number, inside)}"
            number += 1
    return f"<{tag}>\n{inside}\n</{tag}>"


def _hash(number: int, text: str) -> str:
    raw = hashlib.sha256(f"{number} {text}".encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(raw).decode("ascii").lower()[:6]


def escape_tags(text: str) -> str:
    """Escape the bracket of each `system-reminder` tag with a backslash, however disguised.

    Assistants wrap the output of hooks in this tag. The check sees through case, blanks, invisible
    characters, look-alike letters and brackets, and escapes. Removing one backslash after each such bracket
    restores the text.
    """
    skeleton = text.translate(_SKELETON)
    parts: list[str] = []
    at = 0
    for first, last, name_start, name_end in _places(skeleton, _REMINDER):
        if _is_bracket(text, skeleton, first, last) and _is_tag(text, last, name_start, name_end):
            parts += [text[at:last], _ESCAPE]
            at = last
    return "".join((*parts, text[at:])) if parts else text


def _is_bracket(text: str, skeleton: str, first: int, last: int) -> bool:
    """Return whether a bracket in the skeleton is a bracket or its escape in the text, not a word."""
    escape = _ESCAPES.get(skeleton[first:last])
    return escape is None or escape.search(text, max(0, first - 12), first) is not None


def _is_tag(text: str, bracket: int, start: int, end: int) -> bool:
    """Return whether a name after a bracket belongs to a tag: a slash before it, or a bracket after it.

    A comparison (`a < system_reminder`) is not a tag.
    """
    between = text[bracket:start]
    adjacent = not between.strip(_ESCAPE)
    return adjacent or not _SLASHES.isdisjoint(between) or _ENDS.match(text, end) is not None


def _places(skeleton: str, names: re.Pattern[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the spans of each bracket before a name, and of the name."""
    passed = 0
    for name in names.finditer(skeleton):
        before = _bracket_start(skeleton, passed, name.start())
        passed = name.end()
        for opener in _OPENERS.finditer(skeleton, before, name.start()):
            yield opener.start(), opener.end(), name.start(), name.end()


def _bracket_start(skeleton: str, low: int, end: int) -> int:
    """Return the start of the brackets and non-letters just before `end`, but not before `low`."""
    begin = end
    while begin > low:
        if skeleton[begin - 1] in "\0<":
            begin -= 1
        elif begin - 2 >= low and _OPENERS.fullmatch(skeleton, begin - 2, begin):
            begin -= 2
        else:
            break
    return begin
