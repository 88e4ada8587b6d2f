"""What an examination finds: checks as data, each with its status, what was seen, and the next step."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ragmem.config import Settings
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
"""What `--repair` does about a check; empty: nothing that a program may do."""

REPAIR = "ragmem doctor --repair"
"""The next step where a repair helps."""


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how it is, what was seen, and the command or change that mends it."""

    name: str
    status: Status
    detail: str
    fix: str = ""
    mend: RepairName = ""
    damaged: bool = False
    """Whether the database itself cannot be read in part: only a backup has what is lost."""


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """What is examined. The models and the store are opened by the first check that needs them."""

    settings: Settings
    catalog: Catalog
    open_models: Callable[[], Models]
    open_store: Callable[[], Store]
    reopen: Callable[[], None]
    """Closes store and database, whose next use opens what lies there then."""
    ledger: Ledger
    model_standing: Callable[[], ModelChangeStatus]
    check_language_model: Callable[[], list[str]]
    """Returns what the configured language model lacks, without asking it for anything."""
    now: datetime
    deep: bool = False
    answered: bool = True
    """False where no vector can be made: what compares vectors is left out, for it would only wait."""
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
