"""Another embedding model: the old vectors answer until the new ones are complete, whatever happens."""

import fcntl
import gzip
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ragmem.backends.fake import FakeEmbedder
from ragmem.backends.lightrag.vectors import second_model
from ragmem.domain.model import Draft, State
from ragmem.errors import StoreBusyError, TextRejectionError, UsageError
from ragmem.services.models.active_models import settings_of
from ragmem.services.models.reembed import LOCK_NAME, reembedding_pid
from ragmem.services.processes.progress import Silent
from ragmem.storage.activity.model_record import ACTIVE, NEXT, ModelRecord

HOMES = Path(__file__).parents[2] / "data" / "homes"
STORE = {"RAGMEM_STORE_BACKEND": "lightrag"}
OTHER = {"RAGMEM_MODELS_MODEL": "next", "RAGMEM_MODELS_DIMENSIONS": "64"}
OLD_ID, NEW_ID = "fake-hash", "fake-hash-next"


def drafts(count, *, first=0):
    return [
        Draft(
            "ingest",
            f"note-{number}",
            f"We decided that worker{number} uses the queue{number % 5} because it is easy to operate.",
            f"Worker {number}",
        )
        for number in range(first, first + count)
    ]


def titles(memory, text):
    answer = memory.query(text)
    return answer.rung, [match.memory.title for match in answer.matches[:1]]


@pytest.fixture
def filled(open_memory):
    memory = open_memory(**STORE)
    memory.ingest(drafts(20))
    return memory


class Interrupting(Silent):
    """Does something after each batch."""

    def __init__(self, action):
        self.action = action

    def advance(self, steps=1):
        del steps
        self.action()


def test_a_new_home_takes_the_configured_model_at_once(open_memory):
    open_memory(**STORE).prepare()
    memory = open_memory(**STORE, **OTHER)
    assert memory.vectors.status().active == ""
    memory.ingest(drafts(2))
    standing = memory.vectors.status()
    assert (standing.active, standing.wanted, standing.changing) == (NEW_ID, NEW_ID, False)
    assert (standing.active_dimensions, standing.done) == (64, standing.total)
    assert memory.vectors.reembed().made == 0


def test_everything_goes_on_with_the_old_model_until_the_new_one_is_complete(
    filled, open_memory, monkeypatch
):
    monkeypatch.setattr(second_model, "EMBEDDED_AT_ONCE", 8)
    # Two processes that know nothing of each other: one makes the vectors, one goes on with its day.
    changing, working = open_memory(**STORE, **OTHER), open_memory(**STORE, **OTHER)
    rungs, added = [], []

    def work():
        if len(added) == 10:
            return
        number = 100 + len(added)
        working.ingest(drafts(1, first=number))
        added.append(f"Worker {number}")
        rungs.append(titles(working, f"worker{number}"))
        if len(added) == 3:
            working.forget([working.query("worker3 queue3").matches[0].memory.id])
        assert filled.vectors.status().active == OLD_ID

    before = changing.vectors.status()
    assert (before.active, before.wanted, before.done, before.changing) == (OLD_ID, NEW_ID, 0, True)
    done = changing.vectors.reembed(progress=Interrupting(work))
    assert (done.finished, done.note) == (True, "")
    assert len(added) > 5
    assert rungs == [("text and vectors", [title]) for title in added]
    for memory in (changing, working):
        assert titles(memory, added[0].replace(" ", "")) == ("text and vectors", added[:1])
        assert {model for model, _ in memory.store.vector_models()} == {NEW_ID}
        assert memory.store.check(deep=True) == []
    after = working.vectors.status()
    assert (after.active, after.done, after.changing, after.running) == (NEW_ID, after.total, False, False)
    assert filled.catalog.models.read(NEXT) is None
    # The one that was opened with the old model goes on as well: it is the wanted one there.
    assert titles(filled, "worker7") == ("text and vectors", ["Worker 7"])
    assert filled.vectors.status().changing


