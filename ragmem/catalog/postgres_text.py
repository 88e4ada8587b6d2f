"""Full text search over the chunks in PostgreSQL, with the meaning of the one in SQLite.

A chunk is a tsvector of our own words (words.py), so that the server's languages make no difference: the
title's are of weight A, the heading's B, the tags' C, the text's D. PostgreSQL finds and counts them; the
score is BM25 as FTS5 computes it, because PostgreSQL's own ranking knows nothing of how rare a word is.
"""

import math
from collections.abc import Sequence

from ragmem.catalog.batches import marks
from ragmem.catalog.database import Connection, Database, Row
from ragmem.catalog.terms import MAX_TERMS, WEIGHTS, LexicalHits, terms_of
from ragmem.catalog.words import words_of
from ragmem.domain.model import Hit

K1 = 1.2
B = 0.75
"""Of BM25, as FTS5 has them."""

LEAST_IDF = 1e-6
"""What FTS5 gives a word that more than half of the chunks have."""

FIELDS = "ABDC"
"""The letters of title, heading, text and tags in a tsvector."""

LAST_POSITION = 16_383
MAX_LEXEME_BYTES = 2_000
MAX_VECTOR_BYTES = 800_000
"""Limits of a tsvector, with some room; what a chunk has beyond them is not searched."""

_TOP = max(WEIGHTS)
# ts_rank_cd of one word is the sum of the weights of its occurrences; weights may not exceed 1.
_RANK = "'{{{3},{2},{1},{0}}}'".format(
    *(weight / _TOP for _, weight in sorted(zip(FIELDS, WEIGHTS, strict=True)))
)

# `words @@` finds the chunks; each is read once, and each of its words counted there.
_BEST = f"""
WITH found AS (
  SELECT n, {{score}} AS score FROM (
    SELECT n, {K1} * ({1 - B} + {B} * length / CAST(? AS float8)) AS damping, {{counts}}
    FROM chunks_text WHERE words @@ CAST(? AS tsquery) {{condition}} OFFSET 0
  ) AS counted ORDER BY score DESC FETCH FIRST ? ROWS WITH TIES
)
SELECT c.n, c.id, m.id, score
FROM found JOIN chunks c ON c.n = found.n JOIN memories m ON m.n = c.memory
ORDER BY score DESC, c.id LIMIT ?
"""
# Most chunks lack most of the words, which @@ tells sooner than a count does.
_OFTEN = (
    f"CASE WHEN words @@ CAST(? AS tsquery) THEN {_TOP} * ts_rank_cd({_RANK}, words, CAST(? AS tsquery))"
    " ELSE 0 END"
)
_OF_PROJECTS = """AND n IN (
  SELECT c.n FROM chunks c JOIN memories m ON m.n = c.memory WHERE m.project IN ({marks})
)"""


def add(connection: Connection, place: int, fields: tuple[str, str, str, str]) -> None:
    """Make a chunk searchable; `fields` are title, heading, text and tags."""
    words, length = vector_of(fields)
    connection.execute(
        "INSERT INTO chunks_text (n, length, words) VALUES (?, ?, CAST(? AS tsvector))",
        (place, length, words),
    )


def drop(connection: Connection, memory: int) -> None:
    """Remove the text of a memory's chunks, before the chunks themselves go."""
    connection.execute(
        "DELETE FROM chunks_text WHERE n IN (SELECT n FROM chunks WHERE memory = ?)", (memory,)
    )


def vector_of(fields: tuple[str, str, str, str]) -> tuple[str, int]:
    """Return the tsvector of a chunk as text, and how many words it has."""
    positions: dict[str, list[str]] = {}
    position = length = size = 0
    for letter, field in zip(FIELDS, fields, strict=True):
        words = words_of(field)
        length += len(words)
        for word in words:
            position += 1
            lexeme = _lexeme(word)
            size += 4 if lexeme in positions else len(lexeme.encode()) + 8
            if size > MAX_VECTOR_BYTES:
                break
            positions.setdefault(lexeme, []).append(f"{min(position, LAST_POSITION)}{letter}")
        # A phrase ends where its field ends.
        position += 1
    return " ".join(f"'{lexeme}':{','.join(places)}" for lexeme, places in positions.items()), length


