"""Move the rows of earlier releases into the compact tables."""

import zlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

import orjson

from ragmem.backends.lightrag.rows import extractions, keys, names, views
from ragmem.backends.lightrag.rows.records import ExtractionRows, read_extraction
from ragmem.backends.lightrag.rows.texts import has_texts, text_of, written
from ragmem.errors import StoreDamagedError
from ragmem.storage.sql.database import Connection

_Fields = dict[str, Any]


def compact(connection: Connection) -> None:
    """Fill the tables of schema 5 and drop those before; rows that LightRAG itself wrote stay as they are.

    Vectors of names go: they are made again when one of LightRAG's modes is asked.
    """
    workspaces = [
        name
        for (name,) in connection.execute(
            "SELECT workspace FROM store_statuses UNION SELECT workspace FROM store_nodes_before"
            " UNION SELECT workspace FROM store_sources"
        )
    ]
    for workspace in workspaces:
        _Workspace(connection, workspace).move()
    connection.execute("DELETE FROM store_vectors WHERE namespace <> ?", (names.CHUNKS,))
    for table in ("store_sources", "store_nodes_before", "store_edges_before"):
        connection.execute(f"DROP TABLE {table}")


def place_sentences(connection: Any) -> None:
    """Rewrite the extractions, with positions in the texts of memories instead of sentences."""
    readable = has_texts(connection)
    rows = connection.execute("SELECT n FROM store_documents WHERE extractions IS NOT NULL").fetchall()
    for (number,) in rows:
        memory, stored = connection.execute(
            "SELECT id, extractions FROM store_documents WHERE n = ?", (number,)
        ).fetchone()
        text = text_of(connection, memory) if readable else None
        try:
            found = _decode_sentences(stored) or extractions.decode(stored, text)
        except (zlib.error, ValueError, LookupError, TypeError, StoreDamagedError):
            continue  # damaged: doctor tells of it and stores the memory again
        connection.execute(
            "UPDATE store_documents SET extractions = ? WHERE n = ?",
            (extractions.encode(found, text or ""), number),
        )


def shorten_types(connection: Any) -> None:
    """Write the types of entities as letters."""
    connection.executemany(
        "UPDATE store_nodes SET types = ? WHERE n = ?",
        [
            (keys.write_types(keys.read_types(types)), number)
            for number, types in connection.execute("SELECT n, types FROM store_nodes WHERE types <> ''")
        ],
    )


def _decode_sentences(stored: bytes) -> dict[int, tuple[list[_Fields], list[_Fields]]]:
    """Return position -> (entities, relations) as earlier releases stored them; empty for a later form."""
    content = orjson.loads(zlib.decompress(stored))
    if not isinstance(content, dict):
        return {}
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


