"""Memories that tell of edits to the files which a question names: "which sessions changed src/x.py"."""

import re
from collections.abc import Iterable, Sequence

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.edits import Edit, edits_of, plain_path
from ragmem.domain.model import Hit

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
