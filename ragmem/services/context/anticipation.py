"""Inject context before a session asks for it: at its start, at a new topic, and at moments of need."""

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, get_args

from ragmem.assistants import NAMES, load_assistant
from ragmem.config.hook_defaults import START_CHARS
from ragmem.domain.classification.decision_record import MOST_OF_RECORD
from ragmem.domain.model import SHORT_ID_LENGTH, Match, Memory, digest
from ragmem.domain.model.lifecycle import LifecyclePolicy
from ragmem.errors import BackendError, StorageError, StoreBusyError, UsageError
from ragmem.ports import Embedder, Store
from ragmem.services.context import moments
from ragmem.services.context.context import Context, SizeLimit, context
from ragmem.services.context.injection_log import InjectionRequest, injection_rows
from ragmem.services.context.recent_work import nearness_to_last_work, scale_of
from ragmem.services.context.session_start import Place, session_start
from ragmem.services.context.topics import (
    THRESHOLD,
    from_document,
    names_in,
    prompt_text,
    rare_names,
    reason_to_skip,
    to_document,
    watch,
)
from ragmem.services.retrieval.branches import begin
from ragmem.services.retrieval.calibration import BUNDLED, DEFAULT
from ragmem.services.retrieval.circuit_breaker import CircuitBreaker
from ragmem.services.retrieval.query import MAX_QUERY
from ragmem.services.retrieval.question import Answer, Question
from ragmem.services.retrieval.sources import RULE_IN_SCOPE
from ragmem.storage.activity.injections import Retention
from ragmem.storage.activity.sessions import Session
from ragmem.storage.home.catalog import Catalog

Event = Literal["", "start", "prompt", "research", "file", "command", "failure", "subagent"]
"""The events with an injection; "" means prompt if there is one, else start."""

LONGEST_NAME = 200
"""Maximum characters of a session's name."""

PATIENCE = 0.25
"""Seconds that an answer waits until its log can be written."""

LINE_ONLY = " line"
"""The mark behind the id of a memory of which a session was shown a line, not its other parts."""

TRIES = 3
"""Number of retries if other calls of the session have just shown a part of the answer."""

MOST = 10
"""Maximum memories at a prompt, as in the published lifecycle (BRIEFING_MAX)."""

MAX_PROMPT_CHARS = 3_600
"""Maximum characters for a prompt without a token budget. Nearly all memories that answer fit."""

MOST_RESEARCH = 3
"""Maximum memories before research: it costs less to read them than to search in vain."""

MAX_RESEARCH_CHARS = 3_000

BY_WORDS = DEFAULT.coverage.high
"""Minimum coverage of a memory without vectors; 1 in 20 unanswerable questions reaches it."""

UNASKED_MARGIN, BEST_SHARE = 0.1, 0.8
"""Distance above the answer floor that a memory needs to be injected unasked, and minimum share of the best
relevance for further ones. With 0.05 and 0.7, three sets told the right memory at 2 to 3 % more prompts, and
half as many memories again (benchmarks/injections.py)."""

NAMED_MARGIN = 0.05
"""The same distance where rare names alone are the question, which say more than other words."""

CONTRAST = 0.1
"""How much more relevant to a prompt a memory must be than the crowd (services/retrieval/select.py). At first
prompts of five repositories .42 of the blocks bear on the prompt instead of .32, and .83 of those that do are
left; with 0.06 these are .34 and .97, with 0.12 .49 and .72. A contrast of cosines tells as well, but loses
more answers to direct questions (of 75 told ones 7 instead of 2)."""

_FOR_FILES = frozenset(("paths", "globs", "applyTo"))
"""Fields of a file of instructions that say for which files it holds."""

TWICE_BAD = -2
"""Feedback from which on a memory ranks last; a single bad rating may have been about the moment."""


