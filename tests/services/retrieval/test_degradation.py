"""A model that cannot be had: nothing is lost, nobody waits for long, and it is said once."""

import json
import socket
import time
from contextlib import closing

import pytest
from provider_protocols import Ollama, Reply
from provider_servers import serving

from ragmem.api.memory import Ragmem
from ragmem.backends.fake import FakeModels
from ragmem.domain.model import Draft, State
from ragmem.errors import BackendError
from ragmem.server.app import warm_up
from ragmem.services.retrieval.circuit_breaker import RESPITE, CircuitBreaker
from ragmem.services.retrieval.query import Question

STORE = {"RAGMEM_STORE_BACKEND": "lightrag"}
FAKE_DOWN = {**STORE, "RAGMEM_MODELS_URL": "down"}


@pytest.fixture
def provider():
    """The environment that names a provider at a port on which nobody listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
    return {
        **STORE,
        "RAGMEM_MODELS_BACKEND": "ollama",
        "RAGMEM_MODELS_MODEL": "nomic-embed-text",
        "RAGMEM_MODELS_URL": f"http://127.0.0.1:{port}",
        "RAGMEM_MODELS_RETRIES": "0",
        "RAGMEM_MODELS_QUERY_TIMEOUT_S": "1",
    }


def draft(number):
    return Draft(
        "ingest", f"n{number}", f"We decided that worker{number} uses a queue because it is easy.", "Worker"
    )


def pending(memory):
    return len(memory.catalog.memories.ids(states=[State.PENDING]))


def test_a_provider_that_is_down_leaves_the_model_that_made_the_vectors(open_memory, provider):
    open_memory(**STORE).seed()
    memory = open_memory(**provider)
    answer = memory.query("stale lock restart")
    assert (answer.rung, answer.notes) == ("text and vectors", ())
    (stored,) = memory.ingest([draft(1)])
    assert (stored.note, pending(memory)) == ("", 0)
    done = memory.vectors.reembed()
    assert not done.finished
    assert "127.0.0.1" in done.note or "refused" in done.note
    assert memory.vectors.status().active == "fake-hash"


def test_the_bundled_model_answers_for_a_provider_that_is_down(open_memory, provider):
    bundled = open_memory(**STORE, RAGMEM_MODELS_BACKEND="minilm")
    bundled.ingest([draft(1)])
    assert open_memory(**provider).query("worker1 queue").rung == "text and vectors"


THAI = "\u0e01\u0e32\u0e23\u0e2a\u0e33\u0e23\u0e2d\u0e07\u0e02\u0e49\u0e2d\u0e21\u0e39\u0e25"


@pytest.mark.parametrize(
    "question",
    [
        THAI,
        "\u0b8e\u0b99\u0bcd\u0b95\u0bc7 \u0b87\u0bb0\u0bc1\u0b95\u0bcd\u0b95\u0bbf\u0bb1\u0ba4\u0bc1",
        "\U0001f389\U0001f680",
    ],
)
def test_a_script_that_the_model_does_not_know_is_searched_by_words_alone(open_memory, question):
    memory = open_memory(**STORE, RAGMEM_MODELS_BACKEND="minilm")
    memory.ingest([draft(number) for number in range(4)])
    assert memory.query(question).matches == ()
    told = Draft("notes", "thai", f"{THAI} \u0e17\u0e38\u0e01\u0e04\u0e37\u0e19")
    (stored,) = memory.ingest([told])
    answer = memory.query(THAI)
    assert [match.memory.id for match in answer.matches] == [stored.memory.id]
    assert answer.rung == "text"


def test_a_seed_without_a_model_keeps_everything_and_the_next_one_finishes(open_memory, provider):
    down = open_memory(**provider)
    report = down.seed()
    assert report.pending == pending(down) > 0
    assert report.note
    assert down.catalog.files.seen_files("notes")
    again = down.seed()
    assert (again.resumed, again.pending, bool(again.note), again.failed) == (0, report.pending, True, 0)
    answer = down.query("stale lock restart")
    assert (answer.rung, answer.matches[0].memory.title) == ("text", "Stale lock")
    up = open_memory(**STORE)
    finished = up.seed()
    assert (finished.resumed, finished.pending, finished.note) == (report.pending, 0, "")
    assert pending(up) == 0
    assert up.query("stale lock restart").rung == "text and vectors"
    assert up.store.check(deep=True) == []


class Failing(FakeModels):
    """The fake embedder, that fails from one call on."""

    def __init__(self, after):
        super().__init__()
        self.calls, self.after = 0, after
        embed = self.embedder.embed

        def counted(texts, *, role):
            self.calls += 1
            if self.calls > self.after:
                raise BackendError("gone")
            return embed(texts, role=role)

        self.embedder.embed = counted


def test_a_model_that_goes_away_in_the_middle_is_asked_no_more(open_memory, notes):
    for number in range(12):
        (notes / f"more-{number}.md").write_text(
            f"# More {number}\n\nWe decided that worker{number} uses a queue because the error was ours.\n"
        )
    plain = open_memory(**STORE, RAGMEM_SEED_BATCH="2")
    models = Failing(after=2)
    with Ragmem(plain.settings, home=plain.home, cwd=plain.cwd, models=models) as memory:
        report = memory.seed()
        assert report.note == "gone"
        assert 0 < len(memory.store.memory_ids()) < 14
        assert report.pending == pending(memory) > 0
        # The batch that was being embedded ahead may have been asked as well.
        assert models.calls <= 4
    assert plain.seed().resumed == report.pending
    assert pending(plain) == 0
    assert plain.store.check(deep=True) == []


def test_an_ingest_finishes_what_waits_from_before_some_at_a_time(open_memory, monkeypatch):
    down = open_memory(**FAKE_DOWN)
    notes = {one.note for one in down.ingest([draft(number) for number in range(60)])}
    assert len(notes) == 1
    assert "is down" in notes.pop()
    assert pending(down) == 60
    monkeypatch.setattr("ragmem.services.ingestion.ingest.BACKLOG_LIMIT", 50)
    up = open_memory(**STORE)
    up.ingest([draft(100)])
    assert pending(up) == 10
    up.ingest([draft(101)])
    assert pending(up) == 0


def test_a_gc_without_a_model_does_the_rest_and_says_what_waits(open_memory, inside, tmp_path):
    up = open_memory(**STORE)
    first, second = (one.id for one in up.ingest([draft(1), draft(2)]))
    run = up.forget([first])
    home = {"RAGMEM_HOME": str(tmp_path / "ragmem"), **FAKE_DOWN}
    undone = inside("gc", "--undo", "--run", run, **home)
    assert (undone.returncode, undone.stdout) == (3, f"restored 1 memory of run {run}\n")
    assert undone.stderr.count("is down") == 1
    up.store.delete([second])
    up.catalog.files.forget([])
    collected = inside("gc", "--yes", "--json", **home)
    outcome = json.loads(collected.stdout)["outcome"]
    assert (collected.returncode, outcome["mended"], collected.stderr.count("is down")) == (3, 0, 1)
    assert "is down" in outcome["note"]
    assert up.gc.apply(up.gc.plan()).mended == 2
    assert up.store.check(deep=True) == []


def test_no_provider_is_asked_for_a_length_that_its_vectors_tell(open_memory, provider):
    with serving(Ollama()) as server:
        environ = {**provider, "RAGMEM_MODELS_MODEL": "embedder", "RAGMEM_MODELS_URL": server.root}
        open_memory(**environ).ingest([draft(1)])
        before = len(server.posts)
        answer = open_memory(**environ).query("", question=Question("worker1 queue", mode="naive"))
        assert (answer.notes, len(server.posts) - before) == ((), 1)


def test_a_question_of_an_engines_mode_waits_for_a_model_once(open_memory, provider):
    with serving(Ollama()) as server:
        environ = {**provider, "RAGMEM_MODELS_MODEL": "embedder", "RAGMEM_MODELS_URL": server.root}
        open_memory(**environ).ingest([draft(1)])
        before = len(server.posts)
        server.script.extend([Reply(500)] * 9)
        answer = open_memory(**environ).query("", question=Question("worker1 queue", mode="mix"))
        assert (answer.rung, len(answer.notes), len(server.posts) - before) == ("text", 1, 1)


def test_a_doctor_says_once_that_a_provider_is_down_whose_length_nobody_knows(open_memory, provider):
    with serving(Ollama()) as server:
        environ = {**provider, "RAGMEM_MODELS_MODEL": "embedder"}
        open_memory(**{**environ, "RAGMEM_MODELS_URL": server.root}).ingest([draft(1)])
    report = open_memory(**environ).doctor.examine(deep=True)
    told = [check.name for check in report.checks if "127.0.0.1" in check.detail]
    assert told == ["embedder"]


def test_the_command_line_says_it_once_and_fails(inside, notes, tmp_path):
    sources = tmp_path / "sources.toml"
    sources.write_text(f'[sources.notes]\nglob = "{notes}/**/*.md"\nkind = "auto"\n')
    run = inside("seed", "--sources", str(sources), **FAKE_DOWN)
    assert run.returncode == 3
    assert run.stderr.count("is down") == 1
    assert "only in full text until the next seed" in run.stderr
    asked = inside("query", "--all", "stale lock restart", **FAKE_DOWN)
    assert asked.returncode == 0
    assert asked.stderr.count("is down") == 1
    examined = inside("doctor", **FAKE_DOWN)
    assert "wait" in examined.stdout
    assert "is down" in examined.stdout


def test_a_mode_of_the_engine_falls_to_full_text(open_memory):
    open_memory(**STORE).seed()
    memory = open_memory(**FAKE_DOWN)
    answer = memory.query("x", question=Question("stale lock restart", mode="mix"))
    assert answer.rung == "text"
    assert answer.matches[0].memory.title == "Stale lock"
    assert len(answer.notes) == 1
    assert "mix" in answer.notes[0]


def test_a_server_starts_without_its_model_and_says_so(open_memory):
    open_memory(**STORE).seed()
    memory, warnings = open_memory(**FAKE_DOWN), []
    warm_up(memory, warnings.append)
    assert len(warnings) == 1
    assert "is down" in warnings[0]


def test_a_model_that_lets_one_question_wait_is_not_asked_again_for_a_while(open_memory):
    plain = open_memory(**STORE)
    plain.ingest([draft(1)])

    class Hanging(Failing):
        def __init__(self):
            super().__init__(after=0)
            failing = self.embedder.embed

            def slow(texts, *, role):
                time.sleep(0.3)
                return failing(texts, role=role)

            self.embedder.embed = slow

    models = Hanging()
    with Ragmem(plain.settings, home=plain.home, cwd=plain.cwd, models=models) as memory:
        first, *others = [memory.query("queue", question=Question("queue wait")) for _ in range(5)]
        assert models.calls == 1
        assert {answer.rung for answer in (first, *others)} == {"text"}
        assert {answer.notes for answer in others} == {first.notes}


def test_a_respite_ends_and_a_quick_failure_begins_none():
    moment = [0.0]
    respite, error = CircuitBreaker(clock=lambda: moment[0]), BackendError("gone")
    since = respite.now()
    moment[0] = 0.1
    respite.record_failure(error, since=since)
    assert respite.error() is None
    moment[0] = 5.0
    respite.record_failure(error, since=since)
    assert respite.error() is error
    moment[0] = 4.9 + RESPITE
    assert respite.error() is error
    moment[0] = 5.0 + RESPITE
    assert respite.error() is None


def test_a_wrong_key_of_models_ends_neither_a_question_nor_an_ingest(open_memory):
    """The likely accident: another backend for one command, with the model of the configured one."""
    wrong = open_memory(**STORE, RAGMEM_MODELS_BACKEND="minilm", RAGMEM_MODELS_MODEL="embedder")
    (stored,) = wrong.ingest([draft(1)])
    assert 'only its own model, not "embedder"' in stored.note
    answer = wrong.query("worker1 queue")
    assert (answer.rung, len(answer.matches), pending(wrong)) == ("text", 1, 1)
    open_memory(**STORE, RAGMEM_MODELS_BACKEND="minilm").seed()
    again = open_memory(**STORE, RAGMEM_MODELS_BACKEND="minilm", RAGMEM_MODELS_MODEL="embedder")
    (stored,) = again.ingest([draft(2)])
    assert (stored.note, pending(again)) == ("", 0)
    assert again.query("worker2 queue").rung == "text and vectors"
