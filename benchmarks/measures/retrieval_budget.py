"""The share of gold in the block of `ragmem query --context` within a budget, and in an MCP search."""

import re
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise

from inputs.retrieval_sets import Query, plain

from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.text.excerpts import estimate_tokens
from ragmem.mcp.search import index_lines
from ragmem.services.context.context import context, memories_for
from ragmem.services.retrieval.query import Answer

BUDGETS = {"1k": 1_000, "4k": 4_000}
"""The budgets in tokens, by the names of their columns."""

HELD = 0.5
"""Minimum share of the word pairs of a piece of evidence that stand in the block."""

_WORD = re.compile(r"\w+")


USUAL = 8
"""Memories that a question finds by default."""


def budget_metrics(
    ask: Callable[[int], Answer], query: Query, documents: Mapping[str, str]
) -> dict[str, float]:
    """Return for each budget the share of the gold that the block holds, and whether it holds the answer.

    `ask` returns the answer to the question with a maximum number of memories, `documents` gives the document
    of a memory. A document whose evidence is known is held if the block has this evidence, else if the block
    shows anything of it. There is no `answer@1k` where the answer does not stand verbatim in the gold.
    """
    found: dict[str, float] = {}
    for name, tokens in BUDGETS.items():
        block = context(ask(memories_for(tokens, USUAL)), tokens=tokens, redactor=DEFAULT)
        found |= _held(name, block.text, {documents[memory.id] for memory in block.memories}, query)
    matches = ask(USUAL).matches
    lines = index_lines(matches, query.text, labels=[""] * len(matches), redactor=DEFAULT)
    return found | _held("index", "\n".join(lines), {documents[one.memory.id] for one in matches}, query)


def _held(name: str, text: str, shown: Collection[str], query: Query) -> dict[str, float]:
    said = _pairs(text)
    held = [
        any(_is_held(piece, said) for piece in query.evidence[one]) if one in query.evidence else one in shown
        for one in query.gold
    ]
    found = {f"gold@{name}": sum(held) / len(held), f"tokens@{name}": float(estimate_tokens(text))}
    if query.answer:
        found[f"answer@{name}"] = float(plain(query.answer) in plain(text))
    return found


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(_WORD.findall(text.lower())))


def _is_held(piece: str, said: frozenset[tuple[str, str]]) -> bool:
    pairs = _pairs(piece)
    return len(pairs & said) >= HELD * len(pairs)


def budget_means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each metric over the questions that have it."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: statistics.fmean(row[name] for row in rows if name in row) for name in names}
