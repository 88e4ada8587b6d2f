"""Inject context before a session asks for it: at its start, at a new topic, and before research."""

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, get_args

from ragmem.domain.model import SHORT_ID_LENGTH, Match, digest
from ragmem.errors import BackendError, StorageError, StoreBusyError, UsageError
from ragmem.ports import Embedder, Store
from ragmem.services.context.context import Context, context
from ragmem.services.context.injection_log import InjectionRequest, injection_rows
from ragmem.services.context.recent_work import MOST, memories_near_last_work, scale_of
from ragmem.services.context.session_context import session_context
from ragmem.services.context.topics import (
    THRESHOLD,
    from_document,
    prompt_text,
    reason_to_skip,
    to_document,
    watch,
)
from ragmem.services.retrieval.calibration import BUNDLED, DEFAULT
from ragmem.services.retrieval.circuit_breaker import CircuitBreaker
from ragmem.services.retrieval.query import MAX_QUERY
from ragmem.services.retrieval.question import Answer, Question
from ragmem.storage.activity.injections import Retention
from ragmem.storage.activity.sessions import Session
from ragmem.storage.home.catalog import Catalog

Event = Literal["", "start", "prompt", "research"]
"""The events with an injection; "" means prompt if there is one, else start."""

LONGEST_NAME = 200
"""Maximum characters of a session's name."""

PATIENCE = 0.25
"""Seconds that an answer waits until its log can be written."""

TRIES = 3
"""Number of retries if other calls of the session have just shown a part of the answer."""

MAX_PROMPT_CHARS = 4_000
"""Maximum characters for a prompt without a token budget. Nearly all memories that answer fit."""

MOST_RESEARCH = 3
"""Maximum memories before research: it costs less to read them than to search in vain."""

MAX_RESEARCH_CHARS = 3_000

BY_WORDS = DEFAULT.coverage.high
"""Minimum coverage of a memory without vectors; 1 in 20 unanswerable questions reaches it."""

UNASKED_MARGIN = 0.05
"""Distance above the answer floor that a memory needs to be injected unasked."""

BEST_SHARE = 0.7
"""Minimum share of the best relevance for further memories."""

TWICE_BAD = -2
"""Feedback from which on a memory ranks last; a single bad rating may have been about the moment."""


