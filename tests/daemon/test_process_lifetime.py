"""One warm process a home, whoever asks at once; it ends by itself, and nothing that it leaves hinders."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from warm_homes import processes, wait_until

from ragmem import client
from ragmem.client import connection, runtime
from ragmem.client.launcher import FIRST_DEATHS

CROWD = """
import os, sys, time
from ragmem import client
from ragmem.client import connection, runtime
from ragmem.client.launcher import FIRST_DEATHS
begin = time.monotonic() + 0.3
children = []
for _ in range(50):
    child = os.fork()
    if not child:
        time.sleep(max(0.0, begin - time.monotonic()))
        answer = client.ask(sys.argv[1], {"op": "ping"}, deadline=begin + 30)
        os.write(1, b"%d\\n" % (answer or {}).get("process", 0))
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""


def test_fifty_clients_at_once_find_one_process(warm):
    crowd = subprocess.run(
        [sys.executable, "-c", CROWD, str(warm.data)], capture_output=True, text=True, check=False
    )
    told = crowd.stdout.split()

    assert (crowd.returncode, crowd.stderr, len(told)) == (0, "", 50)
    assert [int(each) for each in set(told)] == processes(warm.data), warm.log()


def test_it_ends_when_nobody_asks(warm, monkeypatch):
    monkeypatch.setenv("RAGMEM_WARM_IDLE_MINUTES", "0.02")

    assert warm.ask()["process"]
    assert wait_until(lambda: not processes(warm.data))
    assert not warm.place.exists()
    assert "nobody asks" in warm.log()


def test_it_shows_itself_to_its_owner_alone(warm):
    process = warm.start()

    assert stat.S_IMODE(warm.place.stat().st_mode) == 0o700
    assert stat.S_IMODE((warm.place / runtime.SOCKET).stat().st_mode) == 0o600
    assert (warm.place / runtime.RECORD).read_text().split()[0] == str(process)
    assert len(str(warm.place / runtime.SOCKET)) < 100
    assert os.getsid(process) != os.getsid(0)
    assert os.getpgid(process) != os.getpgid(0)


def test_a_signal_ends_it_at_once(warm):
    process = warm.start()

    os.kill(process, signal.SIGTERM)

    assert wait_until(lambda: not processes(warm.data), 20)
    assert not warm.place.exists()


def test_what_a_killed_one_leaves_is_replaced(warm):
    first = warm.start()
    os.kill(first, signal.SIGKILL)
    assert wait_until(lambda: not processes(warm.data))
    assert (warm.place / runtime.SOCKET).exists()

    assert warm.ask(start=False) is None
    assert warm.start() != first
    assert len(processes(warm.data)) == 1


def test_one_of_other_settings_is_replaced(warm, monkeypatch):
    first = warm.start()
    monkeypatch.setenv("RAGMEM_QUERY_LIMIT", "3")

    assert warm.ask()["process"] != first
    assert first not in processes(warm.data)


def test_one_of_another_version_is_replaced_and_a_client_does_so_but_a_few_times(warm, monkeypatch):
    first = warm.start()
    monkeypatch.setattr("ragmem.client.connection.identity", lambda: "0.0.1 of another code")

    # What it starts is of this version again, as it would be of that.
    assert warm.ask() is None
    assert first not in processes(warm.data)


def test_a_changed_configuration_is_read(warm, monkeypatch):
    monkeypatch.delenv("RAGMEM_WARM_IDLE_MINUTES")
    first = warm.start()
    (warm.config / "config.toml").write_text("[warm]\nidle_minutes = 7\n")

    assert warm.start() != first
    assert warm.ask()["ends_after_s"] == 7 * 60


def test_it_ends_with_its_home(warm, monkeypatch):
    monkeypatch.setenv("RAGMEM_WARM_IDLE_MINUTES", "0.05")
    warm.start()

    shutil.rmtree(warm.data)

    assert wait_until(lambda: not processes(warm.data), 60)
    assert not warm.state.exists() or "its home is gone" in warm.log()


def test_it_ends_where_it_holds_too_much_memory(warm, monkeypatch):
    monkeypatch.setenv("RAGMEM_WARM_MAX_MEMORY_MB", "1")
    monkeypatch.setenv("RAGMEM_WARM_IDLE_MINUTES", "0.05")

    assert warm.ask()["process"]
    assert wait_until(lambda: not processes(warm.data), 60)
    assert "too much memory" in warm.log()


