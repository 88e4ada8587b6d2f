"""What a hook's question is answered with, by the process and without it."""

import json
import shutil
import socket
import threading
import time

import pytest
from warm_homes import QUESTION, processes, wait_until

from ragmem import client, inbox
from ragmem.api.injections import Injections
from ragmem.api.memory import Ragmem
from ragmem.backends.fake import FakeModels
from ragmem.cli.context import context
from ragmem.client import runtime
from ragmem.daemon import maintenance
from ragmem.daemon.context import answer, rehearse
from ragmem.daemon.indexer import count_pending, index
from ragmem.daemon.log import Log
from ragmem.daemon.maintenance import Maintenance
from ragmem.daemon.state import Home
from ragmem.errors import BackendError
from ragmem.services.retrieval.excerpts import secret_search


def asked(session="s", prompt=QUESTION, **more):
    return {"event": "prompt", "session": session, "prompt": prompt, "cwd": "/", **more}


def test_a_prompt_is_answered_by_the_process_as_without_it(filled):
    with Ragmem.open() as memory:
        direct = answer(memory, asked("one"))
    told = filled.context(session="two")

    assert "PostgreSQL 16" in told["text"]
    assert (direct["rung"], told["rung"]) == ("direct", "warm")
    assert {**direct, "rung": ""} == {**told, "rung": ""}
    assert len(told["ids"]) == 1
    assert filled.context(session="two")["ids"] == []


def test_the_command_asks_the_process_where_one_runs_and_tells_the_same_without_it(
    filled, capsys, monkeypatch
):
    assert context(session="one", prompt=QUESTION) == 0
    direct = capsys.readouterr()
    assert not processes(filled.data)
    filled.start()
    with monkeypatch.context() as patched:
        patched.setattr(Injections, "anticipate", None)
        assert context(session="two", prompt=QUESTION) == 0
        assert capsys.readouterr() == direct
        assert context(session="two", prompt=QUESTION) == 1
        assert "the topic has not changed" in capsys.readouterr().err
    monkeypatch.setenv("RAGMEM_QUERY_LIMIT", "3")
    assert context(session="three", prompt=QUESTION) == 0
    assert len(processes(filled.data)) == 1


def test_the_process_rehearses_an_answer_once_nobody_asks_and_tells_it_to_nobody(filled, monkeypatch):
    monkeypatch.setattr(maintenance, "REHEARSE_AFTER_S", 0.01)
    quiet_s = 0.0
    with Ragmem.open() as memory:
        secret_search.cache_clear()
        upkeep = Maintenance(lambda: memory, lambda: quiet_s, Log(memory.settings.places.state))
        upkeep.start()
        time.sleep(0.1)
        assert not secret_search.cache_info().currsize
        quiet_s = 1.0
        assert wait_until(lambda: secret_search.cache_info().currsize == 1, 10.0)
        assert wait_until(lambda: not upkeep.is_busy(), 10.0)
        upkeep.stop()
        assert memory.injections.log() == []
        told = answer(memory, asked("one"))
    assert "PostgreSQL 16" in told["text"]


def test_no_server_is_asked_in_a_rehearsal(filled, monkeypatch):
    monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "ollama")
    with Ragmem.open() as memory:
        monkeypatch.setattr(type(memory.retrieval), "ask", lambda *_, **__: pytest.fail("a server is asked"))
        rehearse(memory)


def test_what_comes_too_late_is_told_another_time(filled):
    with Ragmem.open() as memory:
        late = answer(memory, asked("one"), due=time.monotonic() - 1)

        assert (late["text"], late["ids"]) == ("", [])
        assert len(answer(memory, asked("one"))["ids"]) == 1


def test_many_are_answered_at_once(filled):
    filled.start()
    told = []
    threads = [
        threading.Thread(target=lambda name=name: told.append(filled.context(session=name)))
        for name in "abcdefghij"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [len(each["ids"]) for each in told] == [1] * 10


def test_a_home_without_a_memory_has_nothing_to_tell(warm):
    told = warm.context()

    assert (told["text"], told["ids"]) == ("", [])
    assert told["reason"] == "there is no memory yet"
    assert list(warm.data.iterdir()) == []


def test_a_damaged_database_is_told_of_and_the_process_lives_on(filled):
    database = filled.data / "memory.db"
    database.write_bytes(b"no database" * 1000)
    for name in ("memory.db-wal", "memory.db-shm"):
        (filled.data / name).unlink(missing_ok=True)

    first = filled.context()
    process = filled.ask()["process"]

    assert first["text"] == ""
    assert first["error"]
    assert filled.context()["error"]
    assert filled.ask()["process"] == process
    assert "old host" not in filled.log()


def test_what_is_no_request_is_told_so_and_hurts_nobody(filled):
    filled.start()
    for sent in (
        b"no json\n",
        b"[]\n",
        b'{"op": 1}\n',
        b"",
        b"x" * 10,
        b'{"op": "context", "wait_ms": "x"}\n',
    ):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(filled.place / runtime.SOCKET))
            connection.sendall(sent)
            if sent.endswith(b"\n"):
                assert isinstance(json.loads(connection.recv(65536) or b"{}"), dict)

    for wrong in (
        {"session": 3},
        {"event": "nothing"},
        {"max_chars": -1},
        {"cwd": "\0"},
        {"prompt": "\ud800x"},
    ):
        told = filled.ask("context", **{**asked(), **wrong})
        assert told is not None
        assert told["text"] == "" or told["ids"]
    assert filled.context(session="after")["ids"]


