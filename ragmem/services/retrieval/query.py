"""Answer a question in four steps: parse -> retrieve -> score -> select."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from ragmem.domain.model import Hit, Match
from ragmem.domain.retrieval.question import parse
from ragmem.domain.retrieval.scoring import (
    GLOSSED_SIMILARITY,
    Policy,
    ScoredMemory,
    aged_policy,
    glossed_policy,
    score,
)
from ragmem.errors import BackendError, UsageError
from ragmem.frozen import dataclass
from ragmem.ports import Store
from ragmem.services.processes.dates import LOCAL
from ragmem.services.retrieval.calibration import Calibration, is_bundled, is_glossed
from ragmem.services.retrieval.circuit_breaker import CircuitBreaker
from ragmem.services.retrieval.neighbours import name_neighbours
from ragmem.services.retrieval.question import Answer, Question
from ragmem.services.retrieval.rerank import RerankResult
from ragmem.services.retrieval.retrieve import retrieve, sources, vectors
from ragmem.services.retrieval.select import answer_evidence, select
from ragmem.services.retrieval.sources import FURTHER, Search, Source
from ragmem.storage.fulltext.fulltext import respell
from ragmem.storage.home.catalog import Catalog

__all__ = ["Answer", "Assistance", "Policy", "Question", "ask", "validate_question"]

MAX_QUERY = 20_000
"""Maximum characters of a question; a longer text is a document, not a question."""

DEEPEST = 1000
"""Maximum depth of a list for a large limit; all of its hits are compared in pairs."""


BY_WORDS_ONLY = "searched by full text only: "
"""The beginning of the note of an answer without vectors."""

FILTERED = 10
"""Factor by which more hits are read if a filter excludes some of them."""


@dataclass(frozen=True, slots=True)
class Assistance:
    """Optional helpers for a question.

    `calibration` has the scores of questions without an answer; None: every question is answered. `expand`
    returns paraphrases of a question and a note, `rerank` the matches in a better order.
    """

    calibration: Calibration | None = None
    expand: Callable[[str], tuple[tuple[str, ...], str]] | None = None
    rerank: Callable[[str, Sequence[Match]], RerankResult] | None = None
    read_with: int = 0
    """Number of matches that the reranker reads; 0 for the limit of the question."""
    everyday: Callable[[str], float] | None = None
    """The cosine of a text with the nearest everyday question; for other languages than English."""
    can_read: Callable[[str], bool] | None = None
    """Whether the embedder knows the script of a text; if not, vectors say nothing of it."""
    respell: bool = False
    """Whether a question that nothing answers gets a note about its spelling, which takes some 10 ms."""


def ask(
    catalog: Catalog,
    open_store: Callable[[], Store],
    question: Question,
    *,
    policy: Policy,
    now: datetime,
    breaker: CircuitBreaker | None = None,
    assistance: Assistance | None = None,
) -> Answer:
    """Return the memories that answer a question.

    Without vectors (no model, or vectors of another model) full text answers, with a note; the same holds if
    a mode of the store fails. The breaker keeps questions from waiting again for a model after a timeout.
    Raises UsageError for an empty or oversized question.
    """
    query = parse(validate_question(question.text), now=now, zone=LOCAL)
    breaker, assistance = breaker or CircuitBreaker(), assistance or Assistance()
    policy = aged_policy(_policy_for(question, policy, assistance.calibration), query)
    search = Search(catalog, None, question, query, min(max(policy.candidates, question.limit), DEEPEST))
    notes: list[str] = []
    if question.mode is not None:
        try:
            with breaker.guard():
                return _ask_engine(search, open_store(), policy=policy, now=now, assistance=assistance)
        except BackendError as error:
            notes.append(
                f"the mode {question.mode} is unavailable, searched by full text only: {error.full_message}"
            )
    share = FILTERED if _is_filtered(question) else 1
    depth = max(policy.candidates * share, min(question.limit, DEEPEST))
    search = replace(search, depth=depth, share=share)
    expansion = None
    if question.expand and assistance.expand is not None:
        expansion = _Expansion(assistance, question.text.strip(), policy, breaker, now)
    more = [Source("expanded", expansion.find)] if expansion else []
    # If a mode of the store failed, there is a note already, and vectors would fail as well.
    near = None if notes else _nearest(search, open_store, breaker, notes, assistance.can_read)
    wide = max(question.limit, assistance.read_with if assistance.rerank else 0)
    with catalog.database.read():
        catalog, found = catalog.for_question(), None
        search = replace(search, catalog=catalog)
        if near is not None:
            near = replace(near, search=replace(near.search, catalog=catalog))
            try:
                with breaker.guard():
                    found = retrieve(
                        near.search, sources(near.search, policy, more), nearest=near.hits, policy=policy
                    )
            except BackendError as error:
                notes.append(BY_WORDS_ONLY + error.full_message)
        rung = "text" if found is None else "text and vectors"
        if found is None:
            found = retrieve(search, sources(search, policy, more), policy=policy)
        scores = score(found, policy)
        selection = select(
            catalog,
            replace(question, limit=wide),
            found,
            scores,
            policy=policy,
            now=now,
            known=assistance.calibration,
            everyday=assistance.everyday,
            answered=expansion is not None and expansion.answered,
        )
        may_respell = assistance.respell and not selection.matches
        unknown = [word for word, share in found.frequencies.items() if may_respell and not share]
        respelt = respell(catalog.database, unknown, projects=question.projects) if unknown else []
    matches = tuple(name_neighbours(selection.matches, scores))
    if found.by_words and not found.by_vectors:
        rung = "text"  # nothing in these projects has vectors yet
    notes += [note for note in (expansion.note if expansion else "", selection.note) if note]
    if respelt:
        notes.append("did you mean " + ", ".join(f'"{word}"' for word in respelt) + "?")
    if assistance.rerank is not None and matches:
        reranked = assistance.rerank(question.text.strip(), matches)
        matches = reranked.matches
        notes += [reranked.note] if reranked.note else []
    return Answer(
        question,
        matches[: question.limit],
        rung,
        tuple(notes),
        evidence={**selection.evidence, **({"hops_ms": found.hops_ms} if found.hops_ms else {})},
        missing=selection.missing,
    )


def _policy_for(question: Question, policy: Policy, known: Calibration | None) -> Policy:
    if is_glossed(question.text, known):
        policy = glossed_policy(policy)
    elif known is not None and not is_bundled(known):
        # Cosines across languages are lower here, too.
        policy = replace(policy, min_similarity=min(policy.min_similarity, GLOSSED_SIMILARITY))
    if question.nearest:
        # Regardless of the evidence.
        policy = replace(
            policy, abstain=False, min_similarity=-1.0, decay=replace(policy.decay, min_score=0.0)
        )
    return policy


@dataclass(frozen=True, slots=True)
class _Nearest:
    """A search with a store, and its chunks nearest to the question."""

    search: Search
    hits: Sequence[Hit]


def _nearest(
    search: Search,
    open_store: Callable[[], Store],
    breaker: CircuitBreaker,
    notes: list[str],
    can_read: Callable[[str], bool] | None,
) -> _Nearest | None:
    """Return the nearest chunks; None, with a note, if there are no vectors of the question.

    None as well if the embedder cannot read it: the vectors of unknown words are all alike.

    Called before the transaction of a question: a model on another machine may take seconds.
    """
    try:
        with breaker.guard():
            search = replace(search, store=open_store())
            if can_read is not None and not can_read(search.query.text):
                return None
            return _Nearest(search, vectors(search))
    except BackendError as error:
        notes.append(BY_WORDS_ONLY + error.full_message)
        return None


def _is_filtered(question: Question) -> bool:
    """Return whether a question excludes some memories of its projects."""
    return bool(
        question.kinds
        or question.sources
        or question.spec
        or question.tags
        or question.types
        or question.categories
        or question.since
        or question.until
    )


def validate_question(text: str) -> str:
    """Return the stripped question; raises UsageError if it is empty or too long."""
    text = text.strip()
    if not text:
        raise UsageError("the question is empty", hint="ragmem query 'how do we deploy'")
    if len(text) > MAX_QUERY:
        raise UsageError(
            f"the question has {len(text):,} characters, the limit is {MAX_QUERY:,}",
            hint="shorten the question, or store the text with `ragmem ingest -`",
        )
    return text


def _ask_engine(
    search: Search, store: Store, *, policy: Policy, now: datetime, assistance: Assistance
) -> Answer:
    """Ask the store in one of its own modes, and score its hits like any candidates.

    The store returns ranks without scores, one list for each project. Only the usual scores put all of them
    on one scale, with the same floor as any other answer.
    """
    from ragmem.services.retrieval.native import native_hits, sort_graph  # noqa: PLC0415 - few questions ask for it

    catalog, question = search.catalog, search.question
    hits, graph = native_hits(catalog, store, question, candidates=policy.candidates)
    engine = Source("engine", lambda _: hits, speaks=False)
    search = replace(search, store=store)
    found = retrieve(search, [engine], nearest=vectors(search), policy=policy)
    listed = {hit.memory_id for hit in hits}
    scores = [item for item in score(found, policy) if item.memory_id in listed]
    selection = select(
        catalog,
        question,
        found,
        scores,
        policy=policy,
        now=now,
        known=assistance.calibration,
        everyday=assistance.everyday,
    )
    return Answer(
        question,
        selection.matches,
        f"LightRAG {question.mode}",
        (selection.note,) if selection.note else (),
        sort_graph(graph, hits, scores) if selection.matches else {},
        evidence=selection.evidence,
        missing=selection.missing,
    )


class _Expansion:
    """The source that searches for the paraphrases of a question.

    `answered` tells whether anything answers them, `note` why there are none. Raises BackendError if there is
    no language model.
    """

    def __init__(
        self, assistance: Assistance, text: str, policy: Policy, breaker: CircuitBreaker, now: datetime
    ) -> None:
        assert assistance.expand is not None
        self._texts, self.note = assistance.expand(text)
        self.answered = False
        self._assistance, self._policy, self._breaker, self._now = assistance, policy, breaker, now

    def find(self, search: Search) -> list[Hit]:
        """Return the best chunks for any of the paraphrases."""
        best: dict[str, ScoredMemory] = {}
        for text in self._texts:
            other = replace(search, query=parse(text, now=self._now, zone=LOCAL))
            try:
                with self._breaker.guard():
                    found = retrieve(other, [], nearest=vectors(other), policy=self._policy)
            except BackendError as error:
                self.note = f"searched without rephrasing: {error.full_message}"
                break
            scores = score(found, self._policy)
            if scores:
                self.answered |= answer_evidence(
                    search.catalog, found, scores, self._assistance.calibration, self._assistance.everyday
                )[1]
            for item in scores:
                if item.memory_id not in best or item.relevance > best[item.memory_id].relevance:
                    best[item.memory_id] = item
        ranked = sorted(best.values(), key=lambda item: (-item.relevance, item.memory_id))[:FURTHER]
        return [
            Hit(item.chunk_id, item.memory_id, rank, item.relevance) for rank, item in enumerate(ranked, 1)
        ]
