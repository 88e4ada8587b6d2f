"""`ragmem query`: find the memories that answer a question."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ragmem.cli.common import (
    bold,
    dim,
    open_memory,
    plural,
    printable,
    say,
    say_fitted,
    say_json,
    select_projects,
    shorten_home,
    standard_input,
    style,
    tell,
)
from ragmem.cli.declaration import Command, argument, option
from ragmem.cli.help import on_terminal
from ragmem.cli.options import (
    AllOption,
    CategoryOption,
    JsonLinesOption,
    JsonOption,
    KindOption,
    LimitOption,
    ProjectOption,
    QuietOption,
    SessionOption,
    SinceOption,
    SourceOption,
    SourcesFileOption,
    SpecOption,
    TagOption,
    TypeOption,
    UntilOption,
)
from ragmem.domain.model import SHORT_ID_LENGTH, Match, Memory, State
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from ragmem.api.memory import Ragmem
    from ragmem.services.retrieval.query import Answer, Question
    from ragmem.services.retrieval.routes import RoutedAnswer

EPILOG = """\b
Examples:
  ragmem query "why do we pin the driver"
  ragmem query --kind error --since 30d timeout
  ragmem query --route operational "what is still pending"
  ragmem query --answer "why do we pin the driver"

\b
Exit codes:
  0  found
  1  nothing found
  2  usage or configuration
  4  no language model for --expand or --answer, no reranker for --careful, or a model failed
  6  the store is damaged
"""

INDENT = 3
"""Columns before the lines below a title."""

MARKED = "1;35"
"""Bold and magenta, which is read on dark and on light."""

MAX_INPUT = 4 * 1024 * 1024
"""Maximum bytes of standard input; a question has far fewer."""

ModeName = Literal["local", "global", "hybrid", "naive", "mix"]
"""LightRAG's own modes of retrieval."""

RouteName = Literal["auto", "knowledge", "episode", "operational", "recon", "code"]
"""The type of answer; auto guesses it from the form of the question."""


def query(
    text: Annotated[str, argument(metavar="TEXT", help="The question; - reads it from standard input.")],
    limit: LimitOption = None,
    kind: KindOption = None,
    source: SourceOption = None,
    project: ProjectOption = None,
    spec: SpecOption = "",
    tag: TagOption = None,
    type_: TypeOption = None,
    category: CategoryOption = None,
    since: SinceOption = "",
    until: UntilOption = "",
    every: AllOption = False,
    mode: Annotated[
        ModeName | None, option("--mode", "-m", help="Retrieve with one of LightRAG's own modes.")
    ] = None,
    route: Annotated[
        RouteName,
        option("--route", "-r", help="The type of answer; auto ranks it first, a name excludes others."),
    ] = "auto",
    expand: Annotated[
        bool, option("--expand", help="Also search with rephrasings by the language model.")
    ] = False,
    careful: Annotated[bool, option("--careful", help="Rerank the results, which takes longer.")] = False,
    nearest: Annotated[
        bool, option("--nearest", help="Show the nearest memories even if none answers.")
    ] = False,
    history: Annotated[
        bool, option("--history", help="Also show superseded memories, and what superseded them.")
    ] = False,
    all_tiers: Annotated[bool, option("--all-tiers", help="Always search the discarded texts too.")] = False,
    all_branches: Annotated[
        bool, option("--all-branches", help="Rank memories of unmerged branches like all others.")
    ] = False,
    session: SessionOption = "",
    explain: Annotated[bool, option("--explain", help="Show each term of each score.")] = False,
    as_json: JsonOption = False,
    as_lines: JsonLinesOption = False,
    as_ids: Annotated[bool, option("--ids", help="Print only ids, one per line.")] = False,
    as_context: Annotated[bool, option("--context", help="Print the block that an assistant reads.")] = False,
    budget: Annotated[
        int | None,
        option("--budget", "-b", metavar="TOKENS", min=100, help="Size of --context in estimated tokens."),
    ] = None,
    max_chars: Annotated[
        int | None,
        option(
            "--max-chars", min=200, help="Size of --context in characters; 9000 unless there is a budget."
        ),
    ] = None,
    in_words: Annotated[
        bool,
        option("--answer", help="Answer in a sentence: by a language model, or by rule when and how often."),
    ] = False,
    quiet: QuietOption = False,
    sources_file: SourcesFileOption = None,
) -> int:
    """Find the memories that answer a question."""
    from ragmem.api.memory import now
    from ragmem.services.ingestion.scope import require_sources
    from ragmem.services.processes.dates import parse_span
    from ragmem.services.retrieval.query import Question
    from ragmem.services.retrieval.routes import route_shape
    from ragmem.services.retrieval.shapes import match_shape

    if sum((as_json, as_lines, as_ids, as_context)) > 1:
        raise UsageError(
            "--json, --jsonl, --ids and --context are mutually exclusive", hint="give one of them"
        )
    _refuse_contradictions(
        modes=mode is not None and route != "auto",
        words=in_words and (as_lines or as_ids or as_context),
    )
    asked = _read_question() if text == "-" else text
    first, end = parse_span(since, until, now=(moment := now()))
    with open_memory(sources_file=sources_file, quiet=quiet) as memory:
        projects = select_projects(memory, project, every=every)
        question = Question(
            text=asked,
            projects=projects,
            kinds=tuple(kind or ()),
            sources=require_sources(memory.catalog, memory.settings, source or ()),
            spec=spec,
            tags=tuple(tag or ()),
            types=tuple(type_ or ()),
            categories=tuple(category or ()),
            since=first,
            until=end,
            limit=limit or _usual_limit(memory, budget if as_context else None),
            mode=mode,
            expand=expand or memory.settings.query.expand,
            nearest=nearest,
            history=history,
            discarded="always" if all_tiers else "last",
            folder="" if all_branches else str(memory.cwd),
        )
        wanted = None if route == "auto" else route
        routed = (
            None
            if sources_file or question.expand or careful
            else _ask_daemon(memory, question, wanted, moment)
        )
        routed = routed or memory.retrieval.ask_by_route(
            question, wanted, now=moment, careful=careful or None
        )
        memory.lifecycle.recall(routed.answer, session=session)
        is_empty = not routed.answer.matches and not memory.catalog.overview.count_by("source")
        if in_words:
            from ragmem.cli.query_answer import say_answer

            return say_answer(memory, routed.answer, now=moment, tokens=budget, as_json=as_json, quiet=quiet)
    answer = routed.answer
    if not quiet:
        for note in answer.notes:
            tell(f"note: {note}")
    if as_json:
        document = {
            "schema": 1,
            "query": asked.strip(),
            "rung": answer.rung,
            "route": route_shape(routed),
            "projects": list(projects) if projects is not None else None,
            "missing": list(answer.missing),
            "matches": [
                match_shape(match, question=asked, explain=explain, redactor=memory.redactor)
                for match in answer.matches
            ],
        }
        if explain:
            document["evidence"] = dict(answer.evidence)
        if mode:
            document["graph"] = memory.redactor.redact_document(answer.graph)
        say_json(document)
    elif as_lines:
        for match in answer.matches:
            say_json(
                {
                    "type": "match",
                    **match_shape(match, question=asked, explain=explain, redactor=memory.redactor),
                },
                lines=True,
            )
    elif as_ids:
        for match in answer.matches:
            say(match.memory.short_id)
    elif as_context:
        from ragmem.services.context.context import context

        block = context(
            answer, tokens=budget, max_chars=max_chars, home=str(memory.home), redactor=memory.redactor
        )
        if block.text:
            say(block.text)
        elif answer.matches and not quiet:
            tell(block.why_empty)
    else:
        if explain and not quiet:
            _tell_how(routed)
        _say_found(routed, explain=explain, redactor=memory.redactor)
        if not answer.matches and not quiet:
            tell(_nothing_found(routed, projects, is_empty=is_empty))
    return EXIT_OK if answer.matches or routed.shown_facts else EXIT_NO


