"""Find the evidence of parts of the graph: the memories that mention them, each with a sentence."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragmem.domain.model import Memory
from ragmem.domain.secrets.redaction import Redactor, cover
from ragmem.domain.text.blocks import Block, BlockType, units
from ragmem.storage.home.catalog import Catalog

LONGEST = 300
"""Maximum characters of a sentence; a longer one is cut to the part around the name."""

BEFORE = 100
"""Characters before the name in a truncated sentence."""

COMPARED = 60
"""Characters of a description that are searched for in a text; long descriptions were truncated."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """A memory that mentions something, its date, and its sentence without secrets.

    `chunks` is the number of its chunks with a mention.
    """

    memory_id: str
    project: str
    source: str
    title: str
    event_time: datetime
    text: str
    chunks: int = 1


@dataclass(frozen=True, slots=True)
class MentionPlace:
    """A memory that mentions something, with the ids of the chunks that mention it, in order."""

    memory_id: str
    event_time: datetime
    chunks: tuple[str, ...]


def mention_places(catalog: Catalog, chunk_ids: Iterable[str]) -> list[MentionPlace]:
    """Return the memories of these chunks, the latest event first; reads no text."""
    chunks = catalog.memories.chunks_by_id(chunk_ids)
    inside: dict[str, list[tuple[int, str]]] = {}
    for chunk, (memory, row) in chunks.items():
        inside.setdefault(memory, []).append((row[1], chunk))
    outlines = catalog.memories.outlines(inside)
    found = [
        MentionPlace(memory, outlines[memory].event_time, tuple(chunk for _, chunk in sorted(placed)))
        for memory, placed in inside.items()
        if memory in outlines
    ]
    return sorted(found, key=lambda spot: (spot.event_time, spot.memory_id), reverse=True)


def quotations(
    catalog: Catalog, found: Sequence[MentionPlace], names: Sequence[str], *, descriptions: Sequence[str] = ()
) -> list[Quotation]:
    """Return the sentence of each mention: the one of a description, else the one with most of the names.

    Headings and tables come last; of equal sentences the first is taken.
    """
    memories = catalog.memories.get([spot.memory_id for spot in found])
    rows = catalog.memories.chunks_by_id(chunk for spot in found for chunk in spot.chunks)
    patterns = [_pattern(name) for name in names if name.strip()]
    known = [_plain(one)[:COMPARED] for one in descriptions if one.strip()]
    result = []
    for spot in found:
        memory = memories.get(spot.memory_id)
        if memory is None:
            continue
        spans = [rows[chunk][1][3:5] for chunk in spot.chunks if chunk in rows]
        result.append(
            Quotation(
                memory.id,
                memory.scope.project,
                memory.source,
                memory.title,
                memory.event_time,
                _sentence(memory, spans, patterns, known, redactor=catalog.redactor),
                len(spot.chunks),
            )
        )
    return result


def _pattern(name: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, name.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()


def _sentence(
    memory: Memory,
    spans: Iterable[tuple[int, int]],
    patterns: Sequence[re.Pattern[str]],
    known: Sequence[str],
    redactor: Redactor,
) -> str:
    text = memory.indexed_text
    best: tuple[tuple[bool, int, bool], int, int] | None = None
    for start, end in spans:
        for block, begin, stop in units(text[start:end]):
            rank = _rank(block, text[start + begin : start + stop], patterns, known)
            if best is None or rank > best[0]:
                best = (rank, start + begin, start + stop)
    if best is None:
        return ""
    _, begin, stop = best
    secrets = redactor.find(text)
    if stop - begin > LONGEST:
        named = min(
            (one.start() for pattern in patterns for one in pattern.finditer(text, begin, stop)), default=0
        )
        begin = max(begin, _word_start(text, begin, min(named - BEFORE, stop - LONGEST)))
        return " ".join(cover(text, secrets, begin, min(stop, begin + LONGEST)).split()) + "…"
    return " ".join(cover(text, secrets, begin, stop).split())


def _word_start(text: str, begin: int, at: int) -> int:
    """Return the start of the first word from `at` on, but at most `begin`."""
    if at <= begin:
        return begin
    blank = text.find(" ", at)
    return blank + 1 if 0 <= blank < at + BEFORE else at


def _rank(
    block: Block, unit: str, patterns: Sequence[re.Pattern[str]], known: Sequence[str]
) -> tuple[bool, int, bool]:
    plain = _plain(unit)
    described = any(one in plain for one in known)
    named = sum(pattern.search(unit) is not None for pattern in patterns)
    return described, named, block.form not in {BlockType.HEADING, BlockType.TABLE, BlockType.FENCE}
