"""The store as a member of a team may use it: its vectors and graph are of the memories of everybody.

Hits are resolved by the catalog, whose rows PostgreSQL filters, and the others are dropped. What the store
tells of entities and relations joins what several memories say, so that it cannot be resolved: only admins
read the graph.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ragmem.domain.model import Hit, Record
from ragmem.errors import ForbiddenError
from ragmem.frozen import dataclass
from ragmem.ports import Mode, NativeModes, Store, VectorBlock
from ragmem.ports.principal import acting_as
from ragmem.storage.home.catalog import Catalog

_OF_NUMBERS = "SELECT c.id, m.id FROM chunks c JOIN memories m ON m.n = c.memory WHERE m.n IN ({})"

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 2_000
"""Chunks of a member up to which all of them are compared with a question, behind however many of others."""

MOST_ASKED = 4_000
"""Hits of one search at most: each comes with its vector."""

SPARE = 1.5
"""How many times more hits are searched for than are a member's by its share: they are not spread evenly."""


@dataclass(frozen=True, slots=True)
class _Share:
    """The memories that a member sees by their numbers, their chunks, and the chunks of all members."""

    numbers: Sequence[int]
    own: int
    every: int

    def of(self, limit: int) -> int:
        """Return how many hits have so many of the member's among them, and some to spare."""
        return limit if self.own == self.every else round(SPARE * limit * self.every / max(1, self.own))


class MemberStore:
    """A store for the member that acts; methods that are not here are for admins."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog

    def __getattr__(self, name: str) -> NoReturn:
        raise _refusal()

    @property
    def name(self) -> str:
        """Name of the back end."""
        return self._store.name

    @property
    def native(self) -> NativeModes | None:
        """LightRAG's modes without their entities and relations; None in any other store."""
        modes = self._store.native
        return None if modes is None else _MemberModes(modes, self)

    def seen(self, chunk_ids: Iterable[str]) -> set[str]:
        """Return those of the chunks whose memories the member sees."""
        rows = self._catalog.database.select_in("SELECT id FROM chunks WHERE id IN ({})", set(chunk_ids))
        return {chunk for (chunk,) in rows}

    def prepare(self, records: Sequence[Record]) -> None:
        """Embed in advance, as the store does."""
        with acting_as(None):
            self._store.prepare(records)

    def put(self, records: Sequence[Record], *, finish: Callable[[], None] | None = None) -> None:
        """Index records that the catalog has accepted from the member; their names are merged with all."""
        with acting_as(None):
            self._store.put(records, finish=finish)

    def delete(self, memory_ids: Sequence[str], *, finish: Callable[[], None] | None = None) -> None:
        """Remove memories that the member sees; unknown ids are ignored."""
        self._store.delete(list(self._catalog.memories.hashes(memory_ids)), finish=finish)

    def vectors(self, records: Sequence[Record]) -> "Mapping[str, NDArray[Any]]":
        """Return embedded text -> vector of these records, as the store does."""
        return self._store.vectors(records)

    def search(self, query: str, *, limit: int, projects: Sequence[str] | None = None) -> list[Hit]:
        """Return the nearest chunks that the member sees, best first.

        Of more than FEW chunks, those that are not among the MOST_ASKED nearest of everybody's are missed.
        """
        share = self.share(projects)
        if share.own == share.every or share.own > min(FEW, share.of(limit)):
            return self._filled(
                limit, share, lambda asked: self._store.search(query, limit=asked, projects=projects)
            )
        owners = dict(self._catalog.database.select_in(_OF_NUMBERS, share.numbers))
        cosines = self._store.similarities(query, list(owners), projects=projects)
        best = sorted(cosines.items(), key=lambda one: (-one[1], one[0]))[:limit]
        return [Hit(chunk, owners[chunk], rank, cosine) for rank, (chunk, cosine) in enumerate(best, 1)]

    def nearest_to(self, vectors: "NDArray[Any]", *, limit: int, project: str) -> list[list[Hit]]:
        """Return for each vector the nearest chunks of a project that the member sees."""
        share = self.share([project])

        def nearest(vector: "NDArray[Any]") -> list[Hit]:
            return self._filled(
                limit,
                share,
                lambda asked: self._store.nearest_to(vector, limit=asked, project=project)[0],
            )

        return [nearest(vector) for vector in vectors[:, None]]

    def share(self, projects: Sequence[str] | None) -> "_Share":
        """Return what the member sees of these projects (None: of all)."""
        from ragmem.storage.fulltext.corpus import corpus_of  # noqa: PLC0415 - numpy

        database = self._catalog.database
        with database.read() as connection:
            corpus = corpus_of(database, connection)
        seen, counts = corpus.searched(projects), corpus.counts
        every = counts[corpus.of_projects(projects)].sum()
        return _Share(corpus.numbers[seen].tolist(), int(counts[seen].sum()), int(every))

    def _filled(self, limit: int, share: "_Share", search: Callable[[int], list[Hit]]) -> list[Hit]:
        """Return up to `limit` hits that the member sees, of as many as it takes."""
        asked = max(limit, min(MOST_ASKED, share.of(limit)))
        while True:
            # The owner's search, because a member's would go on until it has all of `asked`.
            with acting_as(None):
                found = search(asked)
            seen = self.seen(hit.chunk_id for hit in found)
            kept = [hit for hit in found if hit.chunk_id in seen][:limit]
            if len(kept) == limit or len(found) < asked or asked >= MOST_ASKED:
                return kept
            asked = min(MOST_ASKED, 4 * asked)

    def similarities(
        self, query: str, chunk_ids: Sequence[str], *, projects: Sequence[str] | None = None
    ) -> Mapping[str, float]:
        """Return the cosines of those of the chunks that the member sees."""
        return self._store.similarities(query, sorted(self.seen(chunk_ids)), projects=projects)

    def vector_blocks(
        self, project: str, *, memory_ids: Sequence[str] | None = None
    ) -> Iterator[VectorBlock]:
        """Yield the vectors of memories that the member sees."""
        seen = self._catalog.memories.hashes(memory_ids or self._catalog.memories.select(projects=[project]))
        return self._store.vector_blocks(project, memory_ids=list(seen))

    def mentions(
        self, chunk_ids: Sequence[str], *, project: str, most: int
    ) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Return chunk -> entity -> the chunks that name it, of those that the member sees."""
        found = self._store.mentions(sorted(self.seen(chunk_ids)), project=project, most=most)
        seen = self.seen(chunk for names in found.values() for chunks in names.values() for chunk in chunks)
        return {
            chunk: {name: [one for one in chunks if one in seen] for name, chunks in names.items()}
            for chunk, names in found.items()
        }

    def answering_model(self) -> str:
        """Return the id of the model that answers questions."""
        return self._store.answering_model()

    def has_vectors_of(self, model: str) -> bool:
        """Return whether any vector is of this model."""
        return self._store.has_vectors_of(model)

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of what the member sees, without the graph."""
        database = self._catalog.database
        return {
            "documents": database.select_int("SELECT count(*) FROM memories WHERE state = 'indexed'"),
            "chunks": database.select_int("SELECT count(*) FROM chunks"),
        }