app = Command(query, EPILOG)


def _nothing_found(routed: "RoutedAnswer", projects: tuple[str, ...] | None, *, is_empty: bool) -> str:
    if is_empty and not routed.shown_facts:
        return "nothing is stored yet: run `ragmem seed`, or `ragmem ingest FOLDER`"
    where = (
        "any project"
        if projects is None
        else "this project or your own memories (--all searches all projects)"
    )
    return f"{'no memory' if routed.shown_facts else 'nothing'} found in {where}"


def _usual_limit(memory: "Ragmem", budget: int | None) -> int:
    usual = memory.settings.query.limit
    if budget is None:
        return usual
    from ragmem.services.context.context import memories_for

    return memories_for(budget, usual)


def _ask_daemon(
    memory: "Ragmem", question: "Question", route: str | None, moment: "datetime"
) -> "RoutedAnswer | None":
    """Return the answer of the warm process; None if none with this identity runs."""
    from ragmem.services.context.daemon_answers import answer_by_daemon

    routed = answer_by_daemon(str(memory.settings.places.data), question, route, now=moment)
    note = memory.inbox_note
    if routed is None or not note or note in routed.answer.notes:
        return routed
    return replace(routed, answer=replace(routed.answer, notes=(*routed.answer.notes, note)))


def _refuse_contradictions(*, modes: bool, words: bool) -> None:
    if words:
        raise UsageError("--answer prints text or --json", hint="leave out --jsonl, --ids and --context")
    if modes:
        raise UsageError("--mode and --route are mutually exclusive", hint="LightRAG's modes have no routes")


def _read_question() -> str:
    raw = standard_input(MAX_INPUT)
    if len(raw) > MAX_INPUT:
        raise UsageError(f"standard input is longer than {MAX_INPUT:,} bytes", hint="shorten the question")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input is not UTF-8: byte {error.start} is invalid", hint="convert it: iconv -t utf-8"
        ) from error


