"""The tool `search`: an index of the memories that answer a question, a few dozen tokens each."""

import re
from typing import Any

from ragmem.api.home import now
from ragmem.domain.model import USER, Kind, Match, State
from ragmem.domain.model.document_place import document_place
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.excerpts import announces, atoms
from ragmem.domain.text.keywords import keywords
from ragmem.mcp.call import Call, Result
from ragmem.mcp.frame import frame_lines, one_line
from ragmem.services.ingestion.scope import require_sources
from ragmem.services.processes.dates import parse_moment
from ragmem.services.retrieval.question import Question
from ragmem.services.retrieval.routes import route_shape
from ragmem.services.retrieval.shapes import best_chunk_text, elsewhere_line, match_shape
from ragmem.services.retrieval.supersessions import superseded_line

TITLE = 90
"""Characters of a title."""

EXCERPT = 170
"""Characters of an excerpt: title and excerpt together take some fifty tokens."""

FAINT = 0.25
"""Share of the best score below which a match is left out as useless."""

FACT = 320
"""Characters of a line about agents, the state of the memory or code."""

FACTS = 12
"""Maximum number of such lines before the memories."""

LEAD_PENALTY = 1.5
"""Words that a listing or a lead-in must match beyond those of a sentence to be preferred to it."""

_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"\*\*|__|^[#>*=|` -]+|```\w*|[|`=-]+$")
"""Markdown marks that mean nothing in a single line."""


def search(call: Call) -> Result:
    """Answer a question with an index of memories, best first; an empty answer says what was searched."""
    memory, given, moment = call.memory, call.arguments, now()
    if not memory.is_stored():
        return Result("Memory is empty: nothing was ever stored here.", {"matches": []})
    projects = call.projects()
    question = Question(
        given["query"],
        projects=projects,
        kinds=(Kind(given["kind"]),) if "kind" in given else (),
        sources=require_sources(
            memory.catalog, memory.settings, [given["source"]] if "source" in given else ()
        ),
        since=parse_moment(given["since"], now=moment) if "since" in given else None,
        until=parse_moment(given["until"], now=moment) if "until" in given else None,
        limit=given["limit"],
        expand=memory.settings.query.expand,
        discarded="always" if given["all_tiers"] else "last",
    )
    routed = memory.retrieval.ask_by_route(question, now=moment)
    matches, notes = routed.answer.matches, routed.answer.notes
    strong = [match for match in matches if match.score >= FAINT * matches[0].score]
    asked = call.projects_label(projects) + _filters(call)
    data: dict[str, Any] = {
        "asked": asked,
        "matches": [match_shape(match, redactor=call.redactor) for match in strong],
        "notes": list(notes),
    }
    shown = routed.shown_facts
    if shown:
        data["route"] = route_shape(routed)
    lines = [
        f"{fact.name.strip()}: {one_line(fact.value, FACT, redactor=call.redactor)}" for fact in shown[:FACTS]
    ]
    if len(shown) > FACTS:
        lines.append(f"({len(shown) - FACTS} more such lines left out)")
    words = {word.lower() for key in keywords(given["query"]) for word in _WORD.findall(key)}
    alone = projects is not None and len(set(projects) - {USER}) == 1
    for match in strong:
        scope = match.memory.scope.project
        lines += hit_lines(
            match,
            words,
            project="" if alone or scope == USER else call.project_label(scope),
            redactor=call.redactor,
        )
    if not matches:
        wider = "" if projects is None else ' Other projects: project="*".'
        found = "No memory" if lines else "Nothing"
        return Result(frame_lines([*lines, f"{found} found in {asked}.{wider}", *_note_lines(notes)]), data)
    weaker = f", {len(matches) - len(strong)} far weaker left out" if len(matches) > len(strong) else ""
    lines.append(f"({len(strong)} in {asked}{weaker}; get reads one in full)")
    return Result(frame_lines([*lines, *_note_lines(notes)]), data)


def hit_lines(match: Match, words: set[str], *, project: str = "", redactor: Redactor) -> list[str]:
    """Return two lines for a match: its description, with the project if one is given, and an excerpt."""
    memory = match.memory
    said = [f"[{memory.short_id}] {memory.event_time:%Y-%m-%d} {memory.kind.value} {memory.source}"]
    if project:
        said.append(project)
    if place := document_place(memory.metadata):
        said.append(one_line(place, TITLE, redactor=redactor))
    if memory.state is State.BUFFERED:
        said.append("discarded")
    if link := match.superseded or match.outdated:
        said.append(superseded_line(link))
    if match.elsewhere:
        said.append(one_line(elsewhere_line(match, redactor=redactor), TITLE, redactor=redactor))
    title = one_line(_with_heading(memory.title or memory.uri, match.chunk.heading), TITLE, redactor=redactor)
    excerpt = best_line(match, words, title, redactor=redactor)
    if not excerpt:
        return [f"{' | '.join(said)} | {title} ({match.score:.2f})"]
    if not excerpt.startswith(title.rstrip("…")):
        # Otherwise the title is the beginning of the excerpt.
        said.append(title)
    return [f"{' | '.join(said)} ({match.score:.2f})", f"  {excerpt}"]


def _with_heading(title: str, heading: str) -> str:
    """Return a title with the last heading above the match, where the two differ."""
    last = heading.rsplit(" > ", 1)[-1].strip("# ")
    return f"{title} > {last}" if last and last.casefold() not in title.casefold() else title


def best_line(match: Match, words: set[str], title: str = "", *, redactor: Redactor) -> str:
    """Return the sentence of a match that has most of these words, the first among equals."""
    text = best_chunk_text(match, redactor=redactor)
    best, most = "", -2.0
    for start, end in atoms(text):
        line = " ".join(text[start:end].split())
        bare = _MARKS.sub("", line).strip(" -#")
        if len(bare) < 12 or bare.casefold() == _MARKS.sub("", title).strip(" -#").casefold():
            continue
        held = {word.lower() for word in _WORD.findall(line)}
        leads = announces(text, (start, end)) or line.startswith("```")
        score = len(words & held) - (LEAD_PENALTY if leads else 0.0)
        if score > most:
            best, most = bare, score
    return _around(best, words)


def _around(line: str, words: set[str]) -> str:
    """Return a line; of a long one, the part around the first of the words."""
    if len(line) <= EXCERPT:
        return line
    first = next((found.start() for found in _WORD.finditer(line) if found[0].lower() in words), 0)
    if first <= EXCERPT // 2:
        return line[: EXCERPT - 1].rstrip() + "…"
    start = line.rfind(" ", 0, first - EXCERPT // 4) + 1
    part = line[start : start + EXCERPT - 2].strip()
    return f"…{part}" + ("…" if start + EXCERPT - 2 < len(line) else "")


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
