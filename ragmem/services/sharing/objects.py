"""Read the trees and blobs of members: bounded, whatever a member has put there."""

import hashlib
import subprocess
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO

from ragmem.domain.sharing.record import MAX_PACK, MAX_RECORD, InvalidRecordError, is_record_id, read_pack
from ragmem.frozen import dataclass
from ragmem.readers.checkpoints.git_objects import FOLDER, parse_tree
from ragmem.services.sharing.git_commands import GitError, start, stop

RECORDS, PACKS, ATTESTATIONS = "records", "packs", "attestations"
"""The folders in the tree of a member: `records/<aa>/<id>`, `packs/<sha256>` and `attestations/<sha256>`."""

MAX_ATTESTATION = 1024 * 1024
"""Bytes of a signature and the ids of 10,000 records."""

MAX_ATTESTATIONS = 256
"""Attestations of a member that are read at a time: to verify one takes a process."""

MAX_TREE = 2 * 1024 * 1024
"""Bytes of a tree: more than 20,000 blobs in one folder."""

MAX_FOLDER = 64 * 1024
"""Bytes of a folder of single records: some 700, where an honest member has 128 in all."""

MAX_BYTES = 128 * 1024 * 1024
"""Bytes of a member that are read at a time: one blob may have many names."""

MAX_ENTRIES = 20_000
"""Blobs of a member that are read at a time."""

_SIZES = {RECORDS: MAX_RECORD, PACKS: MAX_PACK, ATTESTATIONS: MAX_ATTESTATION}
_FILE = b"100644"
_HASH_BYTES = 20
"""Bytes of an object id: the repository is made here, with SHA-1."""

_WINDOW = 256
"""Names asked for at a time: they fit into a pipe, so that neither side waits for the other."""

_HINT = "run `ragmem share fetch` to fetch it again"


@dataclass(frozen=True, slots=True)
class Entry:
    """A blob of a member: its path, and its object id."""

    path: str
    object: str


class ObjectReader:
    """Two processes of git that answer for objects by name, as long as this lives."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._running: dict[str, tuple[subprocess.Popen[bytes], Callable[[], object]]] = {}

    def sizes(self, names: Sequence[str]) -> list[tuple[str, int]]:
        """Return the type and the size in bytes of each object; ("", 0) for one that is missing."""
        found = []
        for answer, _ in self._ask("--batch-check=%(objecttype) %(objectsize)", names):
            kind, _, size = answer.rpartition(b" ")
            found.append((kind.decode(), int(size)) if size.isdigit() else ("", 0))
        return found

    def contents(self, names: Sequence[str]) -> list[bytes]:
        """Return the bytes of each object; raises GitError for one that is missing."""
        return [content for _, content in self._ask("--batch=%(objectsize)", names)]

    def close(self) -> None:
        """End the processes; the next question restarts them."""
        for _, end in self._running.values():
            end()
        self._running.clear()

    def _ask(self, question: str, names: Sequence[str]) -> list[tuple[bytes, bytes]]:
        """Return the answers of a process, each with the bytes that follow it."""
        if question not in self._running:
            process = start(self._git_dir, "cat-file", question)
            self._running[question] = (process, weakref.finalize(self, stop, process))
        pipes = self._running[question][0]
        assert pipes.stdin
        assert pipes.stdout
        answers = []
        try:
            for first in range(0, len(names), _WINDOW):
                window = names[first : first + _WINDOW]
                pipes.stdin.write("".join(f"{name}\n" for name in window).encode())
                pipes.stdin.flush()
                answers += [_answer(pipes.stdout, content="batch=" in question) for _ in window]
        except (GitError, BrokenPipeError) as error:
            self.close()
            raise GitError("an object of the shared records cannot be read", hint=_HINT) from error
        return answers


def _answer(pipe: IO[bytes], *, content: bool) -> tuple[bytes, bytes]:
    answer = pipe.readline()
    if not answer or (content and not answer[:-1].isdigit()):
        raise GitError("git has no answer")
    return answer[:-1], pipe.read(int(answer) + 1)[:-1] if content else b""


def read_tree(reader: ObjectReader, commit: str, since: str, rejections: Counter[str]) -> list[Entry]:
    """Return the blobs of a commit that another one, or "" for none, does not have at the same path.

    Only paths of the three folders count. What is not of their form is counted in `rejections` by its reason.
    The attestations come first, then the packs, then the single records, each in the order of their names.
    """
    new = _folder(reader, f"{commit}^{{tree}}", rejections)
    old = _folder(reader, f"{since}^{{tree}}", Counter()) if since else {}
    found: list[Entry] = []
    for name in (ATTESTATIONS, PACKS, RECORDS):
        item = new.pop(name, None)
        if item is None or item == old.get(name):
            continue
        if item[0] != FOLDER:
            rejections["not a folder"] += 1
            continue
        before = old.get(name, (b"", ""))[1]
        most = MAX_ATTESTATIONS if name == ATTESTATIONS else MAX_ENTRIES
        blobs = list(islice(_new_blobs(reader, name, item[1], before, rejections), most + 1))
        if len(blobs) > most:
            rejections[f"too many {name}"] += 1
        found += blobs[:most]
    if new:
        rejections["an unknown path"] += len(new)
    return found


def read_blobs(
    reader: ObjectReader, entries: Iterable[Entry], limit: int, rejections: Counter[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield paths and bytes of the blobs whose bytes are what their names say, at most `limit` records.

    Packs are opened: each of their records comes with the path that it would have alone. What is left out is
    counted in `rejections` by its reason.
    """
    records = 0
    for path, encoded in _valid(reader, entries, rejections):
        if not path.startswith(RECORDS):
            yield path, encoded
        elif records < limit:
            records += 1
            yield path, encoded
        else:
            rejections["beyond the limit of records"] += 1


