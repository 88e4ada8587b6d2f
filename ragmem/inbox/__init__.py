"""The inbox: a write is one file, durable when it is acknowledged, and stored in the catalog later.

Import only modules that load fast: the whole process has less than 50 ms.
"""

import os
import sys

from ragmem.config.folders import sync
from ragmem.errors import StorageError, UsageError, os_reason

# The implementation that hashlib uses without OpenSSL, which takes 5 ms to load: a fifth of what a write may
# cost beyond Python itself. Python 3.12 renamed it, and a build may lack it.
try:
    if sys.version_info >= (3, 12):
        from _sha2 import sha256
    else:
        from _sha256 import sha256  # type: ignore[import-not-found]
except ImportError:
    from hashlib import sha256

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime
    from typing import Final, Literal, Required, TypedDict, Unpack

    Status = Literal["accepted", "duplicate"]

    class WriteFields(TypedDict, total=False):
        """The arguments of `seal` beside the text; `at_ns` is required."""

        folder: "str | os.PathLike[str]"
        root: "str | os.PathLike[str]"
        at_ns: "Required[int]"
        title: str
        type: str
        kind: str
        source: str
        uri: str
        read_from: "str | os.PathLike[str]"
        modified_ns: int
        project: str
        spec: str
        session: str
        tags: "Iterable[str]"
        metadata: "Mapping[str, str] | None"
        event_time: "datetime | None"


FOLDER = "inbox"
"""Below the home's data."""

ASIDE = "aside"
"""Below the inbox: files that could not be read as a write."""

EVENTS = "events"
"""Below the inbox: the events of assistants' hooks, see `ragmem.hooks.spool`."""

SUFFIX = ".write"
UNFINISHED = ".unfinished"
"""Suffix of a file that is being written and not acknowledged yet."""

TYPES = ("decision", "thought", "insight", "error", "session", "note")
"""The values of `domain.model.lifecycle.EntryType`, which takes 50 ms to import."""

KINDS = ("preference", "architecture", "error", "research", "general")
"""The values of `domain.model.Kind`, copied for the same reason."""

MOST_BYTES = 8 * 1024 * 1024
MOST_HEADER_BYTES = 256 * 1024
LONGEST_PROJECT = 100
"""Characters of a name that is given for a project; those made of folders are shorter."""

SHORT = 12
"""Length of a name as people see it."""

