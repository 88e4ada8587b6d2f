"""The methods of an open memory for its inbox: accept a text at once, take in later what waits."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ragmem.api.home import Opened, now
from ragmem.domain.injection.purity import purified_text
from ragmem.domain.model import State
from ragmem.errors import BackendError
from ragmem.inbox import Receipt, folder_in, put
from ragmem.inbox.reading import is_empty
from ragmem.readers.roots import marked_root

if TYPE_CHECKING:
    from ragmem.services.ingestion.inbox import Drained
    from ragmem.services.ingestion.inbox_waiting import Waiting
    from ragmem.services.processes.progress import Progress
    from ragmem.services.processes.refusals import Refusal
    from ragmem.services.transcripts.hook_events import TakenUp

# Services are imported where they are used: a question must not pay for them where nothing waits.

RESPITE = 1.0
"""Seconds until the inbox is looked at again where the last look could not take in all of it: one question
may come here several times, and a server's questions must not all wait for a writer that is busy."""

EVENTS_S = 3.0
"""Seconds that a command which takes in what waits gives to what hooks have left."""


class Receiving(Opened):
    """What comes into a memory by its inbox."""

    inbox_note = ""
    """Why some of what waits in the inbox was not taken in before the last question; empty: all was."""
    _inbox_again = 0.0

    def remember(
        self,
        text: str,
        *,
        type: str = "",  # noqa: A002 - the word that everybody uses for it
        title: str = "",
        project: str = "",
        spec: str = "",
        session: str = "",
        tags: Sequence[str] = (),
        metadata: Mapping[str, str] | None = None,
        event_time: datetime | None = None,
    ) -> Receipt:
        """Accept a text into the inbox in a millisecond: durable at once, found by the next question.

        It belongs to the project of the folder that this memory was opened in, unless one is named. Raises
        what `ragmem.inbox.put` raises.
        """
        named = {
            name: purified_text(value, redactor=self.redactor) for name, value in (metadata or {}).items()
        }
        return put(
            self.settings.places.data,
            purified_text(text, redactor=self.redactor),
            folder=self.cwd,
            root=marked_root(str(self.cwd), str(self.home)),
            at_ns=time.time_ns(),
            type=type,
            title=purified_text(title, redactor=self.redactor),
            project=project,
            spec=spec,
            session=session,
            tags=[purified_text(tag, redactor=self.redactor) for tag in tags],
            metadata=named if self.redactor.stored else self.redactor.redact_document(named),
            event_time=event_time,
        )

    def take_in(self) -> "Drained":
        """Take everything that waits in the inbox into the catalog; vectors and graph are made later.

        Of what hooks have left, as much as a command has the time for. Raises StoreBusyError and
        StorageError where that cannot be written; what waits then goes on waiting.
        """
        from ragmem.services.ingestion.inbox import drain

        drained = drain(self.catalog, self.settings, home=self.home, now=now())
        self.take_events(seconds=EVENTS_S)
        return drained

    def take_events(self, *, seconds: float | None = None) -> "TakenUp":
        """Take up what hooks have left, for as long (None: all of it); vectors and graph are made later.

        Raises StoreBusyError and StorageError where the catalog cannot be written; what waits then goes on
        waiting.
        """
        from ragmem.services.transcripts.hook_events import take_events

        return take_events(self.catalog, self.settings, home=self.home, now=now(), seconds=seconds)

    def index_waiting(
        self, *, progress: "Progress | None" = None, refusals: "list[Refusal] | None" = None
    ) -> str:
        """Make vectors and graph of all memories that wait for them; return why some have to, or nothing.

        `refusals` gets those that the model or the store rejects.
        """
        from ragmem.services.ingestion.index import index_pending

        waiting = self.catalog.memories.ids(states=[State.PENDING])
        if not waiting:
            return ""
        if progress is not None:
            progress.begin("index", len(waiting))
        try:
            advance = progress.advance if progress else None
            index_pending(self.catalog, self.store, advance=advance, refusals=refusals)
        except BackendError as error:
            return error.told
        return ""

    def inbox(self) -> "Waiting":
        """Return what lies in the inbox, and what of it nobody could read; nothing is changed."""
        from ragmem.services.ingestion.inbox_waiting import waiting

        return waiting(self.settings.places.data)

    def is_stored(self) -> bool:
        """Tell whether there is anything to ask; some of what waits in the inbox is taken in for it."""
        if is_empty(folder_in(self.settings.places.data)):
            self.inbox_note = ""
        elif time.monotonic() >= self._inbox_again:
            from ragmem.services.ingestion.inbox import drain_quickly

            self.inbox_note = drain_quickly(self.catalog, self.settings, home=self.home, now=now())
            self._inbox_again = time.monotonic() + (RESPITE if self.inbox_note else 0)
        return self.catalog.exists()

    def require(self) -> None:
        """Take in what a question has the time for; raise UsageError when nothing was ever stored here."""
        self.is_stored()
        super().require()
