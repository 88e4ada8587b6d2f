"""Merge memories with the same content by rule: every distinct statement, dated and in order."""

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ragmem.domain.lifecycle.merged_title import title_of
from ragmem.domain.lifecycle.near_copies import age_order
from ragmem.domain.model.lifecycle import Entry, EntryType
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import Block, BlockType, blocks, statements

REPEATED = 4
"""Minimum words of a statement that can be a duplicate; "It works now." depends on its context."""

_AROUND = ".,;:!?\"'()[]{}*_`\u2018\u2019\u201c\u201d"

_FENCE = re.compile(r"[ \t]*(?:[-*+][ \t]+|>[ \t]*)?(`{3,}|~{3,})")

Statement = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergedMemory:
    """The merge of several memories; `metadata` lists their ids, sources and dates."""

    title: str
    text: str
    type: EntryType
    event_time: datetime
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


def merge(entries: Sequence[Entry], redactor: Redactor) -> MergedMemory:
    """Merge at least one entry into one memory.

    It comes by event time, each under its date, where there is more than one. Statements of four words or
    more that are the same but for case, marks and white space come once; all else is verbatim. The type is
    the most frequent one. The order of the entries does not matter; there must be one at least.
    """
    ordered = sorted(entries, key=age_order)
    newest = ordered[-1].memory
    return MergedMemory(
        title=title_of(ordered, redactor=redactor),
        text="\n\n".join(_parts(ordered)),
        type=_type(ordered),
        event_time=newest.event_time,
        tags=tuple(dict.fromkeys(tag for entry in ordered for tag in entry.memory.tags)),
        metadata={
            "merged_from": " ".join(entry.id for entry in ordered),
            "merged_dates": " ".join(_date(entry) for entry in ordered),
            "merged_sources": " ".join(dict.fromkeys(entry.memory.source for entry in ordered)),
        },
    )


def statements_of(text: str) -> frozenset[Statement]:
    """Return the normalized statements of a text, for comparison."""
    found = (
        normalize(text[start:end]) for block in blocks(text) for start, end in _statement_spans(text, block)
    )
    return frozenset(statement for statement in found if statement)


def normalize(statement: str) -> Statement:
    """Return the words of a statement without the punctuation around them; plain words in lower case.

    Flags, paths and names keep their form: `-D` is not `-d`.
    """
    words = (word.strip(_AROUND) for word in statement.split())
    return tuple(word.casefold() if word.isalpha() else word for word in words if word)


def _parts(ordered: Sequence[Entry]) -> Iterator[str]:
    """Yield the paragraphs of a merged memory."""
    seen: set[Statement] = set()
    dated = len({_date(entry) for entry in ordered}) > 1
    for entry in ordered:
        if text := _distinct(entry, seen):
            yield _with_label(_date(entry) if dated else "", _close_fence(text))


def _with_label(label: str, text: str) -> str:
    if not label:
        return text
    plain = next(blocks(text)).form is BlockType.PARAGRAPH
    return f"{label}: {text}" if plain else f"{label}:\n\n{text}"


def _close_fence(text: str) -> str:
    """Close the last fence of a text, so that the text after it is no code."""
    last = deque(blocks(f"{text}\n\nx"), maxlen=1).pop()
    opened = _FENCE.match(text, last.start) if last.form is BlockType.FENCE else None
    return f"{text}\n{opened[1]}" if opened else text


def _distinct(entry: Entry, seen: set[Statement]) -> str:
    """Return the title and text of a memory without statements in `seen`, and add the others to it."""
    text = entry.text.strip()
    new: set[Statement] = set()
    kept: list[str] = []
    start = 0
    for block in blocks(text):
        spans = list(_statement_spans(text, block))
        found = [normalize(text[begin:end]) for begin, end in spans]
        again = [len(one) >= REPEATED and (one in seen or one in new) for one in found]
        new.update(found)
        if block.form is BlockType.HEADING or not any(again):
            continue
        if all(again):
            spans, again = [(block.start, block.end)], [True]
        elif block.form is not BlockType.PARAGRAPH:
            continue
        for (begin, end), repeated in zip(spans, again, strict=True):
            if repeated:
                kept.append(text[start:begin])
                start = end
    kept.append(text[start:])
    seen |= new
    joined = "".join(part if not at else part.lstrip(" \t") for at, part in enumerate(kept)).strip()
    while "\n\n\n" in joined:
        joined = joined.replace("\n\n\n", "\n\n")
    title = entry.memory.title.strip()
    if title and joined and not _contains_title(title, entry.text):
        return (
            f"{title}: {joined}"
            if next(blocks(joined)).form is BlockType.PARAGRAPH
            else f"{title}\n\n{joined}"
        )
    return joined


def _contains_title(title: str, text: str) -> bool:
    """Tell whether a text contains its title, or the beginning of a truncated one."""
    return " ".join(normalize(title.rstrip("\u2026"))) in " ".join(normalize(text))


def _statement_spans(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """Yield the spans of the statements in a block; a heading, a table or a fence is one."""
    if block.form in {BlockType.PARAGRAPH, BlockType.ITEM}:
        yield from statements(text, block.start, block.end)
    elif block.form is not BlockType.RULE:
        yield block.start, block.end


def _type(entries: Sequence[Entry]) -> EntryType:
    """Return the most frequent type, of equals the newest."""
    return Counter(entry.type for entry in reversed(entries)).most_common(1)[0][0]


def _date(entry: Entry) -> str:
    return entry.memory.event_time.astimezone(UTC).date().isoformat()
