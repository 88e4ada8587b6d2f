"""Answer a question: candidates of several lists, weighed and ranked; nothing where nothing answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from ragmem.domain.model import Hit
from ragmem.domain.retrieval import question as reading
from ragmem.domain.retrieval.question import Asked
from ragmem.domain.text.keywords import levels
from ragmem.errors import BackendError, UsageError
from ragmem.ports import Store
from ragmem.services.processes.dates import LOCAL
from ragmem.services.retrieval import calibration
from ragmem.services.retrieval.asking import Answer, Policy, Question
from ragmem.services.retrieval.calibration import Calibration
from ragmem.services.retrieval.candidates import Gathering
from ragmem.services.retrieval.circuit_breaker import Respite
from ragmem.services.retrieval.date_list import dated
from ragmem.services.retrieval.edit_list import committed, edited
from ragmem.services.retrieval.graph_list import graph_list
from ragmem.services.retrieval.helpers import Assistance
from ragmem.services.retrieval.ranking import Weighed, by_itself, finish, weigh
from ragmem.services.retrieval.record_list import openings_of_records
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.names.spellings import entities_of

__all__ = ["Answer", "Assistance", "Policy", "Question", "ask", "checked"]

MAX_QUERY = 20_000
"""Characters of a question; a longer text is a document and not a question."""

SEEDS = 50
"""The best candidates by words and vectors, whose entities the graph is asked for."""

FURTHER = 50
"""Hits of a list beside words and vectors."""

SECONDS = 6
"""Chunks that the graph leads to; what comes behind them shares a name by chance."""

DEEPEST = 1000
"""Hits of a list that are looked at because so many matches are wanted; all of them are compared in pairs."""

SEPARATOR = "<SEP>"
"""Between the chunks that LightRAG has an entity or a relation from."""

FULLY_COVERED = 0.999
"""Share of a question's words in one chunk that is all of them."""


def ask(
    catalog: Catalog,
    open_store: Callable[[], Store],
    question: Question,
    *,
    policy: Policy,
    now: datetime,
    respite: Respite | None = None,
    assistance: Assistance | None = None,
) -> Answer:
    """Return the memories that answer a question.

    Vectors that cannot be had (no model, another model's vectors) leave full text, and a note says so; so
    does an engine's mode that cannot be had. A model that let one question wait is left alone for a while,
    as `respite` knows. Raises UsageError on an empty or oversized question.
    """
    text = checked(question.text)
    respite = respite or Respite()
    assistance = assistance or Assistance()
    asked = reading.parse(text, now=now, zone=LOCAL)
    notes: list[str] = []
    if question.nearest:
        # However little speaks for it.
        policy = replace(
            policy, abstain=False, min_similarity=-1.0, decay=replace(policy.decay, min_score=0.0)
        )
    if question.mode is not None:
        try:
            with _asking(respite):
                return _ask_engine(
                    catalog,
                    open_store(),
                    question,
                    asked=asked,
                    policy=policy,
                    now=now,
                    known=assistance.calibration,
                )
        except BackendError as error:
            notes.append(f"the mode {question.mode} cannot be had, searched by full text only: {error.told}")
    depth = max(policy.candidates * (10 if question.filtered else 1), min(question.limit, DEEPEST))
    gathering, store = _gather(
        catalog, open_store, asked, question=question, depth=depth, respite=respite, notes=notes
    )
    rung = "text" if store is None else "text and vectors"
    otherwise = False
    if question.expand and assistance.expand is not None:

        def searched(other: str) -> Gathering:
            with _asking(respite):
                read = reading.parse(other, now=now, zone=LOCAL)
                return Gathering(catalog, store, read, projects=question.projects, depth=depth)

        otherwise, told = _add_expanded(gathering, text, searched, policy, assistance)
        notes += told
    weighed = _all_weighed(gathering, catalog, store, question, policy=policy)
    evidence, answered = _evidence(gathering, weighed, policy, assistance.calibration)
    silent = policy.abstain and not (answered or otherwise)
    if why := _why_nothing(asked, weighed, evidence, near=gathering.by_vectors, silent=silent):
        notes.append(why)
    if silent:
        return Answer(question, (), rung, tuple(notes), evidence=evidence)
    wide = max(question.limit, assistance.read_with if assistance.rerank else 0)
    matches = finish(
        catalog,
        replace(question, limit=wide),
        weighed,
        asked=asked,
        policy=policy,
        now=now,
        gathering=gathering,
    )
    if assistance.rerank is not None and matches:
        reranked = assistance.rerank(text, matches)
        matches = reranked.matches
        notes += [reranked.note] if reranked.note else []
    return Answer(question, matches[: question.limit], rung, tuple(notes), evidence=evidence)


