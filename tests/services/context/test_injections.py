"""What is injected is logged with why, bounded and without secrets; and what people say of it counts."""

import json
from datetime import timedelta
from functools import partial

import pytest
from dated_notes import NOW, store_note

from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import NotFoundError, UsageError
from ragmem.services.context.anticipation import MAX_PROMPT_CHARS, MAX_RESEARCH_CHARS, MOST_RESEARCH
from ragmem.services.context.injection_log import MOST_QUESTION, question_of
from ragmem.storage.activity.injections import Injection, Retention

PROJECT = "p-tideline"
stored = partial(store_note, project=PROJECT)
MODEL = {"RAGMEM_MODELS_BACKEND": "minilm"}

SLOW = "why does the departures board query of Porto Azul scan the whole departures table"
CSS = "choose accessible contrast colours for the dark stylesheet theme of the harbour website"
INDEX = (
    "We decided that each migration lists the indexes of the departures table before and after, because the"
    " departures board query scanned the whole departures table when its index was forgotten."
)
COLOURS = (
    "We decided on contrast colours of at least 7:1 for the dark stylesheet theme of the harbour website,"
    " because the accessible palette failed its audit."
)


@pytest.fixture
def filled(open_memory):
    """A memory with vectors of the bundled model that knows two things."""
    memory = open_memory(**MODEL)
    return memory, {"index": stored(memory, "index", INDEX), "colours": stored(memory, "colours", COLOURS)}


def told(memory, session="s", prompt="", **more):
    return memory.injections.anticipate(session, prompt, projects=[PROJECT], **({"at": NOW} | more))


def shown(anticipated):
    return [one.id for one in anticipated.context.memories]


def test_a_start_is_logged_with_each_memory_that_it_showed(filled):
    memory, ids = filled
    block = told(memory, assistant="claude-code")
    rows = memory.injections.log(session="s")
    assert [row.injection.memory for row in rows] == shown(block)
    assert set(ids.values()) == {row.injection.memory for row in rows}
    assert {(row.injection.event, row.injection.assistant, row.injection.project) for row in rows} == {
        ("start", "claude-code", PROJECT)
    }
    assert all(row.injection.tokens > 0 and row.injection.question == "" for row in rows)
    assert all(row.injection.reason == "the session begins" for row in rows)


def test_a_prompt_is_logged_with_score_floor_terms_and_what_else_was_found(filled):
    memory, ids = filled
    for number in range(4):
        stored(memory, f"more{number}", f"{INDEX} Case {number} of quay {number * 7}.", days=number)
    told(memory, prompt=SLOW)
    rows = memory.injections.log(memory=ids["index"])
    assert len(rows) <= 1
    [first, *_] = memory.injections.log()
    assert first.injection.question == SLOW
    assert first.injection.score > 0
    assert first.injection.detail["terms"]["relevance"] >= first.injection.detail["floor"]
    assert first.injection.detail["place"] == 1
    assert first.injection.reason == "a topic begins: the first prompt"


def test_what_tells_nothing_is_not_logged(filled):
    memory, _ = filled
    told(memory, prompt="go on")
    told(memory, prompt="bake sourdough bread overnight with cold fermentation in winter")
    told(memory, event="research", prompt="sourdough hydration for winter bread")
    assert memory.injections.log() == []


def test_a_prompt_is_told_less_than_an_assistant_takes_unless_tokens_are_asked_for(filled):
    memory, _ = filled
    for number in range(8):
        lines = [
            f"The departures board query of Porto Azul scans the whole departures table {number * 97 + line}."
            for line in range(30)
        ]
        stored(memory, f"scans{number}", "\n\n".join(lines))
    most = told(memory, "a", prompt=SLOW, max_chars=9_000)
    asked_for = told(memory, "b", prompt=SLOW, tokens=2_500)
    least = told(memory, "c", prompt=SLOW, max_chars=1_000)
    assert len(least.context.text) <= 1_000
    assert 1_000 < len(most.context.text) <= MAX_PROMPT_CHARS
    assert len(asked_for.context.text) > MAX_PROMPT_CHARS


