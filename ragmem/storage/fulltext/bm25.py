"""BM25 over the postings of a question's words: of chunks, and of memories taken as one text."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from ragmem.domain.model import Hit
from ragmem.domain.text.words import is_pair
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
    average = max(1.0, words / int(searched.sum()))

    def rate(also: Iterable[str], listed: Sequence[int] = ()) -> LexicalHits:
        with database.read() as connection:
            known = {names[place][0]: place for place in listed}
            known |= places_of(connection, corpus, [chunk for chunk in also if chunk not in known])
            places = np.array(list(known.values()), dtype=np.intp)
            owners = corpus.memory_of[places]
            # In the order of the corpus, as the chunks of each memory follow each other there.
            rated = distinct(owners)
            firsts = corpus.firsts[rated].tolist()
            opening = identities_of(connection, corpus, firsts)
        having, coverage, wholes = _spoken_for(
            corpus, places, rated, matching=matching, idf=idf, average=average
        )
        ids = [opening[first][1] for first in firsts]
        return LexicalHits(
            [Hit(*names[place], rank, float(scores[place])) for rank, place in enumerate(listed, start=1)],
            coverage=dict(zip(known, coverage, strict=True)),
            scores=dict(zip(known, scores[places].tolist(), strict=True)),
            having=dict(zip(known, having, strict=True)),
            memories=dict(zip(ids, wholes, strict=True)),
            openings={opening[first][1]: opening[first][0] for first in firsts},
            best_possible=float(idf.sum() * (K1 + 1)),
            frequencies=dict(zip(terms, (frequencies / total).tolist(), strict=True)),
            rate=rate,
            find_words=find_words,
        )

    def find_words(also: Iterable[str]) -> dict[str, int]:
        with database.read() as connection:
            known = places_of(connection, corpus, also)
        chunks = np.array(list(known.values()), dtype=np.intp)
        places, back = np.unique(chunks, return_inverse=True)
        here = np.zeros((len(matching), len(places)))
        for row, found in enumerate(matching):
            _place_frequencies(here[row], places, found)
        return dict(zip(known, _bits(here > 0)[back].tolist(), strict=True))

    return rate(also, best)


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
    if memories is None:
        return places
    beginnings = np.sort(np.unique(corpus.memory_of[places], return_index=True)[1])
    return places if len(beginnings) <= memories else places[: beginnings[memories]]


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
