"""The lifecycle of memories: recalls, feedback, pins."""

from contextlib import suppress
from typing import TYPE_CHECKING

from ragmem.api.home import Home, now
from ragmem.errors import RagmemError

if TYPE_CHECKING:
    from ragmem.domain.model import Memory
    from ragmem.services.lifecycle.feedback import FeedbackState, Verdict
    from ragmem.services.retrieval.question import Answer

# Services are imported inside functions: a question counts its recalls and needs nothing else of this.


class Lifecycle:
    """Recalls, feedback and pins of memories."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def is_automatic(self) -> bool:
        """Return whether gc may change memories without a person, as the configuration says now.

        The files are read again, so that a change also reaches a running process. Raises ConfigError.
        """
        return self._home.reload_settings().lifecycle.automatic

    def recall(self, answer: "Answer", *, session: str) -> None:
        """Count the memories of an answer as recalled by a session, each once a session.

        Matches below [decay] min_score do not count, nor does anything without a session. Never fails and
        never waits.
        """
        if not session.strip() or not answer.matches:
            return
        from ragmem.services.lifecycle.recalls import recalled_ids

        recalled = recalled_ids(answer, floor=self._home.settings.decay.min_score)
        self._home.recalls.note(recalled, session)

    def rate(self, prefix: str, verdict: "Verdict", *, session: str = "") -> "Memory":
        """Store whether a memory was useful; return the memory. `prefix` is a prefix of its id.

        A good rating also counts as a recall of the session, a bad one cancels it. Raises NotFoundError.
        """
        from ragmem.services.lifecycle.feedback import rate, require_memory
        from ragmem.services.lifecycle.recalls import session_id

        self._home.require()
        memory = require_memory(self._home.catalog, prefix)
        if verdict == "good" and session_id(session):
            self._home.recalls.note([memory.id], session)
        self._home.recalls.absorb()
        rate(self._home.catalog, memory.id, verdict, session, now=now())
        return memory

    def pin(self, prefix: str, *, pinned: bool = True) -> "Memory":
        """Pin or unpin a memory and return it; a pinned memory never expires. `prefix` is a prefix of its id.

        A superseded memory becomes valid again when it is pinned. Pinning twice has no further effect.
        Raises NotFoundError.
        """
        from ragmem.services.lifecycle.feedback import pin, require_memory

        self._home.require()
        memory = require_memory(self._home.catalog, prefix)
        pin(self._home.catalog, memory.id, pinned=pinned, now=now())
        return memory

    def status(self, prefix: str) -> "FeedbackState":
        """Return the lifecycle state of a memory by a prefix of its id; raises NotFoundError."""
        from ragmem.services.lifecycle.feedback import feedback_state

        home = self._home
        home.require()
        with suppress(RagmemError, OSError):
            home.recalls.absorb(patience=0)
        memory = home.catalog.memories.resolve(prefix)
        return feedback_state(home.catalog, memory.id, policy=home.settings.lifecycle.policy)
