"""Store a small home of this release with its answers, for the tests of later releases.

    python scripts/make_home_fixture.py tests/data/homes/schema-2

Run it once for each release that changes a schema, before that is published; with an older checkout in
PYTHONPATH it makes that release's home. The folder gets memory.db.gz and expected.json.
"""

import gzip
import json
import shutil
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragmem import Ragmem
from ragmem.storage.fulltext.fulltext import search as search_text

ROOT = Path(__file__).resolve().parents[1]
SCRATCH = Path("/tmp/ragmem-fixture")
"""Always the same, because the memories' ids and places come from their paths."""

SOURCES = ("memory", "sessions")
QUESTIONS = ("why did the deploy fail with 502", "which database", "map tiles", "stale timetable")
AT = datetime(2026, 6, 1, tzinfo=UTC)


def main(arguments: Sequence[str]) -> int:
    """Write the fixture to the folder that is named."""
    if len(arguments) != 1:
        print("usage: make_home_fixture.py FOLDER", file=sys.stderr)
        return 2
    target = Path(arguments[0])
    shutil.rmtree(SCRATCH, ignore_errors=True)
    shutil.copytree(ROOT / "examples" / "home", SCRATCH / "home")
    environ = {
        "RAGMEM_HOME": str(SCRATCH / "ragmem"),
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "lightrag",
    }
    with Ragmem.open(environ=environ, home=SCRATCH / "home", cwd=SCRATCH / "home") as memory:
        memory.seed(sources=SOURCES)
        expected = picture(memory)
    database = SCRATCH / "ragmem" / "data" / "memory.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")
    target.mkdir(parents=True, exist_ok=True)
    (target / "memory.db.gz").write_bytes(gzip.compress(database.read_bytes(), 9, mtime=0))
    (target / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n", "utf-8")
    shutil.rmtree(SCRATCH)
    return 0


def picture(memory: Ragmem) -> dict[str, Any]:
    """Return what a home holds and answers, in a form that can be compared."""
    memory.require()
    catalog, store = memory.catalog, memory.store
    return {
        "memories": {
            one.id: [
                one.uri,
                one.title,
                one.kind.value,
                one.state.value,
                one.content_hash,
                str(one.event_time),
            ]
            for one in catalog.memories.each()
        },
        "chunks": {
            chunk.id: chunk.text for one in catalog.memories.each() for chunk in catalog.memories.chunks(one)
        },
        "store": sorted(store.memory_ids()),
        "entities": [[entity.name, degree] for entity, degree in store.entities(limit=1000)],
        "words": {
            text: [hit.chunk_id for hit in search_text(catalog.database, text, limit=5).hits]
            for text in QUESTIONS
        },
        "vectors": {
            text: [[hit.chunk_id, round(hit.score, 3)] for hit in store.search(text, limit=5)]
            for text in QUESTIONS
        },
        "first": {text: memory.query(text, at=AT).matches[0].memory.id for text in QUESTIONS},
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
