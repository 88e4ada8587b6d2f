"""Retrieval sets: documents and questions with gold, and the metrics of what was found."""

import json
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragmem.config.settings import SourceSpec
from ragmem.domain.model import Draft, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.readers import markdown
from ragmem.readers.fields import as_fields
from ragmem.readers.files import read_text

DEPTH = 10
"""Matches that are looked at: what recall@10 and NDCG@10 need."""

NOWHEN = datetime(2026, 1, 1, tzinfo=UTC)
"""The moment of a question in a set without any date, so that two runs agree."""

METRICS = ("recall@5", "recall@10", "recall_any@5", "recall_all@5", "ndcg@10", "mrr", "hit@1", "hit@5")

CORPUS = "corpus"
"""The folder beside the sets that a set without documents of its own asks about."""

MAX_FILE_BYTES = 16_000_000

_FORMATS = ("%B-%d-%Y", "%Y%m%d_%H%M", "%Y%m%d", "%I:%M %p on %d %B, %Y", "%Y/%m/%d %H:%M")
_LABEL = re.compile(r"\[[^\]\n]*\]\s*")
"""The date in front of a turn, which its session has only once."""

_WORD = re.compile(r"\w+")
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
    """A question with the documents that answer it: none where it has no answer.

    `haystack` None means all of the scope.
    """

    id: str
    text: str
    scope: str
    category: str
    gold: frozenset[str]
    at: datetime
    haystack: frozenset[str] | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    answer: str = ""
    """The answer in words, if it stands verbatim in the gold."""
    evidence: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The passages that answer the question, by gold document, where the set knows them."""


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
        """Read a folder; documents whose date cannot be read count as undated.

        A folder with docs.jsonl and queries.jsonl holds both; one with dev.jsonl asks about the files of the
        corpus beside the sets.
        """
        if (folder / "docs.jsonl").is_file():
            drafts, rows = _documents(folder), read_lines(folder / "queries.jsonl")
        else:
            drafts = _files(folder.resolve().parent.parent / CORPUS, scope=folder.name)
            rows = read_lines(folder / "dev.jsonl")
        dates = [draft.event_time for draft in drafts]
        latest = max((date for date in dates if date), default=NOWHEN)
        texts = {draft.uri: draft.text for draft in drafts}
        turns = _turns_of_answers(folder)
        queries = tuple(
            Query(
                id=row["id"],
                text=row["query"],
                scope=row.get("scope") or folder.name,
                category=row.get("category") or "",
                gold=frozenset(row["gold"]),
                at=moment(row.get("ts") or "") or latest,
                haystack=frozenset(row["haystack"]) if row.get("haystack") else None,
                meta=row.get("meta") or {},
                answer=_verbatim(str(row.get("answer") or ""), [texts[one] for one in row["gold"]]),
                evidence=_evidence(row, texts, turns.get(row["id"], ())),
            )
            for row in rows
        )
        return cls(folder.name, drafts, queries, latest, dates.count(None))


def _turns_of_answers(folder: Path) -> dict[str, list[str]]:
    """Return the turns that answer each question of a set of sessions, from its set of turns beside it."""
    turns = folder.with_name(folder.name.replace("_session", "_turn"))
    if turns == folder or not (turns / "queries.jsonl").is_file():
        return {}
    texts = {one["id"]: _LABEL.sub("", one["text"], count=1) for one in read_lines(turns / "docs.jsonl")}
    return {row["id"]: [texts[one] for one in row["gold"]] for row in read_lines(turns / "queries.jsonl")}


def _evidence(row: Mapping[str, Any], texts: Mapping[str, str], turns: Sequence[str]) -> dict[str, list[str]]:
    if row.get("evidence"):
        return {one: [row["evidence"]] for one in row["gold"]}
    found = {one: [turn for turn in turns if turn in texts[one]] for one in row["gold"]}
    return {one: pieces for one, pieces in found.items() if pieces}


def _verbatim(answer: str, gold: Sequence[str]) -> str:
    """Return an answer if it stands in the gold in the same words, else ""."""
    words = plain(answer)
    return answer if words.strip() and any(words in plain(text) for text in gold) else ""


def plain(text: str) -> str:
    """Return the words of a text in lower case, with a blank before and after each."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def folders_of_sets(data: Path) -> list[Path]:
    """Return the folders that RetrievalSet.read takes, by name."""
    own = {path.parent for path in data.glob("*/queries.jsonl") if (path.parent / "docs.jsonl").is_file()}
    asked = {data / "questions"} if (data / "questions" / "dev.jsonl").is_file() else set()
    return sorted(own | (asked if (data.resolve().parent / CORPUS).is_dir() else set()))


def _documents(folder: Path) -> tuple[Draft, ...]:
    """Return the documents of a set; `files` in their metadata are the paths that they edited, one a line."""
    edits: dict[str, list[str]] = {}
    if (folder / "edits.jsonl").is_file():
        for row in read_lines(folder / "edits.jsonl"):
            edits.setdefault(row["session"], []).append(row["path"])
    return tuple(
        Draft(
            source="eval",
            uri=document["id"],
            text=document["text"],
            title=document.get("title") or "",
            event_time=moment(document.get("ts") or ""),
            scope=Scope(document["scope"]),
            metadata=as_fields(document.get("meta") or {})
            | ({"files": "\n".join(edits[document["id"]])} if document["id"] in edits else {}),
        )
        for document in read_lines(folder / "docs.jsonl")
    )


def _files(corpus: Path, *, scope: str) -> tuple[Draft, ...]:
    """Return the Markdown files of a corpus, read as `ragmem seed` reads them, by their relative paths.

    The times of copied files say nothing: a file that names no date itself counts as undated.
    """
    drafts: list[Draft] = []
    spec = SourceSpec("eval", (), corpus)
    for path in sorted(corpus.rglob("*.md")):
        read, _ = markdown.read(
            path.relative_to(corpus),
            read_text(path, max_bytes=MAX_FILE_BYTES),
            spec,
            changed=lambda: NOWHEN,
            scope=Scope(scope),
            redactor=DEFAULT,
        )
        drafts += [
            replace(draft, event_time=None if draft.event_time == NOWHEN else draft.event_time)
            for draft in read
        ]
    return tuple(drafts)


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
        "hit@1": float(any(hits[:1])),
        "hit@5": float(any(hits[:5])),
    }


def means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each metric; NaN for no rows."""
    if not rows:
        return dict.fromkeys(METRICS, math.nan)
    return {name: statistics.fmean(row[name] for row in rows) for name in METRICS}