def _tell_how(routed: "RoutedAnswer") -> None:
    """Print how the answer was found, and the evidence for it."""
    tell(routed.route_line)
    tell(f"rung: {routed.answer.rung}")
    if routed.answer.evidence:
        terms = ", ".join(f"{name} {value:.2f}" for name, value in routed.answer.evidence.items())
        tell(f"evidence: {terms}")


def _say_found(routed: "RoutedAnswer", *, explain: bool, redactor: Redactor) -> None:
    for fact in routed.shown_facts:
        say_fitted(f"{bold(fact.name)}  {fact.value}", indent=INDENT)
    if routed.shown_facts:
        say()
    _say_matches(routed.answer, explain=explain, redactor=redactor)


def _say_matches(answer: "Answer", *, explain: bool, redactor: Redactor) -> None:
    from ragmem.services.retrieval.shapes import explain_match

    width = 0
    # With colours the lines are wrapped when they are written.
    if sys.stdout.isatty() and not on_terminal():
        import shutil

        width = shutil.get_terminal_size((100, 24)).columns
    for number, match in enumerate(answer.matches, start=1):
        for line in match_lines(match, number, answer.question.text, width=width, redactor=redactor):
            say_fitted(line, indent=INDENT)
        if explain:
            for line in explain_match(match, redactor):
                say_fitted(f"   {dim(line)}", indent=INDENT)
        say()


def match_lines(match: Match, number: int, question: str, *, width: int = 0, redactor: Redactor) -> list[str]:
    """Return the lines of a match: its title and score, its origin, and the sentences that answer.

    The words of the question are marked on a terminal with colours. The excerpt is wrapped to `width`
    characters; 0 for one line.
    """
    from ragmem.services.context.session_line import session_line
    from ragmem.services.retrieval.excerpts import FIRST, FURTHER, excerpt

    title = printable(redactor.redact(match.memory.title or match.memory.uri)[0])
    found = [f"{number}. {bold(title)}  {match.score:.2f}", f"   {dim(_origin(match, redactor=redactor))}"]
    if held := session_line(match.memory, redactor=redactor):
        found.append(f"   {dim(held)}")
    most = FIRST if number == 1 else FURTHER
    shown = printable(excerpt(match, question, most=most, redactor=redactor))
    return found + [f"   {line}" for line in _wrap(shown, width) or [_mark(shown, question)]]


def _wrap(text: str, width: int) -> list[str]:
    """Return the lines of a text that is wrapped below a title; none without a width."""
    if not width:
        return []
    import textwrap

    return textwrap.wrap(text, max(40, width - INDENT))


def _mark(text: str, question: str) -> str:
    """Return a text with the words of the question in bold and colour, on a terminal with colours."""
    if not on_terminal():
        return text
    from ragmem.services.retrieval.excerpts import find_words

    marked, last = "", 0
    for start, end in find_words(text, question):
        marked += text[last:start] + style(text[start:end], MARKED)
        last = end
    return marked + text[last:]


def _file(memory: Memory) -> str:
    """Return the file of a memory as seen from the current folder, with the page; "" for an exchange."""
    from ragmem.domain.model.document_place import describe_place, document_place

    if memory.origin or memory.metadata.get("session") or not Path(memory.uri).is_absolute():
        return document_place(memory.metadata)
    path, here = Path(describe_place(memory.uri, memory.metadata)), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else shorten_home(str(path))


def _origin(match: Match, redactor: Redactor) -> str:
    """Return id, date, kind, source and file of a match, the headings above it, and what it stands for."""
    from ragmem.services.retrieval.branches import unmerged_line
    from ragmem.services.retrieval.shapes import elsewhere_line
    from ragmem.services.retrieval.supersessions import superseded_line

    memory = match.memory
    place = memory.provenance
    if file := _file(memory):
        place += f": {redactor.redact(file)[0]}"
    first, _, below = match.chunk.heading.partition(" > ")
    # The title is above this line, with the aliases of a note if any, and without its id.
    is_title = f"{memory.title} (".startswith(f"{first} (") or first.endswith(f" {memory.title}")
    if heading := below if is_title else match.chunk.heading:
        place += f" / {redactor.redact(heading)[0]}"
    when = memory.event_time.strftime("%Y-%m-%d")
    alike = len(match.duplicates) - len(match.elsewhere)
    more = "  discarded" if memory.state is State.BUFFERED else ""
    more += f"  +{plural(alike, 'duplicate')}" if alike else ""
    more += f"  {elsewhere_line(match, redactor)}" if match.elsewhere else ""
    link = match.superseded or match.outdated
    more += f"  {superseded_line(link)}" if link else ""
    more += f"  {redactor.redact(unmerged_line(match.unmerged))[0]}" if match.unmerged else ""
    more += f"  {match.approval}" if match.approval else ""
    more += f"  beside {match.neighbour[:SHORT_ID_LENGTH]}" if match.neighbour else ""
    if match.replaced:
        more += f"  in place of {', '.join(one.supersession.older[:12] for one in match.replaced[:3])}"
    # A file's name can have line ends.
    return f"{memory.short_id}  {when}  {memory.kind.value}  {place}{more}".replace("\n", " ")