@dataclass(frozen=True, slots=True)
class AnticipationPorts:
    """The dependencies of anticipation; store and embedder are opened on demand."""

    catalog: Catalog
    open_store: Callable[[], Store]
    open_embedder: Callable[[], Embedder]
    ask: Callable[[Question], Answer]
    policy: LifecyclePolicy
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
    folder: str = ""
    """The working folder, whose branch counts; "": none that may be read."""


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
    question, whatever the topic: the few memories that answer it; the same when a subagent starts, with its
    task. With a file that is touched (`prompt` is its path, several on a line each) or a command that failed
    (its output): what `services.context.moments` finds, once for each. With any prompt or command: the rules
    that apply to what it sets out to do. Otherwise nothing, and the reason says why.

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
        raise UsageError(
            f'"{hook.event[:40]}" is not an event', hint=", ".join(filter(None, get_args(Event)))
        )
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
            if not found.context.text:
                found = _on_rules(tools, state, prompt, wanted) or found
        elif event in {"file", "command", "failure"}:
            found = _on_need(tools, state, prompt, wanted)
        else:
            most = MAX_RESEARCH_CHARS if event == "research" else moments.SUBAGENT_CHARS
            found = _on_research(tools, state, prompt, _limit(most, wanted))
    except _TooLateError:
        found = AnticipatedContext(Context(), "the caller no longer waits")
    return replace(found, projects=wanted.projects)


def _name(text: str) -> str:
    """Return the cleaned and shortened name of an agent or assistant; never raises."""
    return "".join(filter(str.isprintable, text.strip()))[:LONGEST_NAME]


class _TooLateError(Exception):
    """The deadline has passed, so the answer must not count as shown."""


def _at_start(tools: AnticipationPorts, state: _SessionState, wanted: ContextLimits) -> AnticipatedContext:
    if state.known is not None and not state.again:
        return AnticipatedContext(Context(), "the start context was already injected into this session")
    bounded = wanted.tokens or wanted.max_chars
    block = session_start(
        tools.catalog,
        Place(wanted.projects, state.asked.session, begin(wanted.folder)),
        policy=tools.policy,
        limit=SizeLimit.of(wanted.tokens, wanted.max_chars if bounded else START_CHARS),
        without=_unwanted(tools, state),
        near=lambda: _nearness(tools, state, wanted),
    )
    reason = "the session continues without its earlier context" if state.again else "the session begins"
    if _keep(tools, state, block, reason, shown=_shown_at_start(block)):
        return AnticipatedContext(Context(), "another call has just injected the start context")
    reason = reason if block.text else f"{reason}, and {block.why_empty}"
    return AnticipatedContext(block, reason, tuple(state.notes))


def _shown_at_start(block: Context) -> list[str]:
    """Return the ids of the memories of a block, marked where it has only a line of a longer text."""
    return [
        memory.id if len(memory.text) <= MOST_OF_RECORD else f"{memory.id}{LINE_ONLY}"
        for memory in block.memories
    ]


def _nearness(tools: AnticipationPorts, state: _SessionState, wanted: ContextLimits) -> dict[str, float]:
    try:
        store = tools.open_store()
    except (BackendError, StorageError, StoreBusyError) as error:
        state.notes.append(f"memories near the last work are not available: {error}")
        return {}
    return nearness_to_last_work(tools.catalog, store, projects=wanted.projects)


def _unwanted(tools: AnticipationPorts, state: _SessionState) -> frozenset[str]:
    """Return the memories not to inject: useless for this session or often for others, or not accepted."""
    unwanted = state.known.unwanted if state.known else ()
    bad, withheld = tools.catalog.lives.low_rated_ids(TWICE_BAD), tools.catalog.approvals.withheld_ids()
    return frozenset((*unwanted, *bad, *withheld))


