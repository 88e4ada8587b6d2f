"""Retrieval sets: documents and questions with gold, and the metrics of what was found."""

import json
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragmem.domain.model import Draft, Scope

DEPTH = 10
"""Matches that are looked at: what recall@10 and NDCG@10 need."""

NOWHEN = datetime(2026, 1, 1, tzinfo=UTC)
"""The moment of a question in a set without any date, so that two runs agree."""

METRICS = ("recall@5", "recall@10", "recall_any@5", "recall_all@5", "ndcg@10", "mrr")

_FORMATS = ("%B-%d-%Y", "%Y%m%d_%H%M", "%Y%m%d", "%I:%M %p on %d %B, %Y", "%Y/%m/%d %H:%M")
_WEEKDAY = re.compile(r"\s*\([A-Z][a-z]{2}\)")


def moment(text: str) -> datetime | None:
    """Return the moment that a `ts` names, in UTC where it names no zone; None where it cannot be read."""
    plain = _WEEKDAY.sub("", text.strip())
    if not plain:
        return None
    for form in _FORMATS:
        try:
            return datetime.strptime(plain, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        found = datetime.fromisoformat(plain)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Query:
    """A question with the documents that answer it; `haystack` None means all of the scope."""

    id: str
    text: str
    scope: str
    category: str
    gold: frozenset[str]
    at: datetime
    haystack: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """Documents and questions of one folder."""

    name: str
    drafts: tuple[Draft, ...]
    queries: tuple[Query, ...]
    latest: datetime
    undated: int

    @classmethod
    def read(cls, folder: Path) -> "RetrievalSet":
        """Read a folder; documents whose date cannot be read count as undated."""
        documents = read_lines(folder / "docs.jsonl")
        dates = [moment(document.get("ts") or "") for document in documents]
        latest = max((date for date in dates if date), default=NOWHEN)
        drafts = tuple(
            Draft(
                source="eval",
                uri=document["id"],
                text=document["text"],
                title=document.get("title") or "",
                event_time=date,
                scope=Scope(document["scope"]),
            )
            for document, date in zip(documents, dates, strict=True)
        )
        queries = tuple(
            Query(
                id=row["id"],
                text=row["query"],
                scope=row["scope"],
                category=row.get("category") or "",
                gold=frozenset(row["gold"]),
                at=moment(row.get("ts") or "") or latest,
                haystack=frozenset(row["haystack"]) if row.get("haystack") else None,
            )
            for row in read_lines(folder / "queries.jsonl")
        )
        return cls(folder.name, drafts, queries, latest, dates.count(None))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def metrics_of(found: Sequence[str], gold: frozenset[str]) -> dict[str, float]:
    """Return the metrics of one question that has gold; DCG is binary, MRR looks at the first ten."""
    hits = [name in gold for name in found[:DEPTH]]
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(gold), DEPTH)))
    gained = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits) if hit)
    return {
        "recall@5": sum(hits[:5]) / len(gold),
        "recall@10": sum(hits) / len(gold),
        "recall_any@5": float(any(hits[:5])),
        "recall_all@5": float(sum(hits[:5]) == len(gold)),
        "ndcg@10": gained / ideal,
        "mrr": next((1 / (place + 1) for place, hit in enumerate(hits) if hit), 0.0),
    }


def means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each metric; NaN for no rows."""
    if not rows:
        return dict.fromkeys(METRICS, math.nan)
    return {name: statistics.fmean(row[name] for row in rows) for name in METRICS}
