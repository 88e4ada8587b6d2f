"""Find the words that misspelt words of a query may stand for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from ragmem.storage.fulltext.blocks import Array
from ragmem.storage.fulltext.corpus import Corpus, corpus_of, places_in
from ragmem.storage.fulltext.phrases import PhraseFilter
from ragmem.storage.fulltext.terms import term_of
from ragmem.storage.sql.database import Connection, Database

LEAST = 5
"""Letters of a word; a shorter one is an edit away from too many others."""

MOST = 3
"""Words of a query that are respelt."""

TRIED, READ = 4, 20
"""Terms, and chunks of each, in which a spelling is looked for."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def respell(database: Database, words: Iterable[str], *, projects: Sequence[str] | None = None) -> list[str]:
    """Return the likeliest spelling of each of the words, without those for which there is none.

    It is one edit away and in a text of these projects (None: all). Letters that changed places, or are
    doubled in one of the two, are likelier than other edits, and then the more frequent word.
    """
    wanted = [word for word in words if len(word) >= LEAST and word.isascii() and word.isalpha()][:MOST]
    with database.read() as connection:
        corpus = corpus_of(database, connection)
        searched = corpus.searched(projects)
        return [
            spelling
            for word in wanted
            for spelling in islice(_spellings(connection, corpus, word, searched), 1)
        ]


def _spellings(connection: Connection, corpus: Corpus, word: str, searched: Array) -> Iterator[str]:
    """Yield the spellings of a word that are in a text, likeliest first."""
    likely = set(_likely_edits(word))
    spellings: dict[int, list[str]] = defaultdict(list)
    for one in dict.fromkeys([*likely, *_edits(word)]):
        spellings[term_of(one)].append(one)
    found = places_in(connection, corpus, list(spellings), searched)
    order = sorted(found, key=lambda term: (likely.isdisjoint(spellings[term]), -len(found[term])))
    for term in order[:TRIED]:
        memories = set(corpus.memory_of[found[term][:READ]].tolist())
        for one in spellings[term]:
            # A term is that of all words with its stem, and of what is no word at all.
            phrase = PhraseFilter.among(connection, corpus, [one], ())
            if any(phrase.allows(memory) for memory in memories):
                yield one


def _likely_edits(word: str) -> Iterable[str]:
    for place in range(len(word) - 1):
        first, second = word[place], word[place + 1]
        yield word[:place] + (second + first if first != second else first) + word[place + 2 :]
    for place in range(len(word)):
        yield word[:place] + word[place] + word[place:]


def _edits(word: str) -> Iterable[str]:
    without = (word[:place] + word[place + 1 :] for place in range(len(word)))
    inserted = (word[:place] + one + word[place:] for place in range(len(word) + 1) for one in _LETTERS)
    replaced = (word[:place] + one + word[place + 1 :] for place in range(len(word)) for one in _LETTERS)
    return (one for one in chain(inserted, without, replaced) if one != word)
