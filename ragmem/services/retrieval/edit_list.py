"""Memories that tell of edits to the files, or of the commits, which a question names: "who made 1f3a9bc"."""

import re
from collections.abc import Iterable, Sequence

from ragmem.domain.model import Hit
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.edits import Edit, commits_of, edits_of, plain_path

_HASH = re.compile(r"\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}\b")
"""A commit's hash or its beginning: a number alone is none, and neither is a word."""

_ABSOLUTE = re.compile(r"/|~/|[A-Za-z]:/")


def edited(
    catalog: Catalog, paths: Iterable[str], *, projects: Sequence[str] | None, limit: int
) -> list[Hit]:
    """Return the first chunks of memories that edited any of these files: most edits first, then the latest.

    A path is that of the file, or its end (`session.go`, `cmd/session.go`), or an absolute one that ends with
    what was stored. Where a file has just this path, others that only end so do not count. A name without
    folders that several files end with means none of them. A hit's score is the number of edits.
    """
    counted: dict[str, tuple[int, Edit]] = {}
    for path in dict.fromkeys(map(plain_path, paths)):
        for edit in _meant(path, edits_of(catalog.database, path.rpartition("/")[2], projects=projects)):
            before = counted.get(edit.memory_id)
            counted[edit.memory_id] = (edit.edits + (before[0] if before else 0), edit)
    ranked = sorted(counted.values(), key=lambda pair: (-pair[0], -pair[1].event_at, pair[1].memory_id))
    return [
        Hit(edit.chunk_id, edit.memory_id, rank, float(count))
        for rank, (count, edit) in enumerate(ranked[: max(0, limit)], start=1)
    ]


def committed(catalog: Catalog, text: str, *, projects: Sequence[str] | None, limit: int) -> list[Hit]:
    """Return the first chunks of memories in which the commits were made that a text names, latest first."""
    found = {
        edit.memory_id: edit
        for told in dict.fromkeys(_HASH.findall(text.lower()))
        for edit in commits_of(catalog.database, told, projects=projects)
    }
    ranked = sorted(found.values(), key=lambda edit: (-edit.event_at, edit.memory_id))[: max(0, limit)]
    return [Hit(edit.chunk_id, edit.memory_id, rank, 1.0) for rank, edit in enumerate(ranked, start=1)]


def _meant(path: str, edits: Sequence[Edit]) -> list[Edit]:
    """Return those of the edits of files of one name that are of the file that is meant."""
    exact = [edit for edit in edits if edit.path == path]
    if exact:
        return exact
    whole = bool(_ABSOLUTE.match(path))
    ending = [
        edit for edit in edits if _ends_with(edit.path, path) or (whole and _ends_with(path, edit.path))
    ]
    if "/" not in path and len({edit.path for edit in ending}) > 1:
        return []
    return ending


def _ends_with(path: str, end: str) -> bool:
    """Tell whether a path ends with another one, whole names of folders compared."""
    return path.endswith(f"/{end.lstrip('/')}")
