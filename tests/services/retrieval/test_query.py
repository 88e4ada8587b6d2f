"""Questions: what is found, in which order, and when nothing is."""

import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Kind, Scope
from ragmem.errors import NotFoundError, UsageError
from ragmem.services.processes.dates import parse_moment
from ragmem.services.retrieval.query import MAX_QUERY, Question
from ragmem.storage.activity.model_record import ACTIVE

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def draft(uri: str, text: str, *, days: float = 0, project: str = "user", **more) -> Draft:
    return Draft(
        "ingest", uri, text, uri, event_time=NOW - timedelta(days=days), scope=Scope(project), **more
    )


def found(memory: Ragmem, text: str, **filters) -> list[str]:
    answer = memory.query(text, question=Question(text, **filters), at=NOW)
    return [match.memory.uri for match in answer.matches]


@pytest.fixture
def filled(memory: Ragmem) -> Ragmem:
    memory.ingest(
        [
            draft(
                "pool", "The connection pool was exhausted because of a leak; fix: close the cursor.", days=5
            ),
            draft("deploy", "We deploy with systemd because the config of compose had an error.", days=100),
            draft("other", "The kiln architecture: we chose gas because of the pattern.", project="kiln-1"),
        ]
    )
    return memory


def test_the_memory_that_shares_the_words_comes_first(filled):
    assert found(filled, "why was the connection pool exhausted")[0] == "pool"


def test_further_parts_of_a_memory_that_answer_are_told_of_with_it(memory):
    filler = "\n\n".join(
        f"Ship {n} lay at berth {n} and left with the tide of the evening." for n in range(60)
    )
    one = "The connection pool was exhausted because of a leaking cursor; we decided on a pattern as the fix."
    two = "The connection pool was exhausted again, this time by the importer."
    text = f"## First\n\n{one}\n\n## Ships\n\n{filler}\n\n## Second\n\n{two}\n"
    memory.ingest(
        [draft("pool", text), draft("deploy", "We deploy with systemd because compose had an error.")],
        rule="off",
    )
    (match, *_) = memory.query("why was the connection pool exhausted", at=NOW).matches
    chunks = (match.chunk, *match.also)
    assert {said for said in (one, two) for chunk in chunks if said in chunk.text} == {one, two}
    assert all(match.memory.indexed_text[chunk.start : chunk.end] == chunk.text for chunk in chunks)


def test_a_warm_question_takes_few_transactions_and_statements(open_memory):
    memory = open_memory(RAGMEM_STORE_BACKEND="lightrag")
    memory.ingest(
        [
            draft(f"pump-{n}", f"Pump {n} of the Harbor Control Protocol failed because of a leak.", days=n)
            for n in range(30)
        ]
    )
    found(memory, "why did the pumps fail")
    statements: list[str] = []
    memory.catalog.database.connection().set_trace_callback(statements.append)
    assert len(found(memory, "which protocol did a leak of pump 7 break", limit=8)) > 1
    # One for the vectors, one for all else, and those of the model and the calibration.
    assert statements.count("BEGIN") <= 6
    assert len(statements) <= 45


def test_an_unrelated_question_finds_nothing(filled):
    assert found(filled, "zebra quagga okapi") == []


def test_lines_below_titles_do_not_make_prose_a_program(memory):
    line = "=" * 80
    memory.ingest(
        [
            draft("rst", f"Limits\n{line}\n\nThe mooring queue holds forty jobs.\n"),
            draft("code", "mooring = {queue[0]: jobs(); holds(forty)}; <limits>; [mooring()]; queue = {}"),
        ]
    )
    code = {
        match.memory.uri: match.terms["code"] for match in memory.query("mooring queue holds forty").matches
    }
    assert code == {"rst": 0.0, "code": 1.0}


def test_a_question_keeps_to_its_projects(filled):
    assert found(filled, "kiln gas", projects=("user",)) == []
    assert found(filled, "kiln gas", projects=("kiln-1",)) == ["other"]
    assert found(filled, "kiln gas") == ["other"]


def test_filters_leave_out_what_they_name(filled):
    assert "deploy" not in found(filled, "systemd config error", since=NOW - timedelta(days=10))
    assert found(filled, "systemd config error", sources=("sessions",)) == []


def test_of_two_equal_matches_the_younger_comes_first(memory):
    text = "The scheduler skipped a run because the config had an error in {}."
    memory.ingest([draft("old", text.format("may"), days=300), draft("young", text.format("june"), days=1)])
    assert found(memory, "scheduler skipped a run") == ["young", "old"]


