"""The entities and relations of a document's chunks, as one deflated value; each sentence is in it once."""

import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from ragmem.backends.lightrag.rows import names
from ragmem.backends.lightrag.rows.keys import sort_pair, values_table
from ragmem.backends.lightrag.rows.records import ExtractionRows, read_extraction, rows_of_extraction
from ragmem.backends.lightrag.rows.written import written
from ragmem.domain.model import Record
from ragmem.errors import StoreDamagedError
from ragmem.storage.sql.batches import batches

_Fields = dict[str, Any]
_Rows = tuple[list[_Fields], list[_Fields]]

NOTHING = ExtractionRows({}, {})

_LEVEL = 6

MOST_CHUNKS = 5_000
"""Chunks that are kept in memory from which the next `load` starts anew: about 25 MB."""


def encode(found: Mapping[int, _Rows]) -> bytes | None:
    """Return position of a chunk -> (entities, relations) as stored; None where no chunk has any."""
    sentences: dict[str, int] = {}
    chunks = []
    for position, (entities, relations) in found.items():
        if not entities and not relations:
            continue
        chunks.append(
            [
                position,
                [
                    [row["name"], row["type"], sentences.setdefault(row["description"], len(sentences))]
                    for row in entities
                ],
                [
                    [
                        row["source"],
                        row["target"],
                        row["keywords"],
                        sentences.setdefault(row["description"], len(sentences)),
                        row["weight"],
                    ]
                    for row in relations
                ],
            ]
        )
    if not chunks:
        return None
    return zlib.compress(orjson.dumps({"chunks": chunks, "sentences": list(sentences)}), _LEVEL)


def encode_record(record: Record) -> bytes | None:
    """Return the extractions of a record as stored."""
    places = {chunk.id: place for place, chunk in enumerate(record.chunks)}
    return encode(
        {
            places[one.chunk_id]: rows_of_extraction(one)
            for one in record.extractions
            if one.chunk_id in places
        }
    )


def decode(stored: bytes | None) -> dict[int, _Rows]:
    """Return what `encode` stored. Raises StoreDamagedError for damaged bytes."""
    try:
        return _decode(stored) if stored is not None else {}
    except (zlib.error, ValueError, LookupError, TypeError) as error:
        raise StoreDamagedError(
            f"what a memory names cannot be read: {error}", hint="ragmem doctor --deep --repair"
        ) from error


def _decode(stored: bytes) -> dict[int, _Rows]:
    content = orjson.loads(zlib.decompress(stored))
    sentences = content["sentences"]
    return {
        position: (
            [{"name": name, "type": kind, "description": sentences[at]} for name, kind, at in entities],
            [
                {
                    "source": source,
                    "target": target,
                    "keywords": keywords,
                    "description": sentences[at],
                    "weight": weight,
                }
                for source, target, keywords, at, weight in relations
            ],
        )
        for position, entities, relations in content["chunks"]
    }


def json_of(rows: _Rows) -> str:
    """Return the extraction of a chunk as the JSON that LightRAG caches."""
    entities, relations = rows
    return orjson.dumps({"entities": entities, "relationships": relations}).decode()


def grouped(rows: _Rows) -> ExtractionRows:
    """Return the rows by entity and by pair."""
    found = ExtractionRows({}, {})
    for row in rows[0]:
        found.entities.setdefault(row["name"], []).append(row)
    for row in rows[1]:
        found.relations.setdefault(sort_pair(row["source"], row["target"]), []).append(row)
    return found


class Chunks:
    """Ids, files and extractions of chunks by their numbers, read once."""

    def __init__(self, connection: sqlite3.Connection, workspace: str) -> None:
        self._connection = connection
        self._workspace = workspace
        self.ids: dict[int, str] = {}
        self.paths: dict[int, str] = {}
        self.created: dict[int, int] = {}
        self.extractions: dict[int, ExtractionRows] = {}

    def load(self, numbers: Iterable[int]) -> None:
        """Read the chunks that were not read before; many earlier ones are dropped first."""
        if len(self.ids) > MOST_CHUNKS:
            for read in (self.ids, self.paths, self.created, self.extractions):
                read.clear()
        foreign: list[int] = []
        documents: dict[int, list[tuple[int, int]]] = {}
        for part in batches({number for number in numbers if number not in self.ids}):
            for number, key, document, position in self._connection.execute(
                f"SELECT n, id, document, position FROM {values_table(part)} CROSS JOIN store_chunks"
                " ON n = column1",
                part,
            ):
                self.ids[number] = key
                self.extractions[number] = NOTHING
                if document is None:
                    foreign.append(number)
                else:
                    documents.setdefault(document, []).append((number, position))
        for part in batches(documents):
            for document, key, created, stored in self._connection.execute(
                f"SELECT n, id, created, extractions FROM {values_table(part)} CROSS JOIN store_documents"
                " ON n = column1",
                part,
            ):
                found = decode(stored)
                for number, position in documents[document]:
                    self.paths[number] = names.file_token(key)
                    self.created[number] = created
                    if position in found:
                        self.extractions[number] = grouped(found[position])
        self._load_foreign(foreign)

    def _load_foreign(self, numbers: list[int]) -> None:
        """Read what LightRAG itself cached of its chunks."""
        if not numbers:
            return
        ids = [self.ids[number] for number in numbers]
        kept = written(self._connection, self._workspace, "text_chunks", ids)
        keys = [key for row in kept.values() for key in row.get("llm_cache_list") or ()]
        cached = written(self._connection, self._workspace, "llm_response_cache", keys)
        for number in numbers:
            row = kept.get(self.ids[number], {})
            self.paths[number] = str(row.get("file_path", ""))
            answers = [cached[key] for key in row.get("llm_cache_list") or () if key in cached]
            if answers:
                self.extractions[number] = read_extraction(str(answers[-1].get("return", "")))
