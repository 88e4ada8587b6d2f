"""BM25 over the postings of a question's words: of chunks, and of memories taken as one text."""

from collections.abc import Iterable, Sequence

import numpy as np

from ragmem.catalog.batches import PARAMETERS, batches, marks
from ragmem.catalog.corpus import Corpus, Postings, corpus_of, count_in_largest, places_of, postings
from ragmem.catalog.database import Connection, Database
from ragmem.catalog.phrases import Wanted
from ragmem.catalog.segments import Array, damaged
from ragmem.catalog.terms import MAX_TERMS, LexicalHits, terms_of
from ragmem.domain.model import Hit

K1 = 1.2
B = 0.75
"""As Robertson and Zaragoza (2009) advise, and FTS5 has them."""

CANDIDATES = 4
"""Words that are counted, in multiples of MAX_TERMS, to find the rarest: the longest of a very long query."""


def found(
    database: Database,
    query: str,
    *,
    limit: int,
    projects: Sequence[str] | None,
    also: Sequence[str],
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
        matching = postings(connection, corpus, list(terms.values())).only(chosen)
        frequencies = matching.counts()
        # Robertson and Sparck Jones' idf, kept positive. A word that occurs nowhere keeps its (high) idf: a
        # query about something unknown must not look covered.
        idf = np.log(1 + (total - frequencies + 0.5) / (frequencies + 0.5))
        words = float(corpus.lengths.sum() if chosen is None else corpus.lengths[chosen].sum())
        scores, coverage = _of_chunks(corpus, matching, idf, max(1.0, words / total))
        wanted = Wanted.among(connection, corpus, phrases, excluded) if phrases or excluded else None
        best = _best(corpus, scores, limit, wanted).tolist()
        names = _names(connection, corpus, best)
        chunks = places_of(connection, corpus, also) | {names[place][0]: place for place in best}
        among = np.unique(corpus.memory_of[list(chunks.values())])
        memories = _of_memories(corpus, among, matching, idf, max(1.0, words / int(searched.sum())))
        ids = _ids(connection, memories)
    return LexicalHits(
        [Hit(*names[place], rank, float(scores[place])) for rank, place in enumerate(best, start=1)],
        coverage={chunk: float(coverage[place]) for chunk, place in chunks.items()},
        scores={chunk: float(scores[place]) for chunk, place in chunks.items()},
        memories={ids[number]: result for number, result in memories.items() if number in ids},
        best_possible=float(idf.sum() * (K1 + 1)),
        frequencies=dict(zip(terms, (frequencies / total).tolist(), strict=True)),
    )


def _rarest(connection: Connection, corpus: Corpus, terms: dict[str, int]) -> dict[str, int]:
    """Return the rarest of many words, and as many unknown ones as is their share: they tell coverage."""
    longest = sorted(terms, key=len, reverse=True)[: CANDIDATES * MAX_TERMS]
    counts = count_in_largest(connection, corpus, [terms[word] for word in longest])
    unknown = [word for word in longest if terms[word] not in counts]
    known = sorted((word for word in longest if terms[word] in counts), key=lambda word: counts[terms[word]])
    share = round(MAX_TERMS * len(known) / len(longest))
    kept = {*known[: max(share, MAX_TERMS - len(unknown))], *unknown[: MAX_TERMS - share]}
    return {word: term for word, term in terms.items() if word in kept}


def _of_chunks(corpus: Corpus, matching: Postings, idf: Array, average: float) -> tuple[Array, Array]:
    """Return the score and the coverage of every chunk."""
    damping = (K1 * (1 - B) + (K1 * B / average) * corpus.lengths)[matching.chunks]
    terms = matching.terms()
    often = matching.frequencies.astype(np.float64)
    gained = (idf * (K1 + 1))[terms] * often / (often + damping)
    size = len(corpus.lengths)
    scores = np.bincount(matching.chunks, weights=gained, minlength=size)
    share = idf / idf.sum()
    return scores, np.bincount(matching.chunks, weights=share[terms], minlength=size)


def _best(corpus: Corpus, scores: Array, limit: int, wanted: Wanted | None) -> Array:
    """Return the places of the best chunks, equal ones in the order of memory ids and of the text."""
    places = np.flatnonzero(scores > 0)
    if wanted is not None:
        places = places[wanted.possible[corpus.memory_of[places]]]
    elif len(places) > limit > 0:
        reached = scores[places]
        places = places[reached >= np.partition(reached, len(reached) - limit)[len(reached) - limit]]
    places = places[np.lexsort((places, corpus.order[corpus.memory_of[places]], -scores[places]))]
    return places[:limit] if wanted is None else wanted.first(places, limit)


def _names(connection: Connection, corpus: Corpus, places: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return place -> (chunk id, memory id)."""
    found: dict[tuple[int, int], tuple[str, str]] = {}
    memories = corpus.memory_of[places]
    positions = (np.asarray(places, dtype=np.int64) - corpus.firsts[memories]).tolist()
    keys = list(zip(corpus.numbers[memories].tolist(), positions, strict=True))
    for batch in batches(keys, PARAMETERS // 2):
        given = ",".join(["(?,?)"] * len(batch))
        for memory, position, chunk, identifier in connection.execute(
            f"WITH given (memory, position) AS (VALUES {given})"
            " SELECT c.memory, c.position, c.id, m.id FROM given JOIN chunks c"
            " ON c.memory = given.memory AND c.position = given.position JOIN memories m ON m.n = c.memory",
            [value for key in batch for value in key],
        ).fetchall():
            found[memory, position] = (chunk, identifier)
    if len(found) < len(set(keys)):
        raise damaged("it has chunks that are not there")
    return {place: found[key] for place, key in zip(places, keys, strict=True)}


def _of_memories(
    corpus: Corpus, memories: Array, matching: Postings, idf: Array, average: float
) -> dict[int, tuple[float, float]]:
    """Return number -> (score, coverage) of memories, each taken as one text."""
    place = np.full(len(corpus.numbers), -1)
    place[memories] = np.arange(len(memories))
    columns = place[corpus.memory_of[matching.chunks]]
    here = columns >= 0
    cells = matching.terms()[here] * len(memories) + columns[here]
    often = np.bincount(
        cells, weights=matching.frequencies[here], minlength=len(idf) * len(memories)
    ).reshape(len(idf), len(memories))
    firsts = corpus.firsts[memories]
    lengths = corpus.words[firsts + corpus.counts[memories]] - corpus.words[firsts]
    damping = K1 * (1 - B + B * lengths / average)
    # Not a product of matrices, whose last digits depend on how many memories there are.
    scores = ((idf * (K1 + 1))[:, np.newaxis] * often / (often + damping)).sum(axis=0)
    coverage = ((idf / idf.sum())[:, np.newaxis] * (often > 0)).sum(axis=0)
    return dict(
        zip(
            corpus.numbers[memories].tolist(),
            zip(scores.tolist(), coverage.tolist(), strict=True),
            strict=True,
        )
    )


def _ids(connection: Connection, numbers: Iterable[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for batch in batches(numbers):
        found.update(
            connection.execute(f"SELECT n, id FROM memories WHERE n IN ({marks(batch)})", batch).fetchall()
        )
    return found
