"""Tell a session what it may need before it asks: at its start, at a new topic, and before research."""

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
from ragmem.services.context.injection_log import Asked, logged
from ragmem.services.context.recent_work import MOST, near_last_work, scale_of
from ragmem.services.context.session_context import session_context
from ragmem.services.context.topics import THRESHOLD, from_document, said, says_too_little, to_document, watch
from ragmem.services.retrieval.asking import Answer, Question
from ragmem.services.retrieval.calibration import BUNDLED, DEFAULT
from ragmem.services.retrieval.circuit_breaker import Respite
from ragmem.services.retrieval.query import MAX_QUERY
from ragmem.storage.activity.injections import Kept
from ragmem.storage.activity.sessions import Session
from ragmem.storage.home.catalog import Catalog

Event = Literal["", "start", "prompt", "research"]
"""On which occasion something is told; "" is prompt where there is one, else start."""

LONGEST_NAME = 200
"""Characters of a session's name."""

PATIENCE = 0.25
"""Seconds that an answer waits until what it showed can be kept."""

TRIES = 3
"""How often an answer is made anew because other calls of the session have just shown a part of it."""

MAX_PROMPT_CHARS = 4_000
"""Characters of what a prompt is told, unless a budget of tokens is given: nearly all that answers has room,
and nobody asked for the text around it."""

MOST_RESEARCH = 3
"""Memories that are told before research: it costs less to read them than to search in vain."""

MAX_RESEARCH_CHARS = 3_000

BY_WORDS = DEFAULT.coverage.high
"""Share of the question's words that a memory must have where no vectors tell what is near: one in twenty
questions without an answer finds so much."""

UNASKED = 0.05
"""How far above the floor of an answer a memory must stand to be told to somebody who did not ask."""

AMONG_BEST = 0.7
"""Share of the best relevance from which on other memories are told beside the best one."""

TWICE_BAD = -2
"""Feedback from which on a memory stands behind all others; one bad may have been about the moment."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What anticipation works with; store and embedder are opened where they are needed."""

    catalog: Catalog
    open_store: Callable[[], Store]
    open_embedder: Callable[[], Embedder]
    ask: Callable[[Question], Answer]
    curated: frozenset[str]
    now: datetime
    respite: Respite
    home: str = ""
    kept: Kept | None = None
    until: float = math.inf
    """Moment of time.monotonic until which somebody waits."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """On which occasion which assistant's session is told something, and which agent within it.

    `again`: the assistant has lost sight of what it was told before, as after compaction.
    """

    event: Event = ""
    agent: str = ""
    assistant: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of which projects (None: of all), and how large the block may be; see `services.context.context`."""

    projects: Sequence[str] | None
    tokens: int | None = None
    max_chars: int | None = None


@dataclass(slots=True)
class _Told:
    """A session while it is told something; `topic` is JSON, `notes` is what a person should know."""

    id: str
    asked: Asked
    known: Session | None
    again: bool = False
    topic: Any = None
    question: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def shown(self) -> frozenset[str]:
        """What the session has in sight, and what it does not want to see again."""
        if self.known is None:
            return frozenset()
        return frozenset((*self.known.unwanted, *(() if self.again else self.known.shown)))


@dataclass(frozen=True, slots=True)
class Anticipated:
    """What a session is told, perhaps nothing; why; what a person should know besides; of which projects."""

    context: Context
    reason: str
    notes: tuple[str, ...] = ()
    projects: Sequence[str] | None = None


