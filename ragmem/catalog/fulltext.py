"""Full text search over the chunks: BM25 by SQLite's FTS5."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.catalog.batches import marks
from ragmem.catalog.database import Connection, Database
from ragmem.domain.model import Hit

MAX_TERMS = 48
"""Distinct words of a query that are searched; of a longer query the rarest count."""

# title, heading, text, tags: a word in a title says more of a memory than one in its text.
WEIGHTS = (3.0, 2.0, 1.0, 2.0)

_WORD = re.compile(r"\w+")

# Words that say nothing of what is sought: function words of English, as any search engine drops them.
STOP_WORDS = frozenset(
    (
        "a an and are as at be been but by can could did do does for from had has have he her his how i "
        "if in into is it its me my no not of on or our she should so than that the their them then there "
        "these they this to us was we were what when where which who whom why will with would you your"
    ).split()
)


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """The chunks that share words with a query, best first, and how much of the query each covers.

    `coverage` is the share (0..1) of the query's idf mass whose words occur in the chunk.
    """

    hits: list[Hit]
    coverage: dict[str, float]


def terms_of(query: str) -> list[str]:
    """Return the distinct words of a query that are worth searching, in their order."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(query)))
    telling = [word for word in words if word not in STOP_WORDS]
    return telling or words


def add_text(connection: Connection, place: int, fields: tuple[str, str, str, str]) -> None:
    """Make a chunk searchable; `fields` are title, heading, text and tags."""
    connection.execute(
        "INSERT INTO chunks_text (rowid, title, heading, text, tags) VALUES (?,?,?,?,?)", (place, *fields)
    )


def drop_text(connection: Connection, memory: int) -> None:
    """Remove the text of a memory's chunks, before the chunks themselves go."""
    connection.execute(
        "DELETE FROM chunks_text WHERE rowid IN (SELECT n FROM chunks WHERE memory = ?)", (memory,)
    )


def search(
    database: Database, query: str, *, limit: int, projects: Sequence[str] | None = None
) -> LexicalHits:
    """Return the best chunks by BM25 that contain any word of the query, of these projects (None: all).

    A hit's score is BM25 (positive, higher is better). No word, no hits.
    """
    terms = terms_of(query)
    with database.read() as connection:
        (total,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
        if not terms or not total:
            return LexicalHits([], {})
        idf = _inverse_frequencies(connection, terms, int(total))
        chosen = sorted(idf, key=lambda term: -idf[term])[:MAX_TERMS]
        if not chosen:
            return LexicalHits([], {})
        condition = ""
        parameters: list[str | int] = [" OR ".join(_quoted(term) for term in chosen)]
        if projects is not None:
            condition = f"AND m.project IN ({marks(projects)})"
            parameters += list(projects)
        weights = ", ".join(str(weight) for weight in WEIGHTS)
        rows = connection.execute(
            f"SELECT c.n, c.id, m.id, -bm25(chunks_text, {weights}) AS score FROM chunks_text"
            " JOIN chunks c ON c.n = chunks_text.rowid JOIN memories m ON m.n = c.memory"
            f" WHERE chunks_text MATCH ? {condition} ORDER BY score DESC, c.id LIMIT ?",
            [*parameters, limit],
        ).fetchall()
        covered = _coverage(connection, [row[0] for row in rows], {term: idf[term] for term in chosen})
    hits = [
        Hit(chunk_id=chunk, memory_id=memory, rank=rank, score=score)
        for rank, (_, chunk, memory, score) in enumerate(rows, start=1)
    ]
    return LexicalHits(hits, {row[1]: covered[row[0]] for row in rows})


def _quoted(term: str) -> str:
    return f'"{term}"'


def _inverse_frequencies(connection: Connection, terms: Sequence[str], total: int) -> dict[str, float]:
    # Robertson and Sparck Jones' idf as BM25 uses it, kept positive. A word that occurs nowhere keeps its
    # (high) idf: a query about something unknown must not look covered. Counting is linear in a word's
    # postings, so a very long query is first cut to its longest words, which are its rarest as a rule.
    candidates = (
        terms if len(terms) <= 4 * MAX_TERMS else sorted(terms, key=len, reverse=True)[: 4 * MAX_TERMS]
    )
    frequencies = {}
    for term in candidates:
        (count,) = connection.execute(
            "SELECT count(*) FROM chunks_text WHERE chunks_text MATCH ?", (_quoted(term),)
        ).fetchone()
        frequencies[term] = math.log(1 + (total - count + 0.5) / (count + 0.5))
    return frequencies


def _coverage(connection: Connection, rows: Sequence[int], idf: dict[str, float]) -> dict[int, float]:
    mass = sum(idf.values())
    covered = dict.fromkeys(rows, 0.0)
    if not rows or mass <= 0:
        return covered
    for term, weight in idf.items():
        # "+" keeps the row numbers away from FTS5, which would run the match once for each of them: one pass
        # over the word's postings is 40 times faster in a small home and 4 times in a large one.
        for (number,) in connection.execute(
            f"SELECT rowid FROM chunks_text WHERE chunks_text MATCH ? AND +rowid IN ({marks(rows)})",
            [_quoted(term), *rows],
        ):
            covered[number] += weight / mass
    return covered
