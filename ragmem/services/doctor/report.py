"""The report of an examination: checks with status, finding, and next step."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ragmem.config.settings import Settings
from ragmem.errors import EXIT_DAMAGED, EXIT_NO, EXIT_OK
from ragmem.ports import Models, Store
from ragmem.services.models.reembed import ModelChangeStatus
from ragmem.services.models.usage import Ledger
from ragmem.storage.home.catalog import Catalog

Status = Literal["ok", "warning", "failed"]

RepairName = Literal[
    "",
    "permissions",
    "locks",
    "salvage",
    "schema",
    "catalog",
    "full text",
    "store",
    "anew",
    "pending",
    "usage",
]
"""The repair for a check; empty if a program must not repair it."""

REPAIR = "ragmem doctor --repair"
"""The next step if a repair helps."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check: name, status, finding, and the command or change that repairs it."""

    name: str
    status: Status
    detail: str
    fix: str = ""
    mend: RepairName = ""
    damaged: bool = False
    """Whether a part of the database itself is unreadable: only a backup has the lost data."""


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """The memory to examine. The first check that needs the models or the store opens them."""

    settings: Settings
    catalog: Catalog
    open_models: Callable[[], Models]
    open_store: Callable[[], Store]
    reopen: Callable[[], None]
    """Closes store and database; the next use opens the files again."""
    ledger: Ledger
    model_standing: Callable[[], ModelChangeStatus]
    check_language_model: Callable[[], list[str]]
    """Returns the problems of the configured language model, without asking it."""
    now: datetime
    deep: bool = False
    answered: bool = True
    """False if the embedder failed: then checks that need vectors are skipped, as they would only wait."""
    read_only: bool = False


Examination = Callable[[DoctorContext], Iterable[Check]]


@dataclass(frozen=True, slots=True)
class Report:
    """All checks of one examination, in order."""

    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that found something wrong."""
        return tuple(check for check in self.checks if check.status == "failed")

    @property
    def exit_code(self) -> int:
        """0: all well; 1: something is wrong; 6: the database is damaged."""
        if any(check.damaged for check in self.checks):
            return EXIT_DAMAGED
        return EXIT_NO if self.failed else EXIT_OK