def anticipate(
    tools: Tools, session: str, prompt: str = "", *, wanted: Wanted, occasion: Occasion | None = None
) -> Anticipated:
    """Return what a session should know now, and nothing that it was shown already.

    At its start, once: what always holds and what is near to the last work; `again` tells it anew and forgets
    what was shown before. With a prompt: where it begins a topic, what answers it. Before research, once a
    question, whatever the topic: the few memories that answer it. Otherwise nothing, and the reason says why.

    An agent within a session is a session of its own, since it does not see what that was shown. What was
    shown is kept and logged; where that cannot be (a store that is busy or read-only), a note says so. What
    is found after `tools.until` is neither told nor kept. Raises UsageError for a session without a name and
    for an event that there is none of.
    """
    on = occasion or Occasion()
    if not session.strip() or len(session) > LONGEST_NAME or not session.isprintable():
        raise UsageError(
            f'"{session[:40]}" cannot name a session',
            hint=f"give the assistant's id of it, 1 to {LONGEST_NAME} characters",
        )
    if on.event not in get_args(Event):
        raise UsageError(f'"{on.event[:40]}" is no event', hint="start, prompt or research")
    event = on.event or ("prompt" if prompt.strip() else "start")
    agent, assistant = _name(on.agent), _name(on.assistant)
    project = wanted.projects[0] if wanted.projects else ""
    identifier = f"{session}/{agent}" if agent else session
    told = _Told(
        identifier,
        Asked(event, session, agent, assistant, project, prompt if event != "start" else ""),
        tools.catalog.sessions.get(identifier),
        again=on.again and event == "start",
    )
    try:
        if event == "start":
            found = _at_start(tools, told, wanted)
        elif event == "prompt":
            found = _on_prompt(tools, told, prompt, wanted)
        else:
            found = _on_research(tools, told, prompt, wanted)
    except _TooLateError:
        found = Anticipated(Context(), "nobody waits for it any more")
    return replace(found, projects=wanted.projects)


def _name(text: str) -> str:
    """Return what an agent or assistant is called, cut and cleaned: nobody is left untold for it."""
    return "".join(filter(str.isprintable, text.strip()))[:LONGEST_NAME]


class _TooLateError(Exception):
    """Nobody waits for what would be told: it must not count as shown."""


def _at_start(tools: Tools, told: _Told, wanted: Wanted) -> Anticipated:
    if told.known is not None and not told.again:
        return Anticipated(Context(), "this session was told already what it should know at its start")
    near = _near(tools, told, wanted)
    block = session_context(
        tools.catalog,
        tools.ask,
        projects=wanted.projects,
        near=near,
        without=_unwelcome(tools, told),
        tokens=wanted.tokens,
        max_chars=wanted.max_chars,
        home=tools.home,
    )
    reason = "the session goes on without what it was told" if told.again else "the session begins"
    if _keep(tools, told, block, reason, matches=near):
        return Anticipated(Context(), "another call has just told this session what it should know")
    reason = reason if block.text else f"{reason}, and {block.why_empty}"
    return Anticipated(block, reason, tuple(told.notes))


def _near(tools: Tools, told: _Told, wanted: Wanted) -> list[Match]:
    try:
        store = tools.open_store()
    except (BackendError, StorageError, StoreBusyError) as error:
        told.notes.append(f"what is near to the last work cannot be told: {error}")
        return []
    return near_last_work(tools.catalog, store, projects=wanted.projects, curated=tools.curated)


def _unwelcome(tools: Tools, told: _Told) -> frozenset[str]:
    """Return what is not told unasked: what was no use to this session, or to others more than once."""
    unwanted = told.known.unwanted if told.known else ()
    return frozenset((*unwanted, *tools.catalog.lives.rated(TWICE_BAD)))


def _on_prompt(tools: Tools, told: _Told, prompt: str, wanted: Wanted) -> Anticipated:
    before = from_document(told.known.topic) if told.known else None
    if why := says_too_little(prompt, first=before is None):
        return Anticipated(Context(), f"the prompt begins no topic: {why}")
    text = said(prompt)[:MAX_QUERY]
    short = wanted if wanted.tokens else _at_most(MAX_PROMPT_CHARS, wanted)
    try:
        model, vector = _vector(tools, text)
    except BackendError as error:
        if told.known is None:
            reason = f"a topic begins: the first prompt, by its words alone: {error.told}"
            return _answered(tools, told, text, short, reason=reason, most=MOST)
        return Anticipated(Context(), f"whether the topic changed cannot be told: {error.told}")
    verdict = watch(before, prompt, vector, model=model, threshold=_threshold(tools.catalog, model))
    told.topic = to_document(verdict.topic) if verdict.topic else None
    if not verdict.switched:
        _keep(tools, told, Context(), "")
        return Anticipated(Context(), f"the topic has not changed: {verdict.reason}", tuple(told.notes))
    return _answered(tools, told, text, short, reason=f"a topic begins: {verdict.reason}", most=MOST)


