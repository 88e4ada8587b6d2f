"""`ragmem hook EVENT` in processes of its own: exit code 0 in time, valid JSON or nothing, nothing lost."""

import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from warm_homes import wait_until

from ragmem.assistants import load_assistants
from ragmem.assistants.assistant import BEFORE_TOOL, PROMPT, START, SUBAGENT_START
from ragmem.client import runtime
from ragmem.hooks import limits

SLACK = 5.0
"""Seconds beyond a deadline: starting Python takes as long as the machine is busy."""

SHORT = {"RAGMEM_HOOKS_WRITE_DEADLINE_S": "0.2"}
"""The deadline of a hook that leaves an event, as it is where nobody says otherwise."""

QUERIES = {START, PROMPT, BEFORE_TOOL, SUBAGENT_START}

EVERY = [
    (assistant.name, event, what)
    for assistant in load_assistants()
    if assistant.name != "opencode"
    for event, (what, _) in assistant.events.items()
]


@pytest.mark.parametrize(("assistant", "event", "what"), EVERY)
def test_every_event_of_every_assistant_ends_with_0_and_leaves_what_it_should(assistant, event, what, hooks):
    done = hooks.call(
        event, "--for", assistant, conversation_id="s1", prompt="Why?", tool_name="", source="startup"
    )

    assert done.code == 0
    assert done.said == ({"continue": True} if event == "beforeSubmitPrompt" else None)
    assert done.stderr == b""
    assert [one["event"] for one in hooks.waiting()] == (
        [what] if "-" in what and "tool" not in what else []
    )[: what not in QUERIES] + (["stop"] if what == "stop" else [])


def test_the_event_that_fired_counts_whatever_was_wired(hooks):
    hooks.call("SessionStart", raw=json.dumps(hooks.fields("SessionEnd")).encode())

    assert [one["event"] for one in hooks.waiting()] == ["session-end"]


def test_without_an_event_the_input_decides(hooks):
    result = subprocess.run(
        [sys.executable, "-m", "ragmem", "hook"],
        input=json.dumps(hooks.fields("Stop")).encode(),
        capture_output=True,
        check=True,
        env=hooks.environ,
    )

    assert result.stdout == b""
    assert [one["event"] for one in hooks.waiting()] == ["stop"]


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "standard input is empty"),
        (b"  \n", "standard input is empty"),
        (b"\xff\xfe\x00", "standard input is not JSON"),
        (b"[1, 2]", "standard input is not a JSON object"),
        (b"nothing", "standard input is not JSON"),
        (b"[" * 200_000, "standard input is not JSON"),
    ],
)
def test_an_input_that_is_none_is_told_in_the_log_alone(raw, problem, hooks):
    done = hooks.call("SessionEnd", raw=raw)

    assert (done.code, done.stdout, done.stderr) == (0, b"", b"")
    assert problem in hooks.log()


def test_of_a_torn_input_what_is_whole_is_kept(hooks):
    whole = json.dumps(hooks.fields("SessionEnd", reason="other"))

    done = hooks.call("SessionEnd", raw=whole[: whole.index("hook_event_name") + 40].encode())

    assert done.code == 0
    assert [one["transcript"] for one in hooks.waiting()] == [str(hooks.transcript)]


def test_of_an_input_of_fifty_megabytes_the_head_is_kept(hooks):
    fields = hooks.fields("Stop", last_assistant_message="x" * 50_000_000)

    done = hooks.call(
        "Stop", raw=json.dumps(fields).encode(), environ={"RAGMEM_HOOKS_WRITE_DEADLINE_S": "30"}
    )

    assert (done.code, done.stdout) == (0, b"")
    assert [one["session"] for one in hooks.waiting()] == ["s1"]


def test_control_characters_and_half_a_character_in_a_text_do_no_harm(hooks):
    raw = json.dumps(hooks.fields("SessionEnd", reason="a")).replace('"a"', '"\\ud800\tx"').encode()

    assert hooks.call("SessionEnd", raw=raw).code == 0
    assert [one["reason"] for one in hooks.waiting()] == ["?\tx"]


@pytest.mark.parametrize(
    ("event", "whole"), [("SessionEnd", True), ("SessionEnd", False), ("SessionStart", True)]
)
def test_an_input_that_never_ends_is_waited_for_no_longer_than_the_deadline(event, whole, hooks):
    text = json.dumps(hooks.fields(event))
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "ragmem", "hook", event],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**hooks.environ, "RAGMEM_HOOKS_WRITE_DEADLINE_S": "2"},
    ) as process:
        process.stdin.write((text if whole else text[:-1]).encode())
        process.stdin.flush()
        assert process.wait(timeout=30) == 0
        assert process.stdout.read() == b""

    assert time.monotonic() - began < 3 + SLACK
    assert [one["event"] for one in hooks.waiting()] == ["session-end"] * (event == "SessionEnd")


