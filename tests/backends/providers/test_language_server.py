"""Each use of a language model with a real server and random weights: what makes no sense does no harm.

The server is `mlx_lm.server`. It streams, and takes neither a schema nor a picture. One of its models ends
its answers after some words, the other never ends.
"""

import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec

import pytest
from language_server import language_server
from PIL import Image

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope
from ragmem.domain.model.lifecycle import Connection
from ragmem.services.doctor.invariants import violations
from ragmem.services.retrieval.answerer import MAX_TOKENS

needs_mlx_vlm = pytest.mark.skipif(find_spec("mlx_vlm") is None, reason="mlx-vlm is not installed")

if find_spec("mlx_lm") is None:
    pytest.skip("mlx-lm is not installed", allow_module_level=True)

NAMES = ("Tideline", "Gullwing", "Quayside")
"""Notes; after three failures in a row extraction stops."""

NOTE = (
    "# {0}\n\nWe decided to run {0} beside Kafka because the error of March came from {0}. The fix was to let"
    " {0} call the Harbour Board first; the config of the deploy was resolved.\n"
)
QUESTION = "why do we run Tideline beside Kafka"
NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture(scope="module")
def server(tiny_models, tmp_path_factory):
    with language_server(tiny_models.chatty, tmp_path_factory.mktemp("hub")) as address:
        yield f"{address}/v1"


@pytest.fixture(scope="module")
def brief(tiny_models, tmp_path_factory):
    """Return the folder of the same model, for which one token in eight ends an answer."""
    folder = tmp_path_factory.mktemp("brief") / "model"
    shutil.copytree(tiny_models.chatty, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps(config | {"eos_token_id": [*range(1, config["vocab_size"], 8)]})
    )
    return folder


