"""What a text says is left to do: open checkboxes, and the items below a heading that announces them."""

import re
from collections.abc import Iterator

from ragmem.domain.blocks import Form, units
from ragmem.domain.redaction import Redactor
from ragmem.domain.telling import MAX_CHARS, MIN_CHARS, plain

_HEADING = re.compile(
    r"\W*(?:[\d.]+\s*)?(?:(?:immediate|recommended|suggested|possible|future|the)\s+)?(?:next\b|to-?dos?\b|"
    r"remaining\b|open\s+(?:questions?|work|items?|issues?|tasks?|points?)\b|follow[- ]?ups?\b|pending\b|"
    r"blocked\b|blockers?\b|unfinished\b|not\s+(?:yet\s+)?done\b|what(?:'s|\s+is)\s+(?:left|next)\b|"
    r"outstanding\b|still\s+to\s+do\b|recommendations?\b)",
    re.IGNORECASE,
)
_OPEN_BOX = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+\[ \]\s")
_DONE = re.compile(
    r"\s*(?:[-*+]|\d{1,3}[.)])?\s*(?:\[[xX]\]|~~|\u2705|\u2713|\u2714|(?:done|none|complete[d]?)\b)",
    re.IGNORECASE,
)


def open_work(text: str, *, most: int, redactor: Redactor) -> list[str]:
    """Return at most so many items of work that a text leaves open, in its order, one line each."""
    found: dict[str, None] = {}
    for item in _items(text):
        if len(found) == most:
            break
        line = plain(item, redactor=redactor)
        if MIN_CHARS <= len(line) <= MAX_CHARS and not line.endswith(":"):
            found[line] = None
    return list(found)


def _items(text: str) -> Iterator[str]:
    announced = 0
    last = -1
    for block, _, end in units(text):
        if block.form is Form.HEADING:
            if _HEADING.match(block.title):
                announced = block.level
            elif announced and block.level <= announced:
                announced = 0
            continue
        if block.form is not Form.ITEM or block.start == last:
            continue
        last = block.start
        line = text[block.start : end]
        if _OPEN_BOX.match(line) or (announced and not _DONE.match(line)):
            yield line
