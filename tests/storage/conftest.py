"""A catalog of its own in each database, and memories to put into it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prepared_databases import PreparedDatabases

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Chunk, Draft, Memory, Scope, State
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.ingestion.classify import chunks_of, classify_draft
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.home.postgres import PostgresDatabase

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SIZES = ChunkingSettings(max_chars=60, min_chars=10)


@pytest.fixture(scope="session")
def _prepared_databases(postgres_server: str) -> PreparedDatabases:
    return PreparedDatabases(postgres_server)


@pytest.fixture
def prepared_postgres(_prepared_databases: PreparedDatabases) -> Iterator[str]:
    """The URL of a PostgreSQL database of the test's own with the empty tables of the catalog."""
    with _prepared_databases.lend() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def catalog(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Catalog]:
    """An empty catalog in each of the databases, which must not differ in anything a test can see."""
    if request.param == "sqlite":
        made = Catalog.at(tmp_path / "data", busy_timeout=2.0)
    else:
        url = request.getfixturevalue("prepared_postgres")
        made = Catalog(PostgresDatabase(url, tmp_path / "data", busy_timeout=2.0))
    made.prepare()
    yield made
    made.close()


@pytest.fixture
def make() -> Callable[..., tuple[Memory, tuple[Chunk, ...]]]:
    """Make a memory and its chunks from a place and a text."""

    def maker(
        uri: str, text: str = "a lock", *, project: str = "user", **more
    ) -> tuple[Memory, tuple[Chunk, ...]]:
        draft = Draft("notes", uri, text, title=f"title of {uri}", scope=Scope(project))
        memory = classify_draft(draft, now=NOW, sizes=SIZES, redactor=DEFAULT).memory
        memory = replace(memory, **{"state": State.PENDING, **more})
        return memory, tuple(chunks_of(memory, SIZES, redactor=DEFAULT))

    return maker