def test_on_a_terminal_nothing_is_waited_for(hooks):
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "rb") as terminal:
        done = hooks.call("SessionStart", stdin=terminal)

    assert (done.code, done.stdout) == (0, b"")
    assert "standard input is a terminal" in hooks.log()


@pytest.mark.parametrize("redirected", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "</dev/null"])
def test_closed_and_full_streams_change_nothing(redirected, hooks):
    line = f'"$@" {redirected}'
    done = subprocess.run(
        [
            "sh",
            "-c",
            line,
            "sh",
            sys.executable,
            "-m",
            "ragmem",
            "hook",
            "beforeSubmitPrompt",
            "--for",
            "cursor",
        ],
        input=b"{}",
        capture_output=True,
        timeout=30,
        check=False,
        env=hooks.environ,
    )

    assert done.returncode == 0
    assert done.stderr == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_end_is_obeyed_with_0_once_the_event_is_kept(number, hooks):
    with subprocess.Popen(
        [sys.executable, "-m", "ragmem", "hook", "SessionEnd"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**hooks.environ, "RAGMEM_HOOKS_WRITE_DEADLINE_S": "30"},
    ) as process:
        # It listens for signals from before it has read anything, and no pipe holds so much unread.
        process.stdin.write(b'{"prompt": "%s", "session_id": ' % (b"x" * 2_000_000))
        process.stdin.flush()
        process.send_signal(number)
        process.stdin.write(b'"s9", "transcript_path": "/t/s9.jsonl"}')
        process.stdin.close()
        assert process.wait(timeout=30) == 0

    assert [one["session"] for one in hooks.waiting()] == ["s9"]


def test_what_hangs_is_ended_at_the_deadline(hooks):
    (hooks.home / "config").mkdir(parents=True)
    # Opening it blocks until somebody writes, which nobody does.
    os.mkfifo(hooks.home / "config" / "config.toml")

    done = hooks.call("SessionEnd", environ=SHORT)

    assert (done.code, done.stdout) == (0, b"")
    assert done.seconds < 0.2 + SLACK


@pytest.mark.parametrize(
    "variable", [{"RAGMEM_HOOKS": "off"}, {"RAGMEM_HOOK_DEPTH": "1"}, {"RAGMEM_HOOKS_ENABLED": "false"}]
)
def test_hooks_that_are_switched_off_do_nothing(variable, hooks):
    done = hooks.call("SessionEnd", environ=variable)

    assert (done.code, done.stdout, hooks.waiting(), hooks.log()) == (0, b"", [], "")


@pytest.mark.parametrize(
    "config",
    ["[hooks]\nenabled = false  # for a while\n", "hooks.enabled = false\n", "hooks = {enabled = false}\n"],
)
def test_hooks_obey_the_settings_in_whatever_form_they_are_written(config, hooks):
    (hooks.home / "config").mkdir(parents=True)
    (hooks.home / "config" / "config.toml").write_text(config)

    hooks.call("SessionEnd")

    assert hooks.waiting() == []


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("1", 1.0), ("0.5", 0.5), ("60", 60.0), ("0", 3.0), ("61", 3.0), ("nan", 3.0), ("x", 3.0)],
)
def test_a_deadline_of_one_second_is_a_number_and_no_switch(said, seconds, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(f"[hooks]\nquery_deadline_s = {said}\n")
    assert limits.read_limits(str(config), {}).query_deadline_s == seconds
    assert limits.limits_from_environment({"RAGMEM_HOOKS_QUERY_DEADLINE_S": said}).query_deadline_s == seconds


@pytest.mark.parametrize(
    ("said", "on"), [("1", True), ("on", True), ("0", False), ("no", False), ("2", True), ("perhaps", True)]
)
def test_a_switch_takes_numbers_and_words_for_on_and_off(said, on):
    assert limits.limits_from_environment({"RAGMEM_HOOKS_RESEARCH": said}).research is on
    assert limits.read_limits("/nowhere", {"RAGMEM_CHECK_ENABLED": said}).checks is (
        on and said in ("1", "on")
    )


def test_a_home_that_cannot_be_written_disturbs_nobody(hooks):
    (hooks.home / "data").write_text("no folder")

    done = hooks.call("SessionEnd")

    assert (done.code, done.stdout, done.stderr) == (0, b"", b"")
    assert "failed: " in hooks.log()


def test_on_a_full_disk_a_hook_ends_with_0_and_leaves_no_half_event(hooks):
    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = subprocess.run(
        [sys.executable, "-m", "ragmem", "hook", "SessionEnd"],
        input=json.dumps(hooks.fields("SessionEnd")).encode(),
        capture_output=True,
        timeout=30,
        check=False,
        env=hooks.environ,
        preexec_fn=no_room,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert hooks.waiting() == []
    assert list((hooks.data / "inbox" / "events").iterdir()) == []


def test_without_memory_to_spare_a_hook_ends_with_0(hooks):
    def poor():
        resource.setrlimit(resource.RLIMIT_AS, (120 * 1024 * 1024, 120 * 1024 * 1024))

    done = subprocess.run(
        [sys.executable, "-m", "ragmem", "hook", "Stop"],
        input=b'{"last_assistant_message": "' + b"x" * 60_000_000 + b'"}',
        capture_output=True,
        timeout=30,
        check=False,
        env=hooks.environ,
        preexec_fn=poor,
    )

    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "SessionEnd"])