def _gather(
    catalog: Catalog,
    open_store: Callable[[], Store],
    asked: Asked,
    *,
    question: Question,
    depth: int,
    respite: Respite,
    notes: list[str],
) -> tuple[Gathering, Store | None]:
    """Return the candidates, and the store they are from; None, with a note, where it cannot be had."""
    # Where a mode of the engine failed, there is a note already, and vectors would fail as well.
    if not notes:
        try:
            with _asking(respite):
                store = open_store()
                return Gathering(catalog, store, asked, projects=question.projects, depth=depth), store
        except BackendError as error:
            notes.append(f"searched by full text only: {error.told}")
    return Gathering(catalog, None, asked, projects=question.projects, depth=depth), None


def _why_nothing(
    asked: Asked, weighed: Sequence[Weighed], evidence: Mapping[str, float], *, near: bool, silent: bool
) -> str:
    """Return why nothing is found; `near`: vectors were compared, `silent`: what was found is kept back."""
    if asked.only_times and not any(_listed(item, ("dates",)) for item in weighed):
        return "nothing here happened then"
    if near and not weighed:
        return "nothing here comes near enough to answer it; --nearest shows what is nearest"
    if silent:
        return (
            f"nothing here answers it: the best memory has a relevance of {evidence['relevance']:.2f}, and an"
            f" answer {evidence['floor']:.2f} or more; --nearest shows what is nearest"
        )
    return ""


def checked(text: str) -> str:
    """Return a question without the space around it; raises UsageError for none and for a document."""
    text = text.strip()
    if not text:
        raise UsageError("the question is empty", hint="ragmem query 'how do we deploy'")
    if len(text) > MAX_QUERY:
        raise UsageError(
            f"the question has {len(text):,} characters, at most {MAX_QUERY:,} are read",
            hint="ask with the part that matters, or store the text with `ragmem ingest -`",
        )
    return text


def _all_weighed(
    gathering: Gathering,
    catalog: Catalog,
    store: Store | None,
    question: Question,
    *,
    policy: Policy,
) -> list[Weighed]:
    """Add the candidates that neither words nor vectors lead to, and return all that anything speaks for."""
    asked, projects = gathering.asked, question.projects
    if question.types:
        gathering.add("records", openings_of_records(catalog, question), speaks=False)
    edits = edited(catalog, asked.paths, projects=projects, limit=FURTHER)
    if edits := edits or committed(catalog, asked.text, projects=projects, limit=FURTHER):
        gathering.add("edits", edits)
    if asked.times and (
        hits := dated(catalog, asked, projects=projects, limit=FURTHER * (10 if question.filtered else 1))
    ):
        gathering.add("dates", hits)
    weighed = weigh(gathering, policy)
    if store is not None and policy.graph_weight and gathering.by_vectors:
        best = sorted(weighed, key=lambda item: (-item.relevance, item.memory_id))
        seeds = [
            Hit(item.chunk_id, item.memory_id, rank, item.relevance)
            for rank, item in enumerate(best[:SEEDS], start=1)
        ]
        linked = graph_list(catalog, store, asked.text, projects=projects, limit=SECONDS, seeds=seeds)
        if linked:
            gathering.leading = seeds[0].score
            gathering.add("graph", linked)
            weighed = weigh(gathering, policy)
    return weighed


def _add_expanded(
    gathering: Gathering,
    text: str,
    searched: Callable[[str], Gathering],
    policy: Policy,
    assistance: Assistance,
) -> tuple[bool, list[str]]:
    """Add what other words of the question find; return whether anything answers those, and the notes."""
    assert assistance.expand is not None
    texts, note = assistance.expand(text)
    best: dict[str, Weighed] = {}
    answered = False
    for words in texts:
        try:
            other = searched(words)
        except BackendError as error:
            note = f"searched without other words: {error.told}"
            break
        weighed = weigh(other, policy)
        answered |= bool(weighed) and _evidence(other, weighed, policy, assistance.calibration)[1]
        for item in weighed:
            if item.memory_id not in best or item.relevance > best[item.memory_id].relevance:
                best[item.memory_id] = item
    ranked = sorted(best.values(), key=lambda item: (-item.relevance, item.memory_id))[:FURTHER]
    gathering.add(
        "expanded",
        [Hit(item.chunk_id, item.memory_id, rank, item.relevance) for rank, item in enumerate(ranked, 1)],
    )
    return answered, [note] if note else []


def _evidence(
    gathering: Gathering, weighed: Sequence[Weighed], policy: Policy, known: Calibration | None
) -> tuple[dict[str, float], bool]:
    """Return the terms of whether anything here answers the question, and whether something may."""
    if known is None or not weighed or not gathering.by_vectors:
        return {}, True
    candidates = [item.candidate for item in weighed if item.candidate is not None]
    compared = [one for one in candidates if one.compared]
    best = max((by_itself(one, gathering, policy) for one in compared), default=0.0)
    in_chunk = max(one.evidence.coverage for one in candidates)
    found = calibration.by_relevance(best, known, by_words=gathering.by_words)
    terms = {
        "relevance": best,
        "cosine": max((one.evidence.cosine for one in compared), default=0.0),
        "coverage": in_chunk,
        **found.terms,
        "margin": found.margin,
    }
    # What has no vector yet can only be judged by its words.
    waiting = [one.evidence.whole_coverage for one in candidates if not one.compared]
    by_words = bool(waiting) and calibration.by_coverage(max(waiting), known).margin >= 0
    # Who asks for words is answered by where they all stand, who asks for a file's edits by those, and who
    # asks for nothing but a time by what happened then.
    verbatim = bool(gathering.asked.required) or in_chunk > FULLY_COVERED
    lists = ("edits", "dates") if gathering.asked.only_times else ("edits",)
    recorded = any(_listed(item, lists) for item in weighed)
    return terms, found.margin >= 0 or by_words or verbatim or recorded


