"""One server process for all tests of `/v1/memory`, over a home with notes of three projects."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from ragmem.api.memory import Ragmem
from ragmem.services.ingestion.options import DraftOptions

NOTES = {
    "deploy": "We decided to deploy PostgreSQL 16 with Kubernetes because the old host ran full.",
    "cache": "We use Redis 7 for sessions because Memcached lost data after each restart.",
    "driver": "The error `connection reset` came from psycopg 3.1; we pin psycopg 3.2 for PostgreSQL.",
    "queue": "The queue is bounded at 700 entries, because Celery filled the memory of the host in May.",
}
KITCHEN = {"stove": "The stove of the kitchen needs descaling every March, says the manual of Bosch."}
OTHERS = {"garden": "The tomatoes of 2024 were planted beside Basil, and Ladybirds kept the aphids away."}


@dataclass
class Api:
    """Sends requests to the server, with its token."""

    http: httpx.Client
    home: Path
    environ: dict[str, str]

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self.http.get(f"/v1/memory/{path}", params=params)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.http.post(f"/v1/memory/{path}", json=body)

    def read(self, path: str, **params: Any) -> Any:
        return ok(self.get(path, **params))

    def stored(self, text: str, **fields: Any) -> str:
        return ok(self.post("memories", text=text, **fields))["id"]


def ok(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory, start: Any) -> Iterator[Api]:
    home = tmp_path_factory.mktemp("v1")
    variables = {"RAGMEM_SERVE_WRITES_PER_MINUTE": "0"}
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "RAGMEM_HOME": str(home / "ragmem"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "fake",
    }
    with Ragmem.open(environ=environ, home=home, cwd=home) as memory:
        for folder, notes in (("notes", NOTES), ("garden", OTHERS), ("kitchen", KITCHEN)):
            (home / folder).mkdir()
            (home / folder / ".ragmem.toml").touch()  # marks the folder as a project
            for name, text in notes.items():
                (home / folder / f"{name}.md").write_text(f"# {name.title()}\n\n{text}\n")
            handed = memory.ingestion.draft([home / folder], DraftOptions())
            memory.ingest(handed.drafts, projects=handed.projects)
    with (
        start(home, **variables) as server,
        httpx.Client(base_url=server.url, headers=server.headers, timeout=30) as http,
    ):
        yield Api(http, home, environ)


@pytest.fixture
def run_async() -> Any:
    """Run a coroutine to its end."""
    return asyncio.run
