"""The frame around text that an assistant reads as data, which no stored text can close."""

import re
import unicodedata

FRAME_TAG = "ragmem-memory"
"""The tag around injected text, by which it is known again and never stored a second time."""

OPENING = f"<{FRAME_TAG}>"
CLOSING = f"</{FRAME_TAG}>"

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


# The tag of ours, and the one in which assistants are handed what hooks print.
_NAMES = re.compile(f"{_spelled('ragmemmemory')}|{_spelled('systemreminder')}")
# Of a bracket as HTML, JSON or URL escape (&lt; &#60; \\u003c %3C) only letters and digits are left.
_OPENERS = re.compile(r"<|(?<![a-z])it|6o|3c")


def inert(text: str) -> str:
    """Return the text with `(` in place of what begins a tag of the frame, however it is disguised.

    Case, blanks, invisible characters, look-alike letters and brackets, and escapes are seen through.
    Everything else stays as it is.
    """
    skeleton = text.translate(_SKELETON)
    parts: list[str] = []
    at = passed = 0
    for name in _NAMES.finditer(skeleton):
        before = _leading(skeleton, passed, name.start())
        passed = name.end()
        for opener in _OPENERS.finditer(skeleton, before, name.start()):
            parts += [text[at : opener.start()], "("]
            at = opener.end()
    return "".join((*parts, text[at:])) if parts else text


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
