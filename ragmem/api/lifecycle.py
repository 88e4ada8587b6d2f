"""The methods of an open memory for the lives of memories: recalls, feedback, pins."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ragmem.api.home import now
from ragmem.api.inbox import Receiving
from ragmem.errors import RagmemError

if TYPE_CHECKING:
    from ragmem.domain.model import Memory
    from ragmem.domain.model.lifecycle import LifecyclePolicy
    from ragmem.services.ingestion.inbox import Drained
    from ragmem.services.lifecycle.feedback import Standing, Verdict
    from ragmem.services.lifecycle.recalls import Recalls
    from ragmem.services.reporting.lifecycle_report import LifecycleReport
    from ragmem.services.retrieval.asking import Answer

# Services are imported where they are used: a question must not pay for what only the lifecycle needs.


class Living(Receiving):
    """What can be done with the lives of memories."""

    _recalls: "Recalls | None" = None

    def lifecycle(self) -> "LifecyclePolicy":
        """Return how memories live, from the settings."""
        return self.settings.lifecycle.policy

    def lifecycle_report(
        self, projects: Sequence[str] | None = None, *, limit: int = 10
    ) -> "LifecycleReport":
        """Return how the memories of these projects (None: of all) live.

        See `services.reporting.lifecycle_report`.
        """
        from ragmem.services.reporting.lifecycle_report import lifecycle_report

        self.require()
        return lifecycle_report(
            self.catalog,
            self.store,
            policy=self.lifecycle(),
            projects=projects,
            limit=limit,
            automatic=self.may_tend(),
        )

    def recalled(self, answer: "Answer", *, session: str) -> None:
        """Count what an answer showed to a session: each memory once a session, and only above the floor.

        Never fails and waits for nobody. Without a session nothing counts.
        """
        if not session.strip() or not answer.matches:
            return
        from ragmem.services.lifecycle.recalls import recalled_by

        self.recalled_ids(recalled_by(answer, floor=self.settings.decay.min_score), session=session)

    def recalled_ids(self, ids: Iterable[str], *, session: str) -> None:
        """Count memories, by their full ids, as recalled by a session; see `recalled`."""
        self._noting().note(ids, session)

    def absorb_recalls(self) -> int:
        """Take what was noted of recalls into the catalog; return how many were new to it.

        Raises StoreBusyError and StorageError where that cannot be written; what was noted then waits on.
        """
        return self._noting().absorb()

    def take_in(self) -> "Drained":
        """Take in what waits: recalls, where nobody writes just now, and everything in the inbox.

        Raises StoreBusyError and StorageError where the catalog cannot be written; what waits then goes on
        waiting.
        """
        drained = super().take_in()
        with suppress(RagmemError, OSError):  # what was noted waits for the next
            self._noting().absorb(patience=0)
        return drained

    def feedback(self, prefix: str, verdict: "Verdict", *, session: str = "") -> "Memory":
        """Keep that a memory, named by the beginning of its id, was of use or not; return it.

        Good counts as a recall of the session too, bad takes that back. Raises NotFoundError.
        """
        from ragmem.services.lifecycle.feedback import living, rate
        from ragmem.services.lifecycle.recalls import session_id

        self.require()
        memory = living(self.catalog, prefix)
        if verdict == "good" and session_id(session):
            self.recalled_ids([memory.id], session=session)
        self.absorb_recalls()
        rate(self.catalog, memory.id, verdict, session, now=now())
        return memory

    def pin(self, prefix: str, *, pinned: bool = True) -> "Memory":
        """Let a memory, named by the beginning of its id, never expire, or no longer so; return it.

        What gc has found superseded holds again once it is pinned. Raises NotFoundError. Pinning twice is
        pinning once.
        """
        from ragmem.services.lifecycle.feedback import living, pin

        self.require()
        memory = living(self.catalog, prefix)
        pin(self.catalog, memory.id, pinned=pinned, now=now())
        return memory

    def standing(self, prefix: str) -> "Standing":
        """Return where a memory, named by the beginning of its id, is in its life; raises NotFoundError."""
        from ragmem.services.lifecycle.feedback import standing_of

        self.require()
        with suppress(RagmemError, OSError):
            self._noting().absorb(patience=0)
        memory = self.catalog.memories.resolve(prefix)
        return standing_of(self.catalog, memory.id, policy=self.lifecycle())

    def close(self) -> None:
        """Close everything; closing twice is fine."""
        if self._recalls is not None:
            self._recalls.close()
        super().close()

    def _noting(self) -> "Recalls":
        with self._opening:
            if self._recalls is None:
                from ragmem.services.lifecycle.recalls import FOLDER, Recalls

                self._recalls = Recalls(self.catalog, self.settings.places.state / FOLDER, now=now)
            return self._recalls