def test_the_age_that_counts_is_that_of_the_event(memory):
    memory.ingest([draft("x", "The cache broke because of a config error, fix applied.", days=60)])
    (match,) = memory.query("cache broke", at=NOW).matches
    assert match.terms["age_days"] == pytest.approx(60)
    half_life = memory.settings.decay.half_lives_days[match.memory.kind]
    assert match.terms["recency"] == pytest.approx(0.4 * 0.5 ** (60 / half_life))
    lost = 0.2 * (1 - match.terms["recency"])
    assert match.score == pytest.approx(match.terms["relevance"] * (1 - lost))


def test_the_published_formula_is_one_setting_away(open_memory: Callable[..., Ragmem]):
    memory = open_memory(RAGMEM_QUERY_EARNED_RECENCY="false")
    memory.ingest([draft("x", "The cache broke because of a config error, fix applied.", days=60)])
    (match,) = memory.query("cache broke", at=NOW).matches
    assert match.score == pytest.approx(0.7 * match.terms["relevance"] + 0.3 * match.terms["recency"])


SCHEDULER = [
    draft("right", "The scheduler skipped a run because the lock file stayed: an error.", days=900),
    draft("new", "The scheduler skipped a run, and the lock had a new pattern: an error.", days=0),
    draft("beside", "The kettle of the office tripped the breaker because of a wet plug.", days=0),
]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({}, ["right", "new"]),
        ({"SEMANTIC": "1", "RECENCY": "0"}, ["right", "new"]),
        ({"SEMANTIC": "0.1", "RECENCY": "0.9"}, ["new", "right"]),
        ({"SEMANTIC": "0", "RECENCY": "1"}, ["new", "right"]),
    ],
)
def test_the_weights_of_decay_json_decide_between_what_is_right_and_what_is_new(
    open_memory, weights, expected
):
    memory = open_memory(**{f"RAGMEM_DECAY_WEIGHTS_{name}": value for name, value in weights.items()})
    memory.ingest(SCHEDULER, rule="off")
    assert found(memory, "scheduler skipped a run, lock file stayed") == expected
    for match in memory.query("scheduler skipped a run, lock file stayed", at=NOW).matches:
        semantic, _ = memory.settings.decay.exponents
        told = match.terms["relevance"] ** semantic * match.terms["age_factor"]
        assert match.score == pytest.approx(told)


def test_a_half_life_of_decay_json_can_change_the_order(open_memory):
    texts = {Kind.RESEARCH: "The pool leaked, says the survey.", Kind.ERROR: "The pool leaked, says the log."}
    orders = []
    for days in ("1", "5000"):
        memory = open_memory(
            RAGMEM_DECAY_HALF_LIVES_DAYS_RESEARCH=days, RAGMEM_DECAY_HALF_LIVES_DAYS_ERROR="60"
        )
        memory.ingest([draft(kind, text, days=90, kind=kind) for kind, text in texts.items()], rule="off")
        orders.append(found(memory, "the pool leaked"))
        memory.close()
    assert orders == [["error", "research"], ["research", "error"]]


def test_the_floor_of_decay_json_leaves_out_what_scores_less(open_memory):
    memory = open_memory()
    memory.ingest(SCHEDULER, rule="off")
    scores = [match.score for match in memory.query("scheduler skipped a run", at=NOW).matches]
    floor = (scores[0] + scores[1]) / 2
    memory.close()
    assert (
        len(found(open_memory(RAGMEM_DECAY_MIN_SCORE_THRESHOLD=str(floor)), "scheduler skipped a run")) == 1
    )


def test_inspect_tells_what_age_makes_of_a_score(memory, inside, tmp_path):
    (stored,) = memory.ingest(
        [draft("x", "The cache broke because of a config error, fix applied.", days=60)]
    )
    identifier = stored.memory.id
    memory.close()
    home = {"HOME": str(tmp_path / "home"), "RAGMEM_HOME": str(tmp_path / "ragmem")}
    told = json.loads(inside("inspect", "memory", identifier, "--json", **home).stdout)["memory"]["ageing"]
    assert told["age_factor"] == pytest.approx(1 - 0.2 * (1 - told["recency"]), abs=1e-4)
    plain = inside("query", "cache broke", "--explain", RAGMEM_DECAY_WEIGHTS_RECENCY="0", **home).stdout
    assert "age_factor=1 " in plain
    assert f"age_factor={told['age_factor']:g}" in inside("inspect", "memory", identifier, **home).stdout
    refused = inside("query", "cache broke", RAGMEM_DECAY_WEIGHTS_RECENCY="-1", **home)
    assert refused.returncode == 2
    assert "RAGMEM_DECAY_WEIGHTS_RECENCY" in refused.stderr


def test_being_new_does_not_beat_being_right(memory):
    memory.ingest(
        [
            draft("right", "The scheduler skipped a run because the lock file stayed: an error.", days=900),
            draft("new", "The scheduler has a new pattern for its config, because of an error.", days=0),
        ]
    )
    assert found(memory, "scheduler skipped a run lock file stayed")[0] == "right"


