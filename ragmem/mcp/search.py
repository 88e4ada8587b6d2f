"""The tool `search`: an index of the memories that answer a question, with excerpts of the best ones."""

import re
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

from ragmem.api.home import now
from ragmem.domain.model import SHORT_ID_LENGTH, USER, Kind, Match, State
from ragmem.domain.model.document_place import document_place
from ragmem.domain.secrets.redaction import Redactor
from ragmem.mcp.call import Call, Result
from ragmem.mcp.frame import days_of, frame_lines, one_line
from ragmem.services.ingestion.scope import require_sources
from ragmem.services.processes.dates import parse_span
from ragmem.services.retrieval.branches import unmerged_line
from ragmem.services.retrieval.excerpts import excerpt
from ragmem.services.retrieval.question import Question, missing_line
from ragmem.services.retrieval.routes import route_shape
from ragmem.services.retrieval.shapes import elsewhere_line, match_shape
from ragmem.services.retrieval.supersessions import superseded_line

TITLE = 90
"""Characters of a title."""

EXCERPTS = (600, 250, 250, 120)
"""Characters of the excerpts, best match first; each further one has those of the last.

The best one mostly answers, so that no second call is needed: of the passages that answer, an index of eight
holds .35 with 170 characters each, and .68 for 13 % more tokens with these (75 questions about notes)."""

FAINT = 0.25
"""Share of the best score below which a match is left out as useless."""

FACT = 320
"""Characters of a line about agents, the state of the memory or code."""

FACTS = 12
"""Maximum number of such lines before the memories."""

_MARKS = re.compile(r"\*\*|__|^[#>*=|` -]+|```\w*|[|`=-]+$")
"""Markdown marks that mean nothing in a single line."""


def search(call: Call) -> Result:
    """Answer a question with an index of memories, best first; an empty answer says what was searched."""
    memory, given, moment = call.memory, call.arguments, now()
    begin, end = parse_span(given.get("since"), given.get("until"), now=moment)
    if not memory.is_stored():
        return Result("Memory is empty: nothing is stored yet.", {"matches": []})
    projects = call.projects()
    question = Question(
        given["query"],
        projects=projects,
        kinds=(Kind(given["kind"]),) if "kind" in given else (),
        sources=require_sources(
            memory.catalog, memory.settings, [given["source"]] if "source" in given else ()
        ),
        since=begin,
        until=end,
        limit=given["limit"],
        expand=memory.settings.query.expand,
        discarded="always" if given["all_tiers"] else "last",
        folder="" if given["all_branches"] else str(call.place),
    )
    routed = memory.retrieval.ask_by_route(question, now=moment)
    matches, notes = routed.answer.matches, routed.answer.notes
    strong = [match for match in matches if match.score >= FAINT * matches[0].score]
    asked = call.projects_label(projects) + _filters(call)
    data: dict[str, Any] = {
        "asked": asked,
        "matches": [match_shape(match, question=given["query"], redactor=call.redactor) for match in strong],
        "missing": list(routed.answer.missing),
        "notes": list(notes),
    }
    first = missing_line(routed.answer.missing)
    notes = tuple(note for note in notes if note != first)
    shown = routed.shown_facts
    if shown:
        data["route"] = route_shape(routed)
    lines = [f"note: {first}"] if first else []
    lines += [
        f"{fact.name.strip()}: {one_line(fact.value, FACT, redactor=call.redactor)}" for fact in shown[:FACTS]
    ]
    if len(shown) > FACTS:
        lines.append(f"({len(shown) - FACTS} more such lines omitted)")
    alone = projects is not None and len(set(projects) - {USER}) == 1
    labels = [
        "" if alone or one.memory.scope.project == USER else call.project_label(one.memory.scope.project)
        for one in strong
    ]
    lines += index_lines(strong, given["query"], labels=labels, redactor=call.redactor)
    if not matches:
        wider = "" if projects is None else ' Other projects: project="*".'
        found = "No memory" if lines else "Nothing"
        return Result(frame_lines([*lines, f"{found} found in {asked}.{wider}", *_note_lines(notes)]), data)
    weaker = f", {len(matches) - len(strong)} much weaker omitted" if len(matches) > len(strong) else ""
    lines.append(f"({len(strong)} in {asked}{weaker}; get returns the full text)")
    return Result(frame_lines([*lines, *_note_lines(notes)]), data)


def index_lines(
    matches: Sequence[Match], question: str, *, labels: Sequence[str], redactor: Redactor
) -> list[str]:
    """Return the lines of all matches, best first; `labels` has the project of each, or ""."""
    return [
        line
        for match, day, label, most in zip(
            matches,
            days_of([match.memory.event_time for match in matches]),
            labels,
            chain(EXCERPTS, repeat(EXCERPTS[-1])),
            strict=False,
        )
        for line in _hit_lines(match, question, day=day, most=most, project=label, redactor=redactor)
    ]


def _hit_lines(
    match: Match, question: str, *, day: str, most: int, project: str, redactor: Redactor
) -> list[str]:
    """Return two lines for a match: its description, with the project if one is given, and an excerpt.

    The excerpt has about `most` characters.
    """
    memory = match.memory
    said = [f"[{memory.short_id}] {day} {memory.kind.value} {memory.provenance}"]
    if project:
        said.append(project)
    if place := document_place(memory.metadata):
        said.append(one_line(place, TITLE, redactor=redactor))
    if memory.state is State.BUFFERED:
        said.append("discarded")
    if link := match.superseded or match.outdated:
        said.append(superseded_line(link))
    if match.unmerged:
        said.append(one_line(unmerged_line(match.unmerged), TITLE, redactor=redactor))
    beside = f"beside {match.neighbour[:SHORT_ID_LENGTH]}" if match.neighbour else ""
    said += filter(None, (match.approval, beside))
    if match.elsewhere:
        said.append(one_line(elsewhere_line(match, redactor=redactor), TITLE, redactor=redactor))
    title = one_line(_with_heading(memory.title or memory.uri, match.chunk.heading), TITLE, redactor=redactor)
    said_of_it = _best_line(match, question, title, most=most, redactor=redactor)
    if not said_of_it:
        return [f"{' | '.join(said)} | {title} ({match.score:.2f})"]
    if not said_of_it.startswith(title.rstrip("…")):
        # Otherwise the title is the beginning of the excerpt.
        said.append(title)
    return [f"{' | '.join(said)} ({match.score:.2f})", f"  {said_of_it}"]


def _with_heading(title: str, heading: str) -> str:
    """Return a title with the last heading above the match, where the two differ."""
    last = heading.rsplit(" > ", 1)[-1].strip("# ")
    return f"{title} > {last}" if last and last.casefold() not in title.casefold() else title


def _best_line(match: Match, question: str, title: str, *, most: int, redactor: Redactor) -> str:
    """Return the sentences of a match that answer, without marks; "" if they only repeat the title."""
    found = excerpt(match, question, most=most, redactor=redactor)
    bare = " ".join(_MARKS.sub("", found).strip(" -#").split())
    return "" if bare.casefold() == _MARKS.sub("", title).strip(" -#").casefold() else bare


def _filters(call: Call) -> str:
    told = [
        f"{name} {call.arguments[name]}"
        for name in ("kind", "source", "since", "until")
        if name in call.arguments
    ]
    return f" ({', '.join(told)})" if told else ""


def _note_lines(notes: tuple[str, ...]) -> list[str]:
    # An agent cannot use options of the command line.
    return [f"note: {note.partition('; --nearest')[0]}" for note in notes]
