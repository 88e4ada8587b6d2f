"""Summarize a text by the sentences that carry the signal, verbatim."""

from ragmem.domain.text.blocks import BlockType, units
from ragmem.domain.text.turns import turns
from ragmem.patterns import lazy

MARKERS = tuple(
    (
        "decided,chose,because,error,fix,resolved,found that,architecture,deploy,config,pattern,constraint,"
        "migration,root cause,workaround"
    ).split(",")
)
"""The published markers; each counts once, anywhere in the text, in any case."""

MAX_SENTENCE_CHARS = 600
"""Only the beginning of a longer sentence (a log line, minified data) enters a summary."""

_SPECIFIC = lazy(r"`[^`\n]+`|\b\w+[_/.:]\w+|[a-z][A-Z]|\d")
_ITEM_NUMBER = lazy(r"\d{1,4}[.)]\s")


def summarize(text: str, *, max_sentences: int = 8) -> str:
    """Return the sentences that carry the signal, verbatim and in order, under their headings.

    A sentence carries signal by its markers first, then by what it names (identifiers, paths, numbers); a
    list item, a table row and a line of code count as sentences. The first heading, the title, comes first. A
    text without any signal gives its first sentences; only a blank text gives "". A summary has at most
    `max_sentences` sentences of at most 600 characters. What was asked at the beginning of an assistant's
    record stands before the summary of the rest, for the answer says little without it.
    """
    spoken = turns(text)
    if len(spoken) > 1 and spoken[0].asks and not spoken[1].asks:
        asked, answer = spoken[:2]
        question = text[asked.start : min(asked.end, asked.start + MAX_SENTENCE_CHARS)].rstrip()
        label = text[answer.start : answer.body]
        return f"{question}\n\n{label}\n{_summary(text[answer.body :], max_sentences)}"
    return _summary(text, max_sentences)


def _summary(text: str, max_sentences: int) -> str:
    title, best = _best_sentences(text, max_sentences)
    parts = [title] if title else []
    last = title
    for above, start, end in best:
        if above and above != last:
            parts.append(above)
            last = above
        parts.append(text[start:end].rstrip())
    return "\n".join(parts) if best else title or text.strip()[:MAX_SENTENCE_CHARS]


def summary_spans(text: str, *, max_sentences: int = 8) -> list[tuple[int, int]]:
    """Return the (start, end) of the sentences of a text that carry the signal, in order; see `summarize`."""
    return [(start, end) for _, start, end in _best_sentences(text, max_sentences)[1]]


def _best_sentences(text: str, most: int) -> tuple[str, list[tuple[str, int, int]]]:
    """Return the title of a text, and the heading and the place of its best sentences, in order."""
    title = heading = ""
    found: list[tuple[float, int, int, str]] = []
    for block, start, end in units(text):
        if block.form is BlockType.HEADING:
            heading = text[start:end]
            title = title or heading
            continue
        end = min(end, start + MAX_SENTENCE_CHARS)  # noqa: PLW2901 - the rest of it is not read
        found.append((_signal_of(text[start:end].rstrip()), start, end, heading))
    signal = [item for item in found if item[0] > 0] or found
    best = sorted(signal, key=lambda item: (-item[0], item[1]))[: max(1, most)]
    return title, [(above, start, end) for _, start, end, above in sorted(best, key=lambda item: item[1])]


def _signal_of(sentence: str) -> float:
    """Return the signal of a sentence: its distinct markers, and a bonus for a specific name."""
    lowered = sentence.lower()
    # The number of a list item names nothing.
    named = _SPECIFIC.search(sentence, found.end() if (found := _ITEM_NUMBER.match(sentence)) else 0)
    return sum(marker in lowered for marker in MARKERS) + (0.5 if named else 0.0)
