"""The vectors of a memory: which model made them, and their replacement."""

from ragmem.api.home import Home, now
from ragmem.api.retrieval import Retrieval
from ragmem.services.models.reembed import ModelChangeStatus, ReembedReport, model_change_status, reembed
from ragmem.services.processes.progress import Progress, Silent


class Vectors:
    """The vectors of a home."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def status(self) -> ModelChangeStatus:
        """Return the active model, and the progress of the configured one; contacts nothing."""
        return model_change_status(
            self._home.models,
            self._home.unprepared_store,
            home=self._home.catalog.database.home,
            wanted_dimensions=self._home.settings.models.dimensions,
        )

    def missing(self, model: str) -> int:
        """Return how many vectors a model lacks, by its id; 0 in a memory without vectors."""
        if self._home.models.active() is None:
            return 0
        done, total = self._home.unprepared_store.second_model(model)
        return total - done

    def reembed(self, *, progress: Progress | None = None) -> ReembedReport:
        """Make vectors with the configured model next to the active ones, then switch to them.

        It may be interrupted and run again; queries and writes continue meanwhile. See
        `services.models.reembed` for the errors raised. The floor of relevance is then calibrated with the
        new vectors, if the store is large enough.
        """
        home = self._home
        home.require()
        done = reembed(
            home.catalog,
            home.store,
            home.models,
            home=home.catalog.database.home,
            now=now(),
            progress=progress or Silent(),
        )
        if done.finished and done.made:
            Retrieval(home).calibrate()
        return done
