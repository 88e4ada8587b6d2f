"""The catalog of one home: its parts around one database."""

from pathlib import Path
from typing import Self

from ragmem.catalog.archive import Archive
from ragmem.catalog.code import Code
from ragmem.catalog.connections import Connections
from ragmem.catalog.database import Database
from ragmem.catalog.entity_names import EntityNames
from ragmem.catalog.extractions import Extractions
from ragmem.catalog.files import Files
from ragmem.catalog.gc_runs import GcRuns
from ragmem.catalog.injections import Injections
from ragmem.catalog.lives import Lives
from ragmem.catalog.log import Log
from ragmem.catalog.memories import Memories
from ragmem.catalog.migrations import Announce, silent
from ragmem.catalog.model_record import ModelRecords
from ragmem.catalog.overview import Overview
from ragmem.catalog.projects import Projects
from ragmem.catalog.schema import prepare
from ragmem.catalog.sessions import Sessions
from ragmem.catalog.sqlite import BUSY_TIMEOUT, SQLiteDatabase
from ragmem.catalog.storing_runs import StoringRuns
from ragmem.catalog.supersessions import Supersessions
from ragmem.catalog.transcripts import Transcripts
from ragmem.catalog.usage import Usage
from ragmem.catalog.violations import Violations
from ragmem.domain.redaction import DEFAULT, Redactor


class Catalog:
    """The parts of one home's catalog around one database; nothing is opened before its first use.

    `redactor` has the home's rules for secrets, for whatever is written to the catalog or shown of it.

    `announce` is told when `prepare` begins something that takes long; nobody is, unless it is set.
    """

    def __init__(self, database: Database, redactor: Redactor = DEFAULT) -> None:
        self.database = database
        self.redactor = redactor
        self.announce: Announce = silent
        self.memories = Memories(self.database)
        self.overview = Overview(self.database)
        self.files = Files(self.database)
        self.projects = Projects(self.database)
        self.archive = Archive(self.database)
        self.gc_runs = GcRuns(self.database)
        self.log = Log(self.database)
        self.extractions = Extractions(self.database)
        self.names = EntityNames(self.database)
        self.usage = Usage(self.database)
        self.models = ModelRecords(self.database)
        self.code = Code(self.database)
        self.lives = Lives(self.database)
        self.supersessions = Supersessions(self.database)
        self.sessions = Sessions(self.database)
        self.violations = Violations(self.database)
        self.injections = Injections(self.database)
        self.transcripts = Transcripts(self.database)
        self.connections = Connections(self.database)
        self.storing_runs = StoringRuns(self.database)

    @classmethod
    def at(cls, home: Path, redactor: Redactor = DEFAULT, *, busy_timeout: float = BUSY_TIMEOUT) -> Self:
        """Return the catalog in the SQLite file of a home."""
        return cls(SQLiteDatabase(home, busy_timeout=busy_timeout), redactor)

    def exists(self) -> bool:
        """Tell whether anything was ever stored here."""
        return self.database.exists()

    def prepare(self) -> None:
        """Create the tables where they are missing; raises StoreDamagedError on a newer schema."""
        prepare(self.database, self.announce)

    def close(self) -> None:
        """Close the database; closing twice is fine."""
        self.database.close()
