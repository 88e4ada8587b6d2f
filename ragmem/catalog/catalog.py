"""The catalog of one home: its parts around one database."""

from pathlib import Path

from ragmem.catalog.database import BUSY_TIMEOUT, Database
from ragmem.catalog.files import Files
from ragmem.catalog.log import Log
from ragmem.catalog.memories import Memories
from ragmem.catalog.overview import Overview
from ragmem.catalog.projects import Projects
from ragmem.catalog.schema import prepare
from ragmem.catalog.trash import Trash


class Catalog:
    """The parts of one home's catalog around one database; nothing is opened before its first use."""

    def __init__(self, home: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self.database = Database(home, busy_timeout=busy_timeout)
        self.memories = Memories(self.database)
        self.overview = Overview(self.database)
        self.files = Files(self.database)
        self.projects = Projects(self.database)
        self.trash = Trash(self.database)
        self.log = Log(self.database)

    def exists(self) -> bool:
        """Tell whether anything was ever stored here."""
        return self.database.exists()

    def prepare(self) -> None:
        """Create the tables where they are missing; raises StoreDamagedError on a newer schema."""
        prepare(self.database)

    def close(self) -> None:
        """Close the database; closing twice is fine."""
        self.database.close()
