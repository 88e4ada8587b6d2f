"""Select the answer from scored candidates: tiers, superseded ones, floor, duplicates, limit; or silence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from heapq import nlargest
from operator import attrgetter

from ragmem.domain.model import SHARED, Chunk, Match, Supersession
from ragmem.domain.model.supersession import mark_outdated, replace_superseded
from ragmem.domain.records.episodes import by_importance
from ragmem.domain.records.records import RECORDS, type_of
from ragmem.domain.retrieval.near_misses import absent_details, possible_speakers, told_of_another
from ragmem.domain.retrieval.proximity import Proximity
from ragmem.domain.retrieval.ranking import collapse
from ragmem.domain.retrieval.scoring import (
    Candidate,
    CandidateSet,
    Formula,
    Policy,
    ScoredMemory,
    code_share,
    known_terms,
    relevances,
    terms,
)
from ragmem.domain.text.gloss import known_share
from ragmem.domain.text.language import is_foreign
from ragmem.frozen import dataclass
from ragmem.services.retrieval.calibration import DEFAULT, Calibration, is_glossed
from ragmem.services.retrieval.question import Question, missing_line, this_about
from ragmem.services.retrieval.sources import RULE_IN_SCOPE, rule_reason
from ragmem.services.retrieval.supersessions import add_previous_versions
from ragmem.services.retrieval.validity import prefer_valid
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.rows import Outline

COLLAPSE_DEPTH = 3
"""Factor by which more memories are read than the limit, because some of them say the same."""

READ = 15
"""Minimum number of memories that are read, because their texts change their order."""

ONLY_DISCARDED = "only discarded texts match; --all-tiers always searches them"

ONLY_RULES = "no memory answers this, but these rules apply"

FULLY_COVERED = 0.999
"""Share of a question's words in one chunk that counts as all of them."""


BASE, PER_BACKGROUND = 0.23, 0.17
"""The floor of relevance for the bundled model: the lowest one that rejects four in five questions on other
subjects; of those with an answer it rejects 0.2 % (882 of nine sets, at most 1.7 % of one). A missing answer
costs a person more than a superfluous match. A floor for the cosine alone loses 5.6 % of one set."""

WITHOUT_WORDS = 0.06
"""Added to the floor if no word of the question is in the store, and only vectors count. Of 119 such
questions without an answer, over nine sets, 41 passed the plain floor, and 7 pass the one fitted to the other
eight sets. Of 1,159 questions with an answer one falls below it."""


MANY_WORDS, BELOW_UNMEASURED = 0.35, 0.02
"""In a store too small to be measured, a chunk with this share of the question's words answers a little below
the floor: there a question on another subject shares at most 0.2 with a chunk (96 questions, two sets)."""

CROWD = 20
"""Number of best memories behind which the evidence `crowd` is measured: the relevance of the next one. Where
the best is hardly above it, a question is about what much of the store is about."""

READ_FOR_DETAILS = 8
"""Number of memories, by their own relevance, that are asked for the details of a question."""

READ_FOR_SPEAKER = 6
"""Number of them whose texts are read for what speakers say of themselves; eight tell no more."""

TOLD_DETAILS = 3
"""Maximum details that a note names as missing."""

GLOSSED_FLOOR, GLOSSED_KNOWN = 0.3, 0.3
"""Where the best memory is in another language than an English question, or the model reads a gloss of a
question that has no glossary, an answer has a cosine of the floor or more; the share of the question's words
that are known counts with the second number."""

EVERYDAY_FLOOR = 0.23
"""The same for a question with a glossary. Its words in the glossary, which comes from messages of programs,
count as well, and the cosine of the nearest everyday question is subtracted: a question about bread is nearer
to others about bread than to a note."""

GLOSSED_NOTE, GLOSSED_COVERAGE = 0.08, 0.25
"""What is added to that floor if the best memory is glossed, too, because words that no glossary has are near
to each other; and the factor of the coverage of the best chunk, which then counts."""

GLOSSED_PER_BACKGROUND = 0.7
"""What is added to that floor for each unit of background above that of small stores: in a large store some
memory is near by chance, and most words are known.

Both sums are the largest that lose no further answer, the same for twelve of 13 choices of twelve languages.
Of the questions about other subjects in the one left out .46 -> .57 are met with silence in a store of their
language, .34 -> .46 with 400 English notes in it, and .53 -> .66 in these alone; of 550 answers 13 are lost
instead of 12."""

