"""`query` and `context` ask a process that has the models loaded, and say what they would have said alone."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from warm_homes import QUESTION

from ragmem.__main__ import run
from ragmem.api.memory import Ragmem
from ragmem.domain.model import Kind
from ragmem.services.context import daemon_answers
from ragmem.services.context.dataclass_json import from_plain, plain
from ragmem.services.retrieval import routes
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.routes import RoutedAnswer

LINES = [
    ["query", QUESTION],
    ["query", QUESTION, "--json", "--explain"],
    ["query", QUESTION, "--jsonl"],
    ["query", QUESTION, "--ids", "--all"],
    ["query", QUESTION, "--context", "--budget", "400"],
    ["query", "who calls deploy()", "--explain"],
    ["query", "what is pending", "--route", "operational"],
    ["query", "what agents are running"],
    ["query", QUESTION, "--mode", "naive", "--json"],
    ["query", "zzqqxx"],
    ["context"],
    ["context", "deploy PostgreSQL", "--json"],
]


@pytest.fixture(scope="module")
def answered(stored):
    """Return answers of a home, to be sent and read again."""
    environ = {
        "RAGMEM_HOME": str(stored.parent),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "fake",
    }
    with Ragmem.open(environ=environ) as memory:
        now = datetime.now(tz=UTC)
        return [memory.retrieval.ask_by_route(Question(line[1]), now=now) for line in LINES if len(line) > 1]


def test_an_answer_is_the_same_after_it_was_sent(answered):
    for one in answered:
        assert from_plain(RoutedAnswer, plain(one)) == one


def test_a_question_is_the_same_after_it_was_sent():
    asked = Question("x", projects=("a", "user"), kinds=(Kind.ERROR,), since=datetime(2026, 3, 1, tzinfo=UTC))

    assert from_plain(Question, plain(asked)) == asked
    assert from_plain(Question, plain(replace(asked, projects=None))).projects is None


def test_what_json_cannot_say_is_not_sent():
    with pytest.raises(TypeError):
        plain({1: "a"})
    with pytest.raises(TypeError):
        plain([object()])


def said(capfd, line):
    code = run(line)
    out, err = capfd.readouterr()
    # The age of a memory, to the second, is in its score.
    without_age = re.sub(r'(recency"?[=:] ?)[\d.e-]+', r"\g<1>0", out)
    return code, re.sub(r"\d+(\.\d+)?e-\d+|\d+\.\d{3,}", "0.0", without_age), err


def test_every_format_is_the_same_over_the_socket(filled, capfd, monkeypatch):
    monkeypatch.setenv("RAGMEM_WARM", "off")
    alone = [said(capfd, line) for line in LINES]
    monkeypatch.delenv("RAGMEM_WARM")
    process = filled.start()
    # It is that process which finds the answers, however busy the machine is.
    monkeypatch.setattr(daemon_answers, "STATUS_S", 10.0)
    monkeypatch.setattr(routes, "ask_by_route", None)
    monkeypatch.setattr(Ragmem, "session_context", None)

    together = [said(capfd, line) for line in LINES]

    assert together == alone
    assert filled.ask()["process"] == process


def test_a_process_of_other_settings_or_none_is_not_asked_and_none_is_started(filled, capfd, monkeypatch):
    assert said(capfd, LINES[0])[0] == 0
    assert filled.ask(start=False) is None
    process = filled.start()

    with monkeypatch.context() as patch:
        patch.setenv("RAGMEM_QUERY_LIMIT", "1")
        assert said(capfd, LINES[0])[0] == 0

    assert filled.ask(start=False)["process"] == process


def test_recalls_are_counted_once(filled, capfd):
    filled.start()
    for _ in range(2):
        said(capfd, ["query", QUESTION, "--session", "s9"])

    with Ragmem.open() as memory:
        memory.inbox.drain()
        ids = memory.catalog.memories.ids()
        assert [one.recalls for one in memory.catalog.memories.get(ids).values()] == [1]


@pytest.mark.slow
def test_a_question_waits_for_a_server_that_hangs_only_once(warm, embedding_server, capfd):
    warm.start()
    embedding_server.slow_s = 7.0  # a question waits for five

    assert run(["query", QUESTION, "--all"]) == 0

    asked = [seen for seen in embedding_server.posts if seen.body["input"] == [QUESTION]]
    assert "searched by full text only" in capfd.readouterr().err
    assert len(asked) == 1
