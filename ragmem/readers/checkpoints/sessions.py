"""Find the sessions that Entire keeps in a repository beside its commits.

Entire (https://github.com/entireio/cli) stores a checkpoint for each commit that a session made. Its tree
holds `metadata.json`, and for each session a folder `0`, `1`, ... with `metadata.json` and the transcript:

- version 1: `AA/BBBBBBBBBB/` for the checkpoint AABBBBBBBBBB, in the branch `entire/checkpoints/v1`, in the
  ref `refs/entire/checkpoints/v1.1`, or, before them, in the branch `entire/sessions`, there without folders;
- version 2: the same in `refs/entire/checkpoints/v2/main`, with the transcripts in `.../v2/full/*`;
- since 2026: a ref for each checkpoint, `refs/entire/checkpoints/ZZ/ID`, whose tree is the checkpoint.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from ragmem.readers.checkpoints.git_objects import (
    FILES,
    FOLDER,
    TIMEOUT,
    Entry,
    contents_of,
    entries_of,
    sizes_of,
    trees_of,
)
from ragmem.readers.dates import parse_time
from ragmem.readers.git import output_of
from ragmem.readers.git_folder import checkout_at
from ragmem.readers.transcripts.records import word

MOST_CHECKPOINTS = 50_000
MOST_SESSIONS = 100
"""Checkpoints of a repository, and sessions of a checkpoint, that are read."""

MAX_METADATA = 1 << 20
MAX_TRANSCRIPT = 256 << 20
"""Bytes of the metadata and of a transcript that are read."""

_MAX_PACKED = 64 << 20
_MANY = re.compile(
    r"refs/(?:heads|remotes/.{1,200}?)/entire/(?:checkpoints/v1|sessions)"
    r"|refs/entire/(?:remotes/.{1,200}?/)?checkpoints/(?:v1(?:\.\d{1,3})?|v2/(?:main|full/[\w.-]{1,40}))"
)
_ONE = re.compile(r"refs/entire/(?:remotes/.{1,200}?/)?checkpoints/(?P<shard>\w\w)/(?P<id>\w{12,26})")
_PATTERNS = (
    "refs/heads/entire/",
    "refs/remotes/**/entire/checkpoints/v1",
    "refs/remotes/**/entire/sessions",
    "refs/entire/",
)
_ID = re.compile(r"[0-9a-f]{12}|[0-7][0-9A-HJKMNP-TV-Z]{25}")
_SHARD = re.compile(r"[0-9a-zA-Z]{2}")
_INDEX = re.compile(r"\d{1,4}")
_TRANSCRIPT = re.compile(r"(?P<stem>full\.jsonl|full\.log|raw_transcript)(?:\.(?P<chunk>\d{3}))?")
_METADATA = "metadata.json"
_SESSION = re.compile(r"[\w.:-]{1,200}")
_DATED = re.compile(r"\d{4}-\d\d-\d\d-(?=[0-9a-f]{8}-)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHA1 = 40
_EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)

_Place = tuple[str, str]
"""A checkpoint and the folder of a session in it."""


@dataclass(frozen=True, slots=True)
class SessionCopy:
    """A session as a checkpoint holds it: from its beginning, in old versions from the checkpoint before.

    `chunks` are the hash and the bytes of each part of the transcript; `created` is None if it is unknown.
    """

    checkpoint: str
    folder: str
    session: str
    assistant: str
    branch: str
    created: datetime | None
    chunks: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """The bytes of the transcript, without the line ends between its parts."""
        return sum(size for _, size in self.chunks)

    @property
    def place(self) -> str:
        """The checkpoint and the folder in it, which name the copy."""
        return f"{self.checkpoint}/{self.folder}" if self.folder else self.checkpoint


@dataclass(slots=True)
class Checkpoints:
    """The sessions of a repository's checkpoints; `problems` counts by name what could not be read."""

    root: Path
    copies: list[SessionCopy] = field(default_factory=list)
    problems: dict[str, int] = field(default_factory=dict)
    tips: tuple[str, ...] = ()
    """The commits of the branches and refs that hold many checkpoints."""
    refs: dict[str, str] = field(default_factory=dict)
    """Checkpoint -> the commit of its own ref."""

    def count(self, problem: str) -> None:
        """Count something that could not be read."""
        self.problems[problem] = self.problems.get(problem, 0) + 1