def _listed(item: Weighed, lists: Sequence[str]) -> bool:
    """Tell whether any of these lists found a memory."""
    return item.candidate is not None and any(name in item.candidate.further for name in lists)


@contextmanager
def _asking(respite: Respite) -> Iterator[None]:
    """Ask a model within the block, unless it failed a moment ago; raises BackendError."""
    if (failed := respite.error()) is not None:
        raise BackendError(str(failed), hint=failed.hint)
    since = respite.now()
    try:
        yield
    except BackendError as error:
        respite.failed(error, since=since)
        raise


def _ask_engine(
    catalog: Catalog,
    store: Store,
    question: Question,
    *,
    asked: Asked,
    policy: Policy,
    now: datetime,
    known: Calibration | None,
) -> Answer:
    """Ask LightRAG itself in one of its modes, and weigh what it finds as any candidate is weighed.

    It tells ranks and no scores, one list for each project. Only what a memory says of the question puts all
    of them on one scale, with the floor and the silence of any other answer.
    """
    rung = f"LightRAG {question.mode}"
    hits, graph = _engine_list(catalog, store, question, policy)
    depth = min(max(policy.candidates, question.limit), DEEPEST)
    gathering = Gathering(catalog, store, asked, projects=question.projects, depth=depth)
    gathering.add("engine", hits, speaks=False)
    listed = {hit.memory_id for hit in hits}
    weighed = [item for item in weigh(gathering, policy) if item.memory_id in listed]
    evidence, answered = _evidence(gathering, weighed, policy, known)
    silent = policy.abstain and not answered
    why = _why_nothing(asked, weighed, evidence, near=gathering.by_vectors, silent=silent)
    notes = (why,) if why else ()
    if silent or not weighed:
        return Answer(question, (), rung, notes, evidence=evidence)
    matches = finish(catalog, question, weighed, asked=asked, policy=policy, now=now, gathering=gathering)
    if not matches:
        return Answer(question, (), rung, notes, evidence=evidence)
    told = _by_relevance(graph, hits, weighed)
    return Answer(question, matches, rung, notes, told, evidence=evidence)


def _engine_list(
    catalog: Catalog, store: Store, question: Question, policy: Policy
) -> tuple[list[Hit], dict[str, list[Any]]]:
    """Return the chunks that the engine finds in each project, with its ranks, and what its graph adds."""
    projects = question.projects
    if projects is None:
        projects = tuple(catalog.overview.count_by("project"))
    by_rule = levels(question.text)
    words, themes = question.keywords or by_rule.low, question.themes or by_rule.high
    ranks: dict[str, int] = {}
    graph: dict[str, list[Any]] = {"entities": [], "relationships": []}
    for project in projects:
        data = store.native_query(
            question.text,
            question.mode or "mix",
            # The graph knows a thing by one of its names.
            keywords=[*words, *entities_of(catalog.database, project, words)],
            themes=themes,
            limit=max(question.limit * 3, policy.candidates),
            project=project,
        ).get("data", {})
        graph["entities"] += data.get("entities", [])
        graph["relationships"] += data.get("relationships", [])
        for rank, chunk in enumerate(data.get("chunks", []), start=1):
            ranks[chunk["chunk_id"]] = min(rank, ranks.get(chunk["chunk_id"], rank))
    owners = catalog.memories.chunks_by_id(ranks)
    ordered = sorted((rank, key) for key, rank in ranks.items() if key in owners)
    return [Hit(key, owners[key][0], rank, 0.0) for rank, key in ordered], graph


def _by_relevance(
    graph: Mapping[str, Sequence[Any]], hits: Sequence[Hit], weighed: Sequence[Weighed]
) -> dict[str, list[Any]]:
    """Return entities and relations by how well what tells of them answers.

    Equal ones keep the engine's order, in which those of one project stand behind those of another.
    """
    relevance = {item.memory_id: item.relevance for item in weighed}
    of_chunk = {hit.chunk_id: relevance.get(hit.memory_id, 0.0) for hit in hits}

    def best(row: Mapping[str, Any]) -> float:
        sources = str(row.get("source_id", "")).split(SEPARATOR)
        return -max((of_chunk.get(source, 0.0) for source in sources), default=0.0)

    return {name: sorted(rows, key=best) for name, rows in graph.items()}
