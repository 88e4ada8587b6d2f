"""Find the parts marked `<private>`, and cut parts out of a text."""

import re
from collections.abc import Iterable, Iterator

from ragmem.patterns import lazy

_TAG = lazy(r"<(?P<close>/)?private\s{0,8}>", re.IGNORECASE)


def private_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between <private> tags; an unclosed one hides the rest of the text.

    Tags may be nested, and they also count in code fences. A tag in backticks, `<private>`, does not count.
    """
    depth = begin = 0
    for tag in _TAG.finditer(text):
        if text[max(0, tag.start() - 1) : tag.start()] == "`" == text[tag.end() : tag.end() + 1]:
            continue
        if not tag["close"]:
            begin = begin if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield begin, tag.end()
    if depth:
        yield begin, len(text)


def without_private(text: str) -> str:
    """Return the text without the parts marked private."""
    return remove_spans(text, private_spans(text))


def remove_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text without these sorted spans; a blank separates the remaining words."""
    parts: list[str] = []
    at = 0
    for start, end in (*spans, (len(text), len(text))):
        if part := text[at:start]:
            if parts and not (parts[-1][-1].isspace() or part[0].isspace()):
                parts.append(" ")
            parts.append(part)
        at = end
    return "".join(parts)
