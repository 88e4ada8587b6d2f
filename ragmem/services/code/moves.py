"""Detect files of code that were moved since the last run, by commits or by equal contents."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ragmem.readers.code import language_of
from ragmem.readers.git_history import renames_since
from ragmem.services.code.on_disk import CodeOnDisk
from ragmem.storage.code.code import Rename
from ragmem.storage.code.code_writer import FileState

_MICROSECOND = 1_000


def committed_renames(root: Path, *, since: str, head: str) -> list[Rename]:
    """Return the renames in the commits after `since` (empty: from the first) up to `head`."""
    if not head or head == since:
        return []
    return [
        Rename(one.old, one.new, one.commit, one.renamed_at)
        for one in renames_since(root, since) or ()
        if language_of(one.new) or language_of(one.old)
    ]


def detect_renames(known: Mapping[str, FileState], disk: CodeOnDisk, gone: Sequence[str]) -> list[Rename]:
    """Return the files that disappeared and reappeared with the same content under another path.

    Of several candidates the one with the same name, else the first. Files without definitions are ignored.
    """
    appeared: dict[str, list[str]] = {}
    for path, file in disk.parsed.items():
        if path not in known and len(file.symbols) > 1:
            appeared.setdefault(disk.seen[path].content_hash, []).append(path)
    moment = time.time_ns() // _MICROSECOND
    found = []
    for old in gone:
        if candidates := appeared.get(known[old].content_hash):
            name = old.rpartition("/")[2]
            new = next((path for path in candidates if path.rpartition("/")[2] == name), candidates[0])
            candidates.remove(new)
            found.append(Rename(old, new, "", moment))
    return found


def final_paths(renames: Sequence[Rename]) -> dict[str, str]:
    """Return former path -> the current path at the end of a chain of renames."""
    following = {one.old: one.new for one in sorted(renames, key=lambda one: one.renamed_at)}
    ends = {}
    for old in following:
        new, seen = old, set[str]()
        while new in following and new not in seen:
            seen.add(new)
            new = following[new]
        ends[old] = new
    return ends
