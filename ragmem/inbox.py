"""The inbox: a write is one file, durable when it is acknowledged, and taken into the catalog later.

Only the standard library's quickest parts are imported: a whole process has less than 50 ms for it.
"""

import os
import stat

from ragmem.errors import SourceError, StorageError, UsageError

# What hashlib gives where it does without OpenSSL, which takes 5 ms to load: a fifth of what a write may cost
# above Python itself. Its name is another since Python 3.12, and a build may lack it.
try:
    from _sha2 import sha256  # type: ignore[import-not-found]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha256

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Final, Literal

    Status = Literal["accepted", "duplicate"]

FOLDER = "inbox"
"""Below the home's data."""

ASIDE = "aside"
"""Below the inbox: what nobody could read as a write."""

SUFFIX = ".write"
UNFINISHED = ".unfinished"
"""Ends the name of a file that is being written; nobody was told yet that it is stored."""

TYPES = ("decision", "thought", "insight", "error", "session", "note")
"""What an entry may be: the values of ragmem.domain.lifecycle.EntryType, which takes 50 ms to import."""

MOST_BYTES = 8 * 1024 * 1024
MOST_HEADER_BYTES = 256 * 1024

SHORT = 12
"""Characters of a name that people see."""

_MAGIC = "ragmem inbox 1 "
_ESCAPES: "Final" = (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


class Receipt:
    """What became of a write: accepted, or the duplicate of one that waits already; and its name."""

    __slots__ = ("name", "status")

    def __init__(self, status: "Status", name: str) -> None:
        self.status = status
        self.name = name

    @property
    def short(self) -> str:
        """The name as people see it."""
        return self.name[:SHORT]


class Write:
    """A write as it was handed in; `fields` are what was said of it, without what is empty."""

    __slots__ = ("fields", "metadata", "tags", "text")

    def __init__(
        self, text: str, fields: "Mapping[str, str]", tags: "tuple[str, ...]", metadata: "Mapping[str, str]"
    ) -> None:
        self.text = text
        self.fields = fields
        self.tags = tags
        self.metadata = metadata


def folder_in(data: "str | os.PathLike[str]") -> str:
    """Return the inbox of a home, by its data folder; it need not exist."""
    return os.path.join(os.fspath(data), FOLDER)


def put(
    data: "str | os.PathLike[str]",
    text: str,
    *,
    folder: "str | os.PathLike[str]" = "",
    root: "str | os.PathLike[str]" = "",
    at_ns: int,
    title: str = "",
    type: str = "",  # noqa: A002 - the word that everybody uses for it
    kind: str = "",
    source: str = "",
    uri: str = "",
    read_from: "str | os.PathLike[str]" = "",
    modified_ns: int = 0,
    project: str = "",
    spec: str = "",
    session: str = "",
    tags: "Iterable[str]" = (),
    metadata: "Mapping[str, str] | None" = None,
    event_time: "datetime | None" = None,
) -> Receipt:
    """Accept a text: it survives a killed process and a power cut from when this returns.

    `folder` is where it was written, `root` that of its project (`readers.roots`), which decides to whom it
    belongs unless `project` says so. `read_from` is the file whose text it is, to be read as such, with its
    modification time; `at_ns` is the present. The same text, but for white space, of the same type and
    place is a duplicate while it waits; what the catalog has already is seen when the write is taken in.

    Raises UsageError for a text that is empty, too long or no text, or an unknown type; StorageError where
    the home cannot be written.
    """
    content = checked(text)
    if project and not project.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise UsageError(
            f'"{project}" cannot be a project name', hint="letters, digits, dots, hyphens and underscores"
        )
    if type and type not in TYPES:
        raise UsageError(f'"{type}" is no type of an entry', hint=f"types: {', '.join(TYPES)}")
    said = {
        "type": type,
        "kind": kind,
        "source": source,
        "uri": uri,
        "project": project,
        "spec": spec,
        "session": session,
        "title": title,
        "event": event_time.isoformat() if event_time else "",
        "at": str(at_ns),
        "modified": str(modified_ns) if modified_ns else "",
    }
    # Their names may be no UTF-8; nothing else may.
    places = {"file": os.fspath(read_from), "folder": os.fspath(folder), "root": os.fspath(root)}
    lines = [f"{name} {_escaped(value)}" for name, value in said.items() if value]
    lines += [f"tag {_escaped(tag)}" for tag in tags if tag]
    lines += [f"metadata {_escaped(name)}\t{_escaped(value)}" for name, value in (metadata or {}).items()]
    header = _encoded("\n".join(lines), "title, tags and metadata")
    for name, value in places.items():
        header += f"\n{name} {_escaped(value)}".encode("utf-8", "surrogateescape") if value else b""
    rest = header + b"\n\n" + content
    if len(header) > MOST_HEADER_BYTES:
        raise UsageError(
            f"title, tags and metadata are longer than {MOST_HEADER_BYTES:,} bytes", hint="shorten them"
        )
    identity = [said[name] for name in ("project", "spec", "type", "source", "uri", "modified")]
    # What has a place of its own may be written there, changed, and changed back: each time counts.
    identity += [said["at"]] if uri else []
    key = "\x1f".join((places["root"], places["file"], *identity, " ".join(text.split())))
    name = sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    whole = f"{_MAGIC}{sha256(rest).hexdigest()}\n".encode() + rest
    try:
        new = _keep(folder_in(data), f"{name}{SUFFIX}", whole, at_ns)
    except OSError as error:
        raise StorageError(
            f'cannot write in "{folder_in(data)}": {(error.strerror or str(error)).lower()}',
            hint="check free space and permissions, or set RAGMEM_HOME to another folder",
        ) from error
    return Receipt("accepted" if new else "duplicate", name)


def checked(text: str) -> bytes:
    """Return a text as it is stored; raises UsageError for one that cannot be."""
    content = _encoded(text, "the text")
    if not text.strip():
        raise UsageError("the text is empty", hint='ragmem ingest --buffer --text "what to remember"')
    if len(content) > MOST_BYTES:
        raise UsageError(
            f"the text is longer than {MOST_BYTES:,} bytes",
            hint="the inbox is for notes; `ragmem ingest FILE` takes what [seed] max_file_mb says",
        )
    return content


def _encoded(text: str, what: str) -> bytes:
    if "\0" in text:
        raise UsageError(f"NUL bytes in {what}", hint="hand in text")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"no UTF-8 in {what}: character {error.start} is half of one", hint="convert it"
        ) from error


