"""Finds which memories of a project may become one: domain/likeness.py says what alike is.

Made anew for each plan and kept nowhere: it depends on all that is there, so that memories that came one by
one are as alike as if they had come at once.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ragmem.catalog.catalog import Catalog
from ragmem.domain.connections import known_scale
from ragmem.domain.lifecycle import Connection, Entry
from ragmem.domain.model import State
from ragmem.ports import ShowsVectors, Store
from ragmem.services.shared_code import with_code_names

if TYPE_CHECKING:
    from ragmem.services.alike_pairs import AlikePairs


def alike(catalog: Catalog, store: Store, entries: Iterable[Entry]) -> list[Connection]:
    """Return which of these memories are alike, as connections whose strength is their likeness.

    Only those of one project are, that may be merged and have vectors. None are where nothing is known yet
    of what a cosine is worth. Raises BackendError where the model that answers cannot be had.
    """
    return [pair for part in to_compare(catalog, store, entries) for pair in part.found()]


def to_compare(catalog: Catalog, store: Store, entries: Iterable[Entry]) -> list["AlikePairs"]:
    """Return what tells, project by project, which of these memories are alike; see `alike`.

    All that is stored has been read then; what is left to do can be done in another process.
    """
    by_project: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.mergeable and entry.memory.state is State.INDEXED:
            by_project.setdefault(entry.scope.project, []).append(entry)
    if not by_project or not isinstance(store, ShowsVectors):
        return []
    model = store.answering_model()
    kept = catalog.connections.scale(model)
    scale = kept.scale if kept else known_scale(model)
    if scale is None:
        return []
    from ragmem.services.alike_pairs import alike_pairs  # noqa: PLC0415 - numpy

    found: list[AlikePairs] = []
    for project in sorted(by_project):
        # In an order that does not depend on how they came; ids are hashes.
        known = sorted(by_project[project], key=lambda entry: entry.id)
        numbers = {entry.number: entry.id for entry in known}
        named = with_code_names(catalog, project, catalog.connections.names(project, numbers))
        names = {numbers[number]: told for number, told in named.items()}
        found.append(alike_pairs(store, project, known, names, scale))
    return found
