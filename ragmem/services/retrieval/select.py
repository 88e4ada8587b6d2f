"""Select the answer from scored candidates: superseded ones, floor, duplicates, limit; or silence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ragmem.domain.model import Match, Supersession
from ragmem.domain.model.supersession import replace_superseded
from ragmem.domain.records.episodes import by_importance
from ragmem.domain.records.records import RECORDS, type_of
from ragmem.domain.retrieval.ranking import collapse
from ragmem.domain.retrieval.scoring import (
    CandidateSet,
    Formula,
    Policy,
    Scored,
    code_share,
    relevances,
    terms,
)
from ragmem.services.retrieval.asking import Question
from ragmem.services.retrieval.calibration import Calibration
from ragmem.services.retrieval.superseding import with_former
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.rows import Outline, chunk_from

COLLAPSE_DEPTH = 3
"""How many times as many memories as are wanted are read, since some of them say the same."""

FULLY_COVERED = 0.999
"""Share of a question's words in one chunk that counts as all of them."""


BASE, PER_BACKGROUND = 0.23, 0.17
"""The floor of relevance for the bundled model: the lowest at which four in five questions on other subjects
fall below it; of those with an answer 0.2 % do (882 of nine sets, at most 1.7 % of one). Silence costs a
person more than a match too many. A floor for the cosine alone loses 5.6 % of one set."""

WITHOUT_WORDS = 0.06
"""What the floor is higher where no word of the question is in the store: only the nearest vector speaks.
Of 119 such questions without an answer, over nine sets, 41 passed the plain floor, and 7 pass the one that
the other eight sets ask for. Of 1,159 questions with an answer one falls below it."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The matches, best first; by what it was decided whether anything answers; why there is no match."""

    matches: tuple[Match, ...] = ()
    evidence: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


def select(
    catalog: Catalog,
    question: Question,
    found: CandidateSet,
    scores: Sequence[Scored],
    *,
    policy: Policy,
    now: datetime,
    known: Calibration | None,
    answered: bool = False,
) -> Selection:
    """Return what answers a question; nothing where, by the calibration of the store, nothing does.

    `answered` tells that something answers the question in other words.
    """
    evidence, answers = evidence_of_answer(found, scores, known)
    silent = policy.abstain and not (answers or answered)
    note = _why_nothing(found, scores, evidence, silent=silent)
    if silent:
        return Selection((), evidence, note)
    return Selection(_matches(catalog, question, found, scores, policy=policy, now=now), evidence, note)