def _escaped(text: str) -> str:
    escaped = text.replace("\\", "\\\\")
    for character, written in _ESCAPES:
        escaped = escaped.replace(character, written)
    return escaped


def _plain(text: str) -> str:
    parts = text.split("\\\\")
    for character, written in _ESCAPES:
        parts = [part.replace(written, character) for part in parts]
    return "\\".join(parts)


def _keep(inbox: str, name: str, whole: bytes, at_ns: int) -> bool:
    """Make a file durable under its name, as of a moment; False where one of this name is."""
    path = os.path.join(inbox, name)
    if os.path.lexists(path):
        # Its writer may not have got as far as this yet.
        _sync(inbox)
        return False
    draft = os.path.join(inbox, f".{os.getpid()}-{os.urandom(8).hex()}{UNFINISHED}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        _make(inbox)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        try:
            left = memoryview(whole)
            while left:
                left = left[os.write(descriptor, left) :]
            # The order of the writes: file systems take their own times from a clock of 4 ms.
            os.utime(descriptor, ns=(at_ns, at_ns))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        new = _name(draft, path)
    except BaseException:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise
    _sync(inbox)
    return new


def _name(draft: str, path: str) -> bool:
    """Give a draft its name, in one step; False where another process was faster."""
    try:
        os.link(draft, path)
    except FileExistsError:
        os.unlink(draft)
        return False
    except OSError:
        # A file system without links: the same text may replace itself, which changes nothing.
        os.rename(draft, path)
        return True
    os.unlink(draft)
    return True


def _make(folder: str) -> None:
    """Make a folder and those above it, durable and their owner's alone."""
    above = os.path.dirname(folder)
    if not os.path.isdir(above):
        _make(above)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
    _sync(above)


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_empty(inbox: str) -> bool:
    """Tell whether nothing waits; this is all that an empty inbox costs a question."""
    return not _names(inbox)


def waiting(inbox: str) -> list[str]:
    """Return the names of the files that wait, in the order in which they were written."""
    found = []
    for name in _names(inbox):
        try:
            found.append((os.lstat(os.path.join(inbox, name)).st_mtime_ns, name))
        except FileNotFoundError:
            # Another process has taken it in since.
            continue
    return [name for _, name in sorted(found)]


def _names(inbox: str) -> list[str]:
    try:
        names = os.listdir(inbox)
    except FileNotFoundError:
        return []
    return [name for name in names if name != ASIDE and not name.startswith(".")]


def unfinished(inbox: str) -> list[str]:
    """Return the names of what killed processes left before it was stored, and of what is being written."""
    try:
        return [name for name in os.listdir(inbox) if name.startswith(".") and name.endswith(UNFINISHED)]
    except FileNotFoundError:
        return []


def read(path: str) -> Write:
    """Return the write in a file; raises SourceError that says why it is none, FileNotFoundError, OSError."""
    most = MOST_BYTES + MOST_HEADER_BYTES + 1024
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SourceError("it is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            whole = file.read(most + 1) if status.st_size <= most else b""
    finally:
        os.close(descriptor)
    if status.st_size > most or len(whole) > most:
        raise SourceError("it is too large for a write")
    first, _, rest = whole.partition(b"\n")
    if not first.startswith(_MAGIC.rstrip("1 ").encode()):
        raise SourceError("it is no write of ragmem")
    if not first.startswith(_MAGIC.encode()):
        raise SourceError("another release of ragmem wrote it")
    if first != f"{_MAGIC}{sha256(rest).hexdigest()}".encode():
        raise SourceError("it is damaged: the check sum is another")
    return _parsed(rest)


def _parsed(rest: bytes) -> Write:
    header, _, content = rest.partition(b"\n\n")
    fields: dict[str, str] = {}
    tags: list[str] = []
    metadata: dict[str, str] = {}
    for line in header.decode("utf-8", "surrogateescape").split("\n"):
        name, _, value = line.partition(" ")
        if name == "tag":
            tags.append(_plain(value))
        elif name == "metadata":
            key, _, text = value.partition("\t")
            metadata[_plain(key)] = _plain(text)
        else:
            fields[name] = _plain(value)
    return Write(content.decode("utf-8"), fields, tuple(tags), metadata)


def set_aside(inbox: str, name: str) -> None:
    """Move what is no write out of the way, under a name of its own; raises OSError."""
    aside = os.path.join(inbox, ASIDE)
    os.makedirs(aside, 0o700, exist_ok=True)
    os.rename(os.path.join(inbox, name), os.path.join(aside, f"{name}-{os.urandom(4).hex()}"))