def test_a_change_back_before_the_end_leaves_nothing_of_the_other_model(filled, open_memory, monkeypatch):
    monkeypatch.setattr(second_model, "EMBEDDED_AT_ONCE", 8)

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_memory(**STORE, **OTHER).vectors.reembed(progress=Interrupting(stop))
    assert {model for model, _ in filled.store.vector_models()} == {OLD_ID, NEW_ID}
    assert filled.vectors.reembed().finished
    assert {model for model, _ in filled.store.vector_models()} == {OLD_ID}
    assert filled.catalog.models.read(NEXT) is None


KILLED = """
import sys
from pathlib import Path
from ragmem.backends.fake import FakeEmbedder
from ragmem.backends.lightrag.vectors import second_model
from ragmem.api.memory import Ragmem
second_model.EMBEDDED_AT_ONCE = 4
second_model.DELETED_AT_ONCE = 4
class Tell:
    calls = 0
    def begin(self, label, total): pass
    def advance(self, steps=1):
        print(steps, flush=True)
        self.calls += 1
        if sys.argv[1] == str(self.calls):
            sys.stdin.readline()
memory = Ragmem.open()
drop = memory.store.drop_others
def dropping(model):
    for count in drop(model):
        yield count
        print("dropped", flush=True)
        sys.stdin.readline()
memory.store.drop_others = dropping
memory.vectors.reembed(progress=Tell())
"""


@pytest.mark.parametrize("until", ["3", "dropped"])
def test_a_change_that_is_killed_goes_on_where_it_was(filled, open_memory, tmp_path, until):
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "RAGMEM_HOME": str(tmp_path / "ragmem"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_MODELS_URL": "slow",
        **STORE,
        **OTHER,
    }
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, until], env=environ, stdin=-1, stdout=-1, text=True
    ) as process:
        assert process.stdout is not None
        for number, line in enumerate(process.stdout, start=1):
            if line.strip() == until or str(number) == until:
                break
        resumed = open_memory(**STORE, **OTHER)
        standing = resumed.vectors.status()
        assert standing.running
        assert reembedding_pid(resumed.catalog.database.home) == process.pid
        with pytest.raises(StoreBusyError, match=f"process {process.pid} "):
            resumed.vectors.reembed()
        process.send_signal(signal.SIGKILL)
    assert not resumed.vectors.status().running
    changed = until == "dropped"
    assert resumed.vectors.status().active == (NEW_ID if changed else OLD_ID)
    assert titles(resumed, "worker7") == ("text and vectors", ["Worker 7"])
    done = resumed.vectors.reembed()
    assert done.finished
    assert (done.made == 0) == changed
    assert done.made < resumed.vectors.status().total
    assert {model for model, _ in resumed.store.vector_models()} == {NEW_ID}
    assert resumed.store.check(deep=True) == []


def test_a_provider_that_fails_ends_a_change_with_what_is_done(filled, open_memory):
    down = open_memory(**STORE, **OTHER, RAGMEM_MODELS_URL="down")
    done = down.vectors.reembed()
    assert (done.finished, done.made) == (False, 0)
    assert "is down" in done.note
    assert titles(down, "worker7") == ("text and vectors", ["Worker 7"])
    assert down.catalog.models.read(ACTIVE).model == OLD_ID
    assert open_memory(**STORE, **OTHER).vectors.reembed().finished


REJECTION = TextRejectionError("content policy")


@pytest.fixture
def reject(monkeypatch):
    """Let the new model reject texts with any of some words, as a provider or a tokenizer with a bug does."""

    def reject(*words, error=REJECTION):
        real = FakeEmbedder.embed

        def embed(self, texts, *, role):
            if (
                self.model_id == NEW_ID
                and role == "document"
                and any(w in text for w in words for text in texts)
            ):
                raise error
            return real(self, texts, role=role)

        monkeypatch.setattr(FakeEmbedder, "embed", embed)

    return reject


