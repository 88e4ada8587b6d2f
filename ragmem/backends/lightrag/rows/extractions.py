"""The entities and relations of a document's chunks, deflated; sentences are places in its text."""

import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from typing import Any

import orjson

from ragmem.backends.lightrag.rows import names
from ragmem.backends.lightrag.rows.keys import sort_pair, values_table
from ragmem.backends.lightrag.rows.records import ExtractionRows, read_extraction, rows_of_extraction
from ragmem.backends.lightrag.rows.texts import has_texts, text_of, written
from ragmem.domain.model import Record
from ragmem.errors import StoreDamagedError
from ragmem.storage.sql.batches import batches

_Fields = dict[str, Any]
_Rows = tuple[list[_Fields], list[_Fields]]

NOTHING = ExtractionRows({}, {})

_LEVEL = 6

_GROWING_OF_CHUNKS = frozenset({0})
_GROWING_OF_ENTITIES = frozenset({0, 2})
_GROWING_OF_RELATIONS = frozenset({0, 1, 3})
"""Columns with numbers in the order of the text: positions of chunks, numbers of names and sentences."""

_DISTANCES = 1
"""Ends what is stored where these columns are distances; earlier releases stored the numbers."""

MOST_CHUNKS = 5_000
"""Chunks that are kept in memory from which the next `load` starts anew: about 25 MB."""


def encode(found: Mapping[int, _Rows], text: str = "") -> bytes | None:
    """Return position of a chunk -> (entities, relations) as stored; None where no chunk has any.

    A sentence that is in the text, up to white space, is stored as its place there.
    """
    known: defaultdict[str, dict[str, int]] = defaultdict(dict)

    def number(what: str, value: str) -> int:
        return known[what].setdefault(value, len(known[what]))

    chunks, entities, relations = [], [], []
    for position, (named, related) in found.items():
        if not named and not related:
            continue
        chunks.append([position, len(named), len(related)])
        entities += [
            (
                number("names", row["name"]),
                number("types", row["type"]),
                number("sentences", row["description"]),
            )
            for row in named
        ]
        relations += [
            (
                number("names", row["source"]),
                number("names", row["target"]),
                number("keywords", row["keywords"]),
                number("sentences", row["description"]),
                row["weight"],
            )
            for row in related
        ]
    if not chunks:
        return None
    plain = _without_spaces(text)
    places, others = _places(known["sentences"], plain)
    # A list, because keys would be a tenth of it; by columns, which deflate to two thirds; and with distances
    # where numbers grow, because most of these are 0 and 1: a fourteenth less.
    content = [
        *(list(known[what]) for what in ("names", "types", "keywords")),
        others,
        zlib.crc32(plain.encode("utf-8", "surrogatepass")),
        places,
        _columns(chunks, _GROWING_OF_CHUNKS),
        _columns(entities, _GROWING_OF_ENTITIES),
        _columns(relations, _GROWING_OF_RELATIONS),
        _DISTANCES,
    ]
    return zlib.compress(orjson.dumps(content), _LEVEL)


def _columns(rows: Iterable[Sequence[Any]], growing: frozenset[int]) -> list[list[Any]]:
    """Return the columns of rows, those that grow as distances."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    return [
        [number - before for before, number in pairwise([0, *column])] if at in growing else column
        for at, column in enumerate(columns)
    ]


def _rows(columns: Iterable[Sequence[Any]], growing: frozenset[int]) -> Iterator[tuple[Any, ...]]:
    """Return the rows of `_columns`."""
    return zip(
        *(accumulate(column) if at in growing else column for at, column in enumerate(columns)), strict=True
    )


def _without_spaces(text: str) -> str:
    return " ".join(text.split())


def _places(sentences: Iterable[str], plain: str) -> tuple[list[int], list[str]]:
    """Return (distance to the one before, length) of each sentence in a row, and those that are not there.

    These have the length 0.
    """
    places: list[int] = []
    others: list[str] = []
    last = 0
    for sentence in sentences:
        at = plain.find(sentence, last) if sentence else -1
        if at < 0 and sentence:
            at = plain.find(sentence)
        if at < 0:
            places += [0, 0]
            others.append(sentence)
        else:
            places += [at - last, len(sentence)]
            last = at
    return places, others


def encode_record(record: Record, *, from_text: bool) -> bytes | None:
    """Return the extractions of a record as stored, with places in its text if `from_text`."""
    places = {chunk.id: place for place, chunk in enumerate(record.chunks)}
    return encode(
        {
            places[one.chunk_id]: rows_of_extraction(one)
            for one in record.extractions
            if one.chunk_id in places
        },
        record.memory.indexed_text if from_text else "",
    )


def decode(stored: bytes | None, text: str | None = None) -> dict[int, _Rows]:
    """Return what `encode` stored. Raises StoreDamagedError for damaged bytes.

    Without the text, and where it has changed since, names stand for the sentences that were in it: the
    memory waits to be stored again.
    """
    try:
        return _decode(stored, text) if stored is not None else {}
    except (zlib.error, ValueError, LookupError, TypeError) as error:
        raise StoreDamagedError(
            f"the entities of a memory cannot be read: {error}", hint="ragmem doctor --deep --repair"
        ) from error


def _decode(stored: bytes, text: str | None) -> dict[int, _Rows]:
    named, types, keywords, others, check, places, *columns = orjson.loads(zlib.decompress(stored))
    if columns[3:] == [_DISTANCES]:
        chunks = _rows(columns[0], _GROWING_OF_CHUNKS)
        entities = _rows(columns[1], _GROWING_OF_ENTITIES)
        relations = _rows(columns[2], _GROWING_OF_RELATIONS)
    else:
        chunks = iter(columns[0])
        entities, relations = (zip(*some, strict=True) for some in columns[1:])
    plain = "" if text is None else _without_spaces(text)
    if zlib.crc32(plain.encode("utf-8", "surrogatepass")) != check:
        plain = ""
    sentences = _sentences(plain, places, others)
    return {
        position: (
            [
                {"name": named[name], "type": types[kind], "description": sentences[at] or named[name]}
                for name, kind, at in islice(entities, many)
            ],
            [
                {
                    "source": named[source],
                    "target": named[target],
                    "keywords": keywords[words],
                    "description": sentences[at] or f"{named[source]} {keywords[words]} {named[target]}",
                    "weight": weight,
                }
                for source, target, words, at, weight in islice(relations, more)
            ],
        )
        for position, many, more in chunks
    }


def _sentences(plain: str, places: Iterable[int], others: Sequence[str]) -> list[str]:
    rest = list(reversed(others))
    numbers = iter(places)
    found = []
    at = 0
    for distance, length in zip(numbers, numbers, strict=True):
        at += distance
        found.append(plain[at : at + length] if length else rest.pop())
    return found


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
        self._has_texts = has_texts(connection)
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
                found = decode(stored, text_of(self._connection, key) if stored and self._has_texts else None)
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
