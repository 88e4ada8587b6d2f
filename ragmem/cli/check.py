"""`ragmem check`: check an assistant's answer against your rules."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import open_memory, plural, say, say_json, standard_input, tell
from ragmem.cli.options import JsonOption, QuietOption
from ragmem.config import hook_defaults
from ragmem.errors import EXIT_NO, EXIT_OK, NotFoundError, RagmemError, UsageError
from ragmem.hooks.log import Log

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.domain.sessions.rules import Rule
    from ragmem.services.context.checker import CheckReport
    from ragmem.storage.activity.violations import Violation

MAX_BYTES = 1024 * 1024
"""Maximum size of an answer."""

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem check answer.md
  ragmem check - --rules team-rules.md < answer.md
  ragmem check --list-rules
  ragmem check --history

\b
Exit codes:
  0  no rule is broken
  1  rules are broken
  2  usage or configuration: no rules, an invalid pattern
  3  the patterns of the rules take too long to match
"""


@app.command(epilog=EPILOG)
def check(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="The assistant's answer; - reads standard input.")
    ] = "",
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules", metavar="FILE", help="Rules in Markdown or TOML; by default those of [check]."
        ),
    ] = None,
    judge: Annotated[
        bool | None,
        typer.Option(
            "--judge/--no-judge", help="Whether to ask the language model about rules that need judgement."
        ),
    ] = None,
    session: Annotated[
        str,
        typer.Option(
            "--session",
            metavar="ID",
            help="Store violations, and inject them with this session's next prompt.",
        ),
    ] = "",
    agent: Annotated[str, typer.Option("--agent", metavar="ID", help="The agent within the session.")] = "",
    assistant: Annotated[
        str, typer.Option("--for", metavar="NAME", help="The assistant that gave the answer.")
    ] = "",
    list_rules: Annotated[
        bool, typer.Option("--list-rules", help="Show the parsed rules; check nothing.")
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Show the latest recorded violations; check nothing.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Check an assistant's answer against your rules."""
    wanted = sum((bool(file), list_rules, history))
    if wanted != 1:
        raise UsageError(
            "give one of FILE, --list-rules and --history" if wanted else "nothing to check",
            hint="ragmem check FILE, or - for standard input",
        )
    with open_memory(quiet=quiet) as memory, _log_failure(memory):
        if history:
            return _show_history(memory.rules.violations(session=session), as_json=as_json, quiet=quiet)
        path, known = memory.rules.read(rules)
        if list_rules:
            return _show_rules(path, known, as_json=as_json)
        text = _read(file)
        with_model = memory.settings.check.judge if judge is None else judge
        project = (memory.projects.default() or ("",))[0] if session and memory.is_stored() else ""
        limits = memory.settings.check
        before = signal.signal(signal.SIGALRM, _too_slow)
        # The patterns of a person may take exponential time on some texts.
        signal.setitimer(signal.ITIMER_REAL, limits.patterns_s + (limits.judgement_s if with_model else 0))
        try:
            found, new = memory.rules.check(
                text,
                known,
                session=session,
                agent=agent,
                assistant=assistant,
                project=project,
                judged=with_model,
            )
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    if as_json:
        say_json(_document(path, found, new))
    else:
        for one in found.violations:
            say(f"{one.rule}: {one.statement}\n   {one.excerpt}")
    if not quiet:
        if found.note:
            tell(f"note: {found.note}")
        if not as_json:
            tell(f"{plural(len(found.violations), 'rule')} broken of {found.rules} that were checked")
    return EXIT_NO if found.violations else EXIT_OK


@contextmanager
def _log_failure(memory: "Ragmem") -> Iterator[None]:
    """Write errors into the log that `ragmem doctor` reads: a process started by a hook has no stderr."""
    try:
        yield
    except RagmemError as error:
        if os.environ.get(hook_defaults.DEPTH):
            Log(str(memory.settings.places.state)).write("check", "failed:", error.full_message)
        raise


def _too_slow(*_: Any) -> None:
    raise RagmemError(
        "matching the rules took too long",
        hint="simplify the patterns with nested repetitions, or use --no-judge",
    )


def _read(file: str) -> str:
    if file == "-":
        return standard_input(MAX_BYTES)[:MAX_BYTES].decode("utf-8", "replace")
    path = Path(file)
    if not path.is_file():
        raise NotFoundError(f'there is no file "{file}"', hint="give a path, or - for standard input")
    with path.open("rb") as opened:
        return opened.read(MAX_BYTES).decode("utf-8", "replace")


def _show_rules(path: Path, rules: "list[Rule]", *, as_json: bool) -> int:
    if as_json:
        listed = [
            {"name": rule.name, "statement": rule.statement, "by": "text" if rule.by_text else "judgement"}
            for rule in rules
        ]
        say_json({"schema": 1, "file": str(path), "rules": listed})
        return EXIT_OK
    for rule in rules:
        by = "text" if rule.by_text else "judgement"
        say(f"{by:9}  {rule.name}: {rule.statement}")
    tell(f"{plural(len(rules), 'rule')} in {path}")
    return EXIT_OK


def _show_history(found: "list[Violation]", *, as_json: bool, quiet: bool) -> int:
    if as_json:
        say_json({"schema": 1, "violations": [_shape(one) for one in found]})
        return EXIT_OK
    for one in found:
        told = f"injected {one.told_at:%Y-%m-%d %H:%M}" if one.told_at else "not injected yet"
        say(
            f"{one.found_at:%Y-%m-%d %H:%M}  {one.rule}"
            f"  session {one.session}, {told}\n"
            f"   {one.statement}\n   {one.excerpt}"
        )
    if not found and not quiet:
        tell("no violation is recorded")
    return EXIT_OK


def _shape(one: "Violation") -> dict[str, Any]:
    return {
        "at": f"{one.found_at:%Y-%m-%dT%H:%M:%SZ}",
        "session": one.session,
        "agent": one.agent,
        "assistant": one.assistant,
        "project": one.project,
        "rule": one.rule,
        "statement": one.statement,
        "excerpt": one.excerpt,
        "told_at": f"{one.told_at:%Y-%m-%dT%H:%M:%SZ}" if one.told_at else None,
    }


def _document(path: Path, found: "CheckReport", new: int) -> dict[str, Any]:
    return {
        "schema": 1,
        "file": str(path),
        "rules": found.rules,
        "judged": found.judged,
        "note": found.note,
        "new": new,
        "violations": [
            {"rule": one.rule, "statement": one.statement, "excerpt": one.excerpt} for one in found.violations
        ],
    }
