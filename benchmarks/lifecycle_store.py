"""Measure what gc does to a store of thousands of memories: what is still found, and among how many.

The store holds the notes of a corpus, each in its source and repository, and what was said, thought and done
in the transcripts of sessions, text by text. Developer questions are asked of all of it before and after gc.
A memory that was merged of others counts for the notes that it carries.
"""

import json
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
from retrieval_sets import DEPTH, RetrievalSet
from transcript_texts import Said, said_in
from vector_cache import CachedModels, VectorCache

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import index_pending
from ragmem.services.retrieval.query import Question

MEMORIES = 4_000
MEASURED = ("recall@5", "recall@10", "mrr")
PASSES = 6
"""Runs of gc at most, until one changes nothing."""

SOURCES = {
    "memory": "memory",
    "prd": "prds",
    "session_summary": "sessions",
    "plan_spec": "plans",
    "claude_md": "claudemds",
    "skill": "skills",
    "command": "commands",
    "agent": "agents",
}
"""Folder of the corpus -> source of the memories."""

SAMPLE = 50
QUICK = 400


def drafts_of(found: RetrievalSet, said: Sequence[Said]) -> list[Draft]:
    """Return the notes and the transcripts as drafts, oldest first."""
    notes = []
    for draft in found.drafts:
        folder, _, name = draft.uri.partition("/")
        project = "/".join(name.split("__")[:2])
        notes.append(replace(draft, source=SOURCES.get(folder, folder), scope=Scope(project)))
    texts = [
        Draft("transcripts", one.place, one.text, scope=Scope(one.project), event_time=one.at) for one in said
    ]
    return sorted((*notes, *texts), key=lambda draft: (draft.event_time or found.latest, draft.uri))


