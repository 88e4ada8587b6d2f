"""What sessions record by type comes out by type, of the right project and spec, and never twice."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from record_fields import records
from session_records import QUESTIONS, RECORDS, UNRELATED

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Kind, Scope, State
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import NotFoundError, UsageError
from ragmem.services.records.records import discoveries
from ragmem.services.retrieval.query import Question
from ragmem.storage.memories.record_queries import list_records

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SHORT = "Ann is right."
REAL = {"RAGMEM_MODELS_BACKEND": "minilm", "RAGMEM_STORE_BACKEND": "lightrag"}


@pytest.fixture(scope="module")
def harbour(tmp_path_factory):
    """A memory with the bundled model and the real engine that holds all records, and the name of each."""
    home = tmp_path_factory.mktemp("harbour")
    with Ragmem.open(environ={"RAGMEM_HOME": str(home / "ragmem"), **REAL}, home=home, cwd=home) as memory:
        ids = memory.records.add(RECORDS.values(), project="harbour")
        yield memory, dict(zip(ids, RECORDS, strict=True))


def test_what_is_put_in_by_type_comes_out_by_type(harbour):
    memory, names = harbour
    ranks = []
    for question, name in QUESTIONS.items():
        found = memory.records.get(RECORDS[name][0], question, everywhere=True, limit=3, min_score=0.0)
        assert {item.type for item in found} == {RECORDS[name][0]}
        ranks.append([names[item.id] for item in found].index(name) + 1)
    assert len(RECORDS) >= 40
    assert max(ranks) <= 3
    assert sum(rank == 1 for rank in ranks) >= 0.9 * len(ranks)


def test_among_all_types_nearly_every_record_is_found(harbour):
    memory, names = harbour
    found = {
        question: [names[item.id] for item in memory.records.get((), question, everywhere=True, limit=5)]
        for question in QUESTIONS
    }
    missed = [question for question, name in QUESTIONS.items() if name not in found[question]]
    assert len(missed) <= 0.1 * len(QUESTIONS), missed


def test_the_least_score_keeps_what_answers_and_leaves_out_what_does_not(harbour):
    memory, names = harbour
    kept = [
        question
        for question, name in QUESTIONS.items()
        if name
        in {names[item.id] for item in memory.records.get(RECORDS[name][0], question, everywhere=True)}
    ]
    assert len(kept) >= 0.9 * len(QUESTIONS)
    answered = [question for question in UNRELATED if memory.records.get((), question, everywhere=True)]
    assert len(answered) <= 0.3 * len(UNRELATED), answered


def test_patterns_and_gotchas_come_apart_and_outcomes_with_what_came_of_them(harbour):
    memory, names = harbour
    patterns, gotchas = memory.records.get_patterns_and_gotchas(
        "write a test that stores vessels in the database", num_results=2, everywhere=True
    )
    assert {item.type for item in patterns} == {"pattern"}
    assert {item.type for item in gotchas} <= {"gotcha"}
    assert "factory" in {names[item.id] for item in patterns}
    assert len(patterns) <= 2
    [outcome] = memory.records.get_similar_task_outcomes("move our API to GraphQL", limit=1, everywhere=True)
    assert outcome.fields["success"] is False
    assert "four times slower" in outcome.fields["outcome"]


def test_a_question_of_a_type_finds_it_among_many_nearer_memories(open_memory):
    # Far more chunks are nearer to the question than are looked at: the record must be found all the same.
    memory = open_memory(RAGMEM_QUERY_CANDIDATES="2")
    notes = [
        Draft("ingest", f"note:{n}", f"The lock of the boat is stuck, says note {n}. The boat is locked in.")
        for n in range(200)
    ]
    memory.ingest(notes, rule="off")
    wanted = memory.records.add_gotcha("A database is locked where it lies on a share.", project="user")
    asked = Question("the boat is locked", types=(RecordType.GOTCHA,), nearest=True)
    assert [match.memory.id for match in memory.query(asked.text, question=asked).matches] == [wanted]
    assert [item.id for item in memory.records.get("gotcha", "the boat is locked")] == [wanted]


def test_the_index_leads_to_the_records_of_a_type(memory):
    memory.records.add_gotcha("x")
    statements = []
    with memory.catalog.database.read() as connection:
        connection.set_trace_callback(statements.append)
        list_records(memory.catalog.database, ["gotcha"], projects=["user"], since=NOW, limit=5)
        connection.set_trace_callback(None)
        [sql] = [statement for statement in statements if statement.startswith("SELECT -m.event_at")]
        [plan, *_] = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
    assert "memories_by_source (source=? AND uri>? AND uri<?)" in plan


def test_the_same_record_is_one_memory_with_the_date_of_the_last_time(memory):
    ids = {
        memory.records.add_gotcha(
            "Tides are in standard time.", solution="Convert.", at=NOW - timedelta(days=days)
        )
        for days in (9, 5, 1)
    }
    [found] = memory.records.get("gotcha")
    assert ids == {found.id}
    assert found.memory.event_time == NOW - timedelta(days=1)
    memory.records.add_gotcha("Tides are in standard time.", solution="Convert them.")
    assert len(memory.records.get("gotcha")) == 2


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(records(), min_size=1, max_size=4))
def test_any_fields_come_back_as_they_were_stored(memory, items):
    ids = memory.records.add([(item.type, item.fields) for item in items])
    for identifier, item in zip(ids, items, strict=True):
        again = [found for found in memory.records.get(item.type, limit=500) if found.id == identifier]
        assert [found.fields for found in again][:1] == [
            next(other.fields for other in reversed(items) if other.uri == item.uri)
        ]
        assert again[0].memory.text.startswith("# ")


def test_a_record_is_indexed_whole_however_short_it_is(memory):
    identifier = memory.records.add_user_correction(SHORT)
    stored = memory.memory(identifier)
    assert (stored.state, stored.summary, stored.kind) == (State.INDEXED, "", Kind.PREFERENCE)
    assert stored.protected
    assert SHORT in stored.text


def test_a_spec_and_a_project_never_leak(memory):
    places = {"a": ("tide", "001"), "b": ("tide", "002"), "c": ("kiln", "001"), "d": ("user", "")}
    for text, (project, spec) in places.items():
        memory.records.add_pattern(f"Close the cursor {text}.", project=project, spec=spec)
        memory.records.add_session_insight(f"Closed the cursor {text}.", project=project, spec=spec)
        memory.records.add_codebase_discoveries({f"src/{text}.py": "Cursors."}, project=project, spec=spec)

    def of(query, **among):
        return {
            item.record.title(DEFAULT)[-2]
            for item in memory.records.get("pattern", query, min_score=0, **among)
        }

    for query in ("", "close the cursor"):
        assert of(query, projects=["tide"]) == {"a", "b"}
        assert of(query, projects=["tide"], spec="001") == {"a"}
        assert of(query, projects=["kiln", "user"]) == {"c", "d"}
        assert of(query, everywhere=True) == {"a", "b", "c", "d"}
        assert of(query, everywhere=True, spec="003") == set()
    history = memory.records.get_session_history(projects=["tide"], spec="002")
    assert [item.record.title(DEFAULT) for item in history] == ["Closed the cursor b."]
    assert len(memory.records.get_session_history(projects=["tide"], spec="002", spec_only=False)) == 2
    assert memory.records.get_codebase_discoveries(projects=["tide"], spec="001") == {"src/a.py": "Cursors."}
    assert set(memory.records.get_codebase_discoveries(everywhere=True)) == {
        f"src/{text}.py" for text in "abcd"
    }


def test_the_last_word_on_a_file_counts_whoever_said_it(memory):
    memory.records.add_codebase_discoveries(
        {"src/a.py": "old", "src/b.py": "kept"}, at=NOW - timedelta(days=9)
    )
    memory.records.add_session_insight(files_understood={"src/a.py": "newer"}, at=NOW - timedelta(days=5))
    assert memory.records.get_codebase_discoveries() == {"src/a.py": "newer", "src/b.py": "kept"}
    memory.records.add_codebase_discoveries({"./src/a.py": "newest"}, at=NOW)
    assert discoveries(memory.catalog) == {"src/a.py": "newest", "src/b.py": "kept"}


def test_history_is_newest_first_and_since_leaves_out_what_is_older(memory):
    for days in (3, 1, 2):
        memory.records.add_session_insight(f"Session of {days} days ago.", at=NOW - timedelta(days=days))
    titles = [item.record.title(DEFAULT) for item in memory.records.get_session_history(limit=2)]
    assert titles == ["Session of 1 days ago.", "Session of 2 days ago."]
    recent = memory.records.get("session_insight", since=NOW - timedelta(days=1, hours=1))
    assert [item.record.title(DEFAULT) for item in recent] == ["Session of 1 days ago."]


def test_an_edited_file_leads_to_what_was_recorded_of_it(memory):
    wanted = memory.records.add_root_cause("Fees were wrong.", "Capitals.", files=["src/billing/invoice.py"])
    memory.records.add_gotcha("Decimals become floats.", files=["src/billing/other.py"])
    asked = Question("who changed src/billing/invoice.py", limit=1)
    assert [match.memory.id for match in memory.query(asked.text, question=asked).matches] == [wanted]


def test_without_a_model_a_record_is_durable_and_found_by_its_words(open_memory):
    memory = open_memory(RAGMEM_MODELS_BACKEND="nope")
    wanted = memory.records.add_gotcha("Alembic misses members of an enum.", solution="Write it by hand.")
    assert memory.memory(wanted).state is State.PENDING
    assert [item.id for item in memory.records.get("gotcha", "Alembic enum", min_score=0.0)] == [wanted]
    assert memory.records.get("gotcha")[0].fields["solution"] == "Write it by hand."


def test_an_empty_memory_has_no_records_and_refuses_nothing(memory):
    assert memory.records.get("gotcha", "anything") == []
    assert memory.records.get_patterns_and_gotchas("anything") == ([], [])
    assert memory.records.get_session_history() == []
    assert memory.records.get_codebase_discoveries() == {}
    assert not memory.catalog.exists()


def test_one_record_that_is_wrong_stores_none_of_them(memory):
    with pytest.raises(UsageError, match="lacks the required field"):
        memory.records.add([("gotcha", {"gotcha": "x"}), ("gotcha", {"solution": "y"})])
    assert memory.records.get() == []


def test_an_unknown_type_or_project_and_a_limit_of_nothing_are_refused(memory):
    memory.records.add_gotcha("x")
    with pytest.raises(UsageError, match='no type of record "trap"'):
        memory.records.get("trap")
    with pytest.raises(NotFoundError, match='no project "nope"'):
        memory.records.get("gotcha", projects=["nope"])
    with pytest.raises(UsageError, match="the limit is 0"):
        memory.records.get("gotcha", limit=0)


def test_a_keyword_with_a_slip_is_refused_and_nothing_of_it_lost(memory):
    for method, arguments, slip in (
        (memory.records.add_gotcha, ["x"], {"soluton": "y"}),
        (memory.records.add_session_insight, ["x"], {"files": ["src/a.py"]}),
        (memory.records.add_codebase_discoveries, [{"src/a.py": "x"}], {"sepc": "001"}),
        (memory.records.get, ["gotcha"], {"project": "elsewhere"}),
        (memory.records.get_session_history, [], {"project": "elsewhere"}),
    ):
        [name] = slip
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            method(*arguments, **slip)
    assert not memory.catalog.exists()


def test_a_note_that_is_tagged_like_a_record_is_none(memory):
    memory.ingest([Draft("ingest", "n", "A gotcha of the tides.", tags=("gotcha",))], rule="off")
    memory.ingest([Draft("records", "r", "A gotcha of the tides too.", tags=("gotcha",))], rule="off")
    asked = Question("gotcha of the tides", types=(RecordType.GOTCHA,), nearest=True)
    assert all(match.memory.source == "records" for match in memory.query("x", question=asked).matches)
    assert memory.records.get("gotcha", "gotcha of the tides") == []
    assert memory.records.get("gotcha") == []


def test_what_is_removed_is_gone_and_comes_back_with_its_fields(memory):
    identifier = memory.records.add_task_outcome("Cache the tides", success=True, metadata={"tries": 2})
    memory.forget([identifier])
    assert memory.records.get("task_outcome") == []
    memory.gc.undo()
    [found] = memory.records.get("task_outcome")
    assert found.fields == {"task": "Cache the tides", "success": True, "metadata": {"tries": "2"}}


def test_another_home_has_the_records_after_an_import(memory, open_memory, inside, tmp_path):
    home = {"HOME": str(tmp_path / "home"), "RAGMEM_HOME": str(tmp_path / "ragmem")}
    memory.records.add_pattern("Use hooks.", when="always", project="tide", spec="001", at=NOW)
    away = {**home, "RAGMEM_HOME": str(tmp_path / "away")}
    archive = str(tmp_path / "all.jsonl")
    assert inside("export", archive, **home).returncode == 0
    assert inside("import", archive, **away).returncode == 0
    with Ragmem.open(environ={**away}, home=tmp_path / "home", cwd=tmp_path / "home") as other:
        [found] = other.records.get("pattern", everywhere=True, spec="001")
    assert found.fields == {"pattern": "Use hooks.", "when": "always"}
    assert found.memory.scope == Scope("tide", "001")
    assert json.loads(found.memory.metadata["fields"]) == found.fields


def test_knowledge_and_episodes_stand_in_their_parts_of_a_session_s_context(memory):
    memory.records.add_knowledge(
        "gotcha", "Tide tables ignore summer time.", "Convert the tide tables to UTC."
    )
    memory.records.add_knowledge("pattern", "Tide tables are cached.", "Read the tide tables once a day.")
    memory.records.add_episode("outcome", "Tide tables were imported.", "The tide tables of May are in.")
    text = memory.session_context("import the tide tables", everywhere=True).text
    problems, patterns, sessions = (
        text.partition(f"## {title}")[2].partition("\n## ")[0]
        for title in ("Known problems", "Patterns that work here", "Sessions: the most relevant")
    )
    assert "ignore summer time" in problems
    assert "are cached" in patterns
    assert "were imported" in sessions


def test_the_importance_of_an_episode_is_a_term_of_its_score_and_moves_no_clearly_better_one(memory):
    memory.records.add_episode(
        "action", "Restarted", "The tide gauge of the north quay was restarted.", importance=0
    )
    memory.records.add_episode("action", "Painted", "The tide house was painted.", importance=1)
    matches = memory.query(
        "tide gauge of the north quay restarted",
        question=Question(
            "tide gauge of the north quay restarted", types=(RecordType.EPISODE,), nearest=True
        ),
    ).matches
    assert [(match.memory.title, match.terms["importance"]) for match in matches] == [
        ("Restarted", -0.05),
        ("Painted", 0.05),
    ]
    assert all(0 <= match.score <= 1 for match in matches)