def query_of(term: str) -> str:
    """Return the tsquery of a term: its words one behind the other; an empty text where it has none."""
    return " <-> ".join(f"'{_lexeme(word)}'" for word in words_of(term))


def _lexeme(word: str) -> str:
    # No word holds a quote or a backslash: it is letters and digits.
    return word if len(word) * 4 < MAX_LEXEME_BYTES else word[: MAX_LEXEME_BYTES // 4]


def search(
    database: Database, query: str, *, limit: int, projects: Sequence[str] | None = None
) -> LexicalHits:
    """Return the best chunks by BM25 that contain any word of the query, of these projects (None: all)."""
    terms = terms_of(query)
    if len(terms) > 4 * MAX_TERMS:
        terms = sorted(terms, key=len, reverse=True)[: 4 * MAX_TERMS]
    with database.read() as connection:
        total, tokens = connection.execute("SELECT count(*), sum(length) FROM chunks_text").fetchone()
        if not terms or not total:
            return LexicalHits([], {})
        queries = {term: query_of(term) for term in terms}
        counts = _counts(connection, {text for text in queries.values() if text})
        idf = {
            term: math.log(1 + (total - count + 0.5) / (count + 0.5))
            for term in terms
            for count in (counts.get(queries[term], 0),)
        }
        chosen = sorted(idf, key=lambda term: -idf[term])[:MAX_TERMS]
        sought = [queries[term] for term in chosen if counts.get(queries[term])]
        if not sought:
            return LexicalHits([], {})
        rows = _ranked(connection, sought, counts, (total, tokens), limit=limit, projects=projects)
        mass = {term: idf[term] for term in chosen}
        covered = _coverage(connection, [row[0] for row in rows], mass, queries)
    hits = [
        Hit(chunk_id=chunk, memory_id=memory, rank=rank, score=score)
        for rank, (_, chunk, memory, score) in enumerate(rows, start=1)
    ]
    return LexicalHits(hits, {row[1]: covered[row[0]] for row in rows})


def _counts(connection: Connection, queries: set[str]) -> dict[str, int]:
    """Return query -> number of chunks that have it."""
    return dict(
        connection.execute(
            "SELECT q, (SELECT count(*) FROM chunks_text WHERE words @@ CAST(q AS tsquery))"
            " FROM unnest(CAST(? AS text[])) AS given (q)",
            (sorted(queries),),
        ).fetchall()
    )


def _ranked(
    connection: Connection,
    queries: Sequence[str],
    counts: dict[str, int],
    totals: tuple[int, int],
    *,
    limit: int,
    projects: Sequence[str] | None,
) -> list[Row]:
    total, tokens = totals
    weights = [
        (K1 + 1) * max(math.log((total - counts[query] + 0.5) / (counts[query] + 0.5)), LEAST_IDF)
        for query in queries
    ]
    numbers = range(len(queries))
    statement = _BEST.format(
        score=" + ".join(f"weight{n} * often{n} / (often{n} + damping)" for n in numbers),
        counts=", ".join(f"{_OFTEN} AS often{n}, CAST(? AS float8) AS weight{n}" for n in numbers),
        condition="" if projects is None else _OF_PROJECTS.format(marks=marks(projects) or "NULL"),
    )
    terms = [
        value for query, weight in zip(queries, weights, strict=True) for value in (query, query, weight)
    ]
    any_of_them = " | ".join(f"({query})" for query in queries)
    return connection.execute(
        statement, [tokens / total, *terms, any_of_them, *(projects or ()), limit, limit]
    ).fetchall()


def _coverage(
    connection: Connection, rows: Sequence[int], idf: dict[str, float], queries: dict[str, str]
) -> dict[int, float]:
    mass = sum(idf.values())
    covered = dict.fromkeys(rows, 0.0)
    if not rows or mass <= 0:
        return covered
    terms = [term for term in idf if queries[term]]
    for number, place in connection.execute(
        "SELECT t.n, given.place FROM chunks_text t"
        " JOIN unnest(CAST(? AS tsquery[])) WITH ORDINALITY AS given (term, place) ON t.words @@ given.term"
        " WHERE t.n = ANY (CAST(? AS bigint[]))",
        ([queries[term] for term in terms], list(rows)),
    ):
        covered[number] += idf[terms[place - 1]] / mass
    return covered