def _on_prompt(
    tools: AnticipationPorts, state: _SessionState, prompt: str, wanted: ContextLimits
) -> AnticipatedContext:
    before = from_document(state.known.topic) if state.known else None
    why = reason_to_skip(prompt, first=before is None)
    # The first prompt that says enough begins a topic in any case.
    named = names_in(prompt) if before or why else []
    named = [name for name in named if before is None or not before.has(name)]
    new = rare_names(tools.catalog.database, named, projects=wanted.projects) if named else []
    if why and not new:
        return AnticipatedContext(Context(), f"the prompt begins no topic: {why}")
    text = prompt_text(prompt)[:MAX_QUERY]
    short = wanted if wanted.tokens else _limit(MAX_PROMPT_CHARS, wanted)
    try:
        model, vector = _vector(tools, text)
    except BackendError as error:
        if state.known is None or new:
            begun = f"the first prompt that names {', '.join(new)}" if new else "the first prompt"
            reason = f"a topic begins: {begun}, by full text only: {error.full_message}"
            return _answer(tools, state, " ".join(new) or text, short, reason=reason, most=MOST)
        return AnticipatedContext(Context(), f"a topic change cannot be detected: {error.full_message}")
    threshold = _threshold(tools.catalog, model)
    verdict = watch(before, prompt, vector, model=model, threshold=threshold, new=new)
    state.topic = to_document(verdict.topic) if verdict.topic else None
    if not verdict.switched:
        _keep(tools, state, Context(), "")
        return AnticipatedContext(
            Context(), f"the topic has not changed: {verdict.reason}", tuple(state.notes)
        )
    found, reason = AnticipatedContext(Context(), ""), f"a topic begins: {verdict.reason}"
    # What says too little is asked by its names alone, and so is what nothing answers.
    if not why:
        found = _answer(tools, state, text, short, reason=reason, most=MOST, contrast=CONTRAST)
    if new and not found.context.text:
        names = " ".join(new)
        found = _answer(tools, state, names, short, reason=reason, most=MOST, margin=NAMED_MARGIN)
    return found


def _on_research(
    tools: AnticipationPorts, state: _SessionState, prompt: str, wanted: ContextLimits
) -> AnticipatedContext:
    text, event = prompt_text(prompt)[:MAX_QUERY], state.asked.event
    if not text.strip():
        return AnticipatedContext(Context(), f"the {event} has no question")
    state.question = digest("asked", " ".join(text.casefold().split()), length=SHORT_ID_LENGTH)
    if state.known is not None and state.question in state.known.asked:
        return AnticipatedContext(
            Context(), "everything relevant to this question was already injected into this session"
        )
    # A search for one word asks about nothing, unless few memories have it: then it is a name.
    words = text.split()
    if len(words) == 1 and not rare_names(tools.catalog.database, words, projects=wanted.projects):
        return AnticipatedContext(Context(), "the word occurs in too many memories, or in none")
    reason = f"a {event} begins" if event == "subagent" else f"{event} begins"
    return _answer(tools, state, text, wanted, reason=reason, most=MOST_RESEARCH)


def _on_need(
    tools: AnticipationPorts, state: _SessionState, told: str, wanted: ContextLimits
) -> AnticipatedContext:
    """Return what is worth saying of files that are touched, or of a command that failed, once for each."""
    event = state.asked.event
    is_file = event == "file"
    keys = told.split("\n") if is_file else [told if event == "command" else moments.failure_key(told)]
    asked = state.known.asked if state.known else ()
    hashes = {key: digest(state.asked.event, key, length=SHORT_ID_LENGTH) for key in filter(None, keys)}
    new = [key for key, hashed in hashes.items() if hashed not in asked]
    if not new:
        seen = (
            "everything known about it was already injected into this session"
            if hashes
            else "it is too short to identify"
        )
        return AnticipatedContext(Context(), seen)
    lookup = _lookup(tools, state, wanted)
    findings: list[moments.Finding] = []
    for key in new:
        state.question = hashes[key]
        if findings := _findings(lookup, event, key, told):
            break
    if not findings:
        return AnticipatedContext(Context(), "no memory about it is worth injecting")
    block = moments.moment_block(
        findings,
        key.rpartition("/")[2] if is_file else f"this {'error' if event == 'failure' else event}",
        catalog=tools.catalog,
        max_chars=min(
            wanted.max_chars or 10_000, moments.FAILURE_CHARS if event == "failure" else moments.FILE_CHARS
        ),
        home=tools.home,
    )
    reason = _REASONS[event]
    if block.text and _keep(tools, state, block, reason, matches=[each.match for each in findings]):
        return AnticipatedContext(Context(), "another call has just injected what is known about it")
    return AnticipatedContext(block, reason if block.text else block.why_empty, tuple(state.notes))