def test_a_damaged_database_disturbs_nobody_and_no_event_is_lost(event, hooks):
    hooks.data.mkdir(parents=True)
    (hooks.data / "memory.db").write_bytes(b"SQLite format 3\0" + os.urandom(4096))

    done = hooks.call(event, prompt="Why do we lock the store?")

    assert (done.code, done.stdout) == (0, b"")
    assert len(hooks.waiting()) == (event == "SessionEnd")


def test_settings_that_are_slow_to_read_do_not_cut_the_time_that_the_environment_allows(hooks):
    (hooks.home / "config").mkdir(parents=True)
    config = hooks.home / "config" / "config.toml"
    os.mkfifo(config)

    def is_read():
        try:
            writers.append(os.open(config, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # nobody reads it yet
            return False
        return True

    def say_it_late():
        wait_until(is_read)
        time.sleep(0.6)
        os.close(writers.pop())

    writers = []
    with ThreadPoolExecutor(1) as others:
        others.submit(say_it_late)
        done = hooks.call("SessionEnd")

    assert (done.code, done.stdout) == (0, b"")
    assert len(hooks.waiting()) == 1


def test_a_store_that_another_process_has_locked_is_not_waited_for(hooks):
    hooks.data.mkdir(parents=True)
    with closing(sqlite3.connect(hooks.data / "memory.db", isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = wal")
        other.execute("CREATE TABLE t (x)")
        other.execute("BEGIN EXCLUSIVE")

        done = hooks.call("SessionEnd")

        assert (done.code, done.stdout) == (0, b"")
        assert done.seconds < SLACK
        assert len(hooks.waiting()) == 1


class Silent:
    """A warm process that accepts and never answers."""

    def __init__(self, data):
        folder = Path(runtime.runtime_folder(str(data)))
        for each in (folder.parent, folder):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / runtime.SOCKET
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self._path))
        self._listening.listen(64)
        self.heard = 0
        self._taken = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self):
        while True:
            try:
                self._taken.append(self._listening.accept()[0])
            except OSError:
                return
            self.heard += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listening.shutdown(socket.SHUT_RDWR)
        # The thread may hold a connection that it has accepted and not yet noted.
        self._accepting.join()
        self._listening.close()
        for connection in self._taken:
            connection.close()
        shutil.rmtree(self._path.parent)


@pytest.fixture
def silent(hooks):
    hooks.data.mkdir(parents=True)
    hooks.environ["RAGMEM_WARM"] = "on"
    with Silent(hooks.data) as process:
        yield process


def test_a_warm_process_that_hangs_costs_no_more_than_the_deadline(hooks, silent):
    asks = hooks.call("SessionStart", environ={"RAGMEM_HOOKS_QUERY_DEADLINE_S": "1"})
    leaves = hooks.call("SessionEnd", environ=SHORT)

    assert (asks.code, asks.stdout, leaves.code, leaves.stdout) == (0, b"", 0, b"")
    assert asks.seconds < 1 + SLACK
    assert leaves.seconds < 0.2 + SLACK
    assert silent.heard >= 1


def test_after_some_missed_deadlines_in_a_row_nobody_is_asked_for_a_while(hooks, silent):
    short = {"RAGMEM_HOOKS_QUERY_DEADLINE_S": "1"}
    for number in range(3):
        hooks.call("UserPromptSubmit", prompt=f"Why {number}?", environ=short)
    asked = silent.heard

    done = hooks.call("UserPromptSubmit", prompt="Why then?", environ=short)

    assert (done.code, done.stdout, silent.heard) == (0, b"", asked)
    assert "3 in a row" in hooks.log()
    assert "too many deadlines were missed" in hooks.log()


def test_another_process_than_the_one_that_hung_is_asked_at_once(hooks):
    hooks.data.mkdir(parents=True)
    short = {"RAGMEM_WARM": "on", "RAGMEM_HOOKS_QUERY_DEADLINE_S": "0.5"}
    with Silent(hooks.data):
        for number in range(4):
            hooks.call("UserPromptSubmit", prompt=f"Why {number}?", environ=short)
        assert "too many deadlines were missed" in hooks.log()
    with Silent(hooks.data) as healthy:
        hooks.call("UserPromptSubmit", prompt="Why then?", environ=short)
        assert healthy.heard >= 1
        asked = healthy.heard
        # It has missed a deadline, too.
        hooks.call("UserPromptSubmit", prompt="And now?", environ=short)
        assert healthy.heard == asked


def test_a_deadline_that_was_missed_long_ago_counts_no_more(hooks, silent):
    hooks.state.mkdir(exist_ok=True)
    (hooks.state / "hooks.missed").write_text(f"3 {time.time() - 400:.0f} 0\n")

    hooks.call("UserPromptSubmit", prompt="Why?", environ={"RAGMEM_HOOKS_QUERY_DEADLINE_S": "0.5"})

    assert silent.heard >= 1


def test_the_log_is_its_owners_alone_has_no_words_of_the_session_and_begins_anew_when_it_is_long(hooks):
    hooks.call("UserPromptSubmit", prompt="the launch code is swordfish")
    hooks.call("SessionEnd", last_assistant_message="swordfish")
    log = hooks.state / "hooks.log"

    assert "swordfish" not in log.read_text()
    assert "claude-code SessionEnd s1 stored" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    with log.open("ab") as file:
        file.write(b"x" * 300_000)
    hooks.call("Stop")
    hooks.call("Stop", session_id="s2")
    assert log.stat().st_size < 1000
    assert (hooks.state / "hooks.log.1").stat().st_size > 300_000


@pytest.mark.parametrize("arguments", [("Party",), ("Stop", "--for", "emacs")])
def test_what_nobody_knows_is_told_once(arguments, hooks):
    for _ in range(2):
        done = hooks.call(*arguments, raw=b"{}")
        assert (done.code, done.stdout) == (0, b"")

    assert len(hooks.log().splitlines()) == 1


def test_an_event_of_the_assistant_that_is_of_no_use_leaves_no_trace(hooks):
    done = hooks.call("Notification")

    assert (done.code, done.stdout, hooks.waiting(), hooks.log()) == (0, b"", [], "")


def test_a_folder_that_was_deleted_and_a_stranger_s_ragmem_in_it_do_no_harm(hooks):
    package = hooks.project / "ragmem"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit(7)")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ragmem", "hook", "SessionEnd"],
        input=json.dumps(hooks.fields("SessionEnd")).encode(),
        capture_output=True,
        check=False,
        cwd=hooks.project,
        env={**hooks.environ, "RAGMEM_HOME": "relative"},
    )

    assert done.returncode == 0
    assert (hooks.project / "relative" / "data" / "inbox" / "events").is_dir()


