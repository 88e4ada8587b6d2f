"""`ragmem inspect injections`: show what was injected into assistants, when and why."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from ragmem.cli.common import bold, dim, moment, one_line, open_memory, printable, say, say_json, table, tell
from ragmem.cli.options import JsonLinesOption, JsonOption, LimitOption
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.services.context.injection_list import ListedInjection

DEFAULT_LIMIT = 20
DEFAULT_WHOLE = 5
"""Default limit for the injections of one memory, which are shown at length."""

WIDTH = 12
TERMS = ("relevance", "cosine", "coverage", "lexical", "semantic", "graph", "recency", "score")
"""Terms of a score that are shown to people; --json has all."""

MOMENTS_SINCE = timedelta(days=30)

MOST_TITLE = 48
MOST_QUESTION = 56


def injections(
    session: Annotated[
        str,
        typer.Option("--session", metavar="ID", help="Only injections into this session, by id or prefix."),
    ] = "",
    memory: Annotated[
        str,
        typer.Option("--memory", metavar="ID", help="Only injections of this memory, each with its reason."),
    ] = "",
    since: Annotated[str, typer.Option("--since", help="Only since then: 2026-03-15, 7d, yesterday.")] = "",
    by_moment: Annotated[
        bool,
        typer.Option(
            "--by-moment",
            help="Show for each event how often it injected something, and how often that was used.",
        ),
    ] = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
    as_lines: JsonLinesOption = False,
) -> int:
    """Show what was injected into sessions, when and why, latest first."""
    from ragmem.api.memory import now
    from ragmem.services.context.injection_list import injection_shape
    from ragmem.services.processes.dates import parse_moment

    if as_json and as_lines:
        raise UsageError("--json and --jsonl are mutually exclusive", hint="give one of them")
    start = parse_moment(since, now=now()) if since else None
    if by_moment:
        if session or memory:
            raise UsageError("--by-moment covers all sessions", hint="leave out --session and --memory")
        return _say_moments(start or now() - MOMENTS_SINCE, as_json=as_json, as_lines=as_lines)
    with open_memory() as opened:
        found = opened.injections.log(
            session=session,
            memory=memory,
            since=start,
            limit=limit or (DEFAULT_WHOLE if memory else DEFAULT_LIMIT),
        )
    if as_json:
        say_json({"schema": 1, "injections": [injection_shape(item) for item in found]})
    elif as_lines:
        for item in found:
            say_json(injection_shape(item), lines=True)
    elif memory:
        for number, item in enumerate(found):
            if number:
                say()
            _say_whole(item)
    elif found:
        table(
            ("at", "session", "event", "memory", "score", "tokens", "feedback", "title", "question"),
            [_row(item) for item in found],
        )
    if not found:
        tell("nothing was injected" if not (session or memory or since) else "no such injection")
    return EXIT_OK if found else EXIT_NO


def _say_moments(since: datetime, *, as_json: bool, as_lines: bool) -> int:
    from ragmem.services.context.moment_report import moment_shape

    with open_memory() as opened:
        figures = opened.injections.moments(since=since)
    if as_json:
        say_json({"schema": 1, "moments": [moment_shape(one) for one in figures]})
    elif as_lines:
        for one in figures:
            say_json(moment_shape(one), lines=True)
    else:
        table(
            ("moment", "spoke", "memories", "of use", "of judged", "silent", "mostly because"),
            [
                (
                    one.moment,
                    one.told,
                    one.memories,
                    one.useful,
                    one.judged,
                    one.silent,
                    one_line(printable(next(iter(one.reasons.most_common(1)), ("",))[0]), MOST_QUESTION),
                )
                for one in figures
            ],
        )
    return EXIT_OK if any(one.told or one.silent for one in figures) else EXIT_NO


def _row(item: "ListedInjection") -> tuple[str | int, ...]:
    one = item.injection
    who = f"{one.session[:8]}/{one.agent[:8]}" if one.agent else one.session[:8]
    return (
        moment(one.injected_at)[:16].replace("T", " "),
        who,
        one.event,
        one.memory[:WIDTH],
        "" if one.score is None else f"{one.score:.2f}",
        one.tokens,
        f"{item.feedback:+d}" if item.feedback else "",
        one_line(printable(_title(item)), MOST_TITLE),
        one_line(printable(one.question), MOST_QUESTION),
    )


def _title(item: "ListedInjection") -> str:
    return f"{item.title} ({item.state})".strip() if item.state else item.title


def _say_whole(item: "ListedInjection") -> None:
    """Print one injection: its session, its reason, and its score."""
    one, detail = item.injection, item.injection.detail
    into = f"session {one.session}" + (f", agent {one.agent}" if one.agent else "")
    lines = [
        (
            "injected",
            f"{moment(one.injected_at)} into {into}" + (f" of {one.assistant}" * bool(one.assistant)),
        ),
        ("memory", f"{one.memory[:WIDTH]}  {_title(item)}, {one.tokens} tokens"),
        ("because", f"{one.event}: {one.reason}"),
        ("question", one.question or "none: the session started"),
        ("score", _score(item)),
    ]
    if terms := {name: value for name, value in detail.get("terms", {}).items() if name in TERMS}:
        lines.append(("terms", ", ".join(f"{name} {value:.2f}" for name, value in terms.items())))
    lines += [
        ("besides" if not number else "", f"{other[:WIDTH]}  {score:.2f}  {title}")
        for number, (other, title, score) in enumerate(item.others)
    ]
    if item.feedback:
        lines.append(("feedback", f"{item.feedback:+d}"))
    for name, value in lines:
        say(f"{bold(name.ljust(WIDTH))} {value}")
    if not item.feedback and one.memory:
        say(
            dim(f"{'':{WIDTH}} of use? ragmem feedback {one.memory[:WIDTH]} good|bad --session {one.session}")
        )


def _score(item: "ListedInjection") -> str:
    one, detail = item.injection, item.injection.detail
    if one.score is None:
        return "none: not from a search"
    place = f", place {detail['place']} of {detail['of']} found" if "place" in detail else ""
    relevance, floor = detail.get("terms", {}).get("relevance"), detail.get("floor")
    against = f"; relevance {relevance:.2f}, injected from {floor:.2f} on" if relevance and floor else ""
    return f"{one.score:.2f}{place}{against}"