def test_exact_duplicates_hide_behind_the_best_one(memory):
    text = "We pinned the driver because of an error in the config of the pool."
    memory.ingest([draft("a", text), draft("b", text), draft("c", text)])
    (match,) = memory.query("pinned the driver", at=NOW).matches
    assert len(match.duplicates) == 2


def test_a_question_of_change_finds_both_versions_of_a_text(memory):
    rest = (
        "Each service reads this file once when it starts and stops with an error where a key is missing. "
        "Secrets never stand there; they come from the environment of the host that runs the job at night."
    )
    memory.ingest(
        [
            draft(f"release {n}", f"The config of the pool is in {place}. {rest}", days=n)
            for n, place in ((1, "settings"), (2, "defaults"))
        ],
        rule="off",
    )
    assert len(found(memory, "where is the config of the pool?")) == 1
    assert (
        len(found(memory, "where is the config of the pool, and where was it in the earlier release?")) == 2
    )


def test_documents_that_begin_alike_are_each_found_by_what_is_their_own(memory):
    head = " ".join(f"Step {n} of the session looked at file {n} and found nothing." for n in range(120))
    ends = {
        "cache": "Then the cache of the tiles was cleared because the error came from there.",
        "login": "Then the login of the guests was repaired because the error came from there.",
    }
    memory.ingest([draft(name, f"{head}\n\n{end} This fixed it.") for name, end in ends.items()], rule="off")
    assert set(found(memory, "error came from there, then it was fixed")) == set(ends)


def test_copies_leave_room_for_other_answers(memory):
    copies = [draft(f"copy{n}", "The pool leaked because of an error.", project=f"p{n}") for n in range(20)]
    others = [
        draft(f"other{n}", f"The pool leaked once more in week {n}, since valve {n} broke: an error.", days=n)
        for n in range(6)
    ]
    memory.ingest([*copies, *others], rule="off")
    answered = found(memory, "the pool leaked because of an error", limit=4)
    assert len(answered) == 4
    assert sum(uri.startswith("copy") for uri in answered) == 1


def test_one_text_in_two_projects_is_one_answer_that_names_both_places(memory, inside, tmp_path):
    text = "We pinned the driver because of an error in the config of the pool."
    memory.ingest([draft("notes/driver", text, project="alpha"), draft("docs/pins", text, project="beta")])
    memory.close()
    home = {"HOME": str(tmp_path / "home"), "RAGMEM_HOME": str(tmp_path / "ragmem")}
    (match,) = json.loads(inside("query", "pinned the driver", "--all", "--json", **home).stdout)["matches"]
    (other,) = match["elsewhere"]
    assert {match["project"], other["project"]} == {"alpha", "beta"}
    assert {match["uri"], other["uri"]} == {"notes/driver", "docs/pins"}
    assert match["duplicates"] == [other["id"]]
    for form in ((), ("--context",)):
        told = inside("query", "pinned the driver", "--all", *form, **home).stdout
        assert f"in {match['project']}, also in {other['project']}: {other['uri']}" in told, form
    (alone,) = json.loads(
        inside("query", "pinned the driver", "--project", "alpha", "--json", **home).stdout
    )["matches"]
    assert alone["elsewhere"] == []


def test_a_two_letter_question_is_answered_by_full_text(memory):
    memory.ingest([draft("go", "We chose go because of the deploy config; error handling is a pattern.")])
    assert found(memory, "go") == ["go"]


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_question_is_refused(filled, text):
    with pytest.raises(UsageError, match="empty"):
        filled.query(text)


