"""A filled home, an application over it without a socket, and real servers as processes."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from ragmem.api.memory import Ragmem
from ragmem.server.app import create_app
from ragmem.server.http.log import Log
from ragmem.server.security.origin import Names
from ragmem.server.security.team import Team
from ragmem.services.ingestion.options import DraftOptions

TOKEN = "t" * 43

NOTES = {
    "deploy.md": "# Deploy\n\nWe decided to deploy PostgreSQL 16 with Kubernetes because the old host ran"
    " full. Root cause: the volume was never resized.\n",
    "cache.md": "# Cache\n\nWe use Redis 7 for sessions because Memcached lost data after each restart. "
    "The fix was to set `maxmemory_policy` and to monitor evictions.\n",
    "driver.md": "# Driver\n\nThe error `connection reset` came from psycopg 3.1; we pin psycopg 3.2 and"
    " PostgreSQL keeps the connections open.\n",
}


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return the whole environment of a process with its own home and the fake backends."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "RAGMEM_HOME": str(home / "ragmem"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "fake",
    } | variables


def fill(home: Path, memory: Ragmem) -> None:
    notes = home / "notes"
    notes.mkdir()
    (notes / ".ragmem.toml").touch()  # marks the folder as a project
    for name, text in NOTES.items():
        (notes / name).write_text(text)
    handed = memory.ingestion.draft([notes], DraftOptions())
    memory.ingest(handed.drafts, projects=handed.projects)


@dataclass
class Client:
    """Calls an application in this process; authorised unless a request says otherwise."""

    app: FastAPI
    runner: asyncio.Runner
    http: httpx.AsyncClient
    home: Path = Path()

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self.runner.run(self.http.request(method, path, **options))

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self.send("GET", path, params=params)

    def post(self, path: str, **body: Any) -> httpx.Response:
        # httpx refuses to encode what a hostile client may well send: escaped halves of surrogate pairs.
        return self.send("POST", path, content=json.dumps(body), headers={"Content-Type": "application/json"})

    def together(self, *requests: tuple[str, str, dict[str, Any]]) -> list[httpx.Response]:
        async def all_of_them() -> list[httpx.Response]:
            return await asyncio.gather(
                *(self.http.request(method, path, **options) for method, path, options in requests)
            )

        return self.runner.run(all_of_them())


@contextmanager
def client_of(
    memory: Ragmem,
    *,
    warn: Callable[[str], None] = lambda _: None,
    log: Log | None = None,
    team: Team | None = None,
) -> Iterator[Client]:
    app = create_app(memory, token=TOKEN, names=Names("127.0.0.1"), team=team, warn=warn, log=log)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with asyncio.Runner() as runner:
        lifespan = app.router.lifespan_context(app)
        runner.run(lifespan.__aenter__())
        http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:9622", headers=headers)
        try:
            yield Client(app, runner, http)
        finally:
            runner.run(http.aclose())
            runner.run(lifespan.__aexit__(None, None, None))


@pytest.fixture
def open_memory(tmp_path: Path) -> Iterator[Callable[..., Ragmem]]:
    """Open the memory of this test's home, perhaps with more variables."""
    opened: list[Ragmem] = []

    def open_one(**variables: str) -> Ragmem:
        environ = environment(tmp_path, **variables)
        opened.append(Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path))
        return opened[-1]

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def filled(tmp_path: Path, open_memory: Callable[..., Ragmem]) -> Ragmem:
    memory = open_memory()
    fill(tmp_path, memory)
    return memory


@pytest.fixture
def client(filled: Ragmem) -> Iterator[Client]:
    with client_of(filled) as made:
        yield made


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client for the tests of a module that only read; the notes lie in `reader.home`."""
    home = tmp_path_factory.mktemp("reader")
    with Ragmem.open(environ=environment(home), home=home, cwd=home) as memory:
        fill(home, memory)
        with client_of(memory) as made:
            made.home = home
            yield made


@pytest.fixture
def connect() -> Callable[..., Any]:
    """Make a client of a memory, as a context manager."""
    return client_of


@dataclass
class Server:
    """A `ragmem serve` process that answers requests."""

    process: subprocess.Popen[str]
    url: str
    token: str
    said: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def headers(self) -> dict[str, str]:
        return {"X-API-Key": self.token}

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        self.said += self.process.communicate(timeout=60)[1].splitlines()
        return self.process.returncode


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ragmem", *arguments]


@contextmanager
def serving(home: Path, *arguments: str, **variables: str) -> Iterator[Server]:
    process = subprocess.Popen(
        command("serve", "--port", "0", *arguments),
        env=environment(home, **variables),
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said: list[str] = []
        found = None
        while found is None:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line, "".join(said)
            said.append(line)
            found = re.search(r"listening on (https?://\S+), token in ([^\"\n]+)", line)
        yield Server(process, found[1], Path(found[2]).read_text().strip(), said)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def start() -> Callable[..., Any]:
    """Start a server process, as a context manager."""
    return serving


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `ragmem` to its end."""

    def run_one(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*arguments),
            env=environment(tmp_path, **variables),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run_one


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that bear what others stored in it and which agents checked in."""
    home = tmp_path_factory.mktemp("home")
    with Ragmem.open(environ=environment(home), home=home, cwd=home) as memory:
        fill(home, memory)
    with serving(home) as started:
        yield started


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests of a module, over the notes and nothing that others stored."""
    home = tmp_path_factory.mktemp("own")
    (home / "Documents").mkdir()
    (home / "Documents" / "tide.pdf").write_bytes(b"%PDF")  # which no source reads
    with Ragmem.open(environ=environment(home), home=home, cwd=home) as memory:
        fill(home, memory)
    with serving(home) as started:
        yield started


@pytest.fixture(scope="module")
def answering_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests of a module, over the notes, with a language model that answers by rule."""
    home = tmp_path_factory.mktemp("answering")
    with Ragmem.open(environ=environment(home), home=home, cwd=home) as memory:
        fill(home, memory)
    model = {"RAGMEM_LANGUAGE_MODEL_BACKEND": "fake", "RAGMEM_LANGUAGE_MODEL_MODEL": "valid"}
    with serving(home, **model) as started:
        yield started


@pytest.fixture(scope="module")
def tight_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests of a module, over the notes, with short limits on connections."""
    home = tmp_path_factory.mktemp("tight")
    with Ragmem.open(environ=environment(home), home=home, cwd=home) as memory:
        fill(home, memory)
    limits = {
        "RAGMEM_SERVE_HEAD_SECONDS": "0.7",
        "RAGMEM_SERVE_BODY_SECONDS": "0.7",
        "RAGMEM_SERVE_MAX_CONNECTIONS": "400",
    }
    with serving(home, **limits) as started:
        yield started
