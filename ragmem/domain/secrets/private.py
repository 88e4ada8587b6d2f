"""Find what is marked `<private>`, and leave parts of a text out without gluing what stood around them."""

import re
from collections.abc import Iterable, Iterator

_TAG = re.compile(r"<(?P<close>/)?private\s{0,8}>", re.IGNORECASE)


def private_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands between <private> tags; one that is never closed hides the rest of the text.

    Tags may be nested. In a code fence they count as anywhere; in backticks, `<private>`, one is spoken of.
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
    """Return the text without what is marked private."""
    return left_out(text, private_spans(text))


def left_out(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text without these spans, which are in order; a blank keeps apart what would be glued."""
    kept = ""
    parts: list[str] = []
    at = 0
    for start, end in (*spans, (len(text), len(text))):
        part = text[at:start]
        if part and kept and not (kept[-1].isspace() or part[0].isspace()):
            parts.append(" ")
        if part:
            parts.append(part)
            kept = part
        at = end
    return "".join(parts)