MAGIC = "ragmem inbox 1 "
ESCAPES: "Final" = (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


class SealedWrite:
    """A write as a file: its name, its content and its time."""

    __slots__ = ("at_ns", "name", "whole")

    def __init__(self, name: str, whole: bytes, at_ns: int) -> None:
        self.name = name
        self.whole = whole
        self.at_ns = at_ns


class Receipt:
    """The status of a write (accepted, or the duplicate of a waiting one) and its name."""

    __slots__ = ("name", "status")

    def __init__(self, status: "Status", name: str) -> None:
        self.status = status
        self.name = name

    @property
    def short(self) -> str:
        """The name as people see it."""
        return self.name[:SHORT]


def checksum(content: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal digits."""
    return str(sha256(content).hexdigest())


def check_project_name(name: str) -> None:
    """Raise UsageError for a name that no project can have."""
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    if not plain.isalnum() or len(name) > LONGEST_PROJECT:
        raise UsageError(
            f'"{name[:60]}" cannot be a project name',
            hint=f"up to {LONGEST_PROJECT} letters, digits, dots, hyphens and underscores",
        )


def inbox_folder(data: "str | os.PathLike[str]") -> str:
    """Return the inbox of a home, by its data folder; it need not exist."""
    return os.path.join(os.fspath(data), FOLDER)


def list_oldest_first(folder: str, include: "Callable[[str], bool]") -> list[str]:
    """Return the names of the included files in a folder, oldest first; none if the folder is missing."""
    found = []
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    for name in filter(include, names):
        try:
            found.append((os.lstat(os.path.join(folder, name)).st_mtime_ns, name))
        except FileNotFoundError:  # another process has handled it since
            continue
    return [name for _, name in sorted(found)]


def set_aside(path: str) -> None:
    """Move an unreadable file out of the way, under a new name; raises OSError."""
    aside = os.path.join(os.path.dirname(path), ASIDE)
    os.makedirs(aside, 0o700, exist_ok=True)
    os.rename(path, os.path.join(aside, f"{os.path.basename(path)}-{os.urandom(4).hex()}"))


def put(data: "str | os.PathLike[str]", text: str, **said: "Unpack[WriteFields]") -> Receipt:
    """Accept a text; once this returns, it survives a killed process and a power cut.

    The same text, apart from white space, of the same type, tags and place is a duplicate while it waits. A
    text that the catalog has already is detected when the write is stored there. Raises the errors of `seal`
    and `keep`.
    """
    return keep(data, seal(text, **said))


def seal(
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
) -> SealedWrite:
    """Return a text and its fields as a file that is not stored yet.

    `folder` is where it was written. `root` is the folder of its project (`readers.roots`), which decides
    where it belongs unless `project` is given. `read_from` is the file that the text comes from, with its
    modification time; `at_ns` is the present. Both times are in nanoseconds since 1970.

    Raises UsageError for a text that is empty, too long or not UTF-8, and for an unknown type or kind.
    """
    content = _check(text)
    if project:
        check_project_name(project)
    if type and type not in TYPES:
        raise UsageError(f'"{type}" is not an entry type', hint=f"types: {', '.join(TYPES)}")
    if kind and kind not in KINDS:
        raise UsageError(f'"{kind}" is not a kind', hint=f"kinds: {', '.join(KINDS)}")
    try:
        # The catalog stores UTC, where the year may be out of range.
        _ = event_time and event_time - (event_time.utcoffset() or event_time - event_time)
    except OverflowError as error:
        raise UsageError(
            f'"{event_time}" is not a date of the years 1 to 9999', hint="write 2026-03-15T10:00:00Z"
        ) from error
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
    # Only names of files may be invalid UTF-8.
    places = {"file": os.fspath(read_from), "folder": os.fspath(folder), "root": os.fspath(root)}
    lines = [f"{name} {_escape(value)}" for name, value in said.items() if value]
    marks = [f"tag {_escape(tag)}" for tag in tags if tag]
    lines += marks
    lines += [f"metadata {_escape(name)}\t{_escape(value)}" for name, value in (metadata or {}).items()]
    header = _encode("\n".join(lines), "title, tags and metadata")
    for name, value in places.items():
        header += f"\n{name} {_escape(value)}".encode("utf-8", "surrogateescape") if value else b""
    if len(header) > MOST_HEADER_BYTES:
        raise UsageError(
            f"title, tags and metadata are longer than {MOST_HEADER_BYTES:,} bytes", hint="shorten them"
        )
    rest = header + b"\n\n" + content
    identity = [said[name] for name in ("project", "spec", "type", "source", "uri", "modified")] + marks
    # A text with a uri may be written, changed, and changed back: each time counts.
    identity += [said["at"]] if uri else []
    key = "\x1f".join((places["root"], places["file"], *identity, " ".join(text.split())))
    name = checksum(key.encode("utf-8", "surrogateescape"))[:32]
    return SealedWrite(name, f"{MAGIC}{checksum(rest)}\n".encode() + rest, at_ns)


def keep(data: "str | os.PathLike[str]", sealed: SealedWrite) -> Receipt:
    """Make a write durable; raises StorageError if the ragmem home cannot be written or synced."""
    folder, name = inbox_folder(data), f"{sealed.name}{SUFFIX}"
    try:
        new = make_durable(folder, name, sealed.whole, sealed.at_ns)
    except OSError as error:
        problem = os_reason(error)
        if os.path.lexists(os.path.join(folder, name)):
            raise StorageError(
                f'cannot sync "{folder}": {problem}; the text is there, but a power failure could lose it',
                hint="check the disk; the next query ingests the text",
            ) from error
        raise StorageError(
            f'cannot write in "{folder}": {problem}',
            hint="check free space and permissions, or set RAGMEM_HOME to another folder",
        ) from error
    return Receipt("accepted" if new else "duplicate", sealed.name)


def _check(text: str) -> bytes:
    """Return a text as it is stored; raises UsageError if it is empty, too long or invalid."""
    content = _encode(text, "the text")
    if not text.strip():
        raise UsageError("the text is empty", hint='ragmem ingest --buffer --text "what to remember"')
    if len(content) > MOST_BYTES:
        raise UsageError(
            f"the text is longer than {MOST_BYTES:,} bytes",
            hint="the inbox is for notes; `ragmem ingest FILE` stores files up to [seed] max_file_mb",
        )
    return content


def _encode(text: str, what: str) -> bytes:
    if "\0" in text:
        raise UsageError(f"NUL bytes in {what}", hint="provide text")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"invalid UTF-8 in {what}: character {error.start} is an unpaired surrogate", hint="convert it"
        ) from error


def _escape(text: str) -> str:
    escaped = text.replace("\\", "\\\\")
    for character, written in ESCAPES:
        escaped = escaped.replace(character, written)
    return escaped


def make_durable(inbox: str, name: str, whole: bytes, at_ns: int) -> bool:
    """Write a durable file with a modification time; return False if the name exists. Raises OSError."""
    path = os.path.join(inbox, name)
    if os.path.lexists(path):
        # Its writer may not have synced the folder yet.
        sync(inbox)
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
            # This keeps the order of the writes: file systems use a clock of 4 ms.
            os.utime(descriptor, ns=(at_ns, at_ns))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        new = _name(draft, path)
    except BaseException:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise
    sync(inbox)
    return new


def _name(draft: str, path: str) -> bool:
    """Give a draft its name atomically; return False if another process was faster."""
    try:
        os.link(draft, path)
    except FileExistsError:
        os.unlink(draft)
        return False
    except OSError:
        # A file system without links: the same text may replace itself, which is harmless.
        os.rename(draft, path)
        return True
    os.unlink(draft)
    return True


def _make(folder: str) -> None:
    """Make a folder and its parents durably, for their owner alone."""
    above = os.path.dirname(folder)
    if not os.path.isdir(above):
        _make(above)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
    sync(above)