def test_no_client_waits_beyond_its_deadline_for_one_that_hangs_and_the_next_gets_another(warm):
    first = warm.start()
    os.kill(first, signal.SIGSTOP)
    began = time.monotonic()

    assert warm.ask(seconds=0.3) is None
    assert time.monotonic() - began < 0.9
    _let_time_pass(warm.place / runtime.SILENT)
    second = warm.ask()["process"]

    assert second != first
    assert processes(warm.data) == [second]


def test_a_client_with_much_time_leaves_one_that_hangs_and_the_next_gets_another(warm, monkeypatch):
    monkeypatch.setattr(client, "CHECKED_EVERY", 4.9)
    monkeypatch.setattr(connection, "CHECKED_EVERY", 0.2)
    first = warm.start()
    os.kill(first, signal.SIGSTOP)

    until = time.monotonic() + 50
    assert client.ask(str(warm.data), {"op": "status"}, deadline=until, unanswered={}) == {}
    assert time.monotonic() < until
    second = warm.ask()["process"]

    assert second != first
    assert processes(warm.data) == [second]


def test_a_client_waits_for_one_that_works_as_long_as_it_has_time():
    ours, theirs = socket.socketpair()
    looks = []

    def check():
        looks.append(time.monotonic())
        if len(looks) == 2:
            theirs.sendall(b"done\n")

    with ours, theirs, pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "CHECKED_EVERY", 0.02)
        until = time.monotonic() + 50
        assert connection.exchange_line(ours, b"work\n", until, check=check) == b"done\n"


def _let_time_pass(mark):
    before = time.time() - client.HANGS_AFTER - 1
    os.utime(mark, (before, before))


def test_one_that_was_slow_is_left_alone(warm):
    first = warm.start()
    os.kill(first, signal.SIGSTOP)
    assert warm.ask(seconds=0.1) is None
    assert warm.ask(seconds=0.1) is None
    _let_time_pass(warm.place / runtime.SILENT)
    os.kill(first, signal.SIGCONT)

    assert warm.ask()["process"] == first
    assert not (warm.place / runtime.SILENT).exists()


def test_nobody_is_asked_or_started_where_that_is_not_wanted(warm, monkeypatch):
    monkeypatch.setenv(runtime.SWITCH, "off")

    assert warm.ask(seconds=1) is None
    assert not client.poke(str(warm.data), "drain")
    assert not warm.place.exists()


def test_a_home_that_is_not_there_has_no_process(warm):
    shutil.rmtree(warm.data)

    assert warm.ask(seconds=1) is None
    assert not warm.place.exists()


def test_a_folder_that_others_may_use_is_not_trusted(warm):
    warm.place.parent.mkdir(mode=0o700, exist_ok=True)
    warm.place.mkdir(mode=0o700)
    warm.place.chmod(0o777)
    with socket.socket(socket.AF_UNIX) as somebody:
        assert warm.ask(seconds=1) is None
        somebody.close()
    assert not processes(warm.data)


def test_a_process_that_dies_as_soon_as_it_is_started_is_not_started_again_and_again(warm, monkeypatch):
    # No interpreter of this name: each start fails at once.
    monkeypatch.setattr(sys, "executable", "/bin/false")

    assert warm.ask(seconds=0.3) is None
    counted = (warm.place / runtime.LOCK).read_text()
    assert warm.ask(seconds=0.3) is None

    assert counted.split()[0] == str(FIRST_DEATHS)
    assert (warm.place / runtime.LOCK).read_text() == counted


def test_one_that_cannot_be_loaded_says_so_and_ends_and_the_third_has_to_wait(warm, monkeypatch, tmp_path):
    (tmp_path / "orjson.py").write_text("raise ValueError('broken installation')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    for _ in range(FIRST_DEATHS):
        assert "bug" in warm.context()["error"]
        assert wait_until(lambda: not processes(warm.data))
    assert warm.context(seconds=1.0) is None
    assert "it could not be loaded" in warm.log()


def _descriptors(process):
    found = []
    for each in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed since the folder was listed
            found.append(str(each.readlink()))
    return found


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells who listens where")
def test_nothing_of_it_listens_to_the_network(warm):
    process = warm.start()
    sockets = {each for each in _descriptors(process) if each.startswith("socket:")}
    network = []
    for table in ("tcp", "tcp6", "udp", "udp6"):
        lines = Path("/proc/net", table).read_text().splitlines()[1:]
        network += [f"socket:[{line.split()[9]}]" for line in lines]

    assert sockets
    assert not sockets.intersection(network)