_REASONS = {"file": "a file is touched", "command": "a rule applies", "failure": "a command failed"}


def _lookup(tools: AnticipationPorts, state: _SessionState, wanted: ContextLimits) -> moments.Lookup:
    return moments.Lookup(
        tools.catalog,
        wanted.projects,
        tools.policy.curated,
        wanted.folder,
        state.asked.session,
        state.excluded_ids | _unwanted(tools, state),
    )


def _findings(lookup: moments.Lookup, event: str, key: str, told: str) -> list[moments.Finding]:
    """Return what is worth saying of one file, command or failure."""
    if event == "failure":
        return moments.about_failure(lookup, told)
    if event == "command":
        from ragmem.domain.retrieval.rule_moment import moment_of_command  # noqa: PLC0415 - few moments need it

        return moments.about_rules(lookup, moment_of_command(told))
    known = moments.about_file(lookup, key)
    ids = {each.memory.id for each in known}
    ruled = moments.about_rules(lookup, moments.path_moment(lookup, key))
    return [*known, *(each for each in ruled if each.memory.id not in ids)][: moments.MOST]


def _on_rules(
    tools: AnticipationPorts, state: _SessionState, prompt: str, wanted: ContextLimits
) -> AnticipatedContext | None:
    """Return the rules that apply to what a prompt sets out to do, whether or not it begins a topic."""
    from ragmem.domain.retrieval.rule_moment import moment_of_text  # noqa: PLC0415 - few moments need it

    if not (moment := moment_of_text(prompt_text(prompt))):
        return None
    findings = moments.about_rules(_lookup(tools, state, wanted), moment)
    chars = min(wanted.max_chars or moments.FILE_CHARS, moments.FILE_CHARS)
    block = moments.moment_block(findings, "this", catalog=tools.catalog, max_chars=chars, home=tools.home)
    told = [each.match for each in findings]
    if not block.text or _keep(tools, state, block, _REASONS["command"], matches=told):
        return None
    return AnticipatedContext(block, _REASONS["command"], tuple(state.notes))


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
    margin: float = UNASKED_MARGIN,
    contrast: float | None = None,
) -> AnticipatedContext:
    """Return at most `most` new memories that answer a text, and log them; `contrast` is as in CONTRAST."""
    shown, withheld = state.excluded_ids, len(tools.catalog.approvals.withheld_ids())
    question = replace(_question(text, wanted, most, len(shown) + withheld), folder=wanted.folder)
    answer = tools.ask(question)
    others = [match for match in answer.matches if not (match.approval or _is_own(match, state))]
    best = max((match.terms["relevance"] for match in others if "relevance" in match.terms), default=0.0)
    read = _read_by_itself(tools.catalog, others, state, wanted.folder)
    kept = tuple(match for match in others if match.memory.id not in read)
    if contrast is not None:
        kept = tuple(match for match in kept if _stands_out(match, answer, contrast))
    answer = replace(answer, matches=kept)
    floor = answer.evidence["floor"] + margin if "floor" in answer.evidence else None
    least = max(floor or 0.0, BEST_SHARE * best)
    for _ in range(TRIES):
        block = context(
            replace(answer, matches=tuple(_new(tools.catalog, answer, shown, least)[:most])),
            tokens=wanted.tokens,
            max_chars=wanted.max_chars,
            home=tools.home,
            redactor=tools.catalog.redactor,
        )
        given = _keep(tools, state, block, reason, matches=answer.matches, floor=floor)
        if state.question in given:
            return AnticipatedContext(Context(), "another call has just injected what answers this question")
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

    The bundled model has the fixed one of docs/context.md.
    """
    if model.startswith(BUNDLED):
        return THRESHOLD
    scale = scale_of(catalog, model)
    return 1.0 - scale.unrelated if scale else THRESHOLD


def _question(text: str, wanted: ContextLimits, most: int, shown: int) -> Question:
    projects = None if wanted.projects is None else tuple(wanted.projects)
    return Question(text, projects=projects, limit=most + min(shown, 2 * MOST), discarded="never")


def _is_own(match: Match, state: _SessionState) -> bool:
    """Return whether a memory comes from the session itself, which still has it in its context."""
    return match.memory.metadata.get("session") == state.asked.session


def _read_by_itself(
    catalog: Catalog, matches: Sequence[Match], state: _SessionState, folder: str
) -> frozenset[str]:
    """Return the matches that are, or have a twin, in instructions that the assistant reads by itself."""
    if state.asked.assistant not in NAMES or state.asked.agent or not folder:
        return frozenset()
    assistant = load_assistant(state.asked.assistant)
    some = [match for match in matches if match.memory.source in moments.INSTRUCTIONS]
    twins = catalog.memories.get([key for match in some for key in match.duplicates])

    def is_read(memory: Memory) -> bool:
        # What holds for some files only is read with these.
        is_general = _FOR_FILES.isdisjoint(memory.metadata)
        return is_general and assistant.reads_itself(
            memory.uri, "" if memory.source == "instructions" else folder
        )

    return frozenset(
        match.memory.id
        for match in some
        if any(map(is_read, (match.memory, *(twins[key] for key in match.duplicates if key in twins))))
    )


def _new(catalog: Catalog, answer: Answer, shown: Collection[str], least: float) -> list[Match]:
    """Return the matches that answer by themselves and repeat no shown memory, best first.

    Each has the least relevance or more. Exchanges that the person broke off are left out; memories that were
    useless more than once come last.
    """
    found = [
        match
        for match in answer.matches
        if match.memory.id not in shown
        and "interrupted" not in match.memory.metadata
        and not any(other in shown for other in match.duplicates)
        and (match.terms.get("relevance", least) >= least or _applies(match))
        and (answer.rung != "text" or match.terms.get("coverage", 0.0) >= BY_WORDS)
    ]
    lives = catalog.lives.of(match.memory.id for match in found)
    bad = {identifier for identifier, row in lives.items() if row.feedback <= TWICE_BAD}
    return sorted(found, key=lambda match: match.memory.id in bad)


def _stands_out(match: Match, answer: Answer, contrast: float) -> bool:
    """Return whether a match is so much more relevant than the crowd, or applies as a rule."""
    crowd = answer.evidence.get("crowd")
    return crowd is None or match.terms.get("relevance", math.inf) - crowd >= contrast or _applies(match)


def _applies(match: Match) -> bool:
    """Return whether a match is a rule that applies to the question."""
    return any(name.startswith(RULE_IN_SCOPE) for name in match.terms)


def _why_nothing(answer: Answer, block: Context, shown: Collection[str]) -> str:
    if block.left_out:
        return block.why_empty
    if any(match.memory.id in shown for match in answer.matches):
        return "all relevant memories were already shown"
    return "no memory answers it"


def _keep(
    tools: AnticipationPorts,
    state: _SessionState,
    block: Context,
    reason: str,
    *,
    matches: Sequence[Match] = (),
    floor: float | None = None,
    shown: Sequence[str] | None = None,
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
        with catalog.database.write(patience=PATIENCE, note=True):
            given = catalog.sessions.keep(
                state.id,
                project=state.asked.project,
                topic=state.topic,
                shown=[memory.id for memory in block.memories] if shown is None else shown,
                now=tools.now,
                asked=state.question,
                anew=state.again,
            )
            if not given:
                catalog.injections.record(rows, now=tools.now, kept=tools.kept)
    except (StorageError, StoreBusyError) as error:
        state.notes.append(f"the record of injections was not stored: {error}")
        return frozenset()
    return given