@pytest.mark.parametrize("error", [REJECTION, OverflowError("too many\ntokens")])
def test_a_change_ends_without_the_text_that_the_new_model_rejects_and_names_it(
    error, filled, open_memory, reject
):
    reject("worker7 ", error=error)
    changing = open_memory(**STORE, **OTHER)
    done = changing.vectors.reembed()
    assert (done.finished, done.note) == (True, "")
    [problem] = done.problems
    assert problem.startswith('"note-7" is stored, and full text finds it; it has no vectors: ')
    assert str(error).replace("\n", " ") in problem
    assert {model for model, _ in changing.store.vector_models()} == {NEW_ID}
    assert changing.store.check(deep=True) == []
    assert titles(changing, "worker7") == ("text and vectors", ["Worker 7"])
    waiting = changing.catalog.memories.ids(states=[State.PENDING])
    assert [changing.catalog.memories.get(waiting)[key].title for key in waiting] == ["Worker 7"]
    again = changing.vectors.reembed()
    assert (again.finished, again.made, again.problems) == (True, 0, [])


def test_a_text_that_was_rejected_gets_its_vectors_by_another_model(filled, open_memory, reject):
    reject("worker7 ")
    assert open_memory(**STORE, **OTHER).vectors.reembed().finished
    assert filled.vectors.reembed().problems == []
    assert filled.inbox.index_pending() == ""
    assert filled.catalog.memories.ids(states=[State.PENDING]) == set()
    assert filled.store.check(deep=True) == []


def test_a_model_that_rejects_most_texts_takes_no_place(filled, open_memory, reject):
    reject("worker")
    changing = open_memory(**STORE, **OTHER)
    done = changing.vectors.reembed()
    assert (done.finished, done.problems) == (False, [])
    assert "rejects" in done.note
    assert "content policy" in done.note
    done, total = filled.store.second_model(OLD_ID)
    assert done == total > 0
    assert changing.catalog.memories.ids(states=[State.PENDING]) == set()
    assert titles(changing, "worker7") == ("text and vectors", ["Worker 7"])


def test_a_rebuild_takes_the_configured_model(filled, open_memory):
    memory = open_memory(**STORE, **OTHER)
    memory.seed(rebuild=True)
    standing = memory.vectors.status()
    assert (standing.active, standing.done, standing.changing) == (NEW_ID, standing.total, False)
    assert memory.catalog.models.read(ACTIVE).recipe["model"] == "next"
    assert memory.store.check(deep=True) == []


def test_a_rebuild_by_a_model_that_is_down_takes_nothing_out(filled, open_memory):
    before = filled.store.vector_models()
    with pytest.raises(Exception, match="is down"):
        open_memory(**STORE, **OTHER, RAGMEM_MODELS_URL="down").seed(rebuild=True)
    assert filled.store.vector_models() == before


def test_no_secret_and_no_command_is_written_down(open_memory, tmp_path):
    config = tmp_path / "ragmem" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        '[models]\nmodel = "next"\nkey_variable = "THE_KEY"\nkey_command = "pass show key"\n'
        '[models.options]\napi_key = "s3cret"\nregion = "north"\nbody = { user = "me", api_key = "s3cret" }\n'
    )
    memory = open_memory(**STORE)
    memory.ingest(drafts(1))
    recipe = memory.catalog.models.read(ACTIVE).recipe
    assert recipe == {
        "backend": "fake",
        "model": "next",
        "key_variable": "THE_KEY",
        "options": {"region": "north", "body": {"user": "me"}},
    }


def test_no_command_of_a_strangers_database_is_run(filled, open_memory, tmp_path):
    run = tmp_path / "run"
    options = {"key_command": f"touch {run}", "body": {"user": "me"}}
    recipe = {"backend": "openai", "model": "m", "url": "http://127.0.0.1:9/v1", "options": options}
    filled.catalog.models.write(ACTIVE, ModelRecord(OLD_ID, 384, recipe))
    answer = open_memory(**STORE, **OTHER).query("worker7")
    assert (answer.rung, run.exists()) == ("text", False)
    assert settings_of(recipe).options == {"body": {"user": "me"}}