def read_checkpoints(root: Path) -> Checkpoints | None:
    """Return the sessions in a repository's checkpoints; None without any. Never raises.

    Reads objects by their hash a known number of folders deep; nothing is checked out.
    """
    checkout = checkout_at(root)
    if checkout is None or not _may_have_refs(checkout.common):
        return None
    found = Checkpoints(root)
    _read_refs(found)
    trees = trees_of(root, (*found.tips, *found.refs.values()))
    places = [(checkpoint, trees[tip]) for checkpoint, tip in found.refs.items() if tip in trees]
    places += _checkpoints_below(found, [trees[tip] for tip in found.tips if tip in trees])
    if len(places) > MOST_CHECKPOINTS:
        found.problems["checkpoint beyond the limit"] = len(places) - MOST_CHECKPOINTS
    _read_copies(found, _folders_of(found, places[:MOST_CHECKPOINTS]))
    return found if found.copies or found.problems else None


def _may_have_refs(common: Path) -> bool:
    """Return whether Entire may have been in a repository, by a few names in its folder."""
    refs = common / "refs"
    try:
        if any((common / name).exists() for name in ("reftable", "refs/entire", "refs/heads/entire")):
            return True
        # The name of a remote may have a slash.
        if any(next((refs / "remotes").glob(found), None) for found in ("*/entire", "*/*/entire")):
            return True
        with (common / "packed-refs").open("rb") as file:
            return b"/entire/" in file.read(_MAX_PACKED)
    except OSError:
        return False


def _read_refs(found: Checkpoints) -> None:
    wanted = (f"--count={2 * MOST_CHECKPOINTS}", "--format=%(objectname) %(refname)", *_PATTERNS)
    answer = output_of(found.root, "for-each-ref", *wanted, timeout=TIMEOUT)
    tips: dict[str, None] = {}
    for line in (answer or b"").decode("utf-8", "replace").splitlines():
        commit, _, name = line.partition(" ")
        if _MANY.fullmatch(name):
            tips[commit] = None
        elif (one := _ONE.fullmatch(name)) and one["id"].endswith(one["shard"]) and _ID.fullmatch(one["id"]):
            found.refs[one["id"]] = commit
    found.tips = tuple(tips)