FOREIGN_NOTE = 0.1
"""An English question is answered by a gloss with a cosine that is at most so much below that of the nearest
everyday question. Of 28 such questions with an answer 2 are met with silence, without this 4; any number from
.05 to .2 gives the same."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The matches, best first; the evidence for an answer; a note if there is no match, or no answer in them.

    `missing` are the details of the question that no match has.
    """

    matches: tuple[Match, ...] = ()
    evidence: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    missing: tuple[str, ...] = ()


def select(
    catalog: Catalog,
    question: Question,
    found: CandidateSet,
    scores: Sequence[ScoredMemory],
    *,
    policy: Policy,
    now: datetime,
    known: Calibration | None,
    everyday: Callable[[str], float] | None = None,
    answered: bool = False,
) -> Selection:
    """Return the answer to a question; no matches if nothing answers by the calibration of the store.

    Texts of the tier discard answer where the question asks for them, or where nothing else does. `everyday`
    returns the cosine of a text with the nearest everyday question, `answered` tells that something answers a
    paraphrase of the question.
    """
    select_from = partial(
        _select,
        catalog,
        question,
        found,
        policy=policy,
        now=now,
        known=known,
        everyday=everyday,
        answered=answered,
    )
    # They have no vectors.
    unseen = [one.memory_id for one in scores if one.candidate is None or not one.candidate.compared]
    cold = set() if question.discarded == "always" else catalog.memories.buffered(unseen)
    selection = select_from([one for one in scores if one.memory_id not in cold] if cold else scores)
    if selection.matches or not cold or question.discarded == "never":
        return selection
    last = select_from([one for one in scores if one.memory_id in cold])
    return replace(last, note=ONLY_DISCARDED) if last.matches else selection


def _select(
    catalog: Catalog,
    question: Question,
    found: CandidateSet,
    scores: Sequence[ScoredMemory],
    *,
    policy: Policy,
    now: datetime,
    known: Calibration | None,
    everyday: Callable[[str], float] | None,
    answered: bool,
) -> Selection:
    evidence, answers = answer_evidence(catalog, found, scores, known, everyday if policy.abstain else None)
    silent = policy.abstain and not (answers or answered)
    note = _silence_note(found, scores, evidence, silent=silent)
    if silent:
        # What nothing answers may still be something that a rule applies to.
        applying = [one for one in scores if one.candidate and "rules" in one.candidate.further]
        ruled = _matches(catalog, question, found, applying, policy=policy, now=now)
        return Selection(ruled, evidence, ONLY_RULES if ruled else note)
    matches = _matches(catalog, question, found, scores, policy=policy, now=now)
    missing = _missing(catalog, question, found, scores, matches) if policy.abstain and not answered else ()
    return Selection(matches, evidence, note or missing_line(missing), missing)


def _missing(
    catalog: Catalog,
    question: Question,
    found: CandidateSet,
    scores: Sequence[ScoredMemory],
    matches: Sequence[Match],
) -> tuple[str, ...]:
    """Return the details of an English question that no memory among the best has.

    The last one is the speaker it asks about, if they say it only of another one.
    """
    query = found.query
    if not (matches and query.is_question) or query.required_phrases or is_foreign(query.text):
        return ()
    best = nlargest(READ_FOR_DETAILS, scores, key=attrgetter("own"))
    chunks = [chunk for item in best if item.candidate for chunk in item.candidate.chunks]
    absent = absent_details(query, found.frequencies, [found.having.get(chunk, 0) for chunk in chunks])
    missing = absent[:TOLD_DETAILS]
    if names := possible_speakers(query):
        outlines = catalog.memories.outlines([item.memory_id for item in best])
        passed = [
            item
            for item in best
            if item.memory_id in outlines and _passes(outlines[item.memory_id], question)
        ]
        keys = [item.chunk_id for item in passed[:READ_FOR_SPEAKER]]
        read = catalog.memories.some_chunks(keys)
        texts = [read[key].text for key in keys if key in read]
        if speaker := told_of_another(names, found.frequencies, texts):
            missing += (this_about(speaker),)
    # A text of another language has names in other letters, which the full text cannot compare.
    return () if missing and is_foreign(matches[0].memory.text) else missing


def _best_is_foreign(catalog: Catalog, scores: Sequence[ScoredMemory]) -> bool:
    """Return whether the best memory is in another language than English."""
    best = max(scores, key=lambda item: (item.own, item.memory_id)).memory_id
    return any(is_foreign(memory.text) for memory in catalog.memories.get([best]).values())