class _Workspace:
    """The rows of one workspace."""

    def __init__(self, connection: Any, workspace: str) -> None:
        self._connection = connection
        self._workspace = workspace
        self._space = keys.make_space(connection, workspace)
        self._extractions: dict[str, ExtractionRows] = {}

    def move(self) -> None:
        """Move documents, chunks, mentions, entities and relations."""
        self._move_documents()
        chunks = keys.make_chunks(
            self._connection,
            self._workspace,
            [
                chunk
                for (chunk,) in self._connection.execute(
                    "SELECT chunk_id FROM (SELECT chunk_id, min(seq) AS age FROM store_sources"
                    " WHERE workspace = ?1 GROUP BY chunk_id UNION ALL"
                    " SELECT id, rowid FROM store_kv WHERE workspace = ?1 AND namespace = ?2) ORDER BY age",
                    (self._workspace, views.TEXT_CHUNKS),
                )
            ],
        )
        self._move_entities(chunks)
        self._move_relations(chunks)

    def _move_documents(self) -> None:
        rows = self._connection.execute(
            "SELECT id, data, CAST(strftime('%s', created_at) AS INTEGER) FROM store_statuses"
            " WHERE workspace = ? AND file_path = 'm-' || id AND status = ? ORDER BY rowid",
            (self._workspace, views.PROCESSED),
        ).fetchall()
        keeps_texts = not has_texts(self._connection)
        for memory, raw, created in rows:
            data = orjson.loads(raw)
            chunk_ids = list(data.get("chunks_list") or ())
            kept = written(self._connection, self._workspace, views.TEXT_CHUNKS, chunk_ids)
            cached = {
                chunk: key for chunk, row in kept.items() for key in (row.get("llm_cache_list") or ())[-1:]
            }
            answers = written(self._connection, self._workspace, views.CACHE, cached.values())
            found = {}
            for place, chunk in enumerate(chunk_ids):
                answer = answers.get(cached.get(chunk, ""))
                if answer is not None:
                    rows_of = self._extractions[chunk] = read_extraction(str(answer.get("return", "")))
                    found[place] = (
                        [row for some in rows_of.entities.values() for row in some],
                        [row for some in rows_of.relations.values() for row in some],
                    )
            document = self._connection.execute(
                "INSERT INTO store_documents (space, id, fingerprint, texts, created, event_at, extractions)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    self._space,
                    memory,
                    data["content_hash"],
                    str((data.get("metadata") or {}).get("texts", "")),
                    created or 0,
                    created or 0,
                    extractions.encode(found),
                ),
            ).lastrowid
            self._connection.executemany(
                "INSERT INTO store_chunks (space, document, position, id) VALUES (?, ?, ?, ?)",
                [(self._space, document, place, chunk) for place, chunk in enumerate(chunk_ids)],
            )
            gone = [(views.CACHE, key) for key in cached.values()]
            gone += [(namespace, memory) for namespace in (views.FULL_ENTITIES, views.FULL_RELATIONS)]
            if not keeps_texts:
                gone += [(views.FULL_DOCS, memory), *((views.TEXT_CHUNKS, chunk) for chunk in chunk_ids)]
            self._connection.executemany(
                "DELETE FROM store_kv WHERE workspace = ? AND namespace = ? AND id = ?",
                [(self._workspace, *key) for key in gone],
            )
            self._connection.execute(
                "DELETE FROM store_statuses WHERE workspace = ? AND id = ?", (self._workspace, memory)
            )

    def _make_nodes(self, wanted: Iterable[str], *, present: bool) -> dict[str, int]:
        """Return name -> number of entities; unknown ones get a row, as schema 5 has it."""
        names_of = sorted(set(wanted))
        self._connection.executemany(
            "INSERT OR IGNORE INTO store_nodes (space, id, folded, present) VALUES (?, ?, ?, ?)",
            [(self._space, name, name.lower(), present) for name in names_of],
        )
        return keys.node_numbers(self._connection, self._workspace, names_of)

    def _mentions(self, namespace: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for key, chunk in self._connection.execute(
            "SELECT key, chunk_id FROM store_sources WHERE workspace = ? AND namespace = ? ORDER BY seq",
            (self._workspace, namespace),
        ):
            found.setdefault(key, []).append(chunk)
        return found

    def _move_entities(self, chunks: dict[str, int]) -> None:
        mentions = self._mentions("entity_chunks")
        stored = dict(
            self._connection.execute(
                "SELECT id, data FROM store_nodes_before WHERE workspace = ?", (self._workspace,)
            ).fetchall()
        )
        self._make_nodes(stored, present=True)
        numbers = self._make_nodes([*stored, *mentions], present=False)
        self._connection.executemany(
            "INSERT OR IGNORE INTO store_mentions (chunk, node) VALUES (?, ?)",
            [(chunks[chunk], numbers[name]) for name, some in mentions.items() for chunk in some],
        )
        types: dict[int, Counter[str]] = {}
        for found in self._extractions.values():
            for name, rows in found.entities.items():
                if name in numbers:
                    types.setdefault(numbers[name], Counter()).update(row["type"] for row in rows)
        keys.change_types(self._connection, types)
        self._connection.executemany(
            "UPDATE store_nodes SET data = ? WHERE n = ?",
            [
                (raw, numbers[name])
                for name, raw in stored.items()
                if not self._is_made(raw, mentions.get(name, ()), name)
            ],
        )

    def _move_relations(self, chunks: dict[str, int]) -> None:
        mentions = self._mentions("relation_chunks")
        stored = {
            names.relation_key(source, target): (weight, raw)
            for source, target, weight, raw in self._connection.execute(
                "SELECT source, target, weight, data FROM store_edges_before WHERE workspace = ?",
                (self._workspace,),
            )
        }
        pairs = {
            key: keys.sort_pair(*key.split(names.SEPARATOR, 1))
            for key in {*stored, *mentions}
            if names.SEPARATOR in key
        }
        numbers = self._make_nodes({name for pair in pairs.values() for name in pair}, present=False)
        places = {key: (numbers[one], numbers[other]) for key, (one, other) in pairs.items()}
        keys.make_edges(self._connection, [places[key] for key in stored if key in places])
        edges = keys.make_edges(self._connection, places.values(), present=False)
        self._connection.executemany(
            "INSERT OR IGNORE INTO store_evidence (chunk, edge, weight) VALUES (?, ?, ?)",
            [
                (chunks[chunk], edges[places[key]], self._weight(chunk, pairs[key]))
                for key, some in mentions.items()
                if key in places
                for chunk in some
            ],
        )
        self._connection.executemany(
            "UPDATE store_edges SET weight = ?, data = ? WHERE n = ?",
            [
                (
                    weight,
                    None if self._is_made(raw, mentions.get(key, ()), *pairs[key]) else raw,
                    edges[places[key]],
                )
                for key, (weight, raw) in stored.items()
                if key in places
            ],
        )

    def _weight(self, chunk: str, pair: tuple[str, str]) -> float:
        found = self._extractions.get(chunk)
        return sum(row["weight"] for row in found.relations.get(pair, ())) if found else 0.0

    def _is_made(self, raw: str, mentions: Iterable[str], *named: str) -> bool:
        """Return whether all descriptions come from chunks that ragmem stored, and can be rebuilt."""
        known = [self._extractions[chunk] for chunk in mentions if chunk in self._extractions]
        if not known:
            return False
        told: set[str] = set()
        for found in known:
            if len(named) == 1:
                told.update(row["description"] for row in found.entities.get(named[0], ()))
            for pair, some in found.relations.items():
                if pair == named or (len(named) == 1 and named[0] in pair):
                    told.update(row["description"] for row in some)
        described = str(orjson.loads(raw).get("description", "")).split(names.SEPARATOR)
        return all(
            part in told or part in {f"Entity {named[0]}", " ".join(named)} for part in described if part
        )
