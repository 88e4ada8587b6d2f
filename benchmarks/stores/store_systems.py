"""The documents that are stored, and ragmem as a store of them: on SQLite and on PostgreSQL."""

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import common

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Entity, Extraction, Record, Relation, Scope, State
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.ports import Mode
from ragmem.services.ingestion.classify import ClassifiedMemory, classify_draft
from ragmem.services.ingestion.index import BATCH
from ragmem.services.retrieval.query import Question
from ragmem.storage.sql.batches import batches

PROJECT = "bench"
HUBS = 60
"""Entities that many documents name; each document names two of them and four of its own."""

START = datetime(2025, 1, 1, tzinfo=UTC)

_SUBJECTS = "deployment scheduler invoice gateway tokenizer replica backup session webhook planner".split()
_VERBS = "resolved because rewrote measured chose migrated moved reverted cached documented".split()
_PEOPLE = "Priya Jonas Miguel Aisha Lena Tomas Hana Omar Nadia Lucas Ines Erik Maria".split()
_FAMILIES = "Raman Weber Santos Khan Fischer Novak Sato Haddad Petrova Meyer Costa Lund Rossi".split()
_TOOLS = "Redis PostgreSQL Kafka Elasticsearch Docker Kubernetes Terraform Prometheus RabbitMQ Celery".split()
_OBJECTS = "certificate schema timeout quota mirror index snapshot router parser ledger queue probe".split()


@dataclass(frozen=True, slots=True)
class Document:
    """One document with the graph that it stands for: six entities, five relations."""

    number: int
    text: str
    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]

    @property
    def name(self) -> str:
        """The document's name."""
        return f"note-{self.number}"


def document(number: int) -> Document:
    """Return the document of a number: always the same, and one chunk long."""
    chance = random.Random(number)
    hubs = [f"Hub {place}" for place in chance.sample(range(HUBS), 2)]
    own = [f"{chance.choice(_SUBJECTS).title()} {number}.{place}" for place in range(4)]
    names = [*hubs, *own]
    entities = tuple(
        Entity(name, "concept", f"{name} is a part of the system that note {number} speaks of.")
        for name in names
    )
    pairs = [(names[place], names[place + 1]) for place in range(5)]
    relations = tuple(
        Relation(one, other, chance.choice(_VERBS), f"{one} and {other} meet in note {number}.")
        for one, other in pairs
    )
    sentences = [
        (
            f"We {chance.choice(_VERBS)} the {chance.choice(_OBJECTS)} of {one} with {other}"
            f" because the {chance.choice(_OBJECTS)} needed a config fix."
        )
        for one, other in pairs
    ]
    return Document(number, f"Note {number}: decided. " + " ".join(sentences), entities, relations)


def named(number: int) -> str:
    """Return a note of some sixty words that names people, tools, files and symbols, other ones each time."""
    chance = random.Random(number)
    subject, other, thing = chance.choice(_SUBJECTS), chance.choice(_OBJECTS), chance.choice(_OBJECTS)
    person = f"{chance.choice(_PEOPLE)} {chance.choice(_FAMILIES)}"
    one, two = chance.sample(_TOOLS, 2)
    symbol = f"{subject.title()}{other.title()}"
    return (
        f"Decided with {person}: {symbol} keeps its {thing} in {one} and no longer in {two}, because the job "
        f"`{other}-{number}` waited for the {thing} at each start. The code is in "
        f"src/{subject}/{other}_{number}.py, where `{symbol}.renew()` asks {one} once a minute; the test is "
        f"tests/{subject}/test_{other}_{number}.py. {chance.choice(_PEOPLE)} measured it: a restart takes "
        f"{number % 50 + 2} seconds. {two} stays for the {other} until release {number % 9}.{number % 7}."
    )


def documents(size: int) -> Iterator[Document]:
    """Yield the first `size` documents."""
    return map(document, range(size))


