"""Find secrets in the messages of agents, and remove them from operational.db."""

from collections import Counter
from contextlib import closing
from pathlib import Path

from ragmem.errors import StoreDamagedError
from ragmem.services.scrub.target import ScrubTarget
from ragmem.storage.maintenance import stored_texts
from ragmem.storage.maintenance.stored_texts import Text
from ragmem.storage.operational.file import OperationalFile
from ragmem.storage.sql.database import Connection

UNREADABLE = "unreadable file"
"""The kind reported for a file that cannot be read, and so cannot be called clean."""


def scan(data: Path, target: ScrubTarget) -> dict[Path, Counter[str]]:
    """Return the file with its matches by kind; an empty mapping where there are none."""
    file = OperationalFile(data)
    if not file.exists():
        return {}
    kinds = Counter[str]()
    with closing(file):
        try:
            with file.read() as connection:
                for _, found in _matches(file, connection, target):
                    kinds += found
        except StoreDamagedError:
            kinds[UNREADABLE] += 1
    return {file.database.path: kinds} if kinds else {}


def clean(data: Path, target: ScrubTarget) -> str:
    """Remove the secrets and what was deleted earlier; return the obstacle, or an empty text.

    An agent whose id matches is forgotten with all its messages. Raises StoreBusyError, StorageError.
    """
    file = OperationalFile(data)
    if not file.exists():
        return ""
    with closing(file):
        try:
            with file.write() as connection:
                found = [text for text, _ in _matches(file, connection, target)]
                stored_texts.change(file.database, connection, found, target.cover_value)
            emptied = file.database.vacuum()
        except StoreDamagedError as error:
            return str(error)
    return "" if emptied else f"{file.database.path}-wal: another process is still reading the old data"


def _matches(
    file: OperationalFile, connection: Connection, target: ScrubTarget
) -> list[tuple[Text, Counter[str]]]:
    return [
        (text, kinds)
        for table in stored_texts.tables(file.database, connection)
        for text in stored_texts.texts(connection, table)
        if (kinds := target.count_kinds(text.text))
    ]