def record_path(key: str) -> str:
    """Return the path of a single record by its id."""
    return f"{RECORDS}/{key[:2]}/{key}"


def _valid(
    reader: ObjectReader, entries: Iterable[Entry], rejections: Counter[str]
) -> Iterator[tuple[str, bytes]]:
    remaining = iter(entries)
    total = 0
    while window := list(islice(remaining, _WINDOW)):
        small: list[Entry] = []
        together = 0
        for entry, (kind, size) in zip(window, reader.sizes([item.object for item in window]), strict=True):
            if kind != "blob":
                rejections["not a blob"] += 1
                continue
            if size > _SIZES[entry.path.partition("/")[0]]:
                rejections["too large"] += 1
                continue
            total += size
            if total > MAX_BYTES:
                rejections["beyond the limit of bytes"] += 1
                continue
            if small and together + size > MAX_PACK:
                yield from _contents(reader, small, rejections)
                small, together = [], 0
            small.append(entry)
            together += size
        yield from _contents(reader, small, rejections)


def _contents(
    reader: ObjectReader, entries: Sequence[Entry], rejections: Counter[str]
) -> Iterator[tuple[str, bytes]]:
    contents = reader.contents([entry.object for entry in entries])
    for entry, encoded in zip(entries, contents, strict=True):
        if hashlib.sha256(encoded).hexdigest() != entry.path.rpartition("/")[2]:
            rejections["another hash than its name"] += 1
        elif entry.path.startswith(PACKS):
            yield from _records_of(encoded, rejections)
        else:
            yield entry.path, encoded


def _records_of(packed: bytes, rejections: Counter[str]) -> Iterator[tuple[str, bytes]]:
    try:
        for key, encoded in read_pack(packed):
            yield record_path(key), encoded
    except InvalidRecordError as error:
        rejections[error.reason] += 1


def _new_blobs(
    reader: ObjectReader, name: str, tree: str, before: str, rejections: Counter[str]
) -> Iterator[Entry]:
    new = _folder(reader, tree, rejections)
    old = _folder(reader, before, Counter()) if before else {}
    for item, (mode, key) in new.items():
        if old.get(item) == (mode, key):
            continue
        if name != RECORDS:
            if mode == _FILE and is_record_id(item):
                yield Entry(f"{name}/{item}", key)
            else:
                rejections["an unknown path"] += 1
        elif mode == FOLDER and len(item) == 2:
            yield from _single_records(reader, item, key, old.get(item, (b"", ""))[1], rejections)
        else:
            rejections["an unknown path"] += 1


def _single_records(
    reader: ObjectReader, start_of_id: str, tree: str, before: str, rejections: Counter[str]
) -> Iterator[Entry]:
    old = _folder(reader, before, Counter()) if before else {}
    for key, (mode, blob) in _folder(reader, tree, rejections, MAX_FOLDER).items():
        if old.get(key) == (mode, blob):
            continue
        if mode == _FILE and is_record_id(key) and key.startswith(start_of_id):
            yield Entry(record_path(key), blob)
        else:
            rejections["an unknown path"] += 1


def _folder(
    reader: ObjectReader, tree: str, rejections: Counter[str], most: int = MAX_TREE
) -> dict[str, tuple[bytes, str]]:
    """Return the modes and object ids in a tree by name; nothing for one that is missing or too large."""
    kind, size = reader.sizes([tree])[0]
    if kind != "tree" or size > most:
        rejections["too large a folder" if kind == "tree" else "not a folder"] += 1
        return {}
    try:
        return parse_tree(reader.contents([tree])[0], _HASH_BYTES)
    except ValueError:
        rejections["a broken folder"] += 1
        return {}