def test_research_is_told_few_memories_once_a_question_and_never_what_was_shown(filled):
    memory, ids = filled
    for number in range(6):
        text = f"Departures table, finding {number}: the departures board query scans quay {number * 13}."
        stored(memory, f"finding{number}", text, days=number)
    first = told(memory, event="research", prompt=SLOW)
    assert 0 < len(shown(first)) <= MOST_RESEARCH
    assert len(first.context.text) <= MAX_RESEARCH_CHARS
    assert first.reason == "research begins"
    again = told(memory, event="research", prompt=f"  {SLOW.upper()} ")
    assert (shown(again), again.reason) == (
        [],
        "everything relevant to this question was already injected into this session",
    )
    prompt = told(memory, prompt=SLOW)
    assert not set(shown(prompt)) & set(shown(first))
    other = told(memory, "another", event="research", prompt=SLOW)
    assert shown(other) == shown(first)
    assert ids["index"] in {*shown(first), *shown(prompt)}


def test_research_by_a_single_word_is_told_something_only_where_the_word_is_rare(filled):
    memory, _ = filled
    for number in range(20):
        stored(
            memory, f"finding{number}", f"The board sorts quay {number * 13} by its berth, finding {number}."
        )
    dull = told(memory, event="research", prompt="berth")
    assert (shown(dull), dull.reason) == ([], "the word occurs in too many memories, or in none")
    rare = stored(memory, "cache", "We decided to keep the board in redis, because the quay has one server.")
    assert shown(told(memory, event="research", prompt="redis")) == [rare]


def test_research_leaves_the_topic_as_it_is(filled):
    memory, _ = filled
    told(memory, prompt=SLOW)
    before = memory.catalog.sessions.get("s").topic
    told(memory, event="research", prompt=CSS)
    assert memory.catalog.sessions.get("s").topic == before
    assert told(memory, prompt=f"{SLOW} since the last migration").reason.startswith("the topic has not")


def test_research_without_a_question_is_told_nothing(filled):
    memory, _ = filled
    assert (
        told(memory, event="research", prompt="```\ncode = 1\n```").reason == "the research has no question"
    )


def test_after_compaction_the_start_is_told_again_and_a_topic_may_be(filled):
    memory, ids = filled
    first = told(memory)
    assert set(shown(first)) == set(ids.values())
    told(memory, prompt=SLOW)
    again = told(memory, event="start", again=True)
    assert shown(again) == shown(first)
    assert again.reason == "the session continues without its earlier context"
    assert told(memory, event="start").context.text == ""
    assert len(memory.injections.log()) == 2 * len(first.context.memories)


def test_after_compaction_what_was_shown_at_a_prompt_may_be_shown_again(open_memory):
    memory = open_memory(**MODEL)
    one = stored(memory, "found", INDEX.replace("We decided that each", "Each"), source="transcripts")
    told(memory, event="start", again=True)
    memory.catalog.sessions.keep("s", project=PROJECT, topic=None, shown=[], now=NOW, anew=True)
    assert shown(told(memory, prompt=SLOW)) == [one]
    memory.catalog.sessions.keep("s", project=PROJECT, topic=None, shown=[], now=NOW, anew=True)
    assert shown(told(memory, prompt=SLOW)) == [one]


def test_an_agent_within_a_session_has_its_own_sight(filled):
    memory, ids = filled
    told(memory, prompt=SLOW)
    assert ids["index"] in shown(told(memory, prompt=SLOW, agent="explorer"))
    assert {row.injection.agent for row in memory.injections.log(session="s")} == {"", "explorer"}


def test_an_event_that_there_is_none_of_is_refused(filled):
    memory, _ = filled
    with pytest.raises(UsageError, match='"later" is not an event'):
        told(memory, event="later")


def test_a_start_ignores_what_is_asked_and_a_prompt_without_words_begins_no_start(filled):
    memory, _ = filled
    assert told(memory, event="prompt", prompt=" ").reason.startswith("the prompt begins no topic")
    assert told(memory, event="start", prompt=SLOW).reason == "the session begins"


def test_the_log_holds_no_secret_of_a_question():
    token = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7h8"
    kept = question_of(f"why does deploy fail with {token} in the\nheader {'x ' * 500}", redactor=DEFAULT)
    assert token not in kept
    assert "\n" not in kept
    assert len(kept) <= MOST_QUESTION
    assert kept.startswith("why does deploy fail with [redacted")


def test_the_log_is_bounded_by_age_and_by_number(memory):
    memory.prepare()
    log = memory.catalog.injections
    for day in range(10):
        at = NOW + timedelta(days=day)
        rows = [Injection(at, f"s{day}", "prompt", f"m{day}{number}") for number in range(3)]
        log.record(rows, now=at, kept=Retention(timedelta(days=4), 7))
    held = log.list()
    assert len(held) == 7
    assert [one.memory for one in held[:3]] == ["m90", "m91", "m92"]
    log.record([Injection(NOW + timedelta(days=30), "late", "start", "m")], now=NOW + timedelta(days=30))
    assert len(log.list(since=NOW + timedelta(days=8))) == 7