class System(Protocol):
    """A store under measurement."""

    def build(self, size: int) -> None:
        """Store the first `size` documents in the store's own best batches."""
        ...

    def insert(self, document: Document) -> None:
        """Store one document; durable when this returns."""
        ...

    def search(self, text: str) -> int:
        """Return how many chunks the search by vector finds, at most 10."""
        ...

    def native(self, mode: str, text: str, keywords: Sequence[str]) -> int:
        """Return how many chunks LightRAG finds in one of its modes."""
        ...

    def written(self) -> int | None:
        """Return the bytes written so far; None where nobody tells."""
        ...

    def disk(self) -> int:
        """Return the bytes that the store takes."""
        ...

    def counts(self) -> dict[str, int]:
        """Return how many chunks and entities there are."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...


class Ours:
    """ragmem in one warm process: catalog and LightRAG on one SQLite file."""

    profile = "sqlite"

    def __init__(self, folder: Path) -> None:
        environ = common.environment(folder)
        environ |= {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "lightrag"}
        environ |= {"RAGMEM_STORE_PROFILE": self.profile}
        self._folder = folder
        self.memory = Ragmem.open(environ=environ, home=folder, cwd=folder)
        self.memory.prepare()

    def build(self, size: int) -> None:
        """Accept and index in ragmem's own batches, as seed does."""
        for batch in batches(documents(size), BATCH):
            self._store(batch)

    def insert(self, document: Document) -> None:
        """Judge, accept and index one document with the graph it stands for."""
        self._store([document])

    def ingest(self, document: Document) -> None:
        """Store one document by the public API, which finds entities and relations itself."""
        self._ingest(self._draft(document))

    def ingest_named(self, number: int) -> None:
        """Store a note with names in it by the public API."""
        self._ingest(Draft("bench", f"named-{number}", named(number), event_time=START, scope=Scope(PROJECT)))

    def search(self, text: str) -> int:
        """Search the vectors of the chunks."""
        return len(self.memory.store.search(text, limit=10, projects=[PROJECT]))

    def native(self, mode: Mode, text: str, keywords: Sequence[str]) -> int:
        """Ask LightRAG itself."""
        found = self.memory.store.native.native_query(
            text, mode, keywords=keywords, limit=10, project=PROJECT
        )
        return len(found["data"]["chunks"])

    def written(self) -> int | None:
        """Return the bytes that this process has written."""
        return common.written_bytes()

    def disk(self) -> int:
        """Return the bytes of the home."""
        return common.folder_bytes(self._folder)

    def query(self, text: str) -> int:
        """Ask as `ragmem query` does."""
        return len(self.memory.query(text, question=Question(text, projects=(PROJECT,))).matches)

    def counts(self) -> dict[str, int]:
        """Return the store's statistics."""
        figures = self.memory.store.statistics()
        return {"chunks": figures["chunks"], "entities": figures["entities"]}

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    def _ingest(self, draft: Draft) -> None:
        (result,) = self.memory.ingest([draft])
        assert result.change == "new"
        assert result.memory.state == "indexed", "the document must be worth indexing"

    def _store(self, documents: Sequence[Document]) -> None:
        now = START
        catalog = self.memory.catalog
        judged = [
            classify_draft(
                self._draft(one), now=now, sizes=self.memory.settings.chunking, rule="off", redactor=DEFAULT
            )
            for one in documents
        ]
        with catalog.database.write():
            catalog.memories.accept([(item.memory, item.chunks) for item in judged])
            catalog.log.write("ingest", {"memories": len(judged)}, now=now)
        records = [self._record(item, one) for item, one in zip(judged, documents, strict=True)]
        # The entities are those that all systems are given, and not what the catalog's rules find.
        self.memory.store.put(
            records,
            finish=lambda: catalog.memories.mark([item.memory.id for item in judged], State.INDEXED),
        )

    @staticmethod
    def _draft(document: Document) -> Draft:
        when = START + timedelta(minutes=document.number)
        return Draft("bench", document.name, document.text, event_time=when, scope=Scope(PROJECT))

    @staticmethod
    def _record(item: ClassifiedMemory, document: Document) -> Record:
        (chunk,) = item.chunks
        return Record(
            item.memory, item.chunks, (Extraction(chunk.id, document.entities, document.relations),)
        )


class Postgres(Ours):
    """ragmem with catalog and LightRAG in one PostgreSQL database, whose address the environment gives."""

    profile = "postgres"

    def written(self) -> int | None:
        """Return the bytes of PostgreSQL's write-ahead log so far, those of all its databases."""
        with self.memory.catalog.database.read() as connection:
            (written,) = connection.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn").fetchone()
        return int(written)

    def disk(self) -> int:
        """Return the bytes of the database."""
        with self.memory.catalog.database.read() as connection:
            (size,) = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(size)


def questions(count: int, size: int) -> list[tuple[str, list[str]]]:
    """Return questions about documents that are stored, each with two entities: a hub and a rare one."""
    chance = random.Random(size)
    asked = []
    for place in range(count):
        one = document(chance.randrange(size))
        names = [one.entities[0].name, one.entities[2].name]
        asked.append((" ".join(one.text.split()[3:15]) + f" {place}", names))
    return asked


def fingerprint(size: int) -> str:
    """Return a hash of the texts, to see that all stores were given the same."""
    digest = hashlib.sha256()
    for one in documents(size):
        digest.update(one.text.encode())
    return digest.hexdigest()[:12]