@pytest.mark.parametrize("junk", ["[]", "{", '{"model": "x", "recipe": 5}', '{"dimensions": 3}'])
def test_a_record_that_no_release_wrote_counts_as_none(junk, filled, open_memory):
    with filled.catalog.database.write() as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = ?", (junk, ACTIVE))
    memory = open_memory(**STORE)
    assert titles(memory, "worker7") == ("text and vectors", ["Worker 7"])
    memory.ingest(drafts(1, first=30))
    assert memory.catalog.models.read(ACTIVE).model == OLD_ID


def test_writing_down_how_a_model_is_opened_undoes_no_change_of_another_process(filled, open_memory):
    slow = open_memory(**STORE, RAGMEM_MODELS_TIMEOUT_S="9")  # opens the same model by another recipe
    replace = slow.catalog.models.replace

    def after_a_change(*arguments):
        assert open_memory(**STORE, **OTHER).vectors.reembed().finished
        replace(*arguments)

    slow.models.records.replace = after_a_change
    slow.models.remember()
    assert slow.catalog.models.read(ACTIVE).model == NEW_ID


def test_a_store_for_one_model_says_what_works_there(open_memory):
    open_memory(RAGMEM_STORE_BACKEND="fake").ingest(drafts(3))
    memory = open_memory(RAGMEM_STORE_BACKEND="fake", **OTHER)
    assert titles(memory, "worker1") == ("text and vectors", ["Worker 1"])
    with pytest.raises(UsageError) as caught:
        memory.vectors.reembed()
    assert "ragmem seed --rebuild" in caught.value.hint
    memory.seed(rebuild=True)
    assert {model for model, _ in memory.store.vector_models()} == {NEW_ID}
    assert titles(memory, "worker1") == ("text and vectors", ["Worker 1"])
    assert memory.vectors.reembed().finished


@pytest.mark.parametrize("name", ["schema-1", "schema-2"])
def test_a_home_of_an_earlier_release_changes_its_model(name, open_memory, tmp_path):
    data = tmp_path / "ragmem" / "data"
    data.mkdir(parents=True, mode=0o700)
    (data / "memory.db").write_bytes(gzip.decompress((HOMES / name / "memory.db.gz").read_bytes()))
    assert open_memory(**STORE).query("why did the deploy fail with 502").rung == "text and vectors"
    memory = open_memory(**STORE, **OTHER)
    # Nothing is written down of the model of these vectors, and it is not the bundled one.
    answer = memory.query("why did the deploy fail with 502")
    assert answer.rung == "text"
    assert OLD_ID in answer.notes[0]
    assert answer.matches
    assert "is unavailable" in memory.vectors.status().problem
    (told,) = [check for check in memory.doctor.examine().checks if check.name == "model change"]
    assert told.fix == "ragmem models resume"
    (stored,) = memory.ingest(drafts(1))
    assert "which cannot be opened" in stored.note
    assert memory.vectors.reembed().finished
    assert memory.query("why did the deploy fail with 502").rung == "text and vectors"
    memory.ingest(drafts(1, first=1))
    assert memory.catalog.memories.ids(states=[State.PENDING]) == set()
    assert memory.store.check(deep=True) == []


def test_who_only_looks_whether_somebody_works_stops_nobody(filled, open_memory):
    memory = open_memory(**STORE, **OTHER)
    with (memory.catalog.database.home / LOCK_NAME).open("w") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        threading.Timer(0.01, fcntl.flock, (looking, fcntl.LOCK_UN)).start()
        assert memory.vectors.reembed().finished


def test_the_file_that_says_who_is_at_it_is_nobodys_lock_afterwards(filled, open_memory):
    memory = open_memory(**STORE, **OTHER)
    assert reembedding_pid(memory.catalog.database.home) == 0
    memory.vectors.reembed()
    assert (memory.catalog.database.home / LOCK_NAME).exists()
    assert reembedding_pid(memory.catalog.database.home) == 0
