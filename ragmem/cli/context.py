"""`ragmem context`: print the memories that a new session or a task needs."""

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import (
    bold,
    dim,
    open_memory,
    say_fitted,
    say_json,
    select_projects,
    standard_input,
    tell,
)
from ragmem.cli.help import on_terminal
from ragmem.cli.options import AllOption, JsonOption, ProjectOption, QuietOption, SourcesFileOption
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.services.context.context import Context

_ORIGIN = re.compile(r"\[[a-z0-9]{6,}\] |</?ragmem-")
"""How a line begins that names a memory, or that begins or ends a block."""

MAX_PROMPT = 1024 * 1024
"""Bytes of a prompt that are read from standard input; the rest does not change the topic."""

STATUS_S, ANSWER_S = 0.2, 3.0
"""Seconds that the warm process has to report its status, and to answer; later answers are discarded."""

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem context
  ragmem context "speed up the departures query" --budget 1500
  ragmem context --session 5f2c
  ragmem context --session 5f2c --prompt "why does the tide importer time out at night"

\b
Exit codes:
  0  found something to print
  1  nothing
  2  usage or configuration
  6  the store is damaged
"""


@app.command(epilog=EPILOG)
def context(
    task: Annotated[
        str,
        typer.Argument(
            metavar="[TASK]", help="What the session is about; without it, what every session needs."
        ),
    ] = "",
    budget: Annotated[
        int | None,
        typer.Option("--budget", "-b", metavar="TOKENS", min=100, help="Maximum number of estimated tokens."),
    ] = None,
    max_chars: Annotated[
        int | None,
        typer.Option(
            "--max-chars",
            min=200,
            help="Maximum number of characters; 9000 without a budget, 1500 without a task.",
        ),
    ] = None,
    project: ProjectOption = None,
    every: AllOption = False,
    session: Annotated[
        str,
        typer.Option(
            "--session", metavar="ID", help="Print only what was not injected into this session yet."
        ),
    ] = "",
    prompt: Annotated[
        str,
        typer.Option(
            "--prompt",
            metavar="TEXT",
            help="The current prompt; prints only if it starts a new topic. - reads standard input.",
        ),
    ] = "",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    sources_file: SourcesFileOption = None,
) -> int:
    """Print the memories that a new session or a task needs."""
    if every and project:
        raise UsageError("--all and --project are mutually exclusive", hint="give one of them")
    if prompt and not session:
        raise UsageError("--prompt needs --session", hint="ragmem context --session ID --prompt TEXT")
    if session and task:
        raise UsageError("a task and --session are mutually exclusive", hint="give it with --prompt")
    said = standard_input(MAX_PROMPT)[:MAX_PROMPT].decode("utf-8", "replace") if prompt == "-" else prompt
    reason, notes = "", tuple[str, ...]()
    projects: Sequence[str] | None
    with open_memory(sources_file=sources_file, quiet=quiet) as memory:
        memory.require()
        plain = session and not (project or every or budget or as_json or sources_file)
        if plain and (answer := _ask_daemon(memory, session, said, max_chars)) is not None:
            return _say_text(answer["text"], answer.get("notes", ()), answer.get("reason", ""), quiet=quiet)
        if session:
            named = memory.projects.resolve(project or ())
            told = memory.injections.anticipate(
                session, said, projects=named, everywhere=every, tokens=budget, max_chars=max_chars
            )
            block, reason, notes, projects = told.context, told.reason, told.notes, told.projects
        else:
            projects = select_projects(memory, project, every=every)
            block = _session_context(
                memory,
                task,
                own=sources_file is not None,
                projects=projects or (),
                everywhere=projects is None,
                tokens=budget,
                max_chars=max_chars,
                folder="" if project or every else str(memory.cwd),
            )
    if as_json:
        document = _document(block, task, projects, redactor=memory.redactor)
        if session:
            document |= {"session": session, "reason": reason, "notes": list(notes)}
        say_json(document)
    return _say_text(block.text, notes, reason or block.why_empty, quiet=quiet, said=as_json)


def _session_context(memory: "Ragmem", task: str, *, own: bool, **wanted: Any) -> "Context":
    """Return what a session should know, from the warm process if one runs."""
    from ragmem.services.context.daemon_answers import session_context

    found = None if own else session_context(str(memory.settings.places.data), task, **wanted)
    return found or memory.session_context(task, **wanted)


def _ask_daemon(memory: "Ragmem", session: str, prompt: str, max_chars: int | None) -> dict[str, Any] | None:
    """Return the answer of a warm process with these settings and a loaded model; None if there is none."""
    from ragmem import client
    from ragmem.client import runtime

    data = str(memory.settings.places.data)
    until = time.monotonic() + STATUS_S
    status = client.ask(data, {"op": "status"}, deadline=until, start=False) or {}
    if not status.get("ready") or status.get("identity") != runtime.identity():
        return None
    request: dict[str, Any] = {"op": "context", "session": session, "prompt": prompt, "cwd": str(memory.cwd)}
    if max_chars is not None:
        request["max_chars"] = max_chars
    answer = client.ask(data, request, deadline=time.monotonic() + ANSWER_S, start=False)
    # This process finds and reports the same error itself.
    return None if answer is None or "error" in answer else answer


def _say_text(text: str, notes: Sequence[str], reason: str, *, quiet: bool, said: bool = False) -> int:
    if text and not said:
        _say_block(text)
    if not quiet:
        for note in notes:
            tell(f"note: {note}")
        if not text:
            tell(reason)
    return EXIT_OK if text else EXIT_NO


def _say_block(text: str) -> None:
    """Write a block for an assistant as it is; on a terminal its headings and origins stand out."""
    for line in text.split("\n") if on_terminal() else [text]:
        told = bold(line) if line.startswith("#") else dim(line) if _ORIGIN.match(line) else line
        say_fitted(told)


def _document(
    block: "Context", task: str, projects: Sequence[str] | None, redactor: Redactor
) -> dict[str, Any]:
    from ragmem.services.retrieval.shapes import memory_shape

    return {
        "schema": 1,
        "task": task.strip(),
        "projects": list(projects) if projects is not None else None,
        "text": block.text,
        "tokens": block.tokens,
        "left_out": block.left_out,
        "memories": [memory_shape(item, redactor=redactor) for item in block.memories],
    }
