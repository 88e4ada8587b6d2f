"""Learn the names that memories mention, so that spellings and aliases of one thing get one node."""

from collections.abc import Iterable, Sequence

from ragmem.domain.entities.aliases import Alias, aliases
from ragmem.domain.entities.resolution import WEAK, names_in
from ragmem.domain.entities.user_statements import alias_of, user_statements_of
from ragmem.domain.model import Chunk, Memory, State
from ragmem.ports.principal import acting_as
from ragmem.services.ingestion.entities import Item, extract_items
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.catalog_export import PAGE, Contents
from ragmem.storage.names.node_names import NameStatements
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.rows import to_stamp


@acting_as(None)  # what a language model has found in a text is nobody's
def collect_names(catalog: Catalog, items: Sequence[Item]) -> list[NameStatements]:
    """Return the statements of memories about names; memories that are not for the store have none."""
    found = []
    for (memory, chunks), extractions in zip(items, extract_items(catalog, items), strict=True):
        names: dict[str, str] = {}
        stated = {}
        if memory.state is not State.BUFFERED:
            for extraction in extractions:
                for name, kind in names_in(extraction).items():
                    if names.get(name, WEAK) == WEAK:
                        names[name] = kind
            stated = {(one.short, one.long): one for one in _aliases(memory, chunks)}
        found.append(
            NameStatements(
                memory.id, memory.scope.project, to_stamp(memory.updated_at), names, tuple(stated.values())
            )
        )
    return found


def _aliases(memory: Memory, chunks: Sequence[Chunk]) -> Iterable[Alias]:
    stated = user_statements_of(memory)
    if stated is None:
        return [one for chunk in chunks for one in aliases(chunk.text)]
    alias = alias_of(stated)
    return [alias] if alias else []


def learn_names(catalog: Catalog, items: Sequence[Item]) -> None:
    """Learn the names of accepted memories; what was learnt from them before is replaced.

    Memories whose entities get another name are indexed again by the next write, or after `mark_pending`.
    """
    if items:
        catalog.names.learn(collect_names(catalog, items), most=0)


def learn_all(catalog: Catalog) -> None:
    """Learn the names from memories of earlier releases; can be interrupted, and is free once done."""
    if catalog.names.is_learnt():
        return
    contents = Contents(catalog.database)
    for page in batches(sorted(catalog.memories.ids(states=[State.INDEXED])), PAGE):
        learn_names(catalog, list(contents.of(page)))
    catalog.names.set_learnt()
