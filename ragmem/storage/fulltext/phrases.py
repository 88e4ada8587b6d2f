"""Phrases that must occur, words and phrases that must not: found by the index, checked on the texts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import orjson

from ragmem.domain.text.words import fold_words
from ragmem.storage.fulltext.blocks import Array, damage_error
from ragmem.storage.fulltext.corpus import Corpus, corpus_of, places_of, postings
from ragmem.storage.fulltext.terms import term_of
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.rows import decode_heading

MOST_CHECKED = 2_000
"""Texts that are read for one question; a phrase of the commonest words is not sought further."""

Words = tuple[str, ...]


@dataclass(slots=True)
class PhraseFilter:
    """Which memories an answer may have; `possible` is what the index tells, the texts tell the rest.

    `phrases` and `excluded` ones each have the chunks in which all their words are.
    """

    connection: Connection
    corpus: Corpus
    phrases: dict[Words, Array]
    excluded: dict[Words, Array]
    possible: Array
    _told: dict[int, bool] = field(default_factory=dict)

    @classmethod
    def among(
        cls, connection: Connection, corpus: Corpus, phrases: Sequence[str], excluded: Sequence[str]
    ) -> "PhraseFilter":
        """Return what phrases and excluded words or phrases leave; what has no word says nothing."""
        sought = [words for words in (tuple(fold_words(text)) for text in phrases) if words]
        unwanted = [words for words in (tuple(fold_words(text)) for text in excluded) if words]
        chunks = _chunks_with_words(connection, corpus, [*sought, *unwanted])
        possible = corpus.alive.copy()
        for words in sought:
            possible &= _memories(corpus, chunks[words])
        for words in unwanted:
            if len(words) == 1:
                possible &= ~_memories(corpus, chunks[words])
        return cls(
            connection,
            corpus,
            {words: chunks[words] for words in sought},
            {words: chunks[words] for words in unwanted if len(words) > 1},
            possible,
        )

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
        """Return whether the memory at a place of the corpus may be in the answer."""
        if not self.possible[memory]:
            return False
        if memory not in self._told:
            first = int(self.corpus.firsts[memory])
            here = slice(first, first + int(self.corpus.counts[memory]))
            suspects = {words: chunks[here] for words, chunks in self.excluded.items() if chunks[here].any()}
            if not self.phrases and not suspects:
                return True
            read = _SearchText(self.connection, int(self.corpus.numbers[memory]))
            self._told[memory] = all(
                read.has(words, chunks[here]) for words, chunks in self.phrases.items()
            ) and not any(read.has(words, chunks) for words, chunks in suspects.items())
        return self._told[memory]


def _chunks_with_words(
    connection: Connection, corpus: Corpus, phrases: Sequence[Words]
) -> dict[Words, Array]:
    """Return which chunks have all the words of each phrase."""
    found = postings(connection, corpus, (term_of(word) for words in phrases for word in words))
    having: dict[Words, Array] = {}
    for words in phrases:
        having[words] = np.ones(len(corpus.lengths), dtype=bool)
        for term in {term_of(word) for word in words}:
            here = np.zeros(len(corpus.lengths), dtype=bool)
            here[found[term][0]] = True
            having[words] &= here
    return having


def _memories(corpus: Corpus, chunks: Array) -> Array:
    found = np.zeros(len(corpus.numbers), dtype=bool)
    found[corpus.memory_of[chunks]] = True
    return found


class _SearchText:
    """What a memory is searched by: its title, its tags, and its chunks with their headings."""

    def __init__(self, connection: Connection, number: int) -> None:
        row = connection.execute(
            "SELECT title, tags, CASE WHEN summary <> '' THEN summary ELSE text END FROM memories"
            " WHERE n = ?",
            (number,),
        ).fetchone()
        if row is None:
            raise damage_error("it refers to a missing memory")
        title, tags, self._text = row
        self._frame = [title, *orjson.loads(tags)]
        self._chunks = connection.execute(
            "SELECT heading, begin_at, end_at FROM chunks WHERE memory = ? ORDER BY position", (number,)
        ).fetchall()

    def has(self, words: Words, chunks: Array) -> bool:
        """Return whether a phrase is in the title, a tag, or one of those chunks."""
        pattern = re.compile(rf"(?<!\S){re.escape(' '.join(words))}(?!\S)")
        return any(pattern.search(" ".join(fold_words(text))) for text in self._texts(chunks))

    def _texts(self, chunks: Array) -> Iterator[str]:
        if len(chunks) != len(self._chunks):
            raise damage_error("it refers to missing chunks")
        yield from self._frame
        for (heading, begin, end), here in zip(self._chunks, chunks.tolist(), strict=True):
            if here:
                yield decode_heading(heading, self._text)
                yield self._text[begin:end]


def allowed_chunks(
    database: Database, phrases: Sequence[str], excluded: Sequence[str], chunk_ids: Sequence[str]
) -> set[str]:
    """Carry out `fulltext.allowed`."""
    with database.read() as connection:
        corpus = corpus_of(database, connection)
        places = places_of(connection, corpus, chunk_ids)
        wanted = PhraseFilter.among(connection, corpus, phrases, excluded)
        return {chunk for chunk, place in places.items() if wanted.allows(int(corpus.memory_of[place]))}