def test_a_person_is_told_how_it_is_called(hooks):
    result = subprocess.run(
        [sys.executable, "-m", "ragmem", "hook", "--help"], capture_output=True, text=True, check=True
    )

    assert "usage: ragmem hook EVENT" in result.stdout
    assert "codex" in result.stdout


@pytest.mark.parametrize("event", ["SessionEnd", "UserPromptSubmit"])
def test_a_hook_leaves_out_even_what_half_the_standard_library_imports(event, hooks):
    report = (
        "import sys; from ragmem.__main__ import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", report, "hook", event],
        input=json.dumps(hooks.fields(event, prompt="Why do we lock the store?")).encode(),
        capture_output=True,
        check=True,
        env={**hooks.environ, "RAGMEM_WARM": "on"},
    )

    loaded = set(done.stderr.decode().split())
    assert "ragmem.client" in loaded
    assert not loaded & {
        "re",
        "enum",
        "typing",
        "pathlib",
        "json",
        "dataclasses",
        "sqlite3",
        "datetime",
        "socket",
    }
    assert not loaded & {"subprocess", "threading", "signal", "tomllib"}


def test_last_words_are_looked_at_by_a_process_of_its_own_alone(hooks):
    report = "import sys; from ragmem.__main__ import run; run(sys.argv[1:]); print(*sys.modules)"
    words = "The password of the portal is in vault_of_the_team_2026, all tests pass."
    done = subprocess.run(
        [sys.executable, "-c", report, "hook", "Stop"],
        input=json.dumps(hooks.fields("Stop", last_assistant_message=words)).encode(),
        capture_output=True,
        check=True,
        env={**hooks.environ, "RAGMEM_CHECK_ENABLED": "true"},
    )

    assert not {name for name in done.stdout.decode().split() if name.startswith("ragmem.domain")}
    assert wait_until(lambda: "check failed: there are no rules" in hooks.log(), 30.0)
    kept = [path for path in hooks.home.rglob("*") if path.is_file() and b"vault" in path.read_bytes()]
    assert kept == []
