"""The inbox of a memory: store and index the texts and events that were accepted."""

from contextlib import suppress
from typing import TYPE_CHECKING

from ragmem.api.home import Home, now
from ragmem.domain.model import State
from ragmem.errors import BackendError, RagmemError
from ragmem.hooks import spool
from ragmem.ports.principal import acting_as
from ragmem.services.ingestion.inbox import DrainResult, drain

if TYPE_CHECKING:
    from ragmem.services.ingestion.inbox_status import InboxStatus
    from ragmem.services.processes.progress import Progress
    from ragmem.services.processes.refusals import Refusal
    from ragmem.services.transcripts.hook_events import EventResult

EVENTS_S = 3.0
"""Seconds that a command which drains the inbox gives to the events of hooks."""


class Inbox:
    """The queue of accepted texts and events."""

    def __init__(self, home: Home) -> None:
        self._home = home

    @acting_as(None)  # the inbox is the owner's, whichever member's request empties it
    def drain(self) -> DrainResult:
        """Store everything in the inbox in the catalog; vectors and graph are made later.

        Also stores the events of hooks, for EVENTS_S seconds at most, and recalls, unless another process is
        writing. Raises StoreBusyError or StorageError if the catalog cannot be written; the rest stays in
        the inbox.
        """
        home = self._home
        drained = drain(home.catalog, home.settings, home=home.home, now=now())
        if not spool.is_empty(home.settings.places.data):
            self.drain_events(seconds=EVENTS_S)
        with suppress(RagmemError, OSError):  # recalls stay for the next drain
            home.recalls.absorb(patience=0)
        return drained

    @acting_as(None)
    def drain_events(self, *, seconds: float | None = None) -> "EventResult":
        """Store the events of hooks in the catalog, for this many seconds at most (None: all of them).

        Vectors and graph are made later. Raises StoreBusyError or StorageError if the catalog cannot be
        written; the rest stays in the inbox.
        """
        from ragmem.services.transcripts.hook_events import process_events

        home = self._home
        return process_events(home.catalog, home.settings, home=home.home, now=now(), seconds=seconds)

    def index_pending(
        self, *, progress: "Progress | None" = None, refusals: "list[Refusal] | None" = None
    ) -> str:
        """Make vectors and graph of all pending memories; return why some remain pending, "" if none does.

        `refusals` gets those that the model or the store rejects. It may be interrupted: the next call
        continues.
        """
        from ragmem.api.retrieval import Retrieval
        from ragmem.services.ingestion.index import index_pending

        waiting = self._home.catalog.memories.ids(states=[State.PENDING])
        if not waiting:
            return ""
        if progress is not None:
            progress.begin("index", len(waiting))
        try:
            advance = progress.advance if progress else None
            index_pending(self._home.catalog, self._home.store, advance=advance, refusals=refusals)
        except BackendError as error:
            return error.full_message
        self._home.models.remember()
        Retrieval(self._home).calibrate()
        return ""

    def status(self) -> "InboxStatus":
        """Return what the inbox holds and what of it is unreadable; changes nothing."""
        from ragmem.services.ingestion.inbox_status import inbox_status

        return inbox_status(self._home.settings.places.data)
