"""The second hop: what shares a name with the best chunks and answers what they leave open."""

from datetime import UTC, datetime

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Hit, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import index, record_of
from ragmem.services.retrieval.graph_list import HUB, graph_list, hop_list
from ragmem.services.retrieval.query import Question
from ragmem.storage.fulltext.fulltext import search

NOW = datetime(2026, 6, 1, tzinfo=UTC)
QUESTION = "which team answers for the broker behind the checkout page"
START = "The checkout page sends its orders through Lighthouse."
ANSWER = "We run Lighthouse as a broker; the team of Marta Ruiz answers for it at night."


@pytest.fixture(params=["fake", "lightrag"])
def memory(request, open_memory) -> Ragmem:
    return open_memory(RAGMEM_STORE_BACKEND=request.param)


def fill(memory, texts, *, project="user"):
    memory.prepare()
    items = [
        classify_draft(
            Draft("ingest", f"{project}/{name}", text, event_time=NOW, scope=Scope(project)),
            now=NOW,
            sizes=memory.settings.chunking,
            rule="off",
            redactor=DEFAULT,
        )
        for name, text in texts.items()
    ]
    memory.catalog.memories.accept([(item.memory, item.chunks) for item in items])
    index(
        memory.catalog,
        memory.store,
        [record_of(item.memory, item.chunks, redactor=DEFAULT) for item in items],
    )


def ids(memory):
    return {one.uri.partition("/")[2]: one.id for one in memory.catalog.memories.each()}


def seeds(memory, *names, scores=()):
    """The first chunks of these memories as hits, best first."""
    known = ids(memory)
    found = []
    for rank, name in enumerate(names, start=1):
        (chunk, *_) = memory.catalog.memories.chunks(memory.catalog.memories.get([known[name]])[known[name]])
        found.append(Hit(chunk.id, known[name], rank, scores[rank - 1] if scores else 1.0))
    return found


def asked(memory, hits, *, question=QUESTION, limit=10, find=graph_list):
    names = {identifier: name for name, identifier in ids(memory).items()}
    words = search(memory.catalog.database, question, limit=1, also=[hit.chunk_id for hit in hits])
    found = find(memory.catalog, memory.store, question, words=words, limit=limit, seeds=hits)
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    assert all(0 < hit.score <= 1 for hit in found)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    return [names[hit.memory_id] for hit in found]


def test_what_the_best_chunk_names_leads_to_the_chunk_that_answers(memory):
    fill(memory, {"start": START, "answer": ANSWER, "noise": "The team meets Anna Berg on Mondays."})
    assert asked(memory, seeds(memory, "start")) == ["answer"]


def test_a_name_is_found_in_the_text_of_another_hit_where_the_graph_does_not_have_it(memory):
    fill(memory, {"start": START, "answer": "lighthouses answer for themselves; behind each is a team"})
    assert asked(memory, seeds(memory, "start")) == []
    assert asked(memory, seeds(memory, "start", "answer", scores=(1.0, 0.1))) == ["answer"]


def test_what_is_gone_or_the_same_memory_is_no_start(memory):
    fill(memory, {"start": START, "answer": ANSWER, "noise": "The team meets Anna Berg on Mondays."})
    hits = seeds(memory, "noise", "noise", "noise", "start")
    gone = [Hit(f"gone{rank}", "gone", rank, 1.0) for rank in range(1, 5)]
    assert asked(memory, hits) == ["answer"]
    assert asked(memory, [*gone, *hits]) == ["answer"]


def test_what_adds_nothing_to_the_question_is_no_candidate(memory):
    fill(memory, {"start": START, "same": "They painted Lighthouse white in Genoa with Paolo Conti."})
    assert asked(memory, seeds(memory, "start")) == []


def test_a_name_that_the_question_has_leads_nowhere_new(memory):
    fill(memory, {"start": START, "answer": ANSWER})
    assert asked(memory, seeds(memory, "start"), question="which team answers for Lighthouse") == []


def test_a_question_that_the_best_chunk_covers_asks_no_further(memory):
    fill(memory, {"start": START, "answer": ANSWER})
    assert asked(memory, seeds(memory, "start"), question="checkout page orders") == []


def test_what_is_about_the_name_comes_before_what_merely_names_it(memory):
    fill(
        memory,
        {
            "start": START,
            "aside": "On the way home from the office the team of Jonas Wolf passed the building of "
            "the harbour office, and somebody mentioned Lighthouse.",
            "about": ANSWER,
        },
    )
    assert asked(memory, seeds(memory, "start")) == ["about", "aside"]


def test_a_better_first_chunk_is_trusted_more(memory):
    fill(
        memory,
        {
            "start": START,
            "other": "The page of the Windmill project.",
            "answer": ANSWER,
            "lesser": "We run Windmill as a broker; another team answers for it.",
        },
    )
    assert asked(memory, seeds(memory, "start", "other", scores=(1.0, 0.4))) == ["answer", "lesser"]
    assert asked(memory, seeds(memory, "other", "start", scores=(1.0, 0.4)))[0] == "lesser"


def test_a_hub_does_not_flood_the_list(memory):
    crowd = {f"crowd-{n}": f"The team number {n} of Lighthouse answers." for n in range(HUB + 5)}
    fill(memory, {"start": START, **crowd})
    assert asked(memory, seeds(memory, "start"), limit=100) == []


