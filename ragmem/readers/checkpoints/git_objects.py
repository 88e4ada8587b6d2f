"""Read objects of a repository by their hash, each up to a size, and its trees, whatever it holds."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from ragmem.readers.git import output_of

TIMEOUT = 60.0
"""Seconds for one answer of git."""

MAX_TREE = 4 << 20
"""Maximum bytes of a tree."""

_AT_ONCE = 32 << 20
"""Bytes of objects that are asked for at once; one may be larger."""

FILES = frozenset((b"100644", b"100755"))
"""Modes of the entries of a tree; a link and a submodule have others."""

Skip = Callable[[str], object]
"""Is called with the reason for which an object is left out."""


Entry = tuple[bytes, str]
"""The mode and the hash of an entry of a tree."""

FOLDER = b"40000"


def sizes_of(root: Path, names: Collection[str], sort: bytes) -> dict[str, int]:
    """Return hash -> bytes of the objects of one type (`blob`, `tree`, `commit`) that the repository has."""
    given = "".join(f"{name}\n" for name in sorted(set(names))).encode()
    answer = output_of(root, "cat-file", "--batch-check", timeout=TIMEOUT, given=given) if given else b""
    told = (line.split() for line in (answer or b"").splitlines())
    return {words[0].decode("ascii"): int(words[2]) for words in told if words[1:2] == [sort]}


def contents_of(
    root: Path, names: Collection[str], sort: bytes, most: int, *, skip: Skip | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield the objects of one type with at most so many bytes, in any order; few are in memory at once."""
    batch: dict[str, int] = {}
    held = 0
    for name, size in sizes_of(root, names, sort).items():
        if size > most:
            if skip is not None:
                skip("object that is too large")
            continue
        if batch and held + size > _AT_ONCE:
            yield from _read(root, batch)
            batch, held = {}, 0
        batch[name] = size
        held += size
    yield from _read(root, batch)


def _read(root: Path, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    given = "".join(f"{name}\n" for name in sizes).encode()
    answer = output_of(root, "cat-file", "--batch", timeout=TIMEOUT, given=given) if given else b""
    raw, at = answer or b"", 0
    for name, size in sizes.items():
        begin = raw.find(b"\n", at) + 1
        if not raw.startswith(name.encode(), at) or not begin:
            return
        yield name, raw[begin : begin + size]
        at = begin + size + 1


def entries_of(root: Path, trees: Collection[str], *, skip: Skip) -> dict[str, dict[str, Entry]]:
    """Return tree -> its entries by name; a broken tree is left out."""
    found = {}
    for name, raw in contents_of(root, trees, b"tree", MAX_TREE, skip=skip):
        try:
            found[name] = parse_tree(raw, len(name) // 2)
        except ValueError:
            skip("broken tree")
    return found


def trees_of(root: Path, commits: Iterable[str]) -> dict[str, str]:
    """Return commit -> the hash of its tree."""
    asked = list(dict.fromkeys(commits))
    given = "".join(f"{commit}^{{tree}}\n" for commit in asked).encode()
    answer = output_of(root, "cat-file", "--batch-check", timeout=TIMEOUT, given=given) if given else b""
    lines = (answer or b"").decode("ascii", "replace").splitlines()
    told = zip(asked, map(str.split, lines), strict=False)
    return {commit: words[0] for commit, words in told if words[1:2] == ["tree"]}


def parse_tree(raw: bytes, hash_bytes: int) -> dict[str, Entry]:
    """Return the entries of a tree by name; raises ValueError for one that is broken.

    Each is a mode in octal digits, a space, a name, NUL and a hash of so many bytes: 20, or 32 with SHA-256.
    """
    entries: dict[str, Entry] = {}
    at = 0
    while at < len(raw):
        end = raw.find(b"\0", at)
        mode, _, name = raw[at:end].partition(b" ")
        following = end + 1 + hash_bytes
        if end < 0 or not name or not mode.isdigit() or following > len(raw):
            raise ValueError("broken tree")
        entries[name.decode("utf-8", "replace")] = (mode, raw[end + 1 : following].hex())
        at = following
    return entries