@pytest.fixture
def environ(server, brief, tmp_path):
    """Return the variables that name the server, with a home of the test's own."""
    return {
        "RAGMEM_HOME": str(tmp_path / "ragmem"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "lightrag",
        "RAGMEM_LANGUAGE_MODEL_BACKEND": "compatible",
        "RAGMEM_LANGUAGE_MODEL_MODEL": str(brief),
        "RAGMEM_LANGUAGE_MODEL_URL": server,
        "RAGMEM_LANGUAGE_MODEL_RETRIES": "0",
        "RAGMEM_LANGUAGE_MODEL_TIMEOUT_S": "60",
        "RAGMEM_EXTRACTION_BY": "both",
        "RAGMEM_EXTRACTION_MAX_TOKENS": "300",
    }


@pytest.fixture
def opened(environ, tmp_path):
    """Return a function that opens the memory of the test; each is what a new process would open."""
    memories = []
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in NAMES:
        (notes / f"{name}.md").write_text(NOTE.format(name))
    sources = tmp_path / "sources.toml"
    sources.write_text(f'[sources.notes]\nglob = "{notes}/*.md"\n')

    def open_with(**changes):
        memory = Ragmem.open(environ=environ | changes, home=tmp_path, cwd=tmp_path, sources_file=sources)
        memories.append(memory)
        return memory

    yield open_with
    for memory in memories:
        memory.close()


@pytest.fixture
def asked(ragmem, environ, opened):
    """Return a function that runs a command on a memory with the notes."""
    with opened(RAGMEM_EXTRACTION_BY="rules") as memory:
        memory.seed()

    def run(*arguments, **changes):
        return ragmem(*arguments, **environ | changes)

    return run


def usage(memory):
    """Return the numbers of requests and of answers of no use."""
    rows = memory.ledger.rows().values()
    return sum(row.calls for row in rows), sum(row.invalid for row in rows)


def graph(memory):
    return {(one.name, one.description, degree) for one, degree in memory.store.entities(limit=1000)}


def test_a_nonsense_extraction_leaves_the_rules_alone_and_is_counted(opened):
    with opened(RAGMEM_EXTRACTION_BY="rules") as memory:
        memory.seed()
        ruled = graph(memory)
    memory = opened()
    done = memory.seed().extraction
    assert (done.asked, done.invalid, done.waiting) == (len(NAMES), len(NAMES), 0)
    assert graph(memory) == ruled
    assert violations(memory.catalog, memory.store) == []
    calls, invalid = usage(memory)
    assert invalid >= len(NAMES)
    assert memory.seed().extraction.asked == 0
    # Each text was asked about twice at most, and a third time would change nothing.
    assert usage(memory) == (calls, invalid)


def test_an_extraction_that_never_ends_stops_the_run_and_says_so(opened, tiny_models):
    memory = opened(RAGMEM_LANGUAGE_MODEL_MODEL=str(tiny_models.chatty), RAGMEM_EXTRACTION_MAX_TOKENS="24")
    done = memory.seed().extraction
    assert (done.asked, done.waiting) == (0, len(NAMES))
    assert "did not finish within 24 tokens" in done.note
    assert memory.query(QUESTION).matches
    assert violations(memory.catalog, memory.store) == []


def test_a_text_waits_for_a_server_that_is_down_and_is_found_meanwhile(opened):
    memory = opened(RAGMEM_LANGUAGE_MODEL_URL=NOWHERE)
    done = memory.seed().extraction
    assert done.waiting == len(NAMES)
    assert "no server answers at" in done.note
    assert memory.query(QUESTION).matches
    memory.close()
    assert opened().seed().extraction.asked == len(NAMES)


def test_a_nonsense_answer_is_shown_with_all_that_it_was_made_of(asked, tiny_models):
    endless = {"RAGMEM_LANGUAGE_MODEL_MODEL": str(tiny_models.chatty)}
    told = asked("query", "--all", QUESTION, "--answer", **endless)
    assert told.returncode == 0, told.stderr
    assert "the answer cites no source" in told.stderr
    assert "[1] Tideline" in told.stdout
    assert not [letter for letter in told.stdout if letter < " " and letter not in "\n\t"]
    counted = json.loads(asked("inspect", "usage", "--json").stdout)["total"]
    assert (counted["calls"], counted["failures"]) == (1, 0)
    assert counted["tokens_out"] == MAX_TOKENS


@pytest.mark.parametrize(
    ("changes", "said", "hint"),
    [
        ({"RAGMEM_LANGUAGE_MODEL_TIMEOUT_S": "0.3"}, "did not answer within 0.3 s", "timeout_s"),
        ({"RAGMEM_LANGUAGE_MODEL_URL": NOWHERE}, "no server answers at", "is the server running"),
        ({"RAGMEM_LANGUAGE_MODEL_MODEL": "nobody/nothing"}, 'has no model "nobody/nothing"', "it has "),
    ],
    ids=["late", "down", "unknown"],
)
def test_a_failure_is_one_line_with_the_next_step_and_the_next_question_works(
    asked, tiny_models, changes, said, hint
):
    changes = {"RAGMEM_LANGUAGE_MODEL_MODEL": str(tiny_models.chatty)} | changes
    failed = asked("query", "--all", QUESTION, "--answer", "--json", **changes)
    assert (failed.returncode, failed.stdout) == (4, "")
    first, _, rest = failed.stderr.partition("\n")
    assert said in first
    assert hint in rest
    assert "Traceback" not in failed.stderr
    assert asked("query", "--all", QUESTION, "--ids").stdout


def test_other_words_that_make_no_sense_change_no_order(asked):
    plain = asked("query", "--all", QUESTION, "--ids")
    expanded = asked("query", "--all", QUESTION, "--ids", "--expand")
    assert (expanded.returncode, expanded.stdout) == (0, plain.stdout)
    assert "searched without rephrasing" in expanded.stderr


def test_a_judge_that_makes_no_sense_breaks_no_rule(asked, tmp_path):
    rules = tmp_path / "rules.md"
    rules.write_text("- Never say `as an AI`.\n- Always answer politely.\n")
    answer = tmp_path / "answer.md"
    answer.write_text("The tide import runs now.\n")
    checked = asked("check", str(answer), "--rules", str(rules), "--judge")
    assert checked.returncode == 0, checked.stderr
    assert "1 rule takes judgement: the model's answer was of no use" in checked.stderr
    answer.write_text("I cannot know that as an AI.\n")
    assert asked("check", str(answer), "--rules", str(rules), "--judge").returncode == 1


def test_a_merge_that_makes_no_sense_writes_nothing_and_hides_nothing(opened, monkeypatch):
    memory = opened(RAGMEM_LIFECYCLE_MERGE_BY="llm", RAGMEM_EXTRACTION_BY="rules")
    at = datetime(2026, 3, 1, tzinfo=UTC)
    drafts = [
        Draft(
            "transcripts",
            f"/n/{number}",
            NOTE.format(name),
            name,
            event_time=at + timedelta(days=number),
            scope=Scope("shop"),
            metadata={"session": "s1"},
        )
        for number, name in enumerate(NAMES)
    ]
    ids = sorted(one.id for one in memory.ingest(drafts, rule="off"))
    links = [Connection(one, other, 0.8, 0.8, 0.8) for one in ids for other in ids if one < other]
    monkeypatch.setattr("ragmem.services.lifecycle.plan._connect_memories", lambda *_, **__: ({}, ""))
    monkeypatch.setattr(memory.catalog.connections, "of", lambda *_: links)
    outcome = memory.gc.apply(memory.gc.plan())
    assert "1 of 1 clusters have no text" in outcome.note
    assert memory.catalog.memories.ids() == set(ids)
    assert violations(memory.catalog, memory.store) == []
    assert usage(memory)[0] == 1


def test_a_picture_for_a_model_that_cannot_look_is_no_memory_of_its_name(asked, tmp_path, tiny_models):
    Image.new("RGB", (64, 64), "navy").save(tmp_path / "crane.png")
    before = asked("inspect", "memories", "--all", "--json").stdout
    told = asked(
        "ingest",
        str(tmp_path / "crane.png"),
        RAGMEM_DOCUMENTS_VISION=f"compatible/{tiny_models.chatty}",
        RAGMEM_DOCUMENTS_OCR="false",
    )
    assert told.returncode == 3
    assert "accepts no pictures" in told.stderr
    assert asked("inspect", "memories", "--all", "--json").stdout == before


@needs_mlx_vlm
def test_a_description_that_makes_no_sense_is_no_memory(asked, tmp_path, tiny_models):
    """mlx-vlm's server looks at pictures, and fails at schemas without Metal."""
    seeing = str(tiny_models.seeing)
    Image.new("RGB", (64, 64), "navy").save(tmp_path / "crane.png")
    before = asked("inspect", "memories", "--all", "--json").stdout
    with language_server(seeing, tmp_path, program="mlx_vlm.server") as address:
        here = {
            "RAGMEM_LANGUAGE_MODEL_URL": f"{address}/v1",
            "RAGMEM_LANGUAGE_MODEL_MODEL": seeing,
            "RAGMEM_DOCUMENTS_VISION": f"compatible/{seeing}",
            "RAGMEM_DOCUMENTS_OCR": "false",
        }
        told = asked("ingest", str(tmp_path / "crane.png"), **here)
        answered = asked("query", "--all", QUESTION, "--answer", **here)
    after = asked("inspect", "memories", "--all", "--json").stdout
    if told.returncode:
        assert (told.returncode, after) == (3, before)
        assert "is not a description" in told.stderr
    else:
        # By chance it said nothing but letters.
        text = asked("inspect", "memory", told.stdout.strip(), "--json").stdout
        assert re.search(r"Picture: [^\\\ufffd]*[^\W\d_]{4}", text)
    assert (answered.returncode in {0, 4}, "Traceback" in answered.stderr) == (True, False)
