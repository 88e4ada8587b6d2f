"""Tell a session what it may need before it asks: at its start, and when its topic changes."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.sessions import Session
from ragmem.domain.model import Match
from ragmem.errors import BackendError, StorageError, StoreBusyError, UsageError
from ragmem.ports import Embedder, Store
from ragmem.services.asking import Answer, Question
from ragmem.services.calibration import BUNDLED
from ragmem.services.context import Context, context
from ragmem.services.last_work import MOST, near_last_work, scale_of
from ragmem.services.query import MAX_QUERY
from ragmem.services.respite import Respite
from ragmem.services.session_context import session_context
from ragmem.services.topics import THRESHOLD, from_document, said, says_too_little, to_document, watch

LONGEST_NAME = 200
"""Characters of a session's name."""

PATIENCE = 0.25
"""Seconds that an answer waits until what it showed can be kept."""

TRIES = 3
"""How often an answer is made anew because other calls of the session have just shown a part of it."""


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


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of which projects (None: of all), and how large the block may be; see `services.context`."""

    projects: Sequence[str] | None
    tokens: int | None = None
    max_chars: int | None = None


@dataclass(slots=True)
class _Told:
    """A session while it is told something; `topic` is JSON, `notes` is what a person should know."""

    id: str
    known: Session | None
    topic: Any = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Anticipated:
    """What a session is told, perhaps nothing; why; what a person should know besides; of which projects."""

    context: Context
    reason: str
    notes: tuple[str, ...] = ()
    projects: Sequence[str] | None = None


def anticipate(tools: Tools, session: str, prompt: str = "", *, wanted: Wanted) -> Anticipated:
    """Return what a session should know now, and nothing that it was shown already.

    Without a prompt: once, at its start, what always holds and what is near to the last work. With one: where
    it begins a topic, what answers it. Otherwise nothing, and the reason says why. What was shown is kept for
    the session; where that cannot be (a store that is busy or read-only), a note says so. Raises UsageError
    for a session without a name.
    """
    if not session.strip() or len(session) > LONGEST_NAME or not session.isprintable():
        raise UsageError(
            f'"{session[:40]}" cannot name a session',
            hint=f"give the assistant's id of it, 1 to {LONGEST_NAME} characters",
        )
    told = _Told(session, tools.catalog.sessions.get(session))
    found = _on_prompt(tools, told, prompt, wanted) if prompt.strip() else _at_start(tools, told, wanted)
    return replace(found, projects=wanted.projects)


def _at_start(tools: Tools, told: _Told, wanted: Wanted) -> Anticipated:
    if told.known is not None:
        return Anticipated(Context(), "this session was told already what it should know at its start")
    near = _near(tools, told, wanted)
    block = session_context(
        tools.catalog,
        tools.ask,
        projects=wanted.projects,
        near=near,
        tokens=wanted.tokens,
        max_chars=wanted.max_chars,
        home=tools.home,
    )
    if _keep(tools, told, block, wanted):
        return Anticipated(Context(), "another call has just told this session what it should know")
    reason = "the session begins" if block.text else f"the session begins, and {block.why_empty}"
    return Anticipated(block, reason, tuple(told.notes))


def _near(tools: Tools, told: _Told, wanted: Wanted) -> list[Match]:
    try:
        store = tools.open_store()
    except (BackendError, StorageError, StoreBusyError) as error:
        told.notes.append(f"what is near to the last work cannot be told: {error}")
        return []
    return near_last_work(tools.catalog, store, projects=wanted.projects, curated=tools.curated)


def _on_prompt(tools: Tools, told: _Told, prompt: str, wanted: Wanted) -> Anticipated:
    if why := says_too_little(prompt):
        return Anticipated(Context(), f"the prompt begins no topic: {why}")
    text = said(prompt)[:MAX_QUERY]
    try:
        model, vector = _vector(tools, text)
    except BackendError as error:
        return Anticipated(Context(), f"whether the topic changed cannot be told: {error.told}")
    before = from_document(told.known.topic) if told.known else None
    verdict = watch(before, prompt, vector, model=model, threshold=_threshold(tools.catalog, model))
    told.topic = to_document(verdict.topic) if verdict.topic else None
    if not verdict.switched:
        _keep(tools, told, Context(), wanted)
        return Anticipated(Context(), f"the topic has not changed: {verdict.reason}", tuple(told.notes))
    shown = frozenset(told.known.shown if told.known else ())
    answer = tools.ask(_question(text, wanted, len(shown)))
    for _ in range(TRIES):
        matches = _new(answer, shown)
        block = context(
            replace(answer, matches=matches),
            tokens=wanted.tokens,
            max_chars=wanted.max_chars,
            home=tools.home,
        )
        given = _keep(tools, told, block, wanted)
        if not given:
            break
        shown |= given
    else:
        block = Context()
    reason = f"a topic begins: {verdict.reason}"
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


def _question(text: str, wanted: Wanted, shown: int) -> Question:
    projects = None if wanted.projects is None else tuple(wanted.projects)
    return Question(text, projects=projects, limit=MOST + min(shown, 2 * MOST))


def _new(answer: Answer, shown: Collection[str]) -> tuple[Match, ...]:
    """Return the matches that each answer by themselves and say nothing that was shown."""
    floor = answer.evidence.get("floor", 0.0)
    return tuple(
        match
        for match in answer.matches
        if match.memory.id not in shown
        and not any(other in shown for other in match.duplicates)
        and match.terms.get("relevance", floor) >= floor
    )[:MOST]


def _why_nothing(answer: Answer, block: Context, shown: Collection[str]) -> str:
    if block.left_out:
        return block.why_empty
    if any(match.memory.id in shown for match in answer.matches):
        return "all that bears on it was shown already"
    return "nothing here answers it"


def _keep(tools: Tools, told: _Told, block: Context, wanted: Wanted) -> frozenset[str]:
    """Keep what a session is shown; return what another call has just shown of it, then nothing is kept."""
    try:
        return tools.catalog.sessions.keep(
            told.id,
            project=wanted.projects[0] if wanted.projects else "",
            topic=told.topic,
            shown=[memory.id for memory in block.memories],
            now=tools.now,
            patience=PATIENCE,
        )
    except (StorageError, StoreBusyError) as error:
        told.notes.append(f"what this session was shown is not kept: {error}")
        return frozenset()
