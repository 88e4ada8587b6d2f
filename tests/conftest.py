"""What every test stands on: a home of its own, so that none can reach the person's."""

import gc
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

import new_databases
import pytest
from hypothesis import HealthCheck, settings
from quick_commands import COMMANDS
from tiny_models import TinyModels

from ragmem import client

# A test of properties tells what is wrong, not how busy the machine is. The same commit draws the same
# examples, so that it passes everywhere or nowhere.
settings.register_profile(
    "any-machine", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
# `make quick` has a minute; the whole suite tries more examples.
settings.register_profile("quick", settings.get_profile("any-machine"), max_examples=15)
# `make search` draws other examples each time.
settings.register_profile("search", settings.get_profile("any-machine"), derandomize=False)
settings.load_profile("any-machine")

# Where Python may keep no bytecode, each process that a test starts would compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Tests that run in the background of a script ignore Ctrl-C, and so would all that they start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# On Linux MLX would start g++ for each kernel it fuses, for seconds; read when mlx is imported.
os.environ["MLX_DISABLE_COMPILE"] = "1"

new_databases.install()

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# Variables of the person or of CI that would change what a command writes, or when.
CHANGING = {"NO_COLOR", "FORCE_COLOR", "PYTHONUNBUFFERED", "COLUMNS"}


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without searching for cycles: what is collected lives as long as the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory):
    # Neither tmp_path nor monkeypatch: Hypothesis refuses tests that use fixtures of their scope.
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("RAGMEM_", "XDG_")) or name in CHANGING:
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("RAGMEM_HOME", str(home / "ragmem"))
        yield
        # A hook has started it, perhaps.
        assert client.stop(str(home / "ragmem" / "data"), deadline=time.monotonic() + 10)


@pytest.fixture
def ragmem():
    """Return a function that runs `ragmem` in a process, on the fake backends and the test's own home.

    It is a fork of one that has loaded what commands need; `started` starts at the beginning.
    """

    def run(*arguments, stdin="", timeout=60, **environ):
        environ = {**os.environ, **FAKE, **environ}
        done = COMMANDS.run(arguments, given=stdin.encode(), environ=environ, cwd=Path.cwd(), timeout=timeout)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        return done

    return run


@pytest.fixture
def started():
    """Return a function that runs `ragmem` as `ragmem` does, in a process from its start."""

    def run(*arguments, stdin="", timeout=60, **environ):
        return subprocess.run(
            [sys.executable, "-m", "ragmem", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, **FAKE, **environ},
        )

    return run


@pytest.fixture
def inside(capfd, monkeypatch):
    """Return a function that runs a command line in this process, which is ten times as fast as a new one."""
    from ragmem.__main__ import run

    def answer(*arguments, stdin="", **environ):
        with monkeypatch.context() as patch:
            for name, value in (FAKE | environ).items():
                patch.setenv(name, value)
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            code = run(arguments)
        out, err = capfd.readouterr()
        return SimpleNamespace(returncode=code, stdout=out, stderr=err)

    return answer


@pytest.fixture(scope="module")
def browser():
    """Return a browser without pages; skips where there is none."""
    path = os.environ.get("RAGMEM_TEST_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium: set RAGMEM_TEST_CHROMIUM to its path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory):
    """Return folders of tiny models for MLX: `.chat`, `.chat_4bit`, `.embedding`, `.embedding_4bit`, `.bert`.

    They are read-only by agreement: a test that changes files copies the folder first.
    """
    # Not importorskip: mlx is slow where it is imported before ragmem has chosen its BLAS.
    if find_spec("mlx") is None:
        pytest.skip("mlx is not installed: pip install 'ragmem[mlx]'")
    return TinyModels(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def postgres_server():
    """Return the URL of a PostgreSQL server with pgvector that lives as long as the tests do.

    The role `guarded` needs the password "s3cret/word"; all others are trusted.
    """
    with warnings.catch_warnings():
        # It tells of a missing XDG_RUNTIME_DIR, where it only keeps a lock file.
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip(
            "pgserver", reason="pgserver (a PostgreSQL with pgvector) has no wheel for this Python"
        )
    psycopg = pytest.importorskip(
        "psycopg", reason="psycopg is not installed: pip install 'ragmem[postgres]'"
    )
    # Not pytest's own folder: the path of a Unix socket has room for about 100 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    server = pgserver.get_server(folder)
    try:
        url = f"postgresql://postgres@/postgres?{urlencode({'host': folder})}"
        rules = folder / "pg_hba.conf"
        rules.write_text("local all guarded scram-sha-256\n" + rules.read_text())
        with psycopg.connect(url, autocommit=True) as connection:
            # Nobody needs these databases after a power cut.
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("CREATE ROLE guarded LOGIN PASSWORD 's3cret/word'")
            connection.execute("SELECT pg_reload_conf()")
        yield url
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def _spare_databases():
    """Return the names of databases that tests have left; emptying one is quicker than making one."""
    return []


@pytest.fixture
def postgres(postgres_server, _spare_databases):
    """Return the URL of an empty PostgreSQL database of the test's own."""
    import psycopg

    name = _spare_databases.pop() if _spare_databases else f"test_{uuid.uuid4().hex}"
    url = postgres_server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
            connection.execute(f"CREATE DATABASE {name}")
        yield url
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
    with psycopg.connect(url, autocommit=True) as connection:
        for (schema,) in connection.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'"
        ).fetchall():
            connection.execute(f'DROP SCHEMA "{schema}" CASCADE')
        connection.execute("CREATE SCHEMA public")
    _spare_databases.append(name)