def chosen(said: Sequence[Said], room: int) -> list[Said]:
    """Return all that was said, then thought, then done, then returned by tools, as far as there is room."""
    kept: list[Said] = []
    for sort in ("said", "thought", "done", "returned"):
        of_sort = [one for one in said if one.sort == sort]
        left = room - len(kept)
        if left < len(of_sort):
            # Evenly spaced, so that no session ends early.
            of_sort = [of_sort[place * len(of_sort) // left] for place in range(left)] if left > 0 else []
        kept += of_sort
    return kept


def store(memory: Ragmem, drafts: Sequence[Draft], *, now: Any) -> None:
    """Put the drafts into the store as ingesting does; notes are kept whatever their signal."""
    memory.prepare()
    for start in range(0, len(drafts), 48):
        judged = [
            classify_draft(
                draft,
                now=now,
                sizes=memory.settings.chunking,
                rule="graded" if draft.source == "transcripts" else "off",
                keep_discarded=True,
                redactor=DEFAULT,
            )
            for draft in drafts[start : start + 48]
        ]
        memory.catalog.memories.accept([(item.memory, item.chunks) for item in judged])
        index_pending(memory.catalog, memory.store)


def carried(memory: Ragmem) -> dict[str, frozenset[str]]:
    """Return memory -> the places that its text comes from, those of merged ones' originals included."""
    places: dict[str, str] = dict(memory.catalog.memories.uris(memory.catalog.memories.ids()))
    archived = {one.memory.id: one.memory.uri for one in memory.catalog.archive.each()}

    def of(identifier: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
        originals = memory.catalog.gc_runs.originals([identifier]).get(identifier, [])
        own = {places.get(identifier) or archived.get(identifier, "")}
        inner = (of(one, seen | {identifier}) for one in originals if one not in seen)
        return frozenset(own.union(*inner))

    return {identifier: of(identifier) for identifier in places}


def asked(memory: Ragmem, found: RetrievalSet) -> dict[str, Any]:
    """Return the mean metrics of all questions, and what each of them found."""
    carries = carried(memory)
    rows, details, seconds = [], {}, []
    for query in found.queries:
        if not query.gold:
            continue
        question = Question(query.text, projects=None, limit=DEPTH)
        started = time.perf_counter()
        matches = memory.query(query.text, question=question, at=query.at).matches
        seconds.append(time.perf_counter() - started)
        ranked = [
            frozenset[str]().union(
                *(carries.get(key, frozenset()) for key in (match.memory.id, *match.duplicates))
            )
            for match in matches
        ]
        rows.append(
            {
                "recall@5": len(query.gold & frozenset[str]().union(*ranked[:5])) / len(query.gold),
                "recall@10": len(query.gold & frozenset[str]().union(*ranked)) / len(query.gold),
                "mrr": next((1 / place for place, one in enumerate(ranked, 1) if one & query.gold), 0.0),
            }
        )
        details[query.id] = {
            "recall@5": rows[-1]["recall@5"],
            "found": [match.memory.uri for match in matches],
        }
    return {
        "mean": {name: statistics.fmean(row[name] for row in rows) for name in MEASURED},
        "questions": len(rows),
        "seconds": common.spread(seconds),
        "details": details,
    }


def searched(memory: Ragmem) -> dict[str, int]:
    """Return how many memories a question searches by default, by their sort."""
    counts: Counter[str] = Counter()
    for entry in memory.catalog.lives.entries(policy=memory.settings.lifecycle.policy):
        if not entry.superseded_by:
            counts[_sort(entry.memory.source, entry.memory.uri)] += 1
    return dict(counts)


def _sort(source: str, uri: str) -> str:
    return uri.rpartition("|")[2] if source == "transcripts" else source


def collect(memory: Ragmem) -> list[dict[str, Any]]:
    """Run gc until it changes nothing; return what each pass did."""
    passes: list[dict[str, Any]] = []
    for _ in range(PASSES):
        started = time.perf_counter()
        plan = memory.gc.plan()
        if not plan.active_items():
            break
        outcome = memory.gc.apply(plan, allow_large=True)
        passes.append(
            {
                "seconds": time.perf_counter() - started,
                "large": plan.large,
                "counts": {f"{action}/{rule}": count for (action, rule), count in plan.counts().items()},
                "changed": outcome.changed_count,
                "made": outcome.made,
                "note": outcome.note or plan.note,
            }
        )
        if not outcome.changed_count:
            break
    return passes


def sample(memory: Ragmem, path: Path) -> None:
    """Write some archived memories whose text lives on nowhere, to be read; always the same ones."""
    gone = [one for one in memory.catalog.archive.each() if one.rule != "cluster"]
    gone.sort(key=lambda one: one.memory.id)
    random.Random(SAMPLE).shuffle(gone)
    with path.open("w", encoding="utf-8") as file:
        for one in gone[:SAMPLE]:
            row = {
                "rule": one.rule,
                "reason": one.reason,
                "source": one.memory.source,
                "uri": one.memory.uri,
                "text": one.memory.text,
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "ragmem-vectors",
        metavar="DIR",
        help="where vectors are kept between runs",
    )
    parser.add_argument("--sample", type=Path, metavar="FILE", help="write 50 archived memories, to be read")
    parser.add_argument("--said", action="store_true", help="only notes and what was said and thought")
    options = parser.parse_args()
    about = common.machine()
    found = RetrievalSet.read(options.data / "questions")
    room = QUICK if options.quick else MEMORIES - len(found.drafts)
    said = said_in(options.data.resolve().parent / "corpus")
    if options.said:
        said = [one for one in said if one.sort in {"said", "thought"}]
    drafts = drafts_of(found, chosen(said, room))
    with common.temporary_folder("lifecycle") as place:
        outer = Ragmem.open(environ=common.environment(place), home=place, cwd=place)
        cache = VectorCache(options.cache, outer.models.embedder)
        models = CachedModels(outer.models, cache)
        with Ragmem(outer.settings, home=place, cwd=place, models=models) as memory:
            started = time.perf_counter()
            store(memory, drafts, now=found.latest)
            memory.retrieval.calibrate()
            stored = time.perf_counter() - started
            common.tell(f"stored {len(drafts)} drafts in {stored:.0f} s")
            before, searched_before = asked(memory, found), searched(memory)
            passes = collect(memory)
            after, searched_after = asked(memory, found), searched(memory)
            archived = Counter(
                f"{one.rule}/{_sort(one.memory.source, one.memory.uri)}"
                for one in memory.catalog.archive.each()
            )
            protected = sum(one.memory.protected for one in memory.catalog.archive.each())
            if options.sample:
                sample(memory, options.sample)
        cache.close()
        outer.close()
    document = {
        "benchmark": "lifecycle_store",
        "machine": about,
        "stored_seconds": stored,
        "before": before,
        "after": after,
        "searched_before": searched_before,
        "searched_after": searched_after,
        "passes": passes,
        "archived": dict(archived),
        "protected_archived": protected,
    }
    report(document, options)


def report(document: Mapping[str, Any], options: Any) -> None:
    """Print the tables, and write the files that were asked for."""
    before, after = document["searched_before"], document["searched_after"]
    totals = sum(before.values()), sum(after.values())
    rows = [
        [
            "retrieval",
            *(
                f"{document['before']['mean'][name]:.3f} -> {document['after']['mean'][name]:.3f}"
                for name in MEASURED
            ),
        ]
    ]
    fewer = (
        f"{totals[0]:,} memories searched before, {totals[1]:,} after: {1 - totals[1] / totals[0]:.1%} fewer"
    )
    notes = [
        f"{document['before']['questions']} questions of all projects; {fewer}",
        "searched, by what they are: "
        + ", ".join(f"{name} {before[name]:,} -> {after.get(name, 0):,}" for name in sorted(before))
        + "".join(f", {name} {after[name]:,} new" for name in sorted(set(after) - set(before))),
        "archived, by rule: "
        + (", ".join(f"{name} {count:,}" for name, count in sorted(document["archived"].items())) or "none")
        + f"; protected ones {document['protected_archived']}",
        *(
            f"pass {number}: {one['changed']:,} changed, {one['made']:,} merged memories made,"
            f" {one['seconds']:.1f} s"
            + (", more than half at once" if one["large"] else "")
            + (f" ({one['note']})" if one["note"] else "")
            for number, one in enumerate(document["passes"], 1)
        ),
    ]
    headers = ["lifecycle on a store", "recall@5", "recall@10", "MRR"]
    common.report("lifecycle_store", dict(document), headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