def test_a_hub_does_not_hide_a_rare_name(memory):
    crowd = {f"crowd-{n}": f"The team number {n} of Lighthouse answers." for n in range(HUB + 5)}
    fill(
        memory, {"start": f"{START} It runs on Cormorant.", "rare": "The team of Cormorant answers.", **crowd}
    )
    assert asked(memory, seeds(memory, "start"), limit=100) == ["rare"]


def test_chunks_of_another_project_never_come(memory):
    fill(memory, {"start": START})
    fill(memory, {"answer": ANSWER}, project="kiln")
    hits = seeds(memory, "start", "answer")
    assert asked(memory, hits) == []


def test_an_empty_graph_or_no_seed_gives_nothing(memory):
    fill(memory, {"start": "the checkout page sends its orders elsewhere"})
    assert asked(memory, seeds(memory, "start")) == []
    assert asked(memory, []) == []
    assert asked(memory, [Hit("unknown", "unknown", 1, 1.0)]) == []


def test_no_more_hits_than_asked_for(memory):
    fill(memory, {"start": START, **{f"answer-{n}": f"{ANSWER} Shift {n}." for n in range(5)}})
    assert len(asked(memory, seeds(memory, "start"), limit=3)) == 3
    assert asked(memory, seeds(memory, "start"), limit=0) == []


def test_a_question_of_two_hops_is_asked_once_more_with_the_name(memory):
    fill(memory, {"start": START, "answer": ANSWER, "noise": "The team meets Anna Berg on Mondays."})
    assert asked(memory, seeds(memory, "start"), find=hop_list) == ["answer"]


def test_a_second_hop_follows_a_name_that_only_the_texts_have(memory):
    fill(
        memory, {"start": START, "answer": "lighthouses answer for themselves; a team is behind each broker"}
    )
    assert asked(memory, seeds(memory, "start"), find=hop_list) == ["answer"]


def test_the_chunk_that_answers_the_rest_comes_before_others_with_the_name(memory):
    fill(
        memory,
        {
            "start": START,
            "paint": "Lighthouse: they painted it white in Genoa, with a red door and green windows.",
            "answer": "Lighthouse: the broker for which the team of Marta Ruiz answers.",
        },
    )
    assert asked(memory, seeds(memory, "start"), find=hop_list)[0] == "answer"


def test_a_second_hop_stays_in_its_project_and_leaves_its_memory(memory):
    fill(memory, {"start": START, "twin": "No name is in here."})
    fill(memory, {"answer": ANSWER}, project="kiln")
    assert asked(memory, seeds(memory, "start"), find=hop_list) == []


def test_a_hub_leads_to_no_second_hop_but_a_rare_name_beside_it_does(memory):
    crowd = {f"crowd-{n}": f"The team number {n} of Lighthouse answers." for n in range(HUB + 5)}
    fill(
        memory, {"start": f"{START} It runs on Cormorant.", "rare": "The team of Cormorant answers.", **crowd}
    )
    assert asked(memory, seeds(memory, "start"), limit=100, find=hop_list) == ["rare"]


def test_a_name_in_the_question_or_no_name_is_no_second_hop(memory):
    fill(memory, {"start": START, "plain": "the broker runs at night", "answer": ANSWER})
    question = "which team answers for Lighthouse behind the checkout page"
    assert asked(memory, seeds(memory, "start"), question=question, find=hop_list) == []
    assert asked(memory, seeds(memory, "plain"), find=hop_list) == []
    assert asked(memory, [], find=hop_list) == []
    assert asked(memory, [Hit("unknown", "unknown", 1, 1.0)], find=hop_list) == []


def test_a_second_hop_has_no_more_hits_than_asked_for(memory):
    fill(memory, {"start": START, **{f"answer-{n}": f"{ANSWER} Shift {n}." for n in range(5)}})
    assert len(asked(memory, seeds(memory, "start"), limit=3, find=hop_list)) == 3
    assert asked(memory, seeds(memory, "start"), limit=0, find=hop_list) == []


NOTES = {
    "scanner": "The Kestrel scanner in the warehouse was built by Northwind Optics for the stocktaking.",
    "firm": "Northwind Optics is led by Ines Falk since the merger, and sits in Bremen beside the harbour.",
    **{f"lead-{n}": f"The warehouse team {n} is led by someone who changes each spring." for n in range(6)},
}


def leaders(open_memory, question, *, hops, **environ):
    memory = open_memory(RAGMEM_STORE_BACKEND="lightrag", **environ)
    fill(memory, NOTES)
    names = {identifier: name for name, identifier in ids(memory).items()}
    answer = memory.retrieval.ask(Question(question, limit=3))
    assert (answer.evidence.get("hops_ms", 0.0) > 0) == hops
    return [(names[match.memory.id], match.terms) for match in answer.matches]


def test_a_question_finds_the_memory_that_its_first_answer_names(open_memory):
    question = "Who leads the firm that built the scanner of the warehouse?"
    (first, _), (second, terms), *_ = leaders(
        open_memory, question, hops=True, RAGMEM_MODELS_BACKEND="minilm"
    )
    assert (first, second) == ("scanner", "firm")
    assert terms["hops"] > 0
    assert terms["hops_rank"] == 1


@pytest.mark.parametrize(
    ("question", "model"),
    [
        ("scanner warehouse firm", "minilm"),
        ("Who leads the firm that built the scanner of the warehouse?", "fake"),
    ],
)
def test_a_plain_question_and_a_model_that_takes_longer_are_asked_once(open_memory, question, model):
    found = leaders(open_memory, question, hops=False, RAGMEM_MODELS_BACKEND=model)
    assert found
    assert not any("hops" in terms for _, terms in found)
