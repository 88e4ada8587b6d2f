"""Injections: memories that ragmem adds to running sessions, and their log."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.api.home import Home, now
from ragmem.api.projects import Projects
from ragmem.api.retrieval import Retrieval
from ragmem.storage.activity.moment_counts import MomentCounts

if TYPE_CHECKING:
    from ragmem.services.context.anticipation import AnticipatedContext, Event
    from ragmem.services.context.injection_list import ListedInjection
    from ragmem.services.context.moment_report import MomentFigures

# Services are imported inside functions: the log must not pay for the imports of anticipation.


class Injections:
    """Chooses memories for sessions, and reads the injection log."""

    def __init__(self, home: Home, retrieval: Retrieval, projects: Projects) -> None:
        self._home = home
        self._retrieval = retrieval
        self._projects = projects
        self._counts = MomentCounts(home.settings.places.state)

    def moments(self, *, since: datetime) -> "list[MomentFigures]":
        """Return for each event how often something was injected, and how often that was used."""
        from ragmem.services.context.moment_report import moment_figures

        self._home.require()
        return moment_figures(self._home.catalog, self._counts, since=since)

    def log(
        self, *, session: str = "", memory: str = "", since: datetime | None = None, limit: int | None = None
    ) -> "list[ListedInjection]":
        """Return the injections, latest first.

        `session` and `memory` are prefixes of ids and select the injections into a session or of a memory.
        Raises NotFoundError for an unknown memory.
        """
        from ragmem.services.context.injection_list import find_injected_memory, find_injections

        self._home.require()
        wanted = find_injected_memory(self._home.catalog, memory) if memory else ""
        return find_injections(self._home.catalog, session=session, memory=wanted, since=since, limit=limit)

    def anticipate(
        self,
        session: str,
        prompt: str = "",
        *,
        event: "Event" = "",
        agent: str = "",
        assistant: str = "",
        again: bool = False,
        projects: Sequence[str] = (),
        everywhere: bool = False,
        cwd: Path | None = None,
        tokens: int | None = None,
        max_chars: int | None = None,
        at: datetime | None = None,
        until: float = math.inf,
    ) -> "AnticipatedContext":
        """Return memories to inject into a running session now, none of them twice; usually none.

        `event` is one of `Event` ("": prompt if there is one, else start). `agent` is an agent within the
        session. `again` says that the session has lost its earlier context. Without `projects`,
        the project that contains `cwd` (None: the working folder) and the user's are searched. `until` is the
        moment of `time.monotonic` after which the caller no longer waits. See
        `services.context.anticipation`.
        """
        from ragmem.services.context.anticipation import (
            AnticipationPorts,
            ContextLimits,
            HookEvent,
            anticipate,
        )
        from ragmem.storage.activity.injections import Retention

        home = self._home
        home.require()
        limits = home.settings.injection
        told = anticipate(
            AnticipationPorts(
                catalog=home.catalog,
                open_store=lambda: home.store,
                open_embedder=lambda: home.models.embedder,
                # A hook has a deadline, in which no reranker reads.
                ask=lambda question: self._retrieval.ask(question, at, careful=False),
                policy=home.settings.lifecycle.policy,
                now=at or now(),
                respite=self._retrieval.embedder_breaker,
                home=str(home.home),
                kept=Retention(timedelta(days=limits.keep_days), limits.keep),
                until=until,
            ),
            session,
            prompt,
            wanted=ContextLimits(
                None if everywhere else tuple(projects) or self._projects.at(cwd or home.cwd),
                tokens,
                max_chars,
                # Named projects may be elsewhere, and a server never reads the folder of a request.
                "" if everywhere or projects else str(cwd or home.cwd),
            ),
            occasion=HookEvent(event, agent, assistant, again),
        )
        if event in {"", "prompt"} and prompt.strip() and not agent:
            from ragmem.services.context.reminders import with_reminder

            told = with_reminder(
                told, home.catalog, session=session, max_chars=max_chars, now=at or now(), until=until
            )
        if not told.context.text:
            silent = told.reason.rpartition("; ")[2].partition(":")[0]
            self._counts.add(event or ("prompt" if prompt.strip() else "start"), silent, now=at or now())
        if event not in {"start", "file"} and prompt.strip():
            # What a session gets at its start, or with a file, answers no question, so it is no recall.
            home.recalls.note((memory.id for memory in told.context.memories), session)
        return told
