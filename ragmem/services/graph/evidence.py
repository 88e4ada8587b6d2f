"""Where the parts of the graph come from: the memories that speak of them, each with its sentence."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragmem.domain.model import Memory
from ragmem.domain.secrets.redaction import Redactor, cover
from ragmem.domain.text.blocks import Block, Form, units
from ragmem.storage.home.catalog import Catalog

LONGEST = 300
"""Characters of a sentence that is shown; of a longer one, those around the name."""

BEFORE = 100
"""Characters before the name in a sentence that is cut."""

COMPARED = 60
"""Characters by which a description is known again in a text; a long one was cut."""


@dataclass(frozen=True, slots=True)
class Told:
    """A memory that speaks of something, when that was, and its sentence without secrets.

    `chunks` is the number of its chunks that do.
    """

    memory_id: str
    project: str
    source: str
    title: str
    event_time: datetime
    text: str
    chunks: int = 1


@dataclass(frozen=True, slots=True)
class Spot:
    """A memory that speaks of something, and where in it: the ids of its chunks, in order."""

    memory_id: str
    event_time: datetime
    chunks: tuple[str, ...]


def spots(catalog: Catalog, chunk_ids: Iterable[str]) -> list[Spot]:
    """Return the memories of these chunks, the latest event first; no text is read."""
    chunks = catalog.memories.chunks_by_id(chunk_ids)
    inside: dict[str, list[tuple[int, str]]] = {}
    for chunk, (memory, row) in chunks.items():
        inside.setdefault(memory, []).append((row[1], chunk))
    outlines = catalog.memories.outlines(inside)
    found = [
        Spot(memory, outlines[memory].event_time, tuple(chunk for _, chunk in sorted(placed)))
        for memory, placed in inside.items()
        if memory in outlines
    ]
    return sorted(found, key=lambda spot: (spot.event_time, spot.memory_id), reverse=True)


def told(
    catalog: Catalog, found: Sequence[Spot], names: Sequence[str], *, descriptions: Sequence[str] = ()
) -> list[Told]:
    """Return for each spot what its memory says there: the sentence of a description, else with the names.

    That is the sentence with most of the names, one in a heading or table last; of several the first.
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
            Told(
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
    """Return where the first word from `at` on begins; `begin` where that is before it."""
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
    return described, named, block.form not in {Form.HEADING, Form.TABLE, Form.FENCE}