def answer_evidence(
    catalog: Catalog,
    found: CandidateSet,
    scores: Sequence[ScoredMemory],
    known: Calibration | None,
    everyday: Callable[[str], float] | None = None,
) -> tuple[dict[str, float], bool]:
    """Return the evidence terms, and whether something may answer the question.

    `everyday` returns the cosine of a text with the nearest everyday question.
    """
    if known is None or not scores or not found.by_vectors:
        return {}, True
    candidates = [item.candidate for item in scores if item.candidate is not None]
    compared = [item for item in scores if item.candidate is not None and item.candidate.compared]
    best = max([item.own for item in compared], default=0.0)
    in_chunk = max([one.evidence.coverage for one in candidates])
    standing = relevance_margin(best, known, by_words=found.by_words)
    evidence = {
        "relevance": best,
        "cosine": max([one.evidence.cosine for one in candidates if one.compared], default=0.0),
        "coverage": in_chunk,
        **standing.terms,
        "margin": standing.margin,
        **(
            {"crowd": nlargest(CROWD + 1, [item.own for item in compared])[-1]}
            if len(compared) > CROWD
            else {}
        ),
    }
    # Memories without a vector can only be judged by their words.
    waiting = [one.evidence.whole_coverage for one in candidates if not one.compared]
    by_words = bool(waiting) and coverage_margin(max(waiting), known).margin >= 0
    # Verbatim matches always answer, and so do a file, its edits, and events if only a time is asked for.
    verbatim = bool(found.query.required_phrases) or in_chunk > FULLY_COVERED
    lists = {"edits", "files", *(["dates"] if found.query.only_times else ())}
    listed = [one for one in candidates if one.further]
    recorded = any(not lists.isdisjoint(one.further) for one in listed)
    # So does a memory of the named time that has a further word of the question.
    of_then = any(one.further.get("dates") and one.evidence.whole_coverage for one in listed)
    unmeasured = not known.chunks and in_chunk >= MANY_WORDS and standing.margin >= -BELOW_UNMEASURED
    answers = by_words or verbatim or recorded or of_then
    glossed = is_glossed(found.query.text, known)
    share = known_share(found.query.text) if glossed and everyday is not None else None
    if everyday is not None and share is not None:
        evidence["everyday"] = everyday(found.query.text)
        above = max(0.0, known.cosine.mean - DEFAULT.cosine.mean)
        margin = evidence["cosine"] + GLOSSED_KNOWN * (found.known + share) - evidence["everyday"]
        margin -= EVERYDAY_FLOOR + GLOSSED_PER_BACKGROUND * above
        further = GLOSSED_COVERAGE * in_chunk - GLOSSED_NOTE
        # The best memory is read only if its language decides.
        if not answers and (margin >= 0) != (margin + further >= 0) and _best_is_foreign(catalog, scores):
            margin += further
        answers = answers or margin >= 0
        return evidence, answers
    answers = answers or standing.margin >= 0 or unmeasured
    # Models of all languages know, too, that a text says the same in another one, but less surely.
    crosses = not answers and not is_foreign(found.query.text) and _best_is_foreign(catalog, scores)
    if not answers and (glossed or crosses):
        answers = evidence["cosine"] + GLOSSED_KNOWN * found.known >= GLOSSED_FLOOR
        if not (answers or glossed) and everyday is not None:
            evidence["everyday"] = everyday(found.query.text)
            answers = evidence["cosine"] >= evidence["everyday"] - FOREIGN_NOTE
    return evidence, answers


@dataclass(frozen=True, slots=True)
class FloorMargin:
    """How far the best memory is above the floor, with the terms of the floor.

    With a negative `margin` the question usually has no answer here.
    """

    margin: float
    terms: dict[str, float] = field(default_factory=dict)


def relevance_margin(relevance: float, calibration: Calibration, *, by_words: bool = True) -> FloorMargin:
    """Return the margin of the best relevance (0..1); `by_words`: the store has a word of the question."""
    background = calibration.cosine.mean
    floor = BASE + PER_BACKGROUND * background + (0.0 if by_words else WITHOUT_WORDS)
    return FloorMargin(relevance - floor, {"background": background, "floor": floor})


