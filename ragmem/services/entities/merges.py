"""List the merges of names, undo a merge, and redo it."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ragmem.errors import NotFoundError
from ragmem.ports import Store
from ragmem.services.ingestion.index import deferred_ids, index_pending
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.names import merges as entity_merges
from ragmem.storage.names.merges import Merge
from ragmem.storage.sql.rows import from_stamp, to_stamp

SENTENCE_CHARS = 240

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def merges(
    catalog: Catalog, *, projects: Sequence[str] | None = None, name: str = "", undone: bool = False
) -> list[Merge]:
    """Return the merges of these projects (None: all), or the undone ones; of one name if given.

    Raises NotFoundError if there are none of that name.
    """
    read = entity_merges.undone_merges if undone else entity_merges.merges
    found = read(catalog.database, projects=projects, name=name)
    if name and not found:
        what = "undone " if undone else ""
        raise NotFoundError(f'no {what}merge involves "{name}"', hint="`ragmem inspect merges` lists all")
    return found


def merge_shape(catalog: Catalog, merge: Merge) -> dict[str, Any]:
    """Return a merge as JSON, with the sentence that shows it."""
    return {
        "key": merge.key,
        "project": merge.project,
        "name": merge.name,
        "into": merge.into,
        "rule": merge.rule,
        "compared_with": merge.head if merge.head != merge.name else merge.into,
        "since": from_stamp(merge.at).isoformat(),
        "memory": merge.memory_id,
        "sentence": _sentence(catalog, merge),
        "undone": merge.undone,
    }


def _sentence(catalog: Catalog, merge: Merge) -> str:
    memory = catalog.memories.get([merge.memory_id]).get(merge.memory_id)
    if memory is None:
        return ""
    for sentence in _SENTENCE.split(memory.indexed_text):
        if all(word in sentence for word in merge.shown):
            return " ".join(sentence.split())[:SENTENCE_CHARS]
    return ""


def undo(catalog: Catalog, store: Store, key: str, *, now: datetime) -> Merge:
    """Undo a merge permanently, and move the mentions of the name to its own node.

    No later text causes it again; only `redo` does. Raises NotFoundError for an unknown key.
    """
    merge = find_merge(catalog, key)
    leaving = deferred_ids(catalog)
    name = merge.head if merge.rule in entity_merges.STATED else merge.name
    catalog.names.set_apart(merge.project, name, merge.rule, at=to_stamp(now))
    catalog.log.write("merge undone", {"name": merge.name, "into": merge.into}, now=now)
    index_pending(catalog, store, leaving=leaving)
    return merge


def redo(catalog: Catalog, store: Store, key: str, *, now: datetime) -> Merge:
    """Allow an undone merge again; raises NotFoundError for an unknown key."""
    merge = find_merge(catalog, key, undone=True)
    leaving = deferred_ids(catalog)
    catalog.names.rejoin(merge.project, merge.name, merge.rule, at=to_stamp(now))
    catalog.log.write("merge allowed", {"name": merge.name}, now=now)
    index_pending(catalog, store, leaving=leaving)
    return merge


def find_merge(catalog: Catalog, key: str, *, undone: bool = False) -> Merge:
    """Return the merge of a key; raises NotFoundError."""
    for merge in merges(catalog, undone=undone):
        if merge.key == key.strip().lower():
            return merge
    which = "`ragmem inspect merges --undone`" if undone else "`ragmem inspect merges`"
    raise NotFoundError(f'there is no merge "{key}"', hint=f"{which} lists the keys")