def evidence_of_answer(
    found: CandidateSet, scores: Sequence[Scored], known: Calibration | None
) -> tuple[dict[str, float], bool]:
    """Return the terms of whether anything here answers the question, and whether something may."""
    if known is None or not scores or not found.by_vectors:
        return {}, True
    candidates = [item.candidate for item in scores if item.candidate is not None]
    compared = [item for item in scores if item.candidate is not None and item.candidate.compared]
    best = max((item.own for item in compared), default=0.0)
    in_chunk = max(one.evidence.coverage for one in candidates)
    standing = by_relevance(best, known, by_words=found.by_words)
    evidence = {
        "relevance": best,
        "cosine": max((one.evidence.cosine for one in candidates if one.compared), default=0.0),
        "coverage": in_chunk,
        **standing.terms,
        "margin": standing.margin,
    }
    # What has no vector yet can only be judged by its words.
    waiting = [one.evidence.whole_coverage for one in candidates if not one.compared]
    by_words = bool(waiting) and by_coverage(max(waiting), known).margin >= 0
    # Who asks for words is answered by where they all stand, who asks for a file's edits by those, and who
    # asks for nothing but a time by what happened then.
    verbatim = bool(found.query.required) or in_chunk > FULLY_COVERED
    lists = {"edits", "dates"} if found.query.only_times else {"edits"}
    recorded = any(not lists.isdisjoint(one.further) for one in candidates)
    return evidence, standing.margin >= 0 or by_words or verbatim or recorded


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the best memory stands above what questions without an answer find.

    `margin` is its distance from the floor; below 0 the question has, as a rule, no answer here.
    """

    margin: float
    terms: dict[str, float] = field(default_factory=dict)


def by_relevance(relevance: float, calibration: Calibration, *, by_words: bool = True) -> Standing:
    """Return how the best relevance (0..1) stands; `by_words`: some word of the question is in the store."""
    background = calibration.cosine.mean
    floor = BASE + PER_BACKGROUND * background + (0.0 if by_words else WITHOUT_WORDS)
    return Standing(relevance - floor, {"background": background, "floor": floor})


def by_coverage(coverage: float, calibration: Calibration) -> Standing:
    """Return how a memory stands that has no vector, by the share (0..1) of the question's idf mass in it.

    Nine in twenty generic questions find less than the floor.
    """
    return Standing(coverage - calibration.coverage.high, {"floor": calibration.coverage.high})


def _why_nothing(
    found: CandidateSet, scores: Sequence[Scored], evidence: Mapping[str, float], *, silent: bool
) -> str:
    """Return why nothing is found; `silent`: what was found is held back."""
    if found.query.only_times and not any(
        item.candidate is not None and "dates" in item.candidate.further for item in scores
    ):
        return "nothing here happened then"
    if found.by_vectors and not scores:
        return "nothing here comes near enough to answer it; --nearest shows what is nearest"
    if silent:
        return (
            f"nothing here answers it: the best memory has a relevance of {evidence['relevance']:.2f}, and an"
            f" answer {evidence['floor']:.2f} or more; --nearest shows what is nearest"
        )
    return ""


def _matches(
    catalog: Catalog,
    question: Question,
    found: CandidateSet,
    scores: Sequence[Scored],
    *,
    policy: Policy,
    now: datetime,
) -> tuple[Match, ...]:
    """Return the matches, best first: joined with the catalog, aged, above the floor, collapsed."""
    query = found.query
    history = question.history or query.wants_history
    links = catalog.supersessions.in_force([item.memory_id for item in scores])
    if links and not history:
        scores = _replace_superseded(catalog, scores, links, alone=bool(query.required or query.excluded))
    formula = Formula(query, policy, now)
    # Where many say the same, the answer has room for others: then more are read.
    wide = question.limit * COLLAPSE_DEPTH
    while True:
        leading, outlines = _leading(catalog, question, scores, wide=wide, formula=formula)
        matches = _above_floor(catalog, leading, outlines, found, formula=formula)
        # The newer ones stand where the older ones would, so duplicates are looked for afterwards.
        groups = collapse(replace_superseded(matches, links, history=history), shown=question.limit)
        if len(groups) >= question.limit or len(leading) < wide or len(matches) < len(leading):
            break
        wide *= COLLAPSE_DEPTH
    return with_former(
        catalog,
        [
            replace(
                group.match,
                duplicates=tuple(other.memory.id for other in group.duplicates),
                elsewhere=group.elsewhere,
            )
            for group in groups[: question.limit]
        ],
    )


def _above_floor(
    catalog: Catalog,
    leading: Sequence[Scored],
    outlines: Mapping[str, Outline],
    found: CandidateSet,
    *,
    formula: Formula,
) -> list[Match]:
    """Return the matches above the floor, with their texts and the terms of their scores."""
    memories = catalog.memories.get(item.memory_id for item in leading)
    further = {item.memory_id: item.candidate.also if item.candidate else () for item in leading}
    rows = catalog.memories.chunks_by_id(
        key for item in leading for key in (item.chunk_id, *further[item.memory_id])
    )
    matches = []
    for item in leading:
        if item.memory_id not in memories or item.chunk_id not in rows:
            continue
        memory, candidate = memories[item.memory_id], item.candidate
        chunk = chunk_from(memory, rows[item.chunk_id][1])
        code = code_share(chunk.text)
        relevance = item.relevance
        if code and candidate is not None:
            _, relevance = relevances(candidate, found, formula.policy, code=code)
            relevance = max(relevance, item.inherited)
        weight = by_importance(memory.metadata) if memory.source == RECORDS else 0.0
        outline = outlines[item.memory_id]
        aged = formula.terms(max(0.0, relevance + weight), outline.event_time, outline.kind)
        if not formula.passes(aged):
            continue
        named = terms(candidate, found) if candidate is not None else {}
        named |= {"code": code} | ({"importance": weight} if weight else {}) | aged
        if item.inherited and item.inherited >= aged["relevance"]:
            named["superseded"] = aged["score"]
        also = tuple(chunk_from(memory, rows[key][1]) for key in further[item.memory_id] if key in rows)
        matches.append(Match(memory, chunk, aged["score"], named, also=also))
    return matches


def _replace_superseded(
    catalog: Catalog, scores: Sequence[Scored], links: Mapping[str, Supersession], *, alone: bool
) -> list[Scored]:
    """Return the memories that hold: each superseded one gives its place to the one that replaced it.

    That one comes in where it was not found itself, but for `alone`: then only what was found is shown, the
    superseded one as well where nothing found is in its place.
    """
    kept = {item.memory_id: item for item in scores if item.memory_id not in links}
    if alone:
        kept |= {
            item.memory_id: item
            for item in scores
            if item.memory_id in links and links[item.memory_id].newer not in kept
        }
    inherited: dict[str, float] = {}
    for item in scores:
        if item.memory_id in links:
            newer = links[item.memory_id].newer
            inherited[newer] = max(inherited.get(newer, 0.0), item.relevance)
    missing = {} if alone else catalog.memories.openings(inherited.keys() - kept.keys())
    kept |= {newer: Scored(newer, chunk, 0.0) for newer, chunk in missing.items()}
    for newer, relevance in inherited.items():
        if newer in kept and relevance > kept[newer].relevance:
            kept[newer] = replace(kept[newer], relevance=relevance, inherited=relevance)
    return list(kept.values())


def _leading(
    catalog: Catalog, question: Question, scores: Sequence[Scored], *, wide: int, formula: Formula
) -> tuple[list[Scored], dict[str, Outline]]:
    """Return the `wide` memories that could reach the answer, best first, and their outlines.

    Texts are read, and compared with each other, only of these; outlines only of those that could be among
    them, because a relevance limits the score.
    """
    outlines: dict[str, Outline] = {}
    leading: list[tuple[float, float, str, Scored]] = []
    best = 0.0
    for batch in batches(sorted(scores, key=lambda item: -item.relevance), 2 * wide):
        if len(leading) == wide and -leading[-1][0] > formula.highest(batch[0].relevance):
            break
        read = catalog.memories.outlines([item.memory_id for item in batch])
        outlines |= {key: outline for key, outline in read.items() if _passes(outline, question)}
        for item in (one for one in batch if one.memory_id in outlines):
            best = max(best, item.relevance)
            if item.relevance >= formula.relevance_floor(best):
                outline = outlines[item.memory_id]
                aged = formula.terms(item.relevance, outline.event_time, outline.kind)
                leading.append((-aged["score"], -item.relevance, item.memory_id, item))
        leading = sorted(leading, key=lambda one: one[:3])[:wide]
    return [item for *_, item in leading], outlines


def _passes(outline: Outline, question: Question) -> bool:
    """Tell whether a memory passes the filters of a question."""
    return (
        (question.projects is None or outline.project in question.projects)
        and (not question.kinds or outline.kind in question.kinds)
        and (not question.sources or outline.source in question.sources)
        and (not question.spec or outline.spec == question.spec)
        and (not question.tags or bool(set(question.tags) & set(outline.tags)))
        and (not question.types or type_of(outline.source, outline.tags) in question.types)
        and (not question.categories or outline.category in question.categories)
        and (question.since is None or outline.event_time >= question.since)
        and (question.until is None or outline.event_time < question.until)
    )
