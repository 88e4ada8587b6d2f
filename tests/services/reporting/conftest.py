"""A home of known content, which the tests of reports read and none of them changes."""

import os
import shutil
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope
from ragmem.domain.model.lifecycle import LifecycleState
from ragmem.storage.activity.injections import Injection
from ragmem.storage.lifecycle.lifecycle_state import LifeRow, Recall
from ragmem.storage.lifecycle.supersessions import Supersession
from ragmem.storage.names.node_names import NameStatements

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

# source, days before now, project, text
STORED = [
    ("memory", 0.5, "p-reef", "We decided to keep PostgreSQL for the Reef gateway because backups are easy."),
    ("memory", 3, "p-reef", "The `Reef` gateway fails when PostgreSQL is asked for 8191 rows at once."),
    ("memory", 40, "p-reef", "PostgreSQL of the Reef gateway needs `max_connections` of 200, never less."),
    ("prds", 100, "p-reef", "The Reef gateway must answer within 40 ms, by default with PostgreSQL 16."),
    ("client-x", 400, "p-reef", f"The deployment of Reef uses the token {SECRET} for GitHub, by default."),
    (
        "memory",
        2000,
        "p-quarry",
        "Quarry keeps its stones in `stones.db`, which must never lie on a network.",
    ),
]


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """Return the folder of the home, and the ids of its memories in their order."""
    folder = tmp_path_factory.mktemp("known")
    environ = {"RAGMEM_HOME": str(folder / "ragmem"), **FAKE}
    with Ragmem.open(environ=environ, home=folder, cwd=folder) as memory:
        drafts = [
            Draft(
                source,
                f"/n/{number}",
                text,
                title=f"Title {number} {SECRET if source == 'client-x' else ''}",
                scope=Scope(project),
                event_time=NOW - timedelta(days=days),
            )
            for number, (source, days, project, text) in enumerate(STORED)
        ]
        ids = [one.id for one in memory.ingest(drafts)]
        memory.catalog.lives.put(
            [
                LifeRow(ids[0], life=LifecycleState.PROVEN, feedback=2),
                LifeRow(ids[1], pinned=True),
                LifeRow(ids[2], feedback=-1),
            ],
            now=NOW,
        )
        memory.catalog.lives.add_recalls(
            [Recall(ids[0], f"s{number}", NOW) for number in range(4)] + [Recall(ids[3], "s1", NOW)]
        )
        memory.catalog.supersessions.put(
            [Supersession(ids[4], ids[0], NOW, NOW, "value", "another token", NOW)]
        )
        with memory.catalog.database.write() as connection:
            connection.executemany(
                "INSERT INTO connections (low, high, cosine, shared, strength)"
                " SELECT a.n, b.n, 0.6, 0.5, 0.6 FROM memories a, memories b WHERE a.id = ? AND b.id = ?",
                [(ids[0], ids[1]), (ids[0], ids[2])],
            )
        memory.catalog.injections.record(
            [
                Injection(NOW - timedelta(days=1), "s1", "prompt", ids[0], tokens=30, project="p-reef"),
                Injection(NOW - timedelta(days=1), "s1", "prompt", ids[2], tokens=20, project="p-reef"),
                Injection(NOW - timedelta(days=1), "s9", "start", ids[3], tokens=10, project="p-reef"),
                Injection(NOW - timedelta(days=1), "s1", "start", ids[1], tokens=5, project="p-reef"),
                Injection(NOW - timedelta(days=1), "s1", "start", "", tokens=5, project="p-reef"),
            ],
            now=NOW,
        )
        # As a store may hold it that was filled before secrets were looked for.
        for identifier in ids[:4]:
            memory.catalog.names.learn([NameStatements(identifier, "p-reef", 0, {f"token {SECRET}": "code"})])
        memory.catalog.gc_runs.begin("run1", caller="gc", now=NOW - timedelta(days=2))
        memory.catalog.gc_runs.add("run1", {"merge/cluster": 3, "archive/duplicate": 2})
        memory.catalog.gc_runs.end("run1", now=NOW - timedelta(days=2))
    return SimpleNamespace(folder=folder, ids=ids, environ=environ)


@pytest.fixture
def opened(known):
    """Return the memory of known content, open; it is only read."""
    with Ragmem.open(environ=known.environ, home=known.folder, cwd=known.folder) as memory:
        yield memory


@pytest.fixture
def command(known, ragmem, tmp_path):
    """Return a function that runs `ragmem inspect` on a copy of the home."""
    home = tmp_path / "ragmem"
    shutil.copytree(known.folder / "ragmem", home)

    def run(*arguments, **environ):
        return ragmem("inspect", *arguments, **({"RAGMEM_HOME": os.fspath(home)} | environ))

    return run