def test_an_oversized_question_is_refused_with_its_length(filled):
    with pytest.raises(UsageError, match="1,000,000 characters"):
        filled.query("x" * 1_000_000)
    assert filled.query("pool " * (MAX_QUERY // 5)).matches


@pytest.mark.parametrize(
    "text", ['"', "a AND", "NEAR(", "*", "^x", "col:val", "-", "(", "';--", "\x00", "🦜"]
)
def test_no_character_of_a_question_is_syntax(filled, text):
    filled.query(text)


def test_every_mode_of_the_engine_answers(filled):
    for mode in ("local", "global", "hybrid", "naive", "mix"):
        answer = filled.query(
            "connection pool exhausted", question=Question("connection pool exhausted", mode=mode), at=NOW
        )
        assert "pool" in [match.memory.uri for match in answer.matches], mode


MODES = ("local", "global", "hybrid", "naive", "mix")


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_of_the_engine_scores_by_relevance_and_is_silent_where_nothing_answers(filled, mode):
    asked = "why was the connection pool exhausted"
    usual = filled.query(asked, question=Question(asked), at=NOW).matches[0]
    first = filled.query(asked, question=Question(asked, mode=mode), at=NOW).matches[0]
    assert (first.memory.uri, first.score) == (usual.memory.uri, pytest.approx(usual.score))
    assert "engine_rank" in first.terms
    nonsense = filled.query("zebra quagga okapi", question=Question("zebra quagga okapi", mode=mode), at=NOW)
    assert nonsense.matches == ()
    assert nonsense.graph == {}
    assert "no memory is relevant" in nonsense.notes[0]


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_of_the_engine_puts_the_better_match_of_one_project_before_the_newer_one_of_another(
    memory, mode
):
    memory.ingest(
        [
            draft(
                "right",
                "The scheduler skipped a run because the lock stayed: an error.",
                project="a",
                days=90,
            ),
            draft("new", "The scheduler of the kiln was painted because of a new pattern.", project="b"),
        ],
        rule="off",
    )
    assert found(memory, "scheduler skipped a run because the lock stayed", mode=mode)[0] == "right"


def test_asking_an_empty_home_names_the_next_step(memory):
    with pytest.raises(UsageError, match="no memory") as caught:
        memory.query("anything")
    assert "ragmem seed" in caught.value.hint


def test_another_model_that_nobody_can_open_leaves_full_text_and_says_so(open_memory):
    first = open_memory(RAGMEM_STORE_BACKEND="lightrag")
    first.seed()
    # As in a home of an earlier release: nothing says how to open the model of its vectors.
    first.catalog.models.write(ACTIVE, None)
    other = open_memory(RAGMEM_STORE_BACKEND="lightrag", RAGMEM_MODELS_BACKEND="minilm")
    answer = other.query("stale lock restart")
    assert answer.matches[0].memory.title == "Stale lock"
    assert answer.rung == "text"
    assert "full text only" in answer.notes[0]


def test_an_unknown_project_is_named_with_those_that_exist(memory, notes):
    memory.seed()
    with pytest.raises(NotFoundError, match='no project "atlantis"'):
        memory.projects.resolve(["atlantis"])


def test_kinds_filter(filled):
    kinds = {match.memory.kind for match in filled.query("because error config fix", at=NOW).matches}
    for kind in Kind:
        answer = filled.query("x", question=Question("because error config fix", kinds=(kind,)), at=NOW)
        assert {match.memory.kind for match in answer.matches} == kinds & {kind}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-15", datetime(2026, 3, 15, tzinfo=UTC)),
        ("2026-03-15T10:30:00+02:00", datetime(2026, 3, 15, 8, 30, tzinfo=UTC)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
        ("12h", NOW - timedelta(hours=12)),
        ("yesterday", NOW - timedelta(days=1)),
    ],
)
def test_dates_as_people_type_them(text, expected):
    assert parse_moment(text, now=NOW) == expected


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "2026-13-01",
        "7x",
        "",
        "99999999999d",
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:00-14:00",
    ],
)
def test_a_text_that_is_no_date_is_refused_by_name(text):
    with pytest.raises(UsageError, match="is not a date"):
        parse_moment(text, now=NOW)


def test_a_secret_that_was_stored_as_it_is_is_shown_by_inspect_alone(inside, tmp_path, notes):
    home = {
        "HOME": str(tmp_path / "home"),
        "RAGMEM_HOME": str(tmp_path / "ragmem"),
        "RAGMEM_SECRETS_REDACT": "false",
    }
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"
    note = notes / "deploybot.md"
    note.write_text(
        f"---\ntitle: Deploybot with {key}\napi_key: {key[4:]}\n---\n"
        f"# Deploybot with {key}\n\nWe decided that Deploybot uses {key}, because the error came from SSH.\n"
    )
    inside("ingest", str(note), "--project", "user", **home)
    for form in ((), ("--explain",), ("--json",), ("--jsonl",), ("--context",)):
        told = inside("query", "what does Deploybot use", *form, **home)
        assert "[redacted: GitHub token]" in told.stdout, form
        assert key[4:] not in told.stdout, form
    (identifier,) = inside("query", "Deploybot", "--ids", **home).stdout.split()
    assert key in inside("inspect", "memory", identifier, **home).stdout
    assert key in inside("inspect", "memory", identifier, "--json", **home).stdout


CHATTER = "Perfect! Now I'll update the berth list and move on to the next task."


def test_discarded_texts_are_marked_and_are_asked_for_by_an_option(open_memory, inside, tmp_path):
    with closing(open_memory()) as memory:
        memory.ingest(
            [
                Draft("transcripts", "/chatter", CHATTER, "chatter"),
                draft("list", "Update the berth list by `make berths`, because it is generated."),
            ]
        )
    home = {"HOME": str(tmp_path / "home"), "RAGMEM_HOME": str(tmp_path / "ragmem")}
    asked = ("query", "update the berth list", "--all", "--quiet")
    assert "chatter" not in inside(*asked, **home).stdout
    shown = inside(*asked, "--all-tiers", **home).stdout
    assert shown.count("discarded") == 1
