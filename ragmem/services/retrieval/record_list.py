"""Records of the types that a question asks for: all are compared, however much else is nearer to it."""

from ragmem.domain.model import Hit
from ragmem.services.retrieval.asking import Question
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.recorded import recorded

MOST = 500
"""Latest records that are compared, which takes as long as any other filter; older ones are found where words
or vectors lead to them."""


def openings_of_records(catalog: Catalog, question: Question) -> list[Hit]:
    """Return the first chunks of the records that a question is asked of, the newest first; scores of 0."""
    ids = recorded(
        catalog.database,
        question.types,
        projects=question.projects,
        spec=question.spec,
        since=question.since,
        until=question.until,
        categories=question.categories,
        limit=MOST,
    )
    openings = catalog.memories.openings(ids)
    return [
        Hit(openings[memory_id], memory_id, rank, 0.0)
        for rank, memory_id in enumerate(ids, start=1)
        if memory_id in openings
    ]
