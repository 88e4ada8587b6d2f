"""Routes: what is preferred where a route is guessed, what is left out where one is asked for."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Kind, Match
from ragmem.domain.retrieval.routing_cues import Route
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.retrieval.operational import current_state
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.routes import BONUS, RoutedAnswer, answer_by_route, choose_route, preference

NOW = datetime(2026, 6, 1, tzinfo=UTC)

TEXTS = (
    (
        "sessions",
        "old session",
        "Session: the kiln parser failed because of an error in the config, we fixed it.",
        60,
    ),
    (
        "sessions",
        "new session",
        "Session: the kiln parser failed again, config error, we fixed the pattern.",
        2,
    ),
    ("memory", "rule", "The kiln parser reads config with load_kiln because of a deploy constraint.", 10),
    ("memory", "audit", "Audit of the kiln parser: a path traversal vulnerability, config error, fixed.", 10),
    ("tasks", "task", "Kiln parser task: status: in progress, config error, blocked by the deploy.", 1),
)


@pytest.fixture
def filled(memory: Ragmem) -> Ragmem:
    memory.ingest(
        [
            Draft(source, title, text, title, event_time=NOW - timedelta(days=days))
            for source, title, text, days in TEXTS
        ]
    )
    return memory


def asked(memory: Ragmem, text: str, wanted: Route | None = None, *, limit: int = 8) -> RoutedAnswer:
    return answer_by_route(
        lambda question: memory.query(question.text, question=question, at=NOW),
        Question(text, limit=limit),
        choose_route(text, wanted),
        open_store=lambda: memory.store,
        redactor=DEFAULT,
    )


def beside(memory: Ragmem, inside, *arguments: str):
    """Run `ragmem query` on the home of an open memory."""
    memory.close()
    return inside("query", *arguments, "--all", RAGMEM_HOME=str(memory.home.parent / "ragmem"))


def titles(routed: RoutedAnswer) -> list[str]:
    return [match.memory.title for match in routed.answer.matches]


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        (Route.EPISODE, {"old session", "new session"}),
        (Route.RECON, {"audit"}),
        (Route.OPERATIONAL, {"task"}),
    ],
)
def test_a_route_asked_for_leaves_out_what_is_not_of_its_sort(filled, wanted, kept):
    assert set(titles(asked(filled, "kiln parser config error", wanted))) == kept


def test_the_last_episode_comes_first_where_the_question_says_last(filled):
    assert titles(asked(filled, "last kiln parser config error fixed", Route.EPISODE))[0] == "new session"


def test_a_code_question_finds_the_memories_that_name_the_symbol(filled):
    assert titles(asked(filled, "what calls load_kiln()", Route.CODE)) == ["rule"]


def test_where_nothing_is_of_the_sort_everything_found_is_given_with_a_note(memory):
    memory.ingest(
        [Draft("memory", "rule", "The kiln parser reads config because of a deploy constraint.", "rule")]
    )
    routed = asked(memory, "kiln parser config", Route.RECON)
    assert titles(routed) == ["rule"]
    assert any('route "recon"' in note for note in routed.answer.notes)


def test_knowledge_asked_for_answers_as_ever(filled):
    text = "kiln parser config error"
    plain = filled.query(text, question=Question(text), at=NOW)
    assert asked(filled, text, Route.KNOWLEDGE).answer.matches == plain.matches


def test_a_guess_drops_nothing_and_raises_no_score_by_more_than_the_bound(filled):
    text = "when did the kiln parser fail because of the config error?"
    assert choose_route(text).route is Route.EPISODE
    plain = {match.memory.id: match for match in filled.query(text, question=Question(text), at=NOW).matches}
    routed = asked(filled, text).answer.matches
    assert {match.memory.id for match in routed} == set(plain)
    for match in routed:
        before = plain[match.memory.id].score
        assert before <= match.score <= before * (1 + BONUS) + 1e-9
        assert match.score == pytest.approx(before * (1 + match.terms.get("route", 0.0)))


def test_a_guess_raises_no_score_beyond_one(filled):
    text = f"what happened in {NOW - timedelta(days=1):%B %Y}?"
    matches = asked(filled, text).answer.matches
    assert any(match.terms.get("route") for match in matches)
    scores = [match.score for match in matches]
    assert max(scores) <= 1
    assert scores == sorted(scores, reverse=True)


def test_a_guess_keeps_to_the_limit(filled):
    assert len(asked(filled, "when did the kiln parser fail?", limit=2).answer.matches) == 2


def test_no_preference_leaves_zero_to_one(filled):
    matches: tuple[Match, ...] = filled.query("kiln parser config", at=NOW).matches
    for route in Route:
        for match in matches:
            routing = choose_route("which `load_kiln` calls last?", route)
            assert 0 <= preference(match.memory, routing, text=match.memory.text, fresh=0.3) <= 1


def test_an_error_memory_without_a_word_of_security_is_no_finding(memory):
    memory.ingest(
        [Draft("memory", "x", "The cache broke, error in the config, fix applied.", "x", kind=Kind.ERROR)]
    )
    (match,) = memory.query("cache broke", at=NOW).matches
    assert preference(match.memory, choose_route("scan", Route.RECON), text=match.memory.text) == 0


def test_the_state_now_tells_what_waits_and_what_was_done(filled):
    facts = {
        fact.name: fact.value
        for fact in current_state(filled.catalog, filled.ledger, home=filled.catalog.database.home, now=NOW)
    }
    assert facts["indexed"] == "5"
    assert facts["pending"] == "0"
    assert any(name.startswith("ingest, ") and value == "memories 5" for name, value in facts.items())


def test_the_state_answers_an_operational_question_that_no_memory_answers(filled, inside):
    shown = beside(filled, inside, "--route", "operational", "is anything still pending")
    assert shown.returncode == 0
    assert "pending" in shown.stdout


def test_json_tells_the_route_and_why(filled, inside):
    document = json.loads(beside(filled, inside, "when did the kiln parser fail?", "--json").stdout)
    assert document["route"]["name"] == "episode"
    assert document["route"]["guessed"] is True
    assert document["route"]["reasons"][0]["cue"] == "when it happened"


def test_a_mode_of_the_engine_and_a_route_exclude_each_other(filled, inside):
    shown = beside(filled, inside, "kiln", "--mode", "mix", "--route", "code")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "--mode and --route are mutually exclusive" in shown.stderr


def test_explain_names_the_route_on_standard_error(filled, inside):
    shown = beside(filled, inside, "when did the kiln parser fail?", "--explain")
    assert "route: episode" in shown.stderr
    assert "route:" not in shown.stdout


AT_WORK = ("what agents are running?", "who is working right now", "wer arbeitet gerade", "builder status")


@pytest.mark.parametrize("question", AT_WORK)
def test_agents_at_work_answer_who_is_at_work_without_a_route_being_named(filled, inside, question):
    filled.agents.heartbeat("builder", status="working", current_task="build the quay", progress=40)
    filled.agents.heartbeat("former", status="stopped")
    shown = beside(filled, inside, question)
    assert shown.returncode == 0
    assert "agent builder  working: build the quay (40 %)" in shown.stdout
    assert "former" not in shown.stdout


def test_json_has_the_agents_in_the_state_of_the_route(filled, inside):
    filled.agents.heartbeat("builder", status="working")
    document = json.loads(beside(filled, inside, "which agents are online", "--json").stdout)
    assert document["route"]["name"] == "operational"
    assert document["route"]["state"][0]["name"] == "agent builder"


def test_agents_that_fell_silent_are_told_where_no_other_is_at_work(filled, inside):
    filled.agents.heartbeat("builder", status="working")
    shown = beside(
        filled,
        inside,
        "what agents are running?",
    )
    assert "stale" not in shown.stdout
    with Ragmem.open(environ={"RAGMEM_HOME": str(filled.home.parent / "ragmem")}) as again:
        again.agents.settings = replace(again.agents.settings, stale_s=1e-9)
        again.agents.mark_stale()
    told = inside("query", "what agents are running?", RAGMEM_HOME=str(filled.home.parent / "ragmem"))
    assert told.returncode == 0
    assert "agent builder  stale, working" in told.stdout


def test_without_agents_a_question_about_them_is_answered_as_ever(filled, inside):
    shown = beside(filled, inside, "welche agenten laufen gerade", "--json")
    document = json.loads(shown.stdout)
    assert document["route"]["name"] == "knowledge"
    assert "state" not in document["route"]


def test_of_a_guessed_route_only_the_state_that_is_asked_for_is_shown(filled, inside):
    filled.agents.heartbeat("builder", status="working")
    shown = beside(filled, inside, "is the kiln parser deploy still running?")
    assert "agent builder" not in shown.stdout
    assert "indexed" not in shown.stdout


def test_the_state_of_the_memory_is_shown_where_a_guessed_route_asks_for_it(filled, inside):
    shown = beside(filled, inside, "how many memories are indexed right now?")
    assert shown.returncode == 0
    assert "indexed  5" in shown.stdout
