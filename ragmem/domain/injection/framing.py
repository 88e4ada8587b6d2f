"""The frame around text that an assistant reads as data, which no stored text can close.

Text within it stands as it was stored. Where it has a tag of the frame itself, the frame gets another name:
the same with a hash of the text behind it, which no text can have foreseen.
"""

import base64
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import cache

FRAME_TAG = "ragmem-memory"
"""The tag around injected text, by which it is known again and never stored a second time."""

OPENING = f"<{FRAME_TAG}>"
CLOSING = f"</{FRAME_TAG}>"

SUFFIX = "-[a-z2-7]{6}"
"""Stands behind the name of a frame whose text has a tag of that name."""

FIRST_WORDS = "From earlier work, most useful first"
"""What the text in every frame begins with; by it one is known whose end was cut off."""

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
    """Code point -> one small Latin letter, digit or bracket that it is or looks like, or nothing."""

    def __missing__(self, code: int) -> str:
        self[code] = seen = _seen(chr(code))
        return seen


def _seen(character: str) -> str:
    if character in _BRACKETS:
        return "<"
    for form in (character, character.casefold(), unicodedata.normalize("NFKD", character).casefold()):
        if form[:1] in _LOOK_ALIKES:
            return _LOOK_ALIKES[form[0]]
    plain = unicodedata.normalize("NFKD", character).casefold()[:1]
    return plain if plain.isalnum() and plain.isascii() else _NOTHING


_SKELETON = _Skeleton()


def _spelled(name: str) -> str:
    """Return a pattern for a name in which anything but letters may stand between its letters."""
    letters = (r"(?:m|r\0{0,16}n)" if letter == "m" else letter for letter in name)
    return r"\0{0,16}".join(letters)


# The tag in which assistants are handed what hooks print. Between its words stands more than nothing:
# SystemReminder is a name in a program.
_REMINDER = re.compile(rf"{_spelled('system')}\0{{1,16}}{_spelled('reminder')}")
# Of a bracket as HTML, JSON or URL escape (&lt; &#60; \\u003c %3C) only letters and digits are left.
_OPENERS = re.compile(r"<|(?<![a-z])it|6o|3c")
_ESCAPES = {
    "it": re.compile(r"&\Z"),
    "6o": re.compile(r"&#0*\Z"),
    "3c": re.compile(r"(?:%|\\u00|\\x|&#x0*)\Z", re.IGNORECASE),
}
_SLASHES = frozenset("/\u2044\u2215\u29f8\uff0f")
_ESCAPE = "\\"
_ENDS = re.compile(r"[\s/]*(?:[>\uff1e\u203a\u276f\u27e9\u3009\u300b]|&gt|&#|%3e|\\u003e)", re.IGNORECASE)


@cache
def _tags_of(name: str) -> re.Pattern[str]:
    return re.compile(_spelled("".join(filter(str.isalpha, name))))


def framed(text: str, *, name: str = FRAME_TAG) -> str:
    """Return a text between tags of a name that no tag in it has; the same text gives the same bytes.

    The text stays as it is, but in a frame of memory for the tags that `guarded` tells of.
    """
    inside = guarded(text) if name == FRAME_TAG else text
    tag = name
    skeleton = inside.translate(_SKELETON)
    if any(True for _ in _places(skeleton, _tags_of(name))):
        letters = skeleton.replace(_NOTHING, "")
        number = 0
        while tag == name or _skeleton_of(tag[len(name) :]) in letters:
            tag = f"{name}-{_hash(number, inside)}"
            number += 1
    return f"<{tag}>\n{inside}\n</{tag}>"


def _hash(number: int, text: str) -> str:
    raw = hashlib.sha256(f"{number} {text}".encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(raw).decode("ascii").lower()[:6]


def _skeleton_of(text: str) -> str:
    return text.translate(_SKELETON).replace(_NOTHING, "")


def guarded(text: str) -> str:
    """Return the text with a backslash behind the bracket of each `system-reminder` tag, however disguised.

    It is the frame in which an assistant puts what hooks print. Case, blanks, invisible characters,
    look-alike letters and brackets, and escapes are seen through. Everything else stays as it is;
    taking one backslash behind each such bracket out again gives the text back.
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
    """Tell whether what the skeleton calls a bracket is one, or the escape of one, and no word."""
    escape = _ESCAPES.get(skeleton[first:last])
    return escape is None or escape.search(text, max(0, first - 12), first) is not None


def _is_tag(text: str, bracket: int, start: int, end: int) -> bool:
    """Tell whether a name behind a bracket is one of a tag: ended by a slash before it, a bracket behind it.

    What is compared (`a < system_reminder`) is none.
    """
    between = text[bracket:start]
    adjacent = not between.strip(_ESCAPE)
    return adjacent or not _SLASHES.isdisjoint(between) or _ENDS.match(text, end) is not None


def _places(skeleton: str, names: re.Pattern[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield where brackets stand before a name: begin and end of each bracket, begin and end of the name."""
    passed = 0
    for name in names.finditer(skeleton):
        before = _leading(skeleton, passed, name.start())
        passed = name.end()
        for opener in _OPENERS.finditer(skeleton, before, name.start()):
            yield opener.start(), opener.end(), name.start(), name.end()


def _leading(skeleton: str, low: int, end: int) -> int:
    """Return where the brackets and what is no letter begin that stand right before `end`, from `low` on."""
    begin = end
    while begin > low:
        if skeleton[begin - 1] in "\0<":
            begin -= 1
        elif begin - 2 >= low and _OPENERS.fullmatch(skeleton, begin - 2, begin):
            begin -= 2
        else:
            break
    return begin