def test_a_client_that_leaves_disturbs_nobody(filled):
    filled.start()
    for _ in range(5):
        assert filled.ask("context", **asked("left"), seconds=0.001) is None
    (filled.place / runtime.SILENT).unlink(missing_ok=True)

    assert filled.context(session="stays")["ids"]


def test_a_poke_takes_in_what_waits(filled):
    filled.start()
    inbox.put(
        str(filled.data), "The importer retries three times.", at_ns=time.time_ns(), folder="/", root=""
    )

    assert client.poke(str(filled.data), "drain")
    assert wait_until(lambda: not list((filled.data / "inbox").glob("*.write")))


def test_a_folder_that_is_gone_is_answered_for_the_user_alone(filled, tmp_path):
    gone = tmp_path / "project"
    gone.mkdir()
    shutil.rmtree(gone)

    assert filled.context(cwd=str(gone))["ids"]
    assert filled.context(session="relative", cwd="project")["ids"]


class SlowModels(FakeModels):
    """Models that can be had once they are let."""

    def __init__(self, loaded):
        super().__init__()
        self._loaded = loaded

    @property
    def embedder(self):
        self._loaded.wait()
        return self._embedder

    @embedder.setter
    def embedder(self, embedder):
        self._embedder = embedder


def test_a_question_that_cannot_wait_for_the_model_is_answered_by_words(filled):
    loaded = threading.Event()
    home = Home(lambda: _with(SlowModels(loaded)), Log(filled.state))
    threading.Thread(target=home.load, daemon=True).start()

    by_words = home.answer(asked("first"), time.monotonic() + 1.0)
    unrelated = home.answer(
        asked("other", "rename the colour variables of the old theme"), time.monotonic() + 1
    )
    loaded.set()
    assert wait_until(home.is_ready)
    whole = home.answer(asked("second"), time.monotonic() + 1.0)
    home.close()

    assert by_words["rung"] == "words"
    assert (unrelated["rung"], unrelated["ids"]) == ("words", [])
    assert whole["rung"] == "warm"
    assert by_words["ids"] == whole["ids"] != []


def test_a_server_that_hangs_leaves_time_for_an_answer_by_words(warm, embedding_server):
    home = Home(Ragmem.open, Log(warm.state))
    home.load()
    embedding_server.slow_s = 4.0  # a question waits for five

    told = home.answer(asked("first"), time.monotonic() + 2.0)

    home.close()
    assert told["rung"] == "warm"
    assert told["ids"], told


def _with(models):
    opened = Ragmem.open()
    return Ragmem(opened.settings, home=opened.home, cwd=opened.cwd, models=models)


def test_the_log_does_not_grow_without_end_and_tells_nothing_that_was_asked(warm, monkeypatch):
    monkeypatch.setattr("ragmem.daemon.log.LONGEST", 500)
    log = Log(warm.state)
    for _ in range(50):
        log.write_error("answering", ValueError("the secret prompt"))
        log.write_error("loading", BackendError("the model is missing"))

    assert (warm.state / "warm.log").stat().st_size < 700
    assert (warm.state / "warm.log").stat().st_mode & 0o077 == 0
    assert sorted(each.name for each in warm.state.iterdir()) == ["warm.log", "warm.log.1"]
    assert "the model is missing" in warm.log()
    assert "secret" not in warm.log()


def test_the_log_names_each_place_in_the_code_that_led_to_a_bug_for_a_report(warm):
    def asked(prompt):
        raise ValueError(prompt)

    log = Log(warm.state)
    try:
        asked("the secret prompt")
    except ValueError as error:
        log.write_error("answering", error)
    frames = warm.log().partition("answering: ValueError: ")[2].split(" < ")
    assert [frame.split()[1] for frame in frames] == [
        "asked",
        "test_the_log_names_each_place_in_the_code_that_led_to_a_bug_for_a_report",
    ]
    assert "secret" not in warm.log()


def test_what_waits_for_vectors_gets_them_in_a_process_of_its_own(filled, monkeypatch):
    # On a busy machine one of low priority takes a minute.
    monkeypatch.setattr("ragmem.daemon.indexer.NICE", 0)
    with Ragmem.open() as memory:
        memory.remember("The importer retries three times, since the mirror drops connections.")
        memory.inbox.drain()
        assert count_pending(memory) == 1

        assert index(memory, lambda: False)
        assert count_pending(memory) == 0


def test_making_vectors_ends_with_the_process_that_wants_it(filled):
    with Ragmem.open() as memory:
        memory.remember("The importer retries three times, since the mirror drops connections.")
        memory.inbox.drain()

        assert index(memory, lambda: True)
        assert count_pending(memory) == 1


def test_looking_at_it_does_not_keep_it(filled):
    filled.start()
    time.sleep(0.3)

    assert filled.ask("status", start=False)["idle_s"] >= 0.3
