"""Checks of a home, and their repair."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING

from ragmem.api.home import Home, now
from ragmem.services.doctor.report import DoctorContext, Report
from ragmem.services.models.reembed import ModelChangeStatus

if TYPE_CHECKING:
    from ragmem.services.doctor.repair import Step


class Doctor:
    """Examines a home and repairs it."""

    def __init__(self, home: Home, model_status: Callable[[], ModelChangeStatus]) -> None:
        self._home = home
        self._model_status = model_status

    def examine(self, *, deep: bool = False, read_only: bool = False) -> Report:
        """Check everything that can go wrong; `read_only` writes nothing, not even a canary."""
        from ragmem.services.doctor.doctor import examine

        database = self._home.catalog.database
        with database.forbid_writes() if read_only else nullcontext():
            return examine(self.patient(deep=deep, read_only=read_only))

    def repair(self, steps: "Iterable[Step]") -> "Iterator[Step]":
        """Carry out what `ragmem.services.doctor.repair.plan` found; yield each step with its outcome."""
        from ragmem.services.doctor.repair import repair

        return repair(self.patient(), list(steps))

    def patient(self, *, deep: bool = False, read_only: bool = False) -> DoctorContext:
        """Return the dependencies of a check in `services.doctor`."""
        home = self._home
        return DoctorContext(
            settings=home.settings,
            catalog=home.catalog,
            open_models=lambda: home.models,
            open_store=lambda: home.unprepared_store,
            reopen=home.reopen,
            ledger=home.ledger,
            model_standing=self._model_status,
            check_language_model=self._check_language_model,
            now=now(),
            deep=deep,
            read_only=read_only,
        )

    def _check_language_model(self) -> list[str]:
        with closing(self._home.compose_models(self._home.settings.models)) as models:
            return models.check_language_model()
