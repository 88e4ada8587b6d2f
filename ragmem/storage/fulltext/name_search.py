"""The memories that may name something: those whose texts have all the words of a name."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ragmem.domain.text.words import fold_words
from ragmem.storage.fulltext.blocks import Array
from ragmem.storage.fulltext.corpus import Corpus, corpus_of, identities_of, postings
from ragmem.storage.fulltext.terms import term_of
from ragmem.storage.sql.database import Connection, Database, select_in


@dataclass(frozen=True, slots=True)
class SearchedMemory:
    """A memory with the text that is searched; `event_at` is in microseconds since 1970."""

    id: str
    project: str
    source: str
    title: str
    kind: str
    category: str
    event_at: int
    text: str


_COLUMNS = (
    "id, project, source, title, kind, category, event_at, CASE WHEN summary <> '' THEN summary ELSE text END"
)


def find_memories_by_names(
    database: Database, names: Iterable[str], *, projects: Sequence[str] | None, most: int
) -> list[tuple[SearchedMemory, list[str]]]:
    """Return memories of these projects (None: all) and which names each has all words of, in one chunk.

    Whether they name it only their texts tell: words go in all their forms, and stand anywhere. For a name
    whose words more than `most` memories have, those of them that were stored last are read. Raises
    StoreDamagedError where the index is damaged.
    """
    possible: dict[int, list[str]] = {}
    with database.read() as connection:
        corpus = corpus_of(database, connection)
        searched = corpus.searched(projects)
        for name, chunks in _having_all_words(connection, corpus, names):
            # Without indices, unique() would import numpy.ma: 20 ms of a cold question.
            memories = np.unique(corpus.memory_of[chunks], return_index=True)[0]
            for number in np.sort(corpus.numbers[memories[searched[memories]]])[-most:].tolist():
                possible.setdefault(number, []).append(name)
        return [
            (SearchedMemory(*row), possible[number])
            for number, *row in select_in(
                connection, f"SELECT n, {_COLUMNS} FROM memories WHERE n IN ({{}})", possible
            )
        ]


def find_chunks_by_names(
    database: Database, names: Iterable[str], *, project: str, most: int
) -> dict[str, list[str]]:
    """Return name -> the chunks of a project that have all its words.

    Names whose words more than `most` chunks have are absent, and those that nobody wrote. Raises
    StoreDamagedError where the index is damaged.
    """
    places: dict[str, list[int]] = {}
    with database.read() as connection:
        corpus = corpus_of(database, connection)
        searched = corpus.searched([project])
        for name, chunks in _having_all_words(connection, corpus, names):
            having = chunks[searched[corpus.memory_of[chunks]]]
            if 0 < len(having) <= most:
                places[name] = having.tolist()
        ids = identities_of(connection, corpus, sorted({place for some in places.values() for place in some}))
    return {name: [ids[place][0] for place in some] for name, some in places.items()}


def _having_all_words(
    connection: Connection, corpus: Corpus, names: Iterable[str]
) -> Iterator[tuple[str, Array]]:
    """Yield the names that have words, each with the places of the chunks that have all of them."""
    wanted = {name: terms for name in names if (terms := frozenset(map(term_of, fold_words(name))))}
    found = postings(connection, corpus, (term for terms in wanted.values() for term in terms))
    for name, terms in wanted.items():
        rarest, *others = sorted((found[term][0] for term in terms), key=len)
        for chunks in others:
            if len(rarest) and len(chunks):
                # The fewer are sought among the more: a common word is in most chunks.
                nearest = np.minimum(np.searchsorted(chunks, rarest), len(chunks) - 1)
                rarest = rarest[chunks[nearest] == rarest]
        yield name, rarest


def searched_memories(database: Database, ids: Iterable[str]) -> list[SearchedMemory]:
    """Return those of the memories that exist."""
    rows = database.select_in(f"SELECT {_COLUMNS} FROM memories WHERE id IN ({{}})", dict.fromkeys(ids))
    return [SearchedMemory(*row) for row in rows]
