"""Apply a route to an answer: a small preference if the route is guessed, a filter if it is forced."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ragmem.domain.model import EPISODES, Kind, Match, Memory
from ragmem.domain.retrieval.routing import (
    Reason,
    RouteDecision,
    route,
    speaks_of_findings,
    symbols,
    wants_newest,
)
from ragmem.domain.retrieval.routing_cues import Route
from ragmem.domain.retrieval.routing_frames import agents_frame, code_frame
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import BackendError, ForbiddenError
from ragmem.frozen import dataclass
from ragmem.patterns import lazy
from ragmem.ports import Store
from ragmem.services.retrieval.query import Answer, Question, validate_question
from ragmem.services.retrieval.question import Fact
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.rows import Outline

if TYPE_CHECKING:
    from ragmem.services.agents.agents import Agents
    from ragmem.services.models.usage import Ledger

BONUS = 0.1
"""A guessed route raises a score by no more than this share, so a clearly better match stays ahead."""

FULL_MARGIN = 4.0
"""A guess with this margin gets the full bonus; one with half of it, half the bonus."""

DEEPER = 2
"""Factor by which more matches are read if a preference may change their order."""

FORCED_DEPTH = 60
"""Number of matches that a forced route filters."""

KEPT = 0.5
"""Minimum preference with which a memory belongs to a forced route."""

KNOWN = 8.0
"""Weight of a short question about a known symbol of the code, or about active agents."""

MAX_SYMBOLS = 3
NEIGHBOURS = 20
SHOWN_RELATIONS = 8
"""Number of relations that people see for a guessed route."""

WORK = frozenset({"task", "tasks", "agent", "agents", "job", "jobs", "status", "approval", "todo", "blocked"})
FINDINGS = frozenset(
    {"security", "audit", "finding", "findings", "scan", "scans", "recon", "pentest", "vulnerability", "cve"}
)
_STATUS = lazy(
    r"^\s*[-*] \[ \]|\b(?:status|state|phase)\s*:|\b(?:in progress|blocked (?:by|on)|assigned to|pending)\b",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class RouteContext:
    """The dependencies of a route; store, ledger and agents are opened by the routes that use them."""

    catalog: Catalog
    ask: Callable[[Question], Answer]
    open_store: Callable[[], Store]
    open_ledger: "Callable[[], Ledger]"
    open_agents: "Callable[[], Agents]"


@dataclass(frozen=True, slots=True)
class Routing:
    """The route of one question, guessed or forced, and the names of code in the question.

    `heirs` says whether it asks for their subclasses.
    """

    routed: RouteDecision
    forced: bool = False
    named: tuple[str, ...] = ()
    newest: bool = False
    heirs: bool = False

    @property
    def route(self) -> Route:
        """The chosen route."""
        return self.routed.route


@dataclass(frozen=True, slots=True)
class RoutedAnswer:
    """An answer with its route.

    `graph` has entities and relations for the names of code in the question, `code` their definitions,
    `places` what else in the code fits a question that asks for code, and `state` the current facts, if the
    question asks for them.
    """

    answer: Answer
    routing: Routing
    graph: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    state: tuple[Fact, ...] = ()
    code: tuple[Mapping[str, Any], ...] = ()
    places: tuple[Mapping[str, Any], ...] = ()

    @property
    def shown_facts(self) -> tuple[Fact, ...]:
        """The facts that people see before the matches: state, code, and relations from texts.

        A guessed route shows only the named facts of the state, and the first relations if the code has none
        of the names.
        """
        code: tuple[Fact, ...] = ()
        if self.code or self.places:
            from ragmem.services.retrieval.code_answer import (  # noqa: PLC0415 - few questions ask for code
                code_facts,
                place_facts,
            )

            code = (*code_facts(self.code), *place_facts(self.places))
        relations = [
            Fact(
                f"{item['source']} - {item['target']}",
                f"{item['keywords']} ({item['valid']})" if item["valid"] else str(item["keywords"]),
            )
            for item in self.graph.get("relations", ())
        ]
        if self.routing.forced:
            return (*self.state, *code, *relations)
        state: tuple[Fact, ...] = ()
        if self.state:
            from ragmem.services.retrieval.operational import select_facts  # noqa: PLC0415 - few questions ask for it

            state = select_facts(self.answer.question.text, self.state)
        return (*state, *(code or relations[:SHOWN_RELATIONS]))

    @property
    def route_line(self) -> str:
        """A line with the route, the margin of the guess, and its reasons."""
        routed = self.routing.routed
        if self.routing.forced:
            return f"route: {routed.route} (asked for)"
        why = ", ".join(f"{item.cue} (+{item.weight:g} {item.route})" for item in routed.reasons)
        return f"route: {routed.route}, {routed.margin:g} before {routed.second}: {why or 'no cue'}"


def choose_route(text: str, wanted: Route | None = None) -> Routing:
    """Return the route of a question: the forced one, else (None) the one guessed from its form."""
    routed = route(text)
    if wanted is not None:
        routed = replace(routed, route=wanted)
    return Routing(routed, wanted is not None, symbols(text)[:MAX_SYMBOLS], wants_newest(text))


def preference(memory: Outline | Memory, routing: Routing, *, text: str = "", fresh: float = 1.0) -> float:
    """Return a preference in 0..1: how well a memory fits a route.

    `text` is its title and best chunk, `fresh` its recency. The route knowledge has no preferences.
    """
    labels = {memory.source.lower(), *(tag.lower() for tag in memory.tags)}
    if routing.route is Route.EPISODE:
        # A reflection is more about lessons than about events.
        found = 0.6 if labels & EPISODES == {"reflections"} else 1.0 if labels & EPISODES else 0.0
        return found * (0.5 + 0.5 * fresh) if routing.newest else found
    if routing.route is Route.OPERATIONAL:
        return 1.0 if labels & WORK else 0.6 if _STATUS.search(text) else 0.0
    if routing.route is Route.RECON:
        words = speaks_of_findings(text)
        spoken = min(1.0, 0.4 * words + (0.2 if memory.kind is Kind.ERROR and words else 0.0))
        return 1.0 if labels & FINDINGS else spoken
    if routing.route is Route.CODE and routing.named:
        return sum(_mentions_name(text, name) for name in routing.named) / len(routing.named)
    return 0.0


def ask_by_route(
    context: RouteContext, question: Question, wanted: str | None = None, *, now: datetime
) -> RoutedAnswer:
    """Return the answer to a question by a forced route, or (None) by the one guessed from its form.

    Raises ValueError for a route that does not exist, UsageError for an empty or oversized question.
    """
    routing = choose_route(validate_question(question.text), None if wanted is None else Route(wanted))
    if wanted is None and question.mode is None:
        routing = _route_by_names(context, question, routing)
    found = answer_by_route(
        context.ask,
        question,
        routing,
        open_store=context.open_store,
        redactor=context.catalog.redactor,
    )
    if routing.route is Route.CODE:
        return _with_code(context.catalog, question, found)
    if routing.route is not Route.OPERATIONAL:
        return found
    from ragmem.services.retrieval.operational import current_state  # noqa: PLC0415 - few questions ask for the state

    catalog = context.catalog
    state = current_state(
        catalog, context.open_ledger(), context.open_agents().agents(), home=catalog.database.home, now=now
    )
    return replace(found, state=state)


def _route_by_names(context: RouteContext, question: Question, routing: Routing) -> Routing:
    """Return the route of a short question about known names, regardless of its other words.

    Such a question needs no words about code, nor English: "wer ruft helper auf" asks for code if that has a
    `helper`. A question with an unknown name keeps its route.
    """
    frame = code_frame(question.text)
    if frame is not None and context.catalog.code.roots():
        from ragmem.services.retrieval.code_answer import names_in_code  # noqa: PLC0415 - few questions ask for code

        named = names_in_code(context.catalog, frame, projects=question.projects)
        if named:
            reason = Reason("names what the code has", Route.CODE, KNOWN)
            return replace(
                routing,
                routed=_add_reason(routing.routed, reason),
                named=named[:MAX_SYMBOLS],
                heirs=frame.heirs,
            )
    asked = agents_frame(question.text)
    if asked is not None and routing.route is not Route.OPERATIONAL:
        from ragmem.services.retrieval.operational import active_agents  # noqa: PLC0415 - few questions ask for it

        if active_agents(context.open_agents().agents(), asked.names):
            reason = Reason("names running agents", Route.OPERATIONAL, KNOWN)
            return replace(routing, routed=_add_reason(routing.routed, reason))
    return routing


def _add_reason(routed: RouteDecision, reason: Reason) -> RouteDecision:
    if routed.route is reason.route:
        return replace(routed, margin=routed.margin + reason.weight, reasons=(reason, *routed.reasons))
    return RouteDecision(reason.route, routed.route, FULL_MARGIN, (reason, *routed.reasons))


def _with_code(catalog: Catalog, question: Question, found: RoutedAnswer) -> RoutedAnswer:
    from ragmem.services.retrieval.code_answer import (  # noqa: PLC0415 - few questions ask for code
        code_answer,
        code_places,
    )

    routing = found.routing
    if not (routing.forced or routing.named):
        return found
    code, note = code_answer(
        catalog, question.text, routing.named, projects=question.projects, heirs=routing.heirs
    )
    answer = found.answer
    if not routing.forced:
        return replace(found, code=tuple(code))
    places = code_places(catalog, question.text, projects=question.projects, limit=question.limit)
    if not (note or code or places):
        note = "the question names nothing in the code graph"
    if note:
        answer = replace(answer, notes=(*answer.notes, note))
    return replace(found, answer=answer, code=tuple(code), places=tuple(places))


def route_shape(routed: RoutedAnswer) -> dict[str, Any]:
    """Return the route of an answer as JSON fields, with the data that only this route has."""
    guess = routed.routing.routed
    shape: dict[str, Any] = {
        "name": guess.route.value,
        "guessed": not routed.routing.forced,
        "margin": round(guess.margin, 2),
        "second": guess.second.value,
        "reasons": [
            {"cue": item.cue, "route": item.route.value, "weight": item.weight} for item in guess.reasons
        ],
    }
    if routed.state:
        shape["state"] = [asdict(fact) for fact in routed.state]
    if routed.graph:
        shape["graph"] = dict(routed.graph)
    if routed.code:
        shape["code"] = list(routed.code)
    if routed.places:
        shape["places"] = list(routed.places)
    return shape


def answer_by_route(
    ask: Callable[[Question], Answer],
    question: Question,
    routing: Routing,
    *,
    open_store: Callable[[], Store],
    redactor: Redactor,
) -> RoutedAnswer:
    """Return the answer to a question by its route.

    A guessed route only raises the scores of preferred matches, by BONUS at most. A forced route removes all
    matches that do not fit; if none is left, it returns all of them with a note.
    """
    if question.mode is not None:
        return RoutedAnswer(ask(question), routing)
    if routing.forced and routing.route is not Route.KNOWLEDGE:
        answer = _ask_forced(ask, question, routing)
    elif routing.route is Route.KNOWLEDGE:
        answer = ask(question)
    else:
        answer = _apply_preference(ask(replace(question, limit=question.limit * DEEPER)), question, routing)
    graph: Mapping[str, Sequence[Mapping[str, Any]]] = {}
    if routing.route is Route.CODE:
        graph, note = _graph_facts(open_store, question, routing.named, redactor=redactor)
        if note and routing.forced:
            answer = replace(answer, notes=(*answer.notes, note))
    return RoutedAnswer(answer, routing, graph)


def _apply_preference(answer: Answer, question: Question, routing: Routing) -> Answer:
    sure = min(1.0, routing.routed.margin / FULL_MARGIN)
    raised = []
    for match in answer.matches:
        bonus = BONUS * sure * _match_preference(match, routing)
        terms = dict(match.terms) | {"route": bonus}
        raised.append(replace(match, score=match.score * (1 + bonus), terms=terms) if bonus else match)
    # The sort is stable: matches that the route does not affect keep their order.
    ordered = sorted(raised, key=lambda match: -match.score)[: question.limit]
    # Scores are capped at 1 after the sort, so that the order stays.
    matches = tuple(replace(match, score=min(1.0, match.score)) for match in ordered)
    return replace(answer, question=question, matches=matches)


def _ask_forced(ask: Callable[[Question], Answer], question: Question, routing: Routing) -> Answer:
    depth = max(FORCED_DEPTH, question.limit)
    whole = ask(replace(question, limit=depth))
    found = {match.memory.id: match for match in whole.matches}
    for name in routing.named if routing.route is Route.CODE else ():
        for match in ask(replace(question, text=name, limit=depth)).matches:
            found.setdefault(match.memory.id, match)
    kept = [
        replace(match, terms=dict(match.terms) | {"route": weight})
        for match in found.values()
        if (weight := _match_preference(match, routing)) >= KEPT
    ]
    if not kept:
        notes: tuple[str, ...] = whole.notes
        if whole.matches:
            notes = (
                *notes,
                f'no match fits the route "{routing.route}": showing the matches of all routes',
            )
        return replace(whole, question=question, matches=whole.matches[: question.limit], notes=notes)
    if routing.route is Route.EPISODE and routing.newest:
        kept.sort(key=lambda match: match.memory.event_time, reverse=True)
    else:
        kept.sort(key=lambda match: -match.score)
    return replace(whole, question=question, matches=tuple(kept[: question.limit]))


def _match_preference(match: Match, routing: Routing) -> float:
    text = f"{match.memory.title}\n{match.chunk.searchable}"
    if routing.route is Route.CODE:
        text = f"{match.memory.title}\n{match.memory.text}"
    return preference(match.memory, routing, text=text, fresh=match.terms.get("recency", 1.0))


def _mentions_name(text: str, name: str) -> bool:
    """Return whether a text has a program part, or the end of its dotted name, as a whole word."""
    last = name.rstrip("/").rpartition("/")[2].rpartition("::")[2]
    short = last if "/" in name or last.count(".") != 1 else last.rpartition(".")[2]
    wanted = "|".join(re.escape(item) for item in {name, last, short if len(short) > 3 else last})
    return re.search(rf"(?<!\w)(?:{wanted})(?!\w)", text) is not None


def _graph_facts(
    open_store: Callable[[], Store], question: Question, names: Sequence[str], redactor: Redactor
) -> tuple[Mapping[str, Sequence[Mapping[str, Any]]], str]:
    """Return the entities and relations of the names in the question, and a note or ""."""
    if not names:
        return {}, ""
    from ragmem.services.graph.shapes import valid_times  # noqa: PLC0415 - few questions ask for the graph

    entities: dict[str, Mapping[str, Any]] = {}
    relations: list[Mapping[str, Any]] = []
    try:
        store = open_store()
        for project in question.projects or (None,):
            for name in names:
                for entity, degree in store.entities(name, limit=MAX_SYMBOLS, project=project):
                    entities[entity.name] = {"name": entity.name, "type": entity.type, "relations": degree}
                    for relation, _ in store.neighbours(entity.name, limit=NEIGHBOURS, project=project):
                        shape = {
                            "source": relation.source,
                            "target": relation.target,
                            "keywords": relation.keywords,
                            "weight": relation.weight,
                            "valid": valid_times(relation.description),
                        }
                        if shape not in relations:
                            relations.append(shape)
    except (BackendError, ForbiddenError) as error:
        return {}, f"the graph is unavailable: {error.full_message}"
    note = "relations come from stored texts" if relations else ""
    return redactor.redact_document({"entities": list(entities.values()), "relations": relations}), note
