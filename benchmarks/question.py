"""Measure how often questions have cues, and whether the dates in them point at the answers.

For a question that names a date: how often its gold documents lie nearer to that date than the others of
its scope (half for equally near), how often one lies inside, and how many of the others do. By the set, and
by the length of what is named.
"""

import statistics
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import common
from inputs.retrieval_sets import Query, RetrievalSet, folders_of_sets

from ragmem.domain.retrieval.question import Query as Parsed
from ragmem.domain.retrieval.question import parse, time_match
from ragmem.domain.text.spans import Span

FEATURES = (
    "times",
    "asks_when",
    "wants_newest",
    "wants_history",
    "identifiers",
    "phrases",
    "excluded",
    "pasted_error",
)
LENGTHS = ("to 2 days", "to 2 weeks", "to a month", "longer", "open")
QUICK = 100

Judged = tuple[str, float, bool, float]
"""Length of what is named, area, whether a gold document lies inside, share of the others inside."""


def judge(query: Query, asked: Parsed, dated: Sequence[tuple[str, datetime]]) -> Judged | None:
    """Return what the dates of a question are worth; None where nothing with a date can be compared."""
    gold, others = [], []
    for uri, moment in dated:
        if query.haystack is None or uri in query.haystack:
            (gold if uri in query.gold else others).append(time_match(moment, asked.times))
    if not gold or not others:
        return None
    pairs = [(one > other) + (one == other) / 2 for one in gold for other in others]
    inside = sum(other == 1 for other in others) / len(others)
    return length_of(asked.times), statistics.fmean(pairs), max(gold) == 1, inside


def length_of(spans: Sequence[Span]) -> str:
    """Return the length of the longest span."""
    if any(start is None or end is None for start, end in spans):
        return "open"
    longest = max(end - start for start, end in spans if start and end)
    for name, days in zip(LENGTHS, (2, 14, 31), strict=False):
        if longest <= timedelta(days):
            return name
    return "longer"


def row_of(name: str, judged: Sequence[Judged]) -> list[str]:
    areas, insides, others = ([item[at] for item in judged] for at in (1, 2, 3))
    shares = [f"{statistics.fmean(values):.3f}" for values in (areas, insides, others)]
    return [name, str(len(judged)), *shares]


def main() -> None:
    options = common.arguments(__doc__.splitlines()[0], data="../shared/eval").parse_args()
    document: dict[str, Any] = {"benchmark": "question", "machine": common.machine(), "sets": {}}
    rows = []
    judged: list[Judged] = []
    count, seconds = 0, 0.0
    for folder in folders_of_sets(options.data):
        found = RetrievalSet.read(folder)
        queries = found.queries[:QUICK] if options.quick else found.queries
        started = time.process_time()
        read = [parse(query.text, now=query.at) for query in queries]
        seconds += time.process_time() - started
        count += len(read)
        told = {name: sum(bool(getattr(asked, name)) for asked in read) for name in FEATURES}
        dated: dict[str, list[tuple[str, datetime]]] = {}
        for draft in found.drafts:
            if draft.event_time is not None:
                dated.setdefault(draft.scope.project, []).append((draft.uri, draft.event_time))
        pairs = zip(queries, read, strict=True)
        own = [
            item
            for query, asked in pairs
            if asked.times and query.gold and (item := judge(query, asked, dated.get(query.scope, [])))
        ]
        if own:
            rows.append(row_of(found.name, own))
            judged += own
        document["sets"][found.name] = {"questions": len(read), "told": told, "dated": own}
    rows += [row_of(name, own) for name in LENGTHS if (own := [item for item in judged if item[0] == name])]
    document["microseconds"] = seconds / count * 1e6
    notes = [f"parsing a question takes {document['microseconds']:.0f} µs of processor time"]
    headers = ["questions that name a date", "questions", "area under curve", "gold inside", "others inside"]
    common.report("question", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