@dataclass(frozen=True, slots=True)
class AnticipationPorts:
    """The dependencies of anticipation; store and embedder are opened on demand."""

    catalog: Catalog
    open_store: Callable[[], Store]
    open_embedder: Callable[[], Embedder]
    ask: Callable[[Question], Answer]
    curated: frozenset[str]
    now: datetime
    respite: CircuitBreaker
    home: str = ""
    kept: Retention | None = None
    until: float = math.inf
    """The deadline, a moment of time.monotonic."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """The event, the assistant, its session, and the agent within it.

    `again`: the assistant has lost its earlier context, as after compaction.
    """

    event: Event = ""
    agent: str = ""
    assistant: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True)
class ContextLimits:
    """The projects (None: all) and the size limit of the block; see `services.context.context`."""

    projects: Sequence[str] | None
    tokens: int | None = None
    max_chars: int | None = None


@dataclass(slots=True)
class _SessionState:
    """A session during an injection; `topic` is JSON, `notes` are messages for the user."""

    id: str
    asked: InjectionRequest
    known: Session | None
    again: bool = False
    topic: Any = None
    question: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def excluded_ids(self) -> frozenset[str]:
        """The memories that the session has seen or rejected."""
        if self.known is None:
            return frozenset()
        return frozenset((*self.known.unwanted, *(() if self.again else self.known.shown)))


@dataclass(frozen=True, slots=True)
class AnticipatedContext:
    """The injected block (perhaps empty), the reason, messages for the user, and the projects."""

    context: Context
    reason: str
    notes: tuple[str, ...] = ()
    projects: Sequence[str] | None = None


def anticipate(
    tools: AnticipationPorts,
    session: str,
    prompt: str = "",
    *,
    wanted: ContextLimits,
    occasion: HookEvent | None = None,
) -> AnticipatedContext:
    """Return the context that a session needs now, without memories that it has already seen.

    At its start, once: standing rules and memories near to the last work; `again` repeats this and forgets
    the shown memories. With a prompt that begins a topic: memories that answer it. Before research, once per
    question, whatever the topic: the few memories that answer it. Otherwise nothing, and the reason says why.

    An agent within a session counts as its own session, because it does not see the session's context. Shown
    memories are logged; if that is impossible (a busy or read-only store), a note says so. A result after
    `tools.until` is discarded. Raises UsageError for an invalid name of a session and for an unknown event.
    """
    hook = occasion or HookEvent()
    if not session.strip() or len(session) > LONGEST_NAME or not session.isprintable():
        raise UsageError(
            f'"{session[:40]}" cannot name a session',
            hint=f"give the assistant's id of it, 1 to {LONGEST_NAME} characters",
        )
    if hook.event not in get_args(Event):
        raise UsageError(f'"{hook.event[:40]}" is not an event', hint="start, prompt or research")
    event = hook.event or ("prompt" if prompt.strip() else "start")
    agent, assistant = _name(hook.agent), _name(hook.assistant)
    project = wanted.projects[0] if wanted.projects else ""
    identifier = f"{session}/{agent}" if agent else session
    state = _SessionState(
        identifier,
        InjectionRequest(event, session, agent, assistant, project, prompt if event != "start" else ""),
        tools.catalog.sessions.get(identifier),
        again=hook.again and event == "start",
    )
    try:
        if event == "start":
            found = _at_start(tools, state, wanted)
        elif event == "prompt":
            found = _on_prompt(tools, state, prompt, wanted)
        else:
            found = _on_research(tools, state, prompt, wanted)
    except _TooLateError:
        found = AnticipatedContext(Context(), "nobody waits for it any more")
    return replace(found, projects=wanted.projects)


def _name(text: str) -> str:
    """Return the cleaned and shortened name of an agent or assistant; never raises."""
    return "".join(filter(str.isprintable, text.strip()))[:LONGEST_NAME]


class _TooLateError(Exception):
    """The deadline has passed, so the answer must not count as shown."""


def _at_start(tools: AnticipationPorts, state: _SessionState, wanted: ContextLimits) -> AnticipatedContext:
    if state.known is not None and not state.again:
        return AnticipatedContext(Context(), "this session was told already what it should know at its start")
    near = _neighbours(tools, state, wanted)
    block = session_context(
        tools.catalog,
        tools.ask,
        projects=wanted.projects,
        near=near,
        without=_unwanted(tools, state),
        tokens=wanted.tokens,
        max_chars=wanted.max_chars,
        home=tools.home,
    )
    reason = "the session goes on without what it was told" if state.again else "the session begins"
    if _keep(tools, state, block, reason, matches=near):
        return AnticipatedContext(Context(), "another call has just told this session what it should know")
    reason = reason if block.text else f"{reason}, and {block.why_empty}"
    return AnticipatedContext(block, reason, tuple(state.notes))


def _neighbours(tools: AnticipationPorts, state: _SessionState, wanted: ContextLimits) -> list[Match]:
    try:
        store = tools.open_store()
    except (BackendError, StorageError, StoreBusyError) as error:
        state.notes.append(f"what is near to the last work cannot be told: {error}")
        return []
    return memories_near_last_work(tools.catalog, store, projects=wanted.projects, curated=tools.curated)


def _unwanted(tools: AnticipationPorts, state: _SessionState) -> frozenset[str]:
    """Return the memories not to inject: useless for this session, or repeatedly for others."""
    unwanted = state.known.unwanted if state.known else ()
    return frozenset((*unwanted, *tools.catalog.lives.low_rated_ids(TWICE_BAD)))


def _on_prompt(
    tools: AnticipationPorts, state: _SessionState, prompt: str, wanted: ContextLimits
) -> AnticipatedContext:
    before = from_document(state.known.topic) if state.known else None
    if why := reason_to_skip(prompt, first=before is None):
        return AnticipatedContext(Context(), f"the prompt begins no topic: {why}")
    text = prompt_text(prompt)[:MAX_QUERY]
    short = wanted if wanted.tokens else _limit(MAX_PROMPT_CHARS, wanted)
    try:
        model, vector = _vector(tools, text)
    except BackendError as error:
        if state.known is None:
            reason = f"a topic begins: the first prompt, by its words alone: {error.full_message}"
            return _answer(tools, state, text, short, reason=reason, most=MOST)
        return AnticipatedContext(
            Context(), f"whether the topic changed cannot be told: {error.full_message}"
        )
    verdict = watch(before, prompt, vector, model=model, threshold=_threshold(tools.catalog, model))
    state.topic = to_document(verdict.topic) if verdict.topic else None
    if not verdict.switched:
        _keep(tools, state, Context(), "")
        return AnticipatedContext(
            Context(), f"the topic has not changed: {verdict.reason}", tuple(state.notes)
        )
    return _answer(tools, state, text, short, reason=f"a topic begins: {verdict.reason}", most=MOST)


def _on_research(
    tools: AnticipationPorts, state: _SessionState, prompt: str, wanted: ContextLimits
) -> AnticipatedContext:
    text = prompt_text(prompt)[:MAX_QUERY]
    if not text.strip():
        return AnticipatedContext(Context(), "the research has no question")
    state.question = digest("asked", " ".join(text.casefold().split()), length=SHORT_ID_LENGTH)
    if state.known is not None and state.question in state.known.asked:
        return AnticipatedContext(Context(), "this session was told already what bears on this question")
    short = _limit(MAX_RESEARCH_CHARS, wanted)
    return _answer(tools, state, text, short, reason="research begins", most=MOST_RESEARCH)


def _limit(chars: int, wanted: ContextLimits) -> ContextLimits:
    return replace(wanted, max_chars=min(wanted.max_chars or chars, chars))


def _answer(
    tools: AnticipationPorts,
    state: _SessionState,
    text: str,
    wanted: ContextLimits,
    *,
    reason: str,
    most: int,
) -> AnticipatedContext:
    """Return at most `most` new memories that answer a text, and log them."""
    shown = state.excluded_ids
    answer = tools.ask(_question(text, wanted, most, len(shown)))
    answer = replace(answer, matches=tuple(match for match in answer.matches if not _is_own(match, state)))
    floor = answer.evidence["floor"] + UNASKED_MARGIN if "floor" in answer.evidence else None
    for _ in range(TRIES):
        block = context(
            replace(answer, matches=tuple(_new(tools.catalog, answer, shown, floor or 0.0)[:most])),
            tokens=wanted.tokens,
            max_chars=wanted.max_chars,
            home=tools.home,
            redactor=tools.catalog.redactor,
        )
        given = _keep(tools, state, block, reason, matches=answer.matches, floor=floor)
        if state.question in given:
            return AnticipatedContext(Context(), "another call has just told what bears on this question")
        if not given:
            break
        shown |= given
    else:
        block = Context()
    if not block.text:
        reason += f"; {_why_nothing(answer, block, shown)}"
    return AnticipatedContext(block, reason, tuple(state.notes))


def _vector(tools: AnticipationPorts, text: str) -> tuple[str, list[float]]:
    """Return the model's id and its vector of a text; raises BackendError, also for a while afterwards."""
    if (failed := tools.respite.error()) is not None:
        raise BackendError(str(failed), hint=failed.hint)
    since = tools.respite.now()
    try:
        embedder = tools.open_embedder()
        return embedder.model_id, embedder.embed([text], role="query")[0].tolist()
    except BackendError as error:
        tools.respite.record_failure(error, since=since)
        raise