def coverage_margin(coverage: float, calibration: Calibration) -> FloorMargin:
    """Return the margin of a memory without a vector, by the share (0..1) of the question's idf mass in it.

    Nineteen in twenty generic questions find less than the floor.
    """
    return FloorMargin(coverage - calibration.coverage.high, {"floor": calibration.coverage.high})


def _silence_note(
    found: CandidateSet, scores: Sequence[ScoredMemory], evidence: Mapping[str, float], *, silent: bool
) -> str:
    """Return why there is no match; `silent`: the matches are withheld."""
    if found.query.only_times and not any(
        item.candidate is not None and "dates" in item.candidate.further for item in scores
    ):
        return "no memory has an event at that time"
    if found.by_vectors and (not scores or (silent and "everyday" in evidence)):
        return "no memory is relevant enough to answer this; --nearest shows the nearest"
    if silent:
        return (
            f"no memory answers this: the best has a relevance of {evidence['relevance']:.2f}, an answer"
            f" needs {evidence['floor']:.2f}; --nearest shows the nearest"
        )
    return ""


def _matches(
    catalog: Catalog,
    question: Question,
    found: CandidateSet,
    scores: Sequence[ScoredMemory],
    *,
    policy: Policy,
    now: datetime,
) -> tuple[Match, ...]:
    """Return the matches, best first: joined with the catalog, aged, above the floor, collapsed."""
    query = found.query
    history = question.history or query.wants_history
    links = catalog.supersessions.in_force([item.memory_id for item in scores])
    if links and not history:
        scores = _replace_superseded(
            catalog, scores, links, alone=bool(query.required_phrases or query.excluded)
        )
    formula = Formula(query, policy, now)
    # If many say the same, more are read to fill the answer.
    wide = max(READ, question.limit * COLLAPSE_DEPTH)
    while True:
        leading, outlines = _top_candidates(catalog, question, scores, wide=wide, formula=formula)
        matches = _above_floor(catalog, leading, outlines, found, formula=formula)
        matches = prefer_valid(matches, query, weight=policy.time_weight, now=now)
        # Newer memories take the places of older ones, so duplicates are collapsed afterwards.
        standing = replace_superseded(matches, links, history=history)
        marks = catalog.supersessions.perhaps_outdated(match.memory.id for match in standing)
        marked = _mark_withheld(catalog, mark_outdated(standing, marks))
        groups = collapse(marked, shown=question.limit, versions=history)
        if len(groups) >= question.limit or len(leading) < wide or len(matches) < len(leading):
            break
        wide *= COLLAPSE_DEPTH
    candidates = {item.memory_id: item.candidate for item in leading}
    shown = groups[: question.limit]
    also = _further_chunks(catalog, [group.match for group in shown], candidates)
    return add_previous_versions(
        catalog,
        [
            replace(
                group.match,
                terms=_all_terms(group.match, candidates[group.match.memory.id], found),
                also=also[group.match.memory.id],
                duplicates=tuple(other.memory.id for other in group.duplicates),
                elsewhere=group.elsewhere,
            )
            for group in shown
        ],
    )


def _further_chunks(
    catalog: Catalog, matches: Sequence[Match], candidates: Mapping[str, Candidate | None]
) -> dict[str, tuple[Chunk, ...]]:
    """Return memory id -> the chunks that are shown beside its best one."""
    keys = {
        match.memory.id: candidate.also if (candidate := candidates[match.memory.id]) else ()
        for match in matches
    }
    chunks = catalog.memories.some_chunks(key for some in keys.values() for key in some)
    return {memory: tuple(chunks[key] for key in some if key in chunks) for memory, some in keys.items()}


def _all_terms(match: Match, candidate: Candidate | None, found: CandidateSet) -> dict[str, float]:
    """Return the terms of a match with its ranks and evidence, which only those that are shown need."""
    named = (terms(candidate, found) if candidate is not None else {}) | dict(match.terms)
    if "rules" in named:
        reason = rule_reason(match.memory.indexed_text, match.memory.title, found.query.text)
        named[f"{RULE_IN_SCOPE}{reason}"] = named.pop("rules")
    return named


def _mark_withheld(catalog: Catalog, matches: Sequence[Match]) -> list[Match]:
    """Return the matches with the mark of those that no person has accepted."""
    rows = catalog.lives.of(match.memory.id for match in matches)
    withheld = {key: row.approval.value for key, row in rows.items() if row.approval.is_withheld}
    return [
        replace(match, approval=withheld[match.memory.id]) if match.memory.id in withheld else match
        for match in matches
    ]


