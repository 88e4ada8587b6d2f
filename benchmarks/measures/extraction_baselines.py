"""Simpler extractors for comparison: code spans, capitals and paths, and the key phrases of yake."""

import importlib.util
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

from ragmem.domain.model import Chunk, Entity, Extraction, Relation
from ragmem.domain.text.blocks import units

PHRASES = 20
"""Key phrases taken of a passage: as many as annotators find names in one."""

YAKE = "pip install yake"

_CODE = re.compile(r"`([^`\n]{2,80})`")
_CAPITALS = re.compile(r"(?<![.!?:|\-*#>] )(?<!^)\b[A-Z][\w+#]*(?:[ -][A-Z][\w+#]*)*")
_PATHS = re.compile(r"(?<![\w`])(?:[~.]{0,2}/)?(?:[\w.-]+/)+[\w.-]*|\b[\w-]+\.[a-z]{1,5}\b")

Find = Callable[[str], Sequence[str]]


def code_spans(text: str) -> list[str]:
    """Return what stands in backticks."""
    return list(dict.fromkeys(_CODE.findall(text)))


def surface(text: str) -> list[str]:
    """Return what stands in backticks, runs of words with a capital inside a sentence, and paths."""
    rest = _CODE.sub(" ` ", text)
    return list(dict.fromkeys([*_CODE.findall(text), *_PATHS.findall(rest), *_CAPITALS.findall(rest)]))


def phrases() -> Find | None:
    """Return what finds the key phrases of a text by yake, or None where yake is not installed."""
    if importlib.util.find_spec("yake") is None:
        return None
    import yake

    extractor: Any = yake.KeywordExtractor(lan="en", n=3, dedupLim=0.7, top=PHRASES)

    def find(text: str) -> list[str]:
        return [phrase for phrase, _ in extractor.extract_keywords(text)]

    return find


def extraction(chunk: Chunk, find: Find) -> Extraction:
    """Return these names as entities of no type, related where they stand in one sentence or line."""
    names = [name.strip() for name in find(chunk.text) if name.strip()]
    entities = tuple(Entity(name, "", name) for name in dict.fromkeys(names))
    return Extraction(chunk.id, entities, tuple(_co_mentioned(chunk.text, [one.name for one in entities])))


def _co_mentioned(text: str, names: Sequence[str]) -> Iterator[Relation]:
    """Yield the pairs of names that stand in one statement, each pair once."""
    seen: set[tuple[str, str]] = set()
    for _, start, end in units(text):
        statement = text[start:end]
        folded = statement.casefold()
        here = [name for name in names if name.casefold() in folded]
        for pair in combinations(here, 2):
            if pair not in seen:
                seen.add(pair)
                yield Relation(*pair, "co-mentioned", statement)
