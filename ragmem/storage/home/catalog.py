"""The catalog of one home: its parts around one database."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ragmem.domain.secrets.redaction import DEFAULT, Redactor
from ragmem.storage.activity.model_record import ModelRecords
from ragmem.storage.activity.sessions import Sessions
from ragmem.storage.activity.usage import Usage
from ragmem.storage.code.code import Code
from ragmem.storage.home import schema
from ragmem.storage.lifecycle.approvals import Approvals
from ragmem.storage.lifecycle.connections import Connections
from ragmem.storage.lifecycle.lifecycle_state import Lives
from ragmem.storage.lifecycle.supersessions import Supersessions
from ragmem.storage.memories.identity_map import IdentityMap, KeptRows, KnownLives, KnownSupersessions
from ragmem.storage.memories.memories import Memories
from ragmem.storage.memories.overview import Overview
from ragmem.storage.memories.projects import Projects
from ragmem.storage.memories.read_cache import ReadCache
from ragmem.storage.memories.rules import Rules
from ragmem.storage.names.names import EntityNames
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.migrations import Announce, migrate, silent
from ragmem.storage.sql.sqlite import BUSY_TIMEOUT, SQLiteDatabase

if TYPE_CHECKING:
    from ragmem.storage.activity.extractions import Extractions
    from ragmem.storage.activity.injections import Injections
    from ragmem.storage.activity.log import Log
    from ragmem.storage.activity.storing_runs import StoringRuns
    from ragmem.storage.activity.transcripts import Transcripts
    from ragmem.storage.activity.violations import Violations
    from ragmem.storage.lifecycle.archive import Archive
    from ragmem.storage.lifecycle.gc_runs import GcRuns
    from ragmem.storage.memories.files import Files
    from ragmem.storage.sharing.shared_records import SharedRecords

_LATE = {
    "files": ("ragmem.storage.memories.files", "Files"),
    "archive": ("ragmem.storage.lifecycle.archive", "Archive"),
    "gc_runs": ("ragmem.storage.lifecycle.gc_runs", "GcRuns"),
    "log": ("ragmem.storage.activity.log", "Log"),
    "extractions": ("ragmem.storage.activity.extractions", "Extractions"),
    "violations": ("ragmem.storage.activity.violations", "Violations"),
    "injections": ("ragmem.storage.activity.injections", "Injections"),
    "transcripts": ("ragmem.storage.activity.transcripts", "Transcripts"),
    "storing_runs": ("ragmem.storage.activity.storing_runs", "StoringRuns"),
    "shared": ("ragmem.storage.sharing.shared_records", "SharedRecords"),
}
"""The parts that no question needs, by module and class: each is imported at its first use."""


class Catalog:
    """The parts of one home's catalog around one database; nothing is opened before its first use.

    `redactor` has the home's rules for secrets, for whatever is written to the catalog or shown of it.

    `cache` is a folder for files that can be made again.

    `announce` is told when `prepare` begins something that takes long; nobody is, unless it is set.
    """

    def __init__(
        self, database: Database, redactor: Redactor = DEFAULT, *, cache: Path | None = None
    ) -> None:
        self.database = database
        self.redactor = redactor
        self.announce: Announce = silent
        self.memories = Memories(self.database)
        self._kept = ReadCache(self.database, KeptRows)
        self.overview = Overview(self.database)
        self.projects = Projects(self.database)
        # Members of a team see different texts, and share no file.
        self.rules = Rules(
            self.database, cache / "rules.json" if cache and database.dialect == "sqlite" else None
        )
        self.names = EntityNames(self.database)
        self.usage = Usage(self.database)
        self.models = ModelRecords(self.database)
        self.code = Code(self.database)
        self.lives = Lives(self.database)
        self.approvals = Approvals(self.database)
        self.supersessions = Supersessions(self.database)
        self.sessions = Sessions(self.database)
        self.connections = Connections(self.database)

    if TYPE_CHECKING:
        files: Files
        archive: Archive
        gc_runs: GcRuns
        log: Log
        extractions: Extractions
        violations: Violations
        injections: Injections
        transcripts: Transcripts
        storing_runs: StoringRuns
        shared: SharedRecords
    else:
        # A catalog for one transaction makes its own, so these parts keep nothing.
        def __getattr__(self, name: str) -> Any:
            if name not in _LATE:
                raise AttributeError(f"a catalog has no {name}")
            module, part = _LATE[name]
            made = getattr(import_module(module), part)(self.database)
            setattr(self, name, made)
            return made

    def for_question(self) -> Self:
        """Return the same catalog for one transaction, which reads no memory that is known already."""
        known = object.__new__(type(self))
        known.__dict__.update(self.__dict__)
        # A team's server would cache the rows for each member, and uncommitted rows may never be committed.
        if self.database.dialect != "sqlite" or self.database.is_writing:
            known.memories = IdentityMap(self.database, KeptRows())
            return known
        kept = self._kept.value()
        kept.shorten()
        known.memories = IdentityMap(self.database, kept)
        known.supersessions = KnownSupersessions(self.database, kept)
        known.lives = KnownLives(self.database, kept)
        return known

    @classmethod
    def at(cls, home: Path, redactor: Redactor = DEFAULT, *, busy_timeout: float = BUSY_TIMEOUT) -> Self:
        """Return the catalog in the SQLite file of a home."""
        return cls(SQLiteDatabase(home, busy_timeout=busy_timeout), redactor)

    def exists(self) -> bool:
        """Return whether anything was ever stored here."""
        return self.database.exists()

    def prepare(self) -> None:
        """Create the tables where they are missing; raises StoreDamagedError on a newer schema."""
        tables = schema.CATALOG
        if self.database.dialect == "postgres":
            from ragmem.storage.home import postgres_schema  # noqa: PLC0415 - derived when it is imported

            tables = postgres_schema.CATALOG
        migrate(self.database, tables, announce=self.announce)

    def close(self) -> None:
        """Close the database; closing twice is fine."""
        self.database.close()
