"""What a session is told before it asks: at its start, at a new topic, never twice, and mostly nothing."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from dated_notes import NOW, store_note

from ragmem.domain.model import Draft, Kind, Scope
from ragmem.errors import UsageError
from ragmem.services.context.topics import FEW
from ragmem.services.retrieval.question import Question

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
SESSION = (
    "Session: the departures board query scanned the whole departures table. The index of the departures"
    " table was forgotten in a migration; the query of the board is fast with it."
)


@pytest.fixture
def filled(open_memory):
    """A memory with vectors of the bundled model, and a project that was last about a slow query."""
    memory = open_memory(**MODEL)
    ids = {
        "index": stored(memory, "index", INDEX, kind=Kind.ARCHITECTURE),
        "colours": stored(memory, "colours", COLOURS, kind=Kind.ARCHITECTURE),
        "session": stored(memory, "session", SESSION, source="sessions", days=1),
    }
    return memory, ids


def told(memory, session="s", prompt="", **more):
    return memory.injections.anticipate(session, prompt, projects=[PROJECT], at=NOW, **more)


def shown(anticipated):
    return [one.id for one in anticipated.context.memories]


def test_a_session_begins_with_what_always_holds_and_hears_it_once(filled):
    memory, ids = filled
    first = told(memory)
    assert set(ids.values()) == set(shown(first))
    assert (first.reason, first.notes) == ("the session begins", ())
    again = told(memory)
    assert (again.context.text, again.reason) == (
        "",
        "the start context was already injected into this session",
    )
    assert shown(told(memory, "another")) == shown(first)


LOG = (
    "# Decision log\n\n## Colours\n\nWe decided to use contrast colours of at least 7:1, because the palette"
    " of the harbour website failed its audit.\n\n## Board query\n\nThe departures board query of Porto Azul"
    " scans the whole departures table, because its index was forgotten in a migration. We decided that each"
    " migration lists the indexes of the departures table before and after.\n"
)


def test_of_a_text_of_which_the_start_told_a_line_a_prompt_gets_another_part(open_memory):
    memory = open_memory(**MODEL)
    log = stored(memory, "Decision log", LOG, kind=Kind.ARCHITECTURE, source="decisions")
    start = told(memory)
    assert shown(start) == [log]
    assert "index" not in start.context.text
    assert shown(told(memory, prompt=SLOW)) == [log]
    assert shown(told(memory, prompt=f"{SLOW} again, on the other board")) == []


def test_a_prompt_is_told_only_what_stands_out_from_the_rest_of_the_project(filled):
    memory, ids = filled
    for number in range(24):
        stored(
            memory,
            f"berth{number}",
            f"Berth {number} of the harbour is dredged by barge {number + 40} in spring.",
        )
    common = "please plan how the berths of our harbour are dredged by barges in spring"
    assert memory.retrieval.ask(Question(common, projects=(PROJECT,))).matches
    assert told(memory, "common", common).context.text == ""
    assert ids["index"] in shown(told(memory, "slow", SLOW))


def test_of_many_rules_the_start_tells_those_near_to_the_last_work(filled):
    memory, ids = filled
    for number in range(12):
        stored(
            memory,
            f"rule{number}",
            f"## Decision\n\nStatus: accepted. Quay {number} closes at {number + 2} because of dredging.",
            days=5,
            source="records",
        )
    for number in range(6):
        stored(memory, f"session{number}", f"{SESSION} Part {number}.", source="sessions", days=2)
    block = shown(told(memory))
    assert ids["index"] in block
    assert ids["colours"] not in block


def test_nothing_is_embedded_at_the_start(filled, monkeypatch):
    memory, _ = filled

    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr(type(memory.models.embedder), "embed", refuse, raising=False)
    monkeypatch.setattr("ragmem.backends.fake.FakeEmbedder.embed", refuse)
    assert shown(told(memory))


def test_a_first_prompt_and_a_switch_tell_what_answers_and_what_goes_on_tells_nothing(filled):
    memory, ids = filled
    first = told(memory, prompt=SLOW)
    assert ids["index"] in shown(first)
    assert first.reason == "a topic begins: the first prompt"
    goes_on = told(memory, prompt=f"{SLOW} since the last migration")
    assert (goes_on.context.text, goes_on.reason) == (
        "",
        "the topic has not changed: near the previous prompts",
    )
    switched = told(memory, prompt=CSS)
    assert shown(switched) == [ids["colours"]]
    assert switched.reason == "a topic begins: far from the previous prompts"


def test_nothing_is_shown_twice_to_a_session(filled):
    memory, ids = filled
    assert set(shown(told(memory))) == set(ids.values())
    later = told(memory, prompt=SLOW)
    assert shown(later) == []
    assert later.reason == "a topic begins: the first prompt; all relevant memories were already shown"
    new = stored(
        memory,
        "new",
        "The departures board of Porto Azul is slow again: the planner scans the whole departures table,"
        " since its statistics are stale after the nightly import. Run ANALYZE at the end of it.",
        days=0,
    )
    assert shown(told(memory, "s", CSS)) == []
    assert shown(told(memory, "s", SLOW)) == [new]


@pytest.mark.parametrize("prompt", ["yes", "go on", "```\nx = 1\n```", "do the same for that one"])
def test_a_prompt_that_says_too_little_tells_nothing_and_keeps_the_topic(filled, prompt):
    memory, _ = filled
    told(memory, prompt=SLOW)
    before = memory.catalog.sessions.get("s").topic
    answer = told(memory, prompt=prompt)
    assert answer.context.text == ""
    assert answer.reason.startswith("the prompt begins no topic: ")
    assert memory.catalog.sessions.get("s").topic == before


@pytest.mark.parametrize(
    "prompt",
    [
        "now buoys.py too",
        "and E1042?",
        "do the same for `read_gauge` please",
        "fix #417 again",
        "wie steht es um buoys.py",
        "does it hold for Zarquon as well",
    ],
)
def test_a_prompt_that_is_the_first_to_name_something_rare_is_answered_however_short(filled, prompt):
    memory, _ = filled
    gauge = stored(
        memory,
        "gauge",
        "`read_gauge` in buoys.py fails with E1042 where the buoy is dry, see #417. Zarquon sends knots.",
    )
    told(memory, prompt=SLOW)
    answer = told(memory, prompt=prompt)
    assert shown(answer) == [gauge]
    assert answer.reason.startswith("a topic begins: the first prompt that names ")
    again = told(memory, prompt=prompt)
    assert again.context.text == ""
    assert again.reason.startswith(("the prompt begins no topic", "the topic has not changed"))


def test_a_name_that_no_memory_or_many_have_begins_no_topic(filled):
    memory, _ = filled
    for number in range(FEW + 1):
        stored(memory, f"gauge{number}", f"The gauge of berth {number} is read by buoys.py at {number}.")
    told(memory, prompt=SLOW)
    for prompt in ("now buoys.py too", "now ghost.py too", "yes, go on", "Continue"):
        answer = told(memory, prompt=prompt)
        assert (answer.context.text, answer.reason.split(":")[0]) == ("", "the prompt begins no topic")


def test_where_nothing_answers_nothing_is_told(filled):
    memory, _ = filled
    answer = told(memory, prompt="bake sourdough bread overnight with cold fermentation in winter")
    assert answer.context.text == ""
    assert answer.reason.startswith("a topic begins: the first prompt; no memory")


def test_another_project_is_not_told_of(filled):
    memory, _ = filled
    secret = stored(memory, "elsewhere", INDEX.replace("migration", "release"), project="p-other")
    for prompt in ("", SLOW):
        assert secret not in shown(told(memory, prompt=prompt))
    outside = memory.injections.anticipate("t", SLOW, at=NOW)
    assert (shown(outside), outside.projects) == ([], ("user",))


def test_calls_at_once_show_each_memory_once_and_lose_nothing(filled):
    memory, ids = filled
    gate = threading.Barrier(6)

    def call(number):
        gate.wait()
        return told(memory, prompt=SLOW if number % 2 else "")

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(call, range(6)))
    given = [one for answer in answers for one in shown(answer)]
    assert sorted(given) == sorted(set(given))
    assert set(given) == set(memory.catalog.sessions.get("s").shown)
    assert ids["index"] in given


def test_a_store_that_is_busy_still_answers_and_says_what_it_could_not_keep(filled, open_memory):
    memory, ids = filled
    other = open_memory(**MODEL)
    other.prepare()
    with other.catalog.database.write(), ThreadPoolExecutor(1) as pool:
        answer = pool.submit(told, memory).result(timeout=30)
    assert set(shown(answer)) == set(ids.values())
    assert [note for note in answer.notes if "was not stored" in note]
    assert memory.catalog.sessions.get("s") is None


def test_a_home_that_cannot_be_written_still_answers(filled):
    memory, ids = filled
    with memory.catalog.database.forbid_writes():
        answer = told(memory)
        told_of = told(memory, prompt=SLOW)
    assert set(shown(answer)) == set(ids.values())
    assert ids["index"] in shown(told_of)
    assert all("was not stored" in one.notes[0] for one in (answer, told_of))


def test_without_a_model_the_start_is_told_and_a_prompt_is_met_with_silence(open_memory):
    memory = open_memory(RAGMEM_MODELS_URL="down")
    waits = stored(memory, "index", INDEX, kind=Kind.ARCHITECTURE)
    assert shown(told(memory)) == [waits]
    answer = told(memory, prompt=SLOW)
    assert answer.context.text == ""
    assert answer.reason.startswith("a topic change cannot be detected: ")


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\nb"])
def test_a_session_needs_a_name(memory, name):
    memory.prepare()
    with pytest.raises(UsageError, match="cannot name a session"):
        told(memory, name)


def test_a_corrupt_topic_begins_anew(filled):
    memory, ids = filled
    told(memory, prompt=CSS)
    with memory.catalog.database.write() as connection:
        connection.execute('UPDATE sessions SET topic = \'{"schema": 1, "topic": 5}\'')
    answer = told(memory, prompt=SLOW)
    assert answer.reason.startswith("a topic begins: the first prompt")
    assert ids["colours"] not in shown(answer)


@pytest.mark.usefixtures("filled")
def test_the_command_tells_once_and_its_json_says_why(inside, tmp_path):
    where = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "HOME": str(tmp_path / "home")} | MODEL
    begun = inside("context", "--session", "c", "--all", **where)
    assert begun.returncode == 0
    assert INDEX[:40] in begun.stdout
    again = inside("context", "--session", "c", "--all", **where)
    assert (again.returncode, again.stdout) == (1, "")
    assert "already injected" in again.stderr
    read = inside("context", "--session", "d", "--prompt", "-", "--all", "--json", stdin=SLOW, **where)
    document = json.loads(read.stdout)
    assert document["reason"] == "a topic begins: the first prompt"
    assert "index" in [one["title"] for one in document["memories"]]
    assert (document["session"], document["notes"], document["projects"]) == ("d", [], None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--prompt", "x"), "--prompt needs --session"),
        (("a task", "--session", "x"), "are mutually exclusive"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(inside, arguments, message):
    refused = inside("context", *arguments)
    assert refused.returncode == 2
    assert message in refused.stderr


def test_the_topic_of_another_model_begins_without_a_switch(filled, open_memory):
    memory, _ = filled
    told(memory, prompt=SLOW)
    kept = memory.catalog.sessions.get("s")
    memory.catalog.sessions.keep(
        "s", project=kept.project, topic={**kept.topic, "model": "former"}, shown=[], now=NOW
    )
    answer = told(memory, prompt=CSS)
    assert answer.reason == "the topic has not changed: another model"


def test_what_answers_a_new_topic_is_recalled_and_what_a_session_is_told_unasked_is_not(filled):
    memory, ids = filled
    assert told(memory).context.memories
    memory.recalls.absorb()
    assert memory.catalog.lives.recalls() == []
    shown = told(memory, "other", SLOW).context.memories
    assert ids["index"] in {one.id for one in shown}
    memory.recalls.absorb()
    assert {recall.session for recall in memory.catalog.lives.recalls([one.id for one in shown])} == {"other"}
    assert len(memory.catalog.lives.recalls()) == len(shown)


def test_an_exchange_that_the_person_broke_off_is_told_to_those_who_ask_only(open_memory):
    memory = open_memory(**MODEL)
    broken = stored(memory, "broken", INDEX, source="transcripts", metadata={"interrupted": "yes"})
    assert shown(told(memory, "s", SLOW)) == []
    found = memory.retrieval.ask(Question(SLOW, projects=(PROJECT,)))
    assert [match.memory.id for match in found.matches] == [broken]


@pytest.mark.parametrize(
    ("file", "assistant", "is_told"),
    [
        ("CLAUDE.md", "claude-code", False),
        ("CLAUDE.md", "codex", True),
        ("CLAUDE.md", "", True),
        (".claude/rules/boards/query.md", "claude-code", False),
        (".claude/rules/of-files.md", "claude-code", True),
        ("AGENTS.md", "codex", False),
        ("docs/AGENTS.md", "codex", True),
        ("../other/.claude/CLAUDE.md", "claude-code", True),
    ],
)
def test_what_an_assistant_reads_by_itself_is_not_told_again(open_memory, tmp_path, file, assistant, is_told):
    memory, root = open_memory(**MODEL), tmp_path / "tideline"
    folder = root / "src"
    folder.mkdir(parents=True)
    memory.catalog.prepare()
    memory.catalog.projects.remember(PROJECT, name="tideline", root=str(root))
    path, more = (root / file).resolve(), {"paths": "**/*.sql"} if "of-files" in file else {}
    memory.ingest([Draft("claudemds", str(path), INDEX, scope=Scope(PROJECT), metadata=more)], rule="off")
    answer = memory.injections.anticipate("s", SLOW, at=NOW, cwd=folder, assistant=assistant)
    assert bool(answer.context.text) is is_told, answer.reason
    # An agent within the session has a context of its own.
    assert memory.injections.anticipate("s", SLOW, at=NOW, cwd=folder, agent="a").context.text


def test_of_the_settings_each_assistant_reads_its_own(open_memory, tmp_path):
    memory = open_memory(**MODEL)
    for name in (".claude/CLAUDE.md", ".codex/AGENTS.md"):
        text = INDEX if "codex" in name else SESSION
        memory.ingest([Draft("instructions", str(tmp_path / name), text, scope=Scope("user"))], rule="off")
    for assistant, other in (("claude-code", ".codex/AGENTS.md"), ("codex", ".claude/CLAUDE.md")):
        answer = memory.injections.anticipate(assistant, SLOW, at=NOW, cwd=tmp_path, assistant=assistant)
        assert [one.uri for one in answer.context.memories] == [str(tmp_path / other)]