def _threshold(catalog: Catalog, model: str) -> float:
    """Return the distance from which a prompt starts a new topic: that of unrelated memories in this store.

    The bundled model has the fixed one of docs/topics.md.
    """
    if model.startswith(BUNDLED):
        return THRESHOLD
    scale = scale_of(catalog, model)
    return 1.0 - scale.unrelated if scale else THRESHOLD


def _question(text: str, wanted: ContextLimits, most: int, shown: int) -> Question:
    projects = None if wanted.projects is None else tuple(wanted.projects)
    return Question(text, projects=projects, limit=most + min(shown, 2 * MOST), discarded="never")


def _is_own(match: Match, state: _SessionState) -> bool:
    """Tell whether a memory comes from the session itself, which still has it in its context."""
    return match.memory.metadata.get("session") == state.asked.session


def _new(catalog: Catalog, answer: Answer, shown: Collection[str], floor: float) -> list[Match]:
    """Return the matches that answer by themselves and repeat no shown memory, best first.

    Each is about as relevant as the best one, and above the floor of questions. Memories that were useless
    more than once come last.
    """
    relevances = [match.terms["relevance"] for match in answer.matches if "relevance" in match.terms]
    least = max(floor, BEST_SHARE * max(relevances, default=0.0))
    found = [
        match
        for match in answer.matches
        if match.memory.id not in shown
        and not any(other in shown for other in match.duplicates)
        and match.terms.get("relevance", least) >= least
        and (answer.rung != "text" or match.terms.get("coverage", 0.0) >= BY_WORDS)
    ]
    lives = catalog.lives.of(match.memory.id for match in found)
    bad = {identifier for identifier, row in lives.items() if row.feedback <= TWICE_BAD}
    return sorted(found, key=lambda match: match.memory.id in bad)


def _why_nothing(answer: Answer, block: Context, shown: Collection[str]) -> str:
    if block.left_out:
        return block.why_empty
    if any(match.memory.id in shown for match in answer.matches):
        return "all that bears on it was shown already"
    return "nothing here answers it"


def _keep(
    tools: AnticipationPorts,
    state: _SessionState,
    block: Context,
    reason: str,
    *,
    matches: Sequence[Match] = (),
    floor: float | None = None,
) -> frozenset[str]:
    """Log the injected memories; if another call has just shown some, return those and log nothing."""
    catalog = tools.catalog
    if time.monotonic() > tools.until:
        raise _TooLateError
    rows = injection_rows(
        state.asked,
        block,
        reason=reason,
        now=tools.now,
        matches=matches,
        floor=floor,
        redactor=tools.catalog.redactor,
    )
    try:
        with catalog.database.write(patience=PATIENCE):
            given = catalog.sessions.keep(
                state.id,
                project=state.asked.project,
                topic=state.topic,
                shown=[memory.id for memory in block.memories],
                now=tools.now,
                asked=state.question,
                anew=state.again,
            )
            if not given:
                catalog.injections.record(rows, now=tools.now, kept=tools.kept)
    except (StorageError, StoreBusyError) as error:
        state.notes.append(f"what this session was shown is not kept: {error}")
        return frozenset()
    return given
