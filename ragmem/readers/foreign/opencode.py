"""OpenCode: the database of its sessions, or the folder of JSON files of its earlier releases."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import Exchange
from ragmem.errors import SourceError, os_errors_as
from ragmem.readers.files import show
from ragmem.readers.foreign import Tool
from ragmem.readers.foreign.databases import damage_error, has_tables, open_database, unchanging_copy
from ragmem.readers.foreign.entries import Entry, LeftOut, Talk, mapping_of, name_of, time_of
from ragmem.readers.transcripts.exchange_builder import ExchangeBuilder
from ragmem.readers.transcripts.opencode import OpenCode, read_sessions

FILE = "opencode.db"
STORAGE = "storage"

MAX_RECORD = 32 << 20
MAX_FILES = 200_000
"""Files of one folder that are read."""

_TABLES = {
    "session": ("id", "directory", "time_updated"),
    "message": ("id", "session_id", "time_created", "data"),
    "part": ("id", "message_id", "data"),
}


def entries(path: Path, redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    """Yield the exchanges of each session, with the folder in which it was held."""
    folder = _storage(path)
    if folder is None:
        yield from _database(path / FILE if path.is_dir() else path, redactor, left_out)
    else:
        yield from _files(folder, redactor, left_out)


def _database(path: Path, redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    with open_database(path, tool="opencode") as database:
        database.require(_TABLES, TOOL.version)
    builder = partial(ExchangeBuilder, "opencode", redactor=redactor)
    with unchanging_copy(path) as still:
        try:
            for session in read_sessions(still, "", builder, sidechains=False):
                yield from _talks(session.messages, session.builder, left_out)
        except OSError as error:
            raise damage_error(path, str(error)) from error


def _talks(
    messages: Iterator[None], builder: ExchangeBuilder, left_out: LeftOut, title: str = "", at: Any = None
) -> Iterator[Entry]:
    for position, _ in enumerate(messages, start=1):
        if builder.closed is not None and (closed := builder.take_closed()):
            yield _talk(closed, title, at)
        builder.close_part(position)
        if builder.closed is not None and (closed := builder.take_closed()):
            yield _talk(closed, title, at)
    if rest := builder.rest(ended=True):
        yield _talk(rest, title, at)
    left_out.update(builder.problems)


def _talk(exchange: Exchange, title: str, at: Any) -> Talk:
    return Talk(exchange, title, exchange.cwd, time_of(at))


def _files(storage: Path, redactor: Redactor, left_out: LeftOut) -> Iterator[Entry]:
    sessions = islice(sorted((storage / "session").glob("*/*.json")), MAX_FILES)
    for path in sessions:
        session = _record(path, left_out)
        key = name_of(session.get("id"))
        if not _is_plain(key):
            left_out["broken record"] += 1
            continue
        parent = name_of(session.get("parentID"))
        builder = ExchangeBuilder("opencode", redactor=redactor)
        builder.session, builder.agent = parent or key, key if parent else ""
        builder.cwd = name_of(session.get("directory"))
        reader = OpenCode(builder, path, sidechains=False)
        times = mapping_of(session.get("time"))
        at = times.get("updated") or times.get("created")
        messages = _take_messages(storage, key, reader, left_out)
        yield from _talks(messages, builder, left_out, name_of(session.get("title")), at)


def _take_messages(storage: Path, session: str, reader: OpenCode, left_out: LeftOut) -> Iterator[None]:
    for path in islice(sorted((storage / "message" / session).glob("*.json")), MAX_FILES):
        message = _record(path, left_out)
        key = name_of(message.get("id"))
        if not _is_plain(key):
            left_out["broken record"] += 1
            continue
        parts = islice(sorted((storage / "part" / key).glob("*.json")), MAX_FILES)
        reader.take({**message, "parts": [_record(part, left_out) for part in parts]})
        yield


def _is_plain(key: str) -> bool:
    """Return whether an id can be the name of a file in its folder and of none elsewhere."""
    return bool(key) and key.replace("_", "").replace("-", "").isalnum()


def _record(path: Path, left_out: LeftOut) -> Mapping[str, Any]:
    with os_errors_as(SourceError, f'read "{show(path)}"', hint="check its permissions"):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_RECORD:
            left_out["file that is too large or no regular file"] += 1
            return {}
        return mapping_of(path.read_bytes())


def _storage(path: Path) -> Path | None:
    """Return the folder of JSON files, if a path is it or has it and no database."""
    if not path.is_dir() or (path / FILE).is_file():
        return None
    return next((one for one in (path, path / STORAGE) if (one / "session").is_dir()), None)


def _recognise(path: Path) -> bool:
    folder = _storage(path)
    if folder is not None:
        return (folder / "message").is_dir()
    return has_tables(path / FILE if path.is_dir() else path, _TABLES)


TOOL = Tool("opencode", "1.18.33", _recognise, entries)
