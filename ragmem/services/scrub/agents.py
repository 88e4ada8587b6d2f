"""Find what is to go in what agents told one another, and take it out of operational.db."""

from collections import Counter
from contextlib import closing
from pathlib import Path

from ragmem.errors import StoreDamagedError
from ragmem.services.scrub.wanted import ScrubTarget
from ragmem.storage.maintenance import stored_texts
from ragmem.storage.maintenance.stored_texts import Text
from ragmem.storage.operational.file import OperationalFile
from ragmem.storage.sql.database import Connection

UNREADABLE = "unreadable file"
"""What is found in a file that cannot be read: nobody can say that it is clean."""


def look(data: Path, wanted: ScrubTarget) -> dict[Path, Counter[str]]:
    """Return where it stands: the file with what is in it, by sort, or nothing."""
    file = OperationalFile(data)
    if not file.exists():
        return {}
    kinds = Counter[str]()
    with closing(file):
        try:
            with file.read() as connection:
                for _, found in _matches(file, connection, wanted):
                    kinds += found
        except StoreDamagedError:
            kinds[UNREADABLE] += 1
    return {file.database.path: kinds} if kinds else {}


def clean(data: Path, wanted: ScrubTarget) -> str:
    """Take it out, and what was deleted earlier; return what hindered that, an empty text where nothing did.

    An agent whose id has it is forgotten with all that waits for it. Raises StoreBusyError, StorageError.
    """
    file = OperationalFile(data)
    if not file.exists():
        return ""
    with closing(file):
        try:
            with file.write() as connection:
                found = [text for text, _ in _matches(file, connection, wanted)]
                stored_texts.change(file.database, connection, found, wanted.stored)
            emptied = file.database.vacuum()
        except StoreDamagedError as error:
            return str(error)
    return "" if emptied else f"{file.database.path}-wal: a process still reads what was there before"


def _matches(
    file: OperationalFile, connection: Connection, wanted: ScrubTarget
) -> list[tuple[Text, Counter[str]]]:
    return [
        (text, kinds)
        for table in stored_texts.tables(file.database, connection)
        for text in stored_texts.texts(connection, table)
        if (kinds := wanted.kinds(text.text))
    ]
