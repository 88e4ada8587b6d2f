"""Parse the trees of git, which may come from strangers."""

Entry = tuple[bytes, str]
"""The mode and the hash of an entry of a tree."""

FOLDER = b"40000"


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
