"""A home, real warm processes over it, and the certainty that none outlives its test."""

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest
from provider_protocols import OpenAI
from provider_servers import serving
from warm_homes import NOTE, Warm, processes, wait_until

from ragmem import client
from ragmem.api.memory import Ragmem
from ragmem.services.ingestion.options import DraftOptions


@pytest.fixture(autouse=True)
def _quick_to_start(monkeypatch):
    # Where Python may keep no bytecode, each process would compile all that it imports.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "fake")
    monkeypatch.setenv("RAGMEM_STORE_BACKEND", "fake")
    # Where the tests are killed, nobody ends what they have started; by itself it lives for half an hour.
    monkeypatch.setenv("RAGMEM_WARM_IDLE_MINUTES", "1")


@pytest.fixture
def warm(monkeypatch):
    """Return an empty home; when the test has ended, no process of it may live."""
    home = Path(tempfile.mkdtemp(prefix="warm-")).resolve()
    monkeypatch.setenv("RAGMEM_HOME", str(home))
    one = Warm(home)
    yield one
    client.stop(str(one.data), deadline=time.monotonic() + 5)
    left = [] if wait_until(lambda: not processes(one.data), 20.0) else processes(one.data)
    for process in left:
        os.kill(process, signal.SIGKILL)
    shutil.rmtree(one.place, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    assert not left, one.log()


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """Return the data folder of a home with one memory that belongs to the user."""
    home = tmp_path_factory.mktemp("stored")
    note = home / "deploy.md"
    note.write_text(NOTE)
    environ = {"RAGMEM_HOME": str(home), "RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
    with Ragmem.open(environ=environ) as memory:
        handed = memory.ingestion.draft([note], DraftOptions(project="user"))
        memory.ingest(handed.drafts, projects=handed.projects)
    return home / "data"


@pytest.fixture
def filled(warm, stored):
    """Return a home that holds what `stored` does."""
    shutil.copytree(stored, warm.data, dirs_exist_ok=True)
    return warm


class Local(OpenAI):
    key = ""
    names = ("embedder",)


@pytest.fixture
def embedding_server(warm, monkeypatch, tmp_path):
    """Return a server of embeddings, which has embedded the note of the home."""
    with serving(Local()) as server:
        monkeypatch.setenv("RAGMEM_MODELS_BACKEND", "compatible")
        monkeypatch.setenv("RAGMEM_MODELS_MODEL", "embedder")
        monkeypatch.setenv("RAGMEM_MODELS_URL", f"{server.root}/v1")
        note = tmp_path / "deploy.md"
        note.write_text(NOTE)
        with Ragmem.open() as memory:
            handed = memory.ingestion.draft([note], DraftOptions(project="user"))
            memory.ingest(handed.drafts, projects=handed.projects)
        yield server
