"""BM25 over the postings of a question's words: of chunks, and of memories taken as one text."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ragmem.domain.model import ranked_hits
from ragmem.domain.text.words import is_pair
from ragmem.frozen import dataclass
from ragmem.storage.fulltext.blocks import Array
from ragmem.storage.fulltext.corpus import (
    Corpus,
    Found,
    corpus_of,
    count_in_largest,
    identities_of,
    places_of,
    postings,
)
from ragmem.storage.fulltext.phrases import PhraseFilter
from ragmem.storage.fulltext.segments import distinct
from ragmem.storage.fulltext.terms import MAX_TERMS, LexicalHits, terms_of
from ragmem.storage.sql.database import Connection, Database

K1 = 1.2
B = 0.75
"""As Robertson and Zaragoza (2009) advise, and FTS5 has them."""

NO_HITS: Mapping[int, tuple[str, str]] = MappingProxyType({})

CANDIDATES = 4
"""Words that are counted, in multiples of MAX_TERMS, to find the rarest: the longest of a very long query."""


def rank_chunks(
    database: Database,
    query: str,
    *,
    limit: int,
    memories: int | None,
    projects: Sequence[str] | None,
    also: Iterable[str],
    phrases: Sequence[str],
    excluded: Sequence[str],
) -> LexicalHits:
    """Carry out `fulltext.search`."""
    terms = terms_of(query)
    if not terms:
        return LexicalHits()
    with database.read() as connection:
        corpus = corpus_of(database, connection)
        if len(terms) > MAX_TERMS:
            terms = _rarest(connection, corpus, terms)
        searched = corpus.searched(projects)
        chosen = None if searched.all() else searched[corpus.memory_of]
        total = len(corpus.lengths) if chosen is None else int(chosen.sum())
        if not total:
            return LexicalHits()
        matching = _of_words(connection, corpus, list(terms.values()))
        # A pair that nobody wrote is no unknown word: it may be the seam between two.
        kept = [n for n, word in enumerate(terms) if len(matching[n][0]) or not is_pair(word)]
        terms = {word: terms[word] for word in (list(terms)[n] for n in kept)}
        matching = [matching[n] for n in kept]
        if chosen is not None:
            matching = [
                (chunks[kept], often[kept]) for chunks, often in matching for kept in (chosen[chunks],)
            ]
        frequencies = np.array([len(chunks) for chunks, _ in matching])
        # Robertson and Sparck Jones' idf, kept positive. A word that occurs nowhere keeps its (high) idf: a
        # query about something unknown must not look covered.
        idf = np.log(1 + (total - frequencies + 0.5) / (frequencies + 0.5))
        words = float(corpus.words[-1] if chosen is None else corpus.lengths[chosen].sum(dtype=np.float64))
        scores = _of_chunks(corpus, matching, idf, max(1.0, words / total))
        wanted = PhraseFilter.among(connection, corpus, phrases, excluded) if phrases or excluded else None
        best = _of_so_many(corpus, _best(corpus, scores, limit, wanted), memories).tolist()
        names = identities_of(connection, corpus, best)
    query_words = _QueryWords(
        database,
        corpus,
        tuple(terms),
        matching,
        idf,
        shares=(frequencies / total).tolist(),
        average=max(1.0, words / int(searched.sum())),
        scores=scores,
    )
    return query_words.rate(also, {place: names[place] for place in best})


# Not closures, which would refer to themselves, and keep their arrays until a garbage collection.
@dataclass(frozen=True, slots=True)
class _QueryWords:
    """The words of a query, with their postings, their idf, and the shares of the chunks that have them.

    `average` is the mean length of a searched memory, `scores` has the score of each chunk of the corpus.
    """

    database: Database
    corpus: Corpus
    words: tuple[str, ...]
    matching: Sequence[Found]
    idf: Array
    shares: Sequence[float]
    average: float
    scores: Array

    def rate(self, also: Iterable[str], hits: Mapping[int, tuple[str, str]] = NO_HITS) -> LexicalHits:
        """Return the hits, given as place -> (chunk, memory), and how good they and further chunks are."""
        corpus = self.corpus
        chunks, memories = [chunk for chunk, _ in hits.values()], [memory for _, memory in hits.values()]
        with self.database.read() as connection:
            known = dict(zip(chunks, hits, strict=True))
            known |= places_of(connection, corpus, [chunk for chunk in also if chunk not in known])
            places = np.array(list(known.values()), dtype=np.intp)
            # In the order of the corpus, as the chunks of each memory follow each other there.
            rated = distinct(corpus.memory_of[places])
            firsts = corpus.firsts[rated].tolist()
            identities = identities_of(connection, corpus, firsts)
        having, coverage, wholes = _spoken_for(
            corpus, places, rated, matching=self.matching, idf=self.idf, average=self.average
        )
        scores = self.scores[places].tolist()
        openings = [identities[first] for first in firsts]
        return LexicalHits(
            ranked_hits(chunks, memories, scores),
            coverage=dict(zip(known, coverage, strict=True)),
            scores=dict(zip(known, scores, strict=True)),
            having=dict(zip(known, having, strict=True)),
            memories={memory: whole for (_, memory), whole in zip(openings, wholes, strict=True)},
            openings={memory: chunk for chunk, memory in openings},
            best_possible=float(self.idf.sum() * (K1 + 1)),
            frequencies=dict(zip(self.words, self.shares, strict=True)),
            rate=self.rate,
            find_words=self.find,
        )

    def find(self, also: Iterable[str]) -> dict[str, int]:
        """Return chunk -> the words that it has, as the bits of a number."""
        with self.database.read() as connection:
            known = places_of(connection, self.corpus, also)
        ordered = sorted(known.values())
        places = np.array(ordered, dtype=np.intp)
        here = np.zeros((len(self.matching), len(places)))
        for row, found in enumerate(self.matching):
            _place_frequencies(here[row], places, found)
        having = dict(zip(ordered, _bits(here > 0).tolist(), strict=True))
        return {chunk: having[place] for chunk, place in known.items()}


def _of_words(connection: Connection, corpus: Corpus, words: Sequence[tuple[int, ...]]) -> list[Found]:
    """Return the postings of words, each of which has one term or several: the most frequent one counts."""
    found = postings(connection, corpus, itertools.chain.from_iterable(words))
    return [_union([found[term] for term in terms]) for terms in words]


def _union(found: Sequence[Found]) -> Found:
    if len(found) == 1:
        return found[0]
    every = np.concatenate([chunks for chunks, _ in found])
    chunks, places = np.unique(every, return_inverse=True)
    often = np.zeros(len(chunks), np.float32)
    np.maximum.at(often, places, np.concatenate([frequencies for _, frequencies in found]))
    return chunks, often


def _rarest(
    connection: Connection, corpus: Corpus, terms: dict[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """Return the rarest of many words, and as many unknown ones as is their share: they tell coverage."""
    longest = sorted(terms, key=len, reverse=True)[: CANDIDATES * MAX_TERMS]
    counted = count_in_largest(connection, corpus, [term for word in longest for term in terms[word]])
    counts = {word: count for word in longest if (count := sum(counted.get(one, 0) for one in terms[word]))}
    unknown = [word for word in longest if word not in counts and not is_pair(word)]
    known = sorted(counts, key=counts.__getitem__)
    share = round(MAX_TERMS * len(known) / len(longest))
    kept = {*known[: max(share, MAX_TERMS - len(unknown))], *unknown[: MAX_TERMS - share]}
    return {word: term for word, term in terms.items() if word in kept}


def _of_chunks(corpus: Corpus, matching: Sequence[Found], idf: Array, average: float) -> Array:
    """Return the score of every chunk."""
    damping = np.float32(K1 * B / average) * corpus.lengths + np.float32(K1 * (1 - B))
    scores = np.zeros(len(corpus.lengths), np.float32)
    # Word by word: these arrays fit into the processor's cache.
    for weight, (chunks, often) in zip((idf * (K1 + 1)).astype(np.float32), matching, strict=True):
        gained = damping.take(chunks)
        gained += often
        np.divide(often, gained, out=gained)
        gained *= weight
        np.add.at(scores, chunks, gained)
    return scores


def _place_frequencies(there: Array, places: Array, found: Found) -> None:
    """Write how often a term is in the chunks at some ascending places; `there` has a 0 for each."""
    chunks, often = found
    # The fewer are sought among the more: a common word is in most chunks, a long memory has many.
    if len(chunks) < len(places):
        nearest = np.minimum(np.searchsorted(places, chunks), len(places) - 1)
        same = places[nearest] == chunks
        there[nearest[same]] = often[same]
    elif len(chunks):
        nearest = np.minimum(np.searchsorted(chunks, places), len(chunks) - 1)
        same = chunks[nearest] == places
        there[same] = often[nearest[same]]


def _best(corpus: Corpus, scores: Array, limit: int, wanted: PhraseFilter | None) -> Array:
    """Return the places of the best chunks, equal ones in the order of memory ids and of the text."""
    places = np.flatnonzero(scores > 0)
    if wanted is not None:
        places = places[wanted.possible[corpus.memory_of[places]]]
    elif len(places) > limit > 0:
        reached = scores[places]
        places = places[reached >= np.partition(reached, len(reached) - limit)[len(reached) - limit]]
    places = places[np.lexsort((places, corpus.order[corpus.memory_of[places]], -scores[places]))]
    return places[:limit] if wanted is None else wanted.first(places, limit)


def _of_so_many(corpus: Corpus, places: Array, memories: int | None) -> Array:
    """Return the beginning of a list of chunks that has so many memories; all of it for None."""
    if memories is None or len(places) <= memories:
        return places
    seen: set[int] = set()
    for place, memory in enumerate(corpus.memory_of[places].tolist()):
        seen.add(memory)
        if len(seen) > memories:
            return places[:place]
    return places


def _spoken_for(
    corpus: Corpus,
    chunks: Array,
    memories: Array,
    *,
    matching: Sequence[Found],
    idf: Array,
    average: float,
) -> tuple[list[int], list[float], list[tuple[float, float]]]:
    """Return words and coverage of some chunks, and score and coverage of their memories as one text each.

    The words of a chunk are the bits of a number. `memories` are the places of the memories of all these
    chunks, ascending.
    """
    if not len(memories):
        return [], [], []
    sizes = corpus.counts[memories].astype(np.intp)
    starts = np.cumsum(sizes) - sizes
    places = np.repeat(corpus.firsts[memories] - starts, sizes) + np.arange(sizes.sum())
    shares = idf / idf.sum()
    sought = np.searchsorted(places, chunks)
    here = np.zeros((len(idf), len(places)))
    for row, found in enumerate(matching):
        _place_frequencies(here[row], places, found)
    often = np.add.reduceat(here, starts, axis=1)
    occurs = here[:, sought] > 0
    # Not a product of matrices, whose last digits depend on how many memories there are.
    covered = (shares[:, np.newaxis] * occurs).sum(axis=0)
    firsts = corpus.firsts[memories]
    lengths = corpus.words[firsts + corpus.counts[memories]] - corpus.words[firsts]
    damping = K1 * (1 - B + B * lengths / average)
    scores = ((idf * (K1 + 1))[:, np.newaxis] * often / (often + damping)).sum(axis=0)
    coverage = (shares[:, np.newaxis] * (often > 0)).sum(axis=0)
    return (
        _bits(occurs).tolist(),
        covered.tolist(),
        list(zip(scores.tolist(), coverage.tolist(), strict=True)),
    )


def _bits(occurs: Array) -> Array:
    """Return the words of each chunk as a number, given which word (row) occurs in which chunk (column)."""
    # There are at most MAX_TERMS, which 64 bits hold.
    bits: Array = (occurs * (1 << np.arange(len(occurs), dtype=np.int64))[:, np.newaxis]).sum(axis=0)
    return bits
