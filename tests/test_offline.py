"""Offline: nothing reaches beyond this machine, and what stays within goes on working."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from ragmem.config.offline import is_loopback, is_requested

DEFAULT = {"RAGMEM_MODELS_BACKEND": "minilm", "RAGMEM_STORE_BACKEND": "lightrag"}

NOTE = "# Sessions\n\nWe decided to keep the sessions in PostgreSQL because Redis lost them twice.\n"


@pytest.fixture
def ragmem(started):
    """Return what runs commands in processes from their start: what they load is the point here."""
    return started


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST.", "a.localhost"]
)
def test_this_machine_is_known_by_its_name(host):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "0.0.0.0",
        "::",
        "10.0.0.1",
        "127.example.com",
        "127.0.0.1.example.com",
        "localhost.example.com",
        "1::1",
    ],
)
def test_other_machines_are_not_taken_for_this_one(host):
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("value", "on"), [("1", True), ("yes", True), ("0", False), ("off", False), (None, False)]
)
def test_the_variable_is_off_only_where_it_says_so(value, on):
    assert is_requested(value) is on


def python(code, **environ):
    """Run code after going offline; return its result, and its report on stderr."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            f"from ragmem.config import offline\noffline.go()\n{code}\nprint(offline.report())",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **environ},
    )


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.create_connection(('192.0.2.7', 80))",
        "import socket; socket.socket().connect(('192.0.2.7', 80))",
        "import socket; socket.socket(socket.AF_INET6).connect_ex(('::ffff:192.0.2.7', 80))",
        "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.7', 53))",
        "import socket; socket.socket(type=socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('192.0.2.7', 53))",
        "import socket; socket.getaddrinfo('192.0.2.7', 80)",
        "import socket; socket.gethostbyname('192.0.2.7')",
        "import socket; socket.gethostbyaddr('192.0.2.7')",
        "import socket; socket.getnameinfo(('192.0.2.7', 80), 0)",
        "import socket; socket.socket().bind(('192.0.2.7', 0))",
        "import urllib.request; urllib.request.urlopen('http://192.0.2.7/')",
        "import httpx; httpx.get('http://192.0.2.7/')",
        "import asyncio; asyncio.run(asyncio.open_connection('192.0.2.7', 80))",
    ],
)
def test_every_way_out_is_refused(code):
    result = python(code)

    assert result.returncode == 1
    said = result.stderr.splitlines()[-1].replace("::ffff:", "")
    assert said == 'ragmem.errors.BackendError: offline: "192.0.2.7" was not reached'


@pytest.mark.parametrize(
    "code", ["import os; os.system('curl x')", "import subprocess; subprocess.run(['curl', 'x'])"]
)
def test_a_program_that_could_go_anywhere_is_not_run(code):
    assert "was not run" in python(code).stderr


def test_within_the_machine_all_goes_on():
    result = python(
        "import socket, subprocess, sys, os\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "client = socket.create_connection(('localhost', server.getsockname()[1]))\n"
        "a, b = socket.socketpair()\n"
        "subprocess.run(['git', '--version'], check=True, stdout=subprocess.DEVNULL)\n"
        "print(os.environ['HF_HUB_OFFLINE'], os.environ.get('https_proxy'))",
        https_proxy="http://127.0.0.1:1",
    )

    assert result.stderr == ""
    shown, report = result.stdout.splitlines()
    assert shown == "1 None"
    assert re.fullmatch(r"offline: \d network sockets, all within this machine", report)


ELSEWHERE = {"RAGMEM_STORE_PROFILE": "postgres", "RAGMEM_STORE_URL": "postgresql://u@192.0.2.7/m"}


def test_a_database_elsewhere_is_refused_before_its_library_connects(ragmem):
    pytest.importorskip("psycopg")
    result = ragmem("--offline", "query", "x", **ELSEWHERE)

    assert result.returncode == 4
    assert 'offline: "192.0.2.7" was not reached' in result.stderr


def test_a_child_of_ragmem_is_offline_too():
    pytest.importorskip("psycopg")
    code = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'ragmem', 'query', 'x'])"

    assert 'offline: "192.0.2.7" was not reached' in python(code, **ELSEWHERE).stderr


def test_pulling_a_model_is_refused_in_one_line(ragmem):
    result = ragmem("--offline", "models", "pull", "someone/something")

    assert (result.returncode, result.stdout) == (4, "")
    assert result.stderr.splitlines()[0] == 'ragmem: offline: "huggingface.co" was not reached'
    assert "omit --offline" in result.stderr


def test_the_report_is_one_line_beside_the_answer(ragmem):
    told = "offline: no network socket was opened\n"

    assert ragmem("--offline", "inspect", "config", "--json").stderr == told
    assert ragmem("--offline", "--version").stderr == told
    assert ragmem("--offline", "seed", "--quiet").stderr == ""
    assert told not in ragmem("--offline", "hook", "Stop").stderr
    assert ragmem("inspect", "config", RAGMEM_OFFLINE="1").stderr == ""


def test_behind_the_command_the_option_names_its_place(ragmem):
    result = ragmem("inspect", "--offline")

    assert result.returncode == 2
    assert "ragmem --offline COMMAND" in result.stderr


COMMANDS = (
    "set -e; ragmem='{python} -m ragmem --offline'; $ragmem ingest - --project user; "
    "$ragmem seed; $ragmem query 'where are the sessions' --all; $ragmem doctor"
)


def in_shell(*before):
    script = COMMANDS.format(python=sys.executable)
    return subprocess.run(
        [*before, "sh", "-c", script],
        input=NOTE,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **DEFAULT},
    )


def allowed(*command):
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_neither_ragmem_nor_its_native_libraries_open_a_network_socket(tmp_path):
    strace = ("strace", "-f", "-qq", "-e", "trace=%network", "-o", str(tmp_path / "calls"))
    if not allowed(*strace):
        pytest.skip("strace is not installed, or may not trace here")
    # Without any network as well, where the system lets users make a namespace.
    namespace = ("unshare", "--user", "--map-root-user", "--net")

    result = in_shell(*(namespace if allowed(*namespace) else ()), *strace)

    assert result.returncode == 0, result.stderr
    assert "PostgreSQL because Redis" in result.stdout
    calls = (tmp_path / "calls").read_text()
    assert not re.findall(r".*\b(?:AF|PF)_(?!UNIX|LOCAL|NETLINK)\w+.*", calls)
