"""Phrases that must occur, words and phrases that must not: found by the index, checked on the texts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import orjson

from ragmem.catalog.corpus import Corpus, corpus_of, places_of, postings
from ragmem.catalog.database import Connection, Database
from ragmem.catalog.segments import Array
from ragmem.catalog.terms import term_of
from ragmem.catalog.words import folded

MOST_CHECKED = 2_000
"""Texts that are read for one question; a phrase of the commonest words is not sought further."""

Words = tuple[str, ...]


@dataclass(slots=True)
class Wanted:
    """Which memories an answer may have; `possible` is what the index tells, the texts tell the rest."""

    connection: Connection
    corpus: Corpus
    phrases: tuple[Words, ...]
    excluded: tuple[Words, ...]
    possible: Array
    suspect: Array
    """Memories in which an excluded phrase may occur."""
    _told: dict[int, bool] = field(default_factory=dict)

    @classmethod
    def among(
        cls, connection: Connection, corpus: Corpus, phrases: Sequence[str], excluded: Sequence[str]
    ) -> "Wanted":
        """Return what phrases and excluded words or phrases leave; what has no word says nothing."""
        sought = tuple(words for words in (tuple(folded(text)) for text in phrases) if words)
        unwanted = tuple(words for words in (tuple(folded(text)) for text in excluded) if words)
        having = _Having(connection, corpus, [*sought, *unwanted])
        possible = corpus.alive.copy()
        suspect = np.zeros(len(possible), dtype=bool)
        for words in sought:
            possible &= having.memories(words)
        for words in unwanted:
            if len(words) == 1:
                possible &= ~having.memories(words)
            else:
                suspect |= having.memories(words)
        kept = tuple(words for words in unwanted if len(words) > 1)
        return cls(connection, corpus, sought, kept, possible, suspect)

    def first(self, places: Array, limit: int) -> Array:
        """Return the first chunks, of some in their order, that the answer may have."""
        chosen: list[int] = []
        for place in places.tolist():
            if len(chosen) == limit or len(self._told) >= MOST_CHECKED:
                break
            if self.allows(int(self.corpus.memory_of[place])):
                chosen.append(place)
        return np.array(chosen, dtype=np.int64)

    def allows(self, memory: int) -> bool:
        """Tell whether the memory at a place of the corpus may be in the answer."""
        if not self.possible[memory]:
            return False
        if not self.phrases and not self.suspect[memory]:
            return True
        if memory not in self._told:
            texts = _texts(self.connection, int(self.corpus.numbers[memory]))
            self._told[memory] = all(_occurs(words, texts) for words in self.phrases) and not any(
                _occurs(words, texts) for words in self.excluded
            )
        return self._told[memory]


class _Having:
    """The memories that have all the words of a phrase in one chunk."""

    def __init__(self, connection: Connection, corpus: Corpus, phrases: Sequence[Words]) -> None:
        self._corpus = corpus
        terms = {term_of(word): None for words in phrases for word in words}
        self._postings = dict(zip(terms, postings(connection, corpus, list(terms)), strict=True))

    def memories(self, words: Words) -> Array:
        chunks = np.ones(len(self._corpus.lengths), dtype=bool)
        for term in {term_of(word) for word in words}:
            having = np.zeros_like(chunks)
            having[self._postings[term][0]] = True
            chunks &= having
        found = np.zeros(len(self._corpus.numbers), dtype=bool)
        found[self._corpus.memory_of[chunks]] = True
        return found


def _texts(connection: Connection, number: int) -> list[str]:
    """Return what a memory is searched by: its text, title, tags and headings."""
    title, tags, text = connection.execute(
        "SELECT title, tags, CASE WHEN summary <> '' THEN summary ELSE text END FROM memories WHERE n = ?",
        (number,),
    ).fetchone()
    headings = connection.execute(
        "SELECT DISTINCT heading FROM chunks WHERE memory = ?", (number,)
    ).fetchall()
    return [text, title, *orjson.loads(tags), *(heading for (heading,) in headings)]


def _occurs(words: Words, texts: Sequence[str]) -> bool:
    pattern = re.compile(rf"(?<!\S){re.escape(' '.join(words))}(?!\S)")
    return any(pattern.search(" ".join(folded(text))) for text in texts)


def allowed_chunks(
    database: Database, phrases: Sequence[str], excluded: Sequence[str], chunk_ids: Sequence[str]
) -> set[str]:
    """Carry out `fulltext.allowed`."""
    with database.read() as connection:
        corpus = corpus_of(database, connection)
        places = places_of(connection, corpus, chunk_ids)
        wanted = Wanted.among(connection, corpus, phrases, excluded)
        return {chunk for chunk, (place, _) in places.items() if wanted.allows(int(corpus.memory_of[place]))}
