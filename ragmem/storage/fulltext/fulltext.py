"""Full text search over the chunks: BM25 over the postings of the lexicon, the same in every database."""

from collections.abc import Iterable, Sequence

from ragmem.storage.fulltext.terms import LexicalHits
from ragmem.storage.sql.database import Database


def search(
    database: Database,
    query: str,
    *,
    limit: int,
    memories: int | None = None,
    projects: Sequence[str] | None = None,
    also: Iterable[str] = (),
    phrases: Sequence[str] = (),
    excluded: Sequence[str] = (),
) -> LexicalHits:
    """Return the best chunks by BM25 that contain any word of the query, of these projects (None: all).

    At most `limit` chunks, and those before the first one of a memory too many where `memories` is given.
    `also` are the ids of chunks that are scored beside the hits, 0 where they share no word; those that are
    not there are left out. Only memories are found in which all `phrases` occur and none of
    `excluded`, words or phrases. No word, no hits. Raises StoreDamagedError where the index is damaged.
    """
    from ragmem.storage.fulltext.bm25 import rank_chunks  # noqa: PLC0415 - numpy, which a start-up must not load

    return rank_chunks(
        database,
        query,
        limit=limit,
        memories=memories,
        projects=projects,
        also=also,
        phrases=phrases,
        excluded=excluded,
    )


def respell(database: Database, words: Iterable[str], *, projects: Sequence[str] | None = None) -> list[str]:
    """Return the likeliest spellings of words that no text of these projects has; see `spelling`."""
    from ragmem.storage.fulltext import spelling  # noqa: PLC0415 - numpy

    return spelling.respell(database, words, projects=projects)


def filter_chunks(
    database: Database, phrases: Sequence[str], excluded: Sequence[str], chunk_ids: Sequence[str]
) -> set[str]:
    """Return those chunks in whose memories all phrases occur and no excluded word or phrase does.

    The words of a phrase follow each other in a chunk's text, title or heading as they were written, save
    for case, accents and what stands between them. An excluded word goes in all its forms.
    """
    from ragmem.storage.fulltext.phrases import allowed_chunks  # noqa: PLC0415 - numpy

    return allowed_chunks(database, phrases, excluded, chunk_ids)