def _above_floor(
    catalog: Catalog,
    leading: Sequence[ScoredMemory],
    outlines: Mapping[str, Outline],
    found: CandidateSet,
    *,
    formula: Formula,
) -> list[Match]:
    """Return the matches above the floor, with their texts and the terms of their scores."""
    memories = catalog.memories.get(item.memory_id for item in leading)
    chunks = catalog.memories.some_chunks(item.chunk_id for item in leading)
    query = found.query
    near = Proximity(found.frequencies) if query.is_interrogative or query.pasted_error else None
    matches = []
    for item in leading:
        if item.memory_id not in memories or item.chunk_id not in chunks:
            continue
        memory, chunk, candidate = memories[item.memory_id], chunks[item.chunk_id], item.candidate
        together = near.of(f"{memory.title}\n{chunk.heading}\n{chunk.text}") if near is not None else None
        relevance, told = _reread(item, chunk.text, found, formula.policy, together)
        weight = by_importance(memory.metadata) if memory.source == RECORDS else 0.0
        outline = outlines[item.memory_id]
        aged = formula.terms(max(0.0, relevance + weight), outline.event_time, outline.kind)
        if memory.source == SHARED:
            aged["score"] *= formula.policy.shared_weight
        if not formula.passes(aged):
            continue
        named = known_terms(candidate, found) if candidate is not None else {}
        named |= told | ({"importance": weight} if weight else {}) | aged
        if item.inherited and item.inherited >= aged["relevance"]:
            named["superseded"] = aged["score"]
        matches.append(Match(memory, chunk, aged["score"], named))
    return matches


def _reread(
    item: ScoredMemory, text: str, found: CandidateSet, policy: Policy, together: float | None
) -> tuple[float, dict[str, float]]:
    """Return the relevance of a memory by the text of its best chunk, and what the text tells.

    `together` is its proximity to the question, None where that does not count.
    """
    relevance, code = item.relevance, code_share(text)
    if code and item.candidate is not None:
        _, relevance = relevances(item.candidate, found, policy, code=code)
        relevance = max(relevance, item.inherited)
    if together is None:
        return relevance, {"code": code}
    # The syntax of a program, not its meaning, puts words next to each other.
    proximity = (1 - code) * together
    return relevance + policy.proximity_weight * proximity, {"code": code, "proximity": proximity}


def _replace_superseded(
    catalog: Catalog, scores: Sequence[ScoredMemory], links: Mapping[str, Supersession], *, alone: bool
) -> list[ScoredMemory]:
    """Return the memories in force: each superseded one is replaced by its successor.

    A successor that was not found itself is added, unless `alone`: then only found memories are returned,
    including a superseded one if its successor was not found.
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
    kept |= {newer: ScoredMemory(newer, chunk, 0.0) for newer, chunk in missing.items()}
    for newer, relevance in inherited.items():
        if newer in kept and relevance > kept[newer].relevance:
            kept[newer] = kept[newer]._replace(relevance=relevance, inherited=relevance)
    return list(kept.values())


def _top_candidates(
    catalog: Catalog, question: Question, scores: Sequence[ScoredMemory], *, wide: int, formula: Formula
) -> tuple[list[ScoredMemory], dict[str, Outline]]:
    """Return the `wide` memories that could be in the answer, best first, and their outlines.

    Only the texts of these are read and compared. Only the outlines of possible ones are read, because the
    relevance limits the score.
    """
    outlines: dict[str, Outline] = {}
    leading: list[tuple[float, float, str, ScoredMemory]] = []
    best = 0.0
    for batch in batches(sorted(scores, key=attrgetter("relevance"), reverse=True), 2 * wide):
        if len(leading) == wide and -leading[-1][0] > formula.highest(batch[0].relevance):
            break
        read = catalog.memories.outlines([item.memory_id for item in batch])
        outlines |= {key: outline for key, outline in read.items() if _passes(outline, question)}
        for item in (one for one in batch if one.memory_id in outlines):
            best = max(best, item.relevance)
            if item.relevance >= formula.relevance_floor(best):
                outline = outlines[item.memory_id]
                aged = formula.score(item.relevance, outline.event_time, outline.kind)
                leading.append((-aged, -item.relevance, item.memory_id, item))
        leading = sorted(leading, key=lambda one: one[:3])[:wide]
    return [item for *_, item in leading], outlines


def _passes(outline: Outline, question: Question) -> bool:
    """Return whether a memory passes the filters of a question."""
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
