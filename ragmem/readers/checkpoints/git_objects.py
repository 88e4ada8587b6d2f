"""Read objects of a repository by their hash, each up to a size, whatever the repository holds."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from ragmem.readers.git import output_of

TIMEOUT = 60.0
"""Seconds for one answer of git."""

MAX_TREE = 4 << 20
"""Maximum bytes of a tree."""

_AT_ONCE = 32 << 20
"""Bytes of objects that are asked for at once; one may be larger."""

FOLDER = b"40000"
FILES = frozenset((b"100644", b"100755"))
"""Modes of the entries of a tree; a link and a submodule have others."""

Entry = tuple[bytes, str]
"""The mode and the hash of an entry of a tree."""

TooLarge = Callable[[str], object]
"""Is called with the hash of an object that is larger than its limit."""


def sizes_of(root: Path, names: Collection[str], sort: bytes) -> dict[str, int]:
    """Return hash -> bytes of the objects of one type (`blob`, `tree`, `commit`) that the repository has."""
    given = "".join(f"{name}\n" for name in sorted(set(names))).encode()
    answer = output_of(root, "cat-file", "--batch-check", timeout=TIMEOUT, given=given) if given else b""
    told = (line.split() for line in (answer or b"").splitlines())
    return {words[0].decode("ascii"): int(words[2]) for words in told if words[1:2] == [sort]}


def contents_of(
    root: Path, names: Collection[str], sort: bytes, most: int, *, too_large: TooLarge | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield the objects of one type with at most so many bytes, in any order; few are in memory at once."""
    batch: dict[str, int] = {}
    held = 0
    for name, size in sizes_of(root, names, sort).items():
        if size > most:
            if too_large is not None:
                too_large(name)
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


def entries_of(
    root: Path, trees: Collection[str], *, too_large: TooLarge | None = None
) -> dict[str, dict[str, Entry]]:
    """Return tree -> its entries by name."""
    read = contents_of(root, trees, b"tree", MAX_TREE, too_large=too_large)
    return {name: dict(_entries(raw, len(name) // 2)) for name, raw in read}


def _entries(raw: bytes, length: int) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a tree: each is mode, space, name, NUL and a hash of so many bytes."""
    at = 0
    while (end := raw.find(b"\0", at)) >= 0:
        mode, _, name = raw[at:end].partition(b" ")
        at = end + 1 + length
        yield name.decode("utf-8", "replace"), (mode, raw[end + 1 : at].hex())


def trees_of(root: Path, commits: Iterable[str]) -> dict[str, str]:
    """Return commit -> the hash of its tree."""
    asked = list(dict.fromkeys(commits))
    given = "".join(f"{commit}^{{tree}}\n" for commit in asked).encode()
    answer = output_of(root, "cat-file", "--batch-check", timeout=TIMEOUT, given=given) if given else b""
    lines = (answer or b"").decode("ascii", "replace").splitlines()
    told = zip(asked, map(str.split, lines), strict=False)
    return {commit: words[0] for commit, words in told if words[1:2] == ["tree"]}