def _checkpoints_below(found: Checkpoints, tops: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the checkpoints in the trees of branches, each with its tree."""
    read = entries_of(found.root, tops, skip=found.count)
    shards = [
        (name, tree)
        for top in tops
        for name, (mode, tree) in read.get(top, {}).items()
        if mode == FOLDER and _SHARD.fullmatch(name)
    ]
    below = entries_of(found.root, {tree for _, tree in shards}, skip=found.count)
    for shard, tree in shards:
        for name, (mode, inner) in below.get(tree, {}).items():
            if mode == FOLDER and _ID.fullmatch(f"{shard}{name}"):
                yield f"{shard}{name}", inner


def _folders_of(
    found: Checkpoints, places: Sequence[tuple[str, str]]
) -> Iterator[tuple[_Place, Mapping[str, Entry]]]:
    """Yield the folders of sessions in checkpoints, with their entries."""
    tops = entries_of(found.root, {tree for _, tree in places}, skip=found.count)
    inner: list[tuple[_Place, str]] = []
    for checkpoint, tree in places:
        top = tops.get(tree, {})
        numbers = sorted(name for name, entry in top.items() if entry[0] == FOLDER and _INDEX.fullmatch(name))
        if len(numbers) > MOST_SESSIONS:
            found.count("checkpoint with sessions beyond the limit")
        inner += [((checkpoint, name), top[name][1]) for name in numbers[:MOST_SESSIONS]]
        # In the oldest version the checkpoint itself is the folder of its last session.
        yield (checkpoint, ""), top
    below = entries_of(found.root, {tree for _, tree in inner}, skip=found.count)
    for place, tree in inner:
        yield place, below.get(tree, {})


def _read_copies(found: Checkpoints, folders: Iterable[tuple[_Place, Mapping[str, Entry]]]) -> None:
    """Read the metadata of the transcripts in folders, each transcript of a session once."""
    noted: dict[_Place, list[str]] = {}
    held: dict[tuple[_Place, tuple[str, ...]], list[str]] = {}
    for place, entries in folders:
        mode, note = entries.get(_METADATA, (b"", ""))
        notes = [note] if mode in FILES else []
        noted.setdefault(place, []).extend(notes)
        if chunks := _chunks_in(entries):
            held.setdefault((place, chunks), []).extend(notes)
    sizes = sizes_of(found.root, {name for _, chunks in held for name in chunks}, b"blob")
    wanted = {note for place, _ in held for note in noted[place]}
    read = dict(contents_of(found.root, wanted, b"blob", MAX_METADATA, skip=found.count))
    seen = set()
    for (place, chunks), notes in sorted(held.items()):
        # In version 2 the metadata are in another tree than the transcript.
        told = _metadata(read.get(note) for note in (*notes, *noted[place]))
        session = _DATED.sub("", word(told, "session_id"), count=1)
        if not _SESSION.fullmatch(session):
            found.count("transcript without the metadata of its session")
        elif any(name not in sizes for name in chunks):
            found.count("transcript that is not in this clone")
        elif sum(sizes[name] for name in chunks) > MAX_TRANSCRIPT:
            found.count(f"transcript of more than {MAX_TRANSCRIPT >> 20} MB")
        elif (session, chunks) not in seen:
            seen.add((session, chunks))
            agent, branch = plain(word(told, "agent"), 60), plain(word(told, "branch"), 200)
            created = _moment(told.get("created_at"))
            parts = tuple((name, sizes[name]) for name in chunks)
            found.copies.append(SessionCopy(*place, session, agent, branch, created, parts))


def _chunks_in(entries: Mapping[str, Entry]) -> tuple[str, ...]:
    """Return the hashes of a transcript's parts in order, up to the first that is missing."""
    parts: dict[str, dict[int, str]] = {}
    for name, (mode, identifier) in entries.items():
        if mode in FILES and (found := _TRANSCRIPT.fullmatch(name)):
            parts.setdefault(found["stem"], {})[int(found["chunk"] or 0)] = identifier
    for _, numbered in sorted(parts.items()):
        if 0 in numbered:
            end = next(number for number in range(len(numbered) + 1) if number not in numbered)
            return tuple(numbered[number] for number in range(end))
    return ()


def _metadata(contents: Iterable[bytes | None]) -> dict[str, Any]:
    """Return the first of these that is the metadata of a session; empty for none."""
    for content in contents:
        try:
            told = orjson.loads(content or b"")
        except orjson.JSONDecodeError:
            continue
        if isinstance(told, dict) and word(told, "session_id"):
            return told
    return {}


def _moment(value: Any) -> datetime | None:
    """Return a plausible time; None for any other."""
    told = parse_time(value)
    return told if told and _EARLIEST <= told <= datetime.now(UTC) + timedelta(days=1) else None


def plain(text: str, most: int) -> str:
    """Return the beginning of a text without control characters."""
    return _CONTROL.sub("", text[: 2 * most])[:most].strip()


def transcript_of(root: Path, copy: SessionCopy) -> bytes:
    """Return the transcript of a session; empty where git does not answer."""
    read = dict(contents_of(root, {name for name, _ in copy.chunks}, b"blob", MAX_TRANSCRIPT))
    if any(len(read.get(name, b"")) != size for name, size in copy.chunks):
        return b""
    return b"\n".join(read[name].removesuffix(b"\n") for name, _ in copy.chunks) + b"\n"


def begins_with(transcript: bytes, copy: SessionCopy) -> bool:
    """Return whether a transcript begins with another copy, by hash, without reading that."""
    if len(copy.chunks) != 1 or len(transcript) < copy.size:
        return False
    name, size = copy.chunks[0]
    blob = (hashlib.sha1 if len(name) == _SHA1 else hashlib.sha256)(
        b"blob %d\0" % size, usedforsecurity=False
    )
    blob.update(memoryview(transcript)[:size])
    return blob.hexdigest() == name
