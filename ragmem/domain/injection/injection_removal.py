"""Remove injected memory from a text, so that it is not stored again."""

import re
from collections.abc import Iterator

from ragmem.domain.injection.memory_frame import FIRST_WORDS, FRAME_TAG, SUFFIX
from ragmem.domain.secrets.private import remove_spans
from ragmem.patterns import lazy

_LESS, _MORE = r"(?:<|&lt;|\\u003c|%3C)", r"(?:>|&gt;|\\u003e|%3E)"
_TAG = lazy(
    rf"{_LESS}(?P<close>\\?/|%2F)?\s{{0,4}}{FRAME_TAG}(?P<suffix>{SUFFIX})?\s{{0,4}}{_MORE}", re.IGNORECASE
)
"""A tag of the frame as text, or with the escapes of JSON, HTML and URLs."""

_FILLING = r"(?:[\s>|*#\"'`\\-]|\\[nrt]){0,40}"
_OPENED = lazy(rf"{_FILLING}{re.escape(FIRST_WORDS)}|[ \t\r]*(?:\n|\\n|\Z)")
"""The text after the opening tag of a block: its first words, or the end of the line."""

_FIRST_WORDS = lazy(rf"{_FILLING}{re.escape(FIRST_WORDS)}")
_ENTRY = lazy(
    r"(?:^|(?<=\\n))[ \t>|*#\"'`-]{0,16}\[[a-z2-7]{12}\] \d{4}-\d\d-\d\d [a-z][\w-]{1,40}", re.MULTILINE
)
"""The line above a memory in a block; it identifies a block without its beginning."""

_MARKS = lazy(r"[ \t>|]*")


def without_injections(text: str) -> str:
    """Return the text without the blocks of the frame, whole or cut, quoted, indented or escaped.

    A block without its end extends to the end of the text; one without its beginning starts at its first
    memory. A tag in backticks is not a tag. The rest of the text is unchanged.
    """
    if FRAME_TAG not in text and FRAME_TAG not in text.lower():
        return text
    return remove_spans(text, _blocks(text))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    opened: int | None = None
    suffix: str | None = None
    for tag in _TAG.finditer(text):
        if text[tag.start() - 1 : tag.start()] == "`" == text[tag.end() : tag.end() + 1]:
            continue
        if not tag["close"]:
            if opened is None and _OPENED.match(text, tag.end()):
                opened, suffix = tag.start(), tag["suffix"]
            continue
        if opened is not None and tag["suffix"] != suffix:
            # A block whose text contains a tag of the frame has another name, and only that name ends it.
            continue
        if opened is None and (entry := _ENTRY.search(text, at, tag.start())):
            opened = entry.start()
        if opened is not None:
            yield _with_marks(text, at, opened), tag.end()
            opened = None
        at = tag.end()
    if opened is not None and (cut := _cut_block(text, at)) is not None:
        yield _with_marks(text, at, cut), len(text)


def _cut_block(text: str, at: int) -> int | None:
    """Return the start of the first block with an opening and its first words but no end."""
    for tag in _TAG.finditer(text, at):
        if not tag["close"] and _FIRST_WORDS.match(text, tag.end()):
            return tag.start()
    return None


def _with_marks(text: str, at: int, start: int) -> int:
    """Return the start of a block, including quotation marks before it in its line."""
    line = max(at, text.rfind("\n", at, start) + 1)
    return line if _MARKS.fullmatch(text, line, start) else start