def test_the_settings_bound_the_log(open_memory):
    memory = open_memory(**MODEL, RAGMEM_INJECTION_KEEP="1")
    stored(memory, "index", INDEX)
    stored(memory, "colours", COLOURS)
    assert len(shown(told(memory))) == 2
    assert memory.catalog.injections.count() == 1


def test_bad_feedback_keeps_a_memory_from_that_session_even_after_compaction(filled):
    memory, ids = filled
    assert ids["index"] in shown(told(memory))
    memory.lifecycle.rate(ids["index"], "bad", session="s")
    assert ids["index"] not in shown(told(memory, event="start", again=True))
    assert ids["index"] not in shown(told(memory, prompt=SLOW))
    assert ids["index"] in shown(told(memory, "another"))


def test_twice_bad_is_not_told_unasked_and_stands_behind_others_that_answer(filled):
    memory, ids = filled
    other = stored(memory, "other", f"{INDEX} This held for the arrivals board as well.", days=300)
    memory.lifecycle.rate(ids["index"], "bad", session="x")
    assert shown(told(memory, "a", SLOW))[0] == ids["index"]
    memory.lifecycle.rate(ids["index"], "bad", session="y")
    assert ids["index"] not in shown(told(memory, "b"))
    after = shown(told(memory, "c", SLOW))
    assert ids["index"] not in after[:1]
    memory.lifecycle.rate(ids["index"], "good", session="z")
    assert ids["index"] in shown(told(memory, "d"))
    assert other in after


def test_feedback_stands_beside_the_injection(filled):
    memory, ids = filled
    told(memory)
    memory.lifecycle.rate(ids["index"], "good", session="s")
    assert {row.injection.memory: row.feedback for row in memory.injections.log()} == {
        ids["index"]: 1,
        ids["colours"]: 0,
    }


def test_what_was_archived_is_still_told_of_and_cannot_be_rated(filled):
    memory, ids = filled
    told(memory)
    memory.forget([ids["index"]])
    [row] = memory.injections.log(memory=ids["index"][:12])
    assert (row.title, row.state) == ("index", "archived")
    for refused in (
        lambda: memory.lifecycle.rate(ids["index"][:12], "good"),
        lambda: memory.lifecycle.pin(ids["index"][:12]),
        lambda: memory.memory(ids["index"][:12]),
    ):
        with pytest.raises(NotFoundError, match="is archived") as error:
            refused()
        assert error.value.hint == f"restore it first: ragmem gc --restore {ids['index'][:12]}"


def test_a_memory_that_was_never_there_is_not_found(filled):
    memory, _ = filled
    with pytest.raises(NotFoundError):
        memory.injections.log(memory="zzzzzzzz")


def test_a_busy_store_logs_nothing_that_it_did_not_keep(filled):
    memory, _ = filled
    with memory.catalog.database.forbid_writes():
        assert shown(told(memory))
    assert memory.injections.log() == []


@pytest.mark.usefixtures("filled")
def test_the_command_shows_why(inside, tmp_path):
    where = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "HOME": str(tmp_path / "home")} | MODEL
    none = inside("inspect", "injections", **where)
    assert (none.returncode, none.stdout) == (1, "")
    assert inside("context", "--session", "c9", "--prompt", SLOW, "--all", **where).returncode == 0
    listed = inside("inspect", "injections", **where)
    assert listed.returncode == 0
    assert "c9" in listed.stdout
    lines = inside("inspect", "injections", "--session", "c", "--jsonl", **where).stdout.splitlines()
    row = json.loads(lines[0])
    assert (row["event"], row["session"], row["question"]) == ("prompt", "c9", SLOW)
    why = inside("inspect", "injections", "--memory", row["memory"][:12], **where).stdout
    assert "a topic begins: the first prompt" in why
    assert f"relevance {row['terms']['relevance']:.2f}, injected from {row['floor']:.2f} on" in why
    document = json.loads(inside("inspect", "injections", "--json", "-n", "1", **where).stdout)
    assert [one["memory"] for one in document["injections"]] == [row["memory"]]
    refused = inside("inspect", "injections", "--json", "--jsonl", **where)
    assert refused.returncode == 2