def _refusal() -> ForbiddenError:
    return ForbiddenError(
        "the graph joins the memories of all members, so that only admins see it",
        hint="search with a query, or ask an admin",
    )


class _MemberModes:
    """LightRAG's modes, of which only the chunks that a member sees are left."""

    def __init__(self, modes: NativeModes, store: MemberStore) -> None:
        self._modes = modes
        self._store = store

    def native_query(
        self,
        query: str,
        mode: Mode,
        *,
        keywords: Sequence[str],
        themes: Sequence[str] = (),
        limit: int,
        project: str,
    ) -> Mapping[str, Any]:
        """Return LightRAG's aquery_data document with the ids of chunks, and nothing else of it."""
        asked = max(limit, min(MOST_ASKED, self._store.share([project]).of(limit)))
        with acting_as(None):
            found = self._modes.native_query(
                query, mode, keywords=keywords, themes=themes, limit=asked, project=project
            )
        chunks = [one["chunk_id"] for one in found.get("data", {}).get("chunks", [])]
        seen = self._store.seen(chunks)
        kept = [{"chunk_id": chunk} for chunk in chunks if chunk in seen][:limit]
        return {"status": found.get("status", ""), "data": {"chunks": kept}}

    def subgraph(
        self, label: str, *, depth: int = 2, limit: int = 200, project: str | None = None
    ) -> Mapping[str, Any]:
        """Raise ForbiddenError: a subgraph joins the memories of all members."""
        del label, depth, limit, project
        raise _refusal()


def member_store(store: Store, catalog: Catalog) -> Store:
    """Return the store as the member that acts may use it."""
    return cast("Store", MemberStore(store, catalog))