def _on_research(tools: Tools, told: _Told, prompt: str, wanted: Wanted) -> Anticipated:
    text = said(prompt)[:MAX_QUERY]
    if not text.strip():
        return Anticipated(Context(), "the research has no question")
    told.question = digest("asked", " ".join(text.casefold().split()), length=SHORT_ID_LENGTH)
    if told.known is not None and told.question in told.known.asked:
        return Anticipated(Context(), "this session was told already what bears on this question")
    short = _at_most(MAX_RESEARCH_CHARS, wanted)
    return _answered(tools, told, text, short, reason="research begins", most=MOST_RESEARCH)


def _at_most(chars: int, wanted: Wanted) -> Wanted:
    return replace(wanted, max_chars=min(wanted.max_chars or chars, chars))


def _answered(tools: Tools, told: _Told, text: str, wanted: Wanted, *, reason: str, most: int) -> Anticipated:
    """Return at most so many of the memories that answer a text and were not shown; keep that they are."""
    shown = told.shown
    answer = tools.ask(_question(text, wanted, most, len(shown)))
    answer = replace(answer, matches=tuple(match for match in answer.matches if not _is_own(match, told)))
    floor = answer.evidence["floor"] + UNASKED if "floor" in answer.evidence else None
    for _ in range(TRIES):
        block = context(
            replace(answer, matches=tuple(_new(tools.catalog, answer, shown, floor or 0.0)[:most])),
            tokens=wanted.tokens,
            max_chars=wanted.max_chars,
            home=tools.home,
            redactor=tools.catalog.redactor,
        )
        given = _keep(tools, told, block, reason, matches=answer.matches, floor=floor)
        if told.question in given:
            return Anticipated(Context(), "another call has just told what bears on this question")
        if not given:
            break
        shown |= given
    else:
        block = Context()
    if not block.text:
        reason += f"; {_why_nothing(answer, block, shown)}"
    return Anticipated(block, reason, tuple(told.notes))


def _vector(tools: Tools, text: str) -> tuple[str, list[float]]:
    """Return the id of the model and its vector of a text; raises BackendError, and a while later as well."""
    if (failed := tools.respite.error()) is not None:
        raise BackendError(str(failed), hint=failed.hint)
    since = tools.respite.now()
    try:
        embedder = tools.open_embedder()
        return embedder.model_id, embedder.embed([text], role="query")[0].tolist()
    except BackendError as error:
        tools.respite.failed(error, since=since)
        raise


def _threshold(catalog: Catalog, model: str) -> float:
    """Return the distance from which a prompt is elsewhere: as far as unrelated memories of this store are.

    The bundled model's is that of docs/topics.md, whatever the store holds.
    """
    if model.startswith(BUNDLED):
        return THRESHOLD
    scale = scale_of(catalog, model)
    return 1.0 - scale.unrelated if scale else THRESHOLD


def _question(text: str, wanted: Wanted, most: int, shown: int) -> Question:
    projects = None if wanted.projects is None else tuple(wanted.projects)
    return Question(text, projects=projects, limit=most + min(shown, 2 * MOST))


def _is_own(match: Match, told: _Told) -> bool:
    """Tell whether a memory was made of the session itself, which has it before its eyes."""
    return match.memory.metadata.get("session") == told.asked.session


def _new(catalog: Catalog, answer: Answer, shown: Collection[str], floor: float) -> list[Match]:
    """Return the matches that each answer by themselves and say nothing that was shown, best first.

    Each about as well as the best one, and better than a question asks for. What was no use more than once
    stands behind the others.
    """
    relevances = [match.terms["relevance"] for match in answer.matches if "relevance" in match.terms]
    least = max(floor, AMONG_BEST * max(relevances, default=0.0))
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
    tools: Tools,
    told: _Told,
    block: Context,
    reason: str,
    *,
    matches: Sequence[Match] = (),
    floor: float | None = None,
) -> frozenset[str]:
    """Keep and log what a session is shown; return what another call has just shown, then nothing is kept."""
    catalog = tools.catalog
    if time.monotonic() > tools.until:
        raise _TooLateError
    rows = logged(
        told.asked,
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
                told.id,
                project=told.asked.project,
                topic=told.topic,
                shown=[memory.id for memory in block.memories],
                now=tools.now,
                asked=told.question,
                anew=told.again,
            )
            if not given:
                catalog.injections.record(rows, now=tools.now, kept=tools.kept)
    except (StorageError, StoreBusyError) as error:
        told.notes.append(f"what this session was shown is not kept: {error}")
        return frozenset()
    return given
