"""`ragmem setup`: index your notes and connect the assistants on this machine."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import (
    SCHEMA,
    Bar,
    bold,
    confirm,
    dim,
    moment,
    one_line,
    open_memory,
    plural,
    printable,
    say,
    say_json,
    size,
    table,
    tell,
)
from ragmem.cli.connections import AssistantsArgument
from ragmem.cli.options import DryRunOption, JsonOption, YesOption
from ragmem.errors import EXIT_FAILED, EXIT_NO, EXIT_OK, StorageError, UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.services.processes.operation import SharedProgress
    from ragmem.services.seeding.report import SeedReport
    from ragmem.services.setup.first_answer import FirstAnswer
    from ragmem.services.setup.plan import SetupPlan
    from ragmem.services.setup.survey import Survey
    from ragmem.services.wiring.connect import ConnectContext

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem setup
  ragmem setup --dry-run
  ragmem setup --yes
  ragmem setup claude-code codex --dry-run
  ragmem setup --yes --no-connect

\b
Exit codes:
  0  done, or nothing to do
  1  nothing was done: you declined, or there was no terminal and no --yes
  2  usage
  3  something failed and is named; the rest is done
"""

MOST_DESCRIBED = 60
"""Characters of a source's description that fit beside its numbers."""

SHOWN_PLACES = 4
SHOWN_PROBLEMS = 3

SEED_FILES = "ragmem seed"
SEED_SESSIONS = "ragmem seed --source transcripts"
"""A seed reads sessions only when they are named."""


@app.command(epilog=EPILOG)
def setup(
    assistants: AssistantsArgument = None,
    no_connect: Annotated[
        bool, typer.Option("--no-connect", help="Do not change the settings of assistants.")
    ] = False,
    no_transcripts: Annotated[
        bool, typer.Option("--no-transcripts", help="Read only files, not the sessions of assistants.")
    ] = False,
    no_completions: Annotated[
        bool, typer.Option("--no-completions", help="Do not install shell completion.")
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> int:
    """Index your notes and connect the assistants on this machine.

    Shows what it found and what it would do, and asks once. You can interrupt it at any point: run it again
    to continue. ASSISTANT names the ones to connect; the default is all that are on this machine.
    """
    from ragmem.cli.connections import connect_context

    if assistants and no_connect:
        raise UsageError("--no-connect and a name are mutually exclusive", hint="ragmem setup --no-connect")
    if as_json and not (yes or dry_run):
        raise UsageError("--json cannot ask for confirmation", hint="ragmem setup --json --dry-run")
    with open_memory(quiet=as_json) as memory:
        # Before anything is searched, and even for a dry run: no plan could be carried out.
        _require_writable(memory.settings.places.data)
        desk = connect_context()
        plan = _plan(
            memory,
            desk,
            names=None if no_connect else [one.value for one in assistants or ()],
            sessions=not no_transcripts,
            completions=not no_completions,
        )
        if not as_json:
            _say_survey(plan.survey, memory.home)
            _say_plan(plan, memory)
        if dry_run or plan.is_done or not (yes or _is_wanted()):
            if as_json:
                say_json(_document(plan, dry_run=dry_run))
            elif plan.is_done:
                _say_pending(memory, plan, act=yes and not dry_run)
                _say_answer(memory)
                _say_next(memory, plan)
            return EXIT_OK if dry_run or plan.is_done else EXIT_NO
        return _carry_out(memory, desk, plan, as_json=as_json)


def _require_writable(folder: Path) -> None:
    """Raise StorageError for a folder in which nothing can be made."""
    there = next(one for one in (folder, *folder.parents) if os.path.lexists(one))
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return
    reason = "it is not writable" if there.is_dir() else "it is not a folder"
    raise StorageError(
        f'the ragmem home cannot be in "{there}": {reason}',
        hint="set RAGMEM_HOME to a writable folder",
    )


def _is_wanted() -> bool:
    if sys.stdin.isatty():
        return confirm("Do this?")
    tell("note: no terminal to confirm, so nothing was done; use --yes")
    return False


def _plan(
    memory: "Ragmem", desk: "ConnectContext", *, names: list[str] | None, sessions: bool, completions: bool
) -> "SetupPlan":
    from ragmem.assistants import load_assistant
    from ragmem.cli.completions import chosen_shell
    from ragmem.services.setup.plan import plan_setup
    from ragmem.services.setup.survey import survey

    found = survey(memory.settings, memory.catalog, desk, home=memory.home)
    if names is None:
        chosen = []
    elif names:
        chosen = [load_assistant(name) for name in dict.fromkeys(names)]
    else:
        chosen = [one.assistant for one in found.assistants if one.found]
    shell = None
    if completions:
        try:
            shell = chosen_shell(None)
        except UsageError:  # another shell, which ragmem completes nothing in
            shell = None
    return plan_setup(
        found,
        memory.catalog,
        desk,
        sessions=sessions,
        chosen=chosen,
        shell=shell,
        environ=os.environ,
        home=memory.home,
    )


def _short(path: Path, home: Path) -> str:
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _say_survey(found: "Survey", home: Path) -> None:
    say(bold("On this machine"))
    rows = [
        (
            one.assistant.title,
            one.version or "-",
            one.sessions.files,
            size(one.sessions.bytes) if one.sessions.files else "-",
            one.sessions.new,
            {"no": "no", "connected": "yes"}.get(one.connected, one.connected),
        )
        for one in found.assistants
    ]
    if found.other_sessions.files:
        other = found.other_sessions
        rows.append(("other sessions", "-", other.files, size(other.bytes), other.new, "-"))
    if rows:
        say()
        table(("assistant", "version", "sessions", "size", "to read", "connected"), rows)
    else:
        say("no coding assistants, and no sessions")
    files = [
        (
            one.name,
            one.amount.files,
            size(one.amount.bytes),
            one.amount.new,
            one_line(one.description, MOST_DESCRIBED),
        )
        for one in found.sources
    ]
    say()
    if files:
        table(("files", "found", "size", "to read", "what they are"), files)
    else:
        say("no notes, memory files or instructions in the known places")
    if found.repositories:
        shown = ", ".join(_short(one, home) for one in found.repositories[:SHOWN_PLACES])
        more = len(found.repositories) - SHOWN_PLACES
        say()
        say(
            f"{plural(len(found.repositories), 'repository', 'repositories')}: {shown}"
            + (f", and {more:,} more" if more > 0 else "")
        )
    if found.cut:
        tell(f"note: there may be more repositories: {found.cut}")
    if found.unread:
        say()
        say("Also found, but not read by setup; to read it, run the command:")
        for left in found.unread:
            more_files = " or more" if left.more else ""
            say(
                f"  {left.what}: {plural(left.files, 'file')}{more_files}, {size(left.bytes)}: {left.command}"
            )
    for one in found.left_out:
        tell(f"note: {_short(Path(one.place), home)}: {one.reason}")


def _say_plan(plan: "SetupPlan", memory: "Ragmem") -> None:
    say()
    if plan.is_done:
        say(f"{bold('Everything is set up')}: {_state_words(plan)}")
        _say_failed(plan)
        _say_problems(plan)
        return
    say(bold("Setup will"))
    steps = _connection_lines(plan, memory.home)
    if plan.installs and plan.completion is not None:
        steps.append(
            f"install the completion of {plan.completion.shell}: {_short(plan.completion.file, memory.home)}"
        )
    steps += _reading_lines(plan, memory)
    if plan.reads or _holds_memories(memory):
        steps.append("ask a first question about your own work")
    for number, step in enumerate(steps, start=1):
        say(f"  {number}. {step}")
    say("  " + dim("Nothing else is written outside of ragmem's own folders."))
    if plan.connects:
        say(
            "  "
            + dim(
                "`ragmem connect NAME --dry-run` shows every line of a change; `ragmem disconnect` undoes it."
            )
        )
    _say_failed(plan)
    _say_problems(plan)


def _state_words(plan: "SetupPlan") -> str:
    """Say what is read and connected, and nothing of what is not here."""
    found = plan.files + plan.sessions
    read = "there are no files to read"
    if found.files:
        read = "everything readable is indexed" if found.failed else "everything is indexed"
    if not plan.survey.assistants:
        return f"{read}, and there is no assistant to connect"
    return f"{read}, and connected" if _has_connection(plan) and found.files else read


def _has_connection(plan: "SetupPlan") -> bool:
    return any(one.connected in {"connected", "plug-in"} for one in plan.survey.assistants)


def _holds_memories(memory: "Ragmem") -> bool:
    return memory.catalog.exists() and bool(memory.catalog.overview.count_by("source"))


def _say_failed(plan: "SetupPlan") -> None:
    """Say how many files no seed could read; a setup does not try them again on their account."""
    for failed, what, command in (
        (plan.files.failed, "file", SEED_FILES),
        (plan.sessions.failed, "session", SEED_SESSIONS),
    ):
        if failed:
            tell(
                f"note: {plural(failed, what)} could not be read before; `{command}` tries again and says why"
            )


def _reading_lines(plan: "SetupPlan", memory: "Ragmem") -> list[str]:
    lines = []
    expected = plan.estimate
    data = _short(memory.settings.places.data, memory.home)
    if plan.reads:
        what = " and ".join(
            told
            for told in (
                plural(plan.files.new, "file") if plan.files.new else "",
                plural(plan.sessions.new, "session") if plan.sessions.new else "",
            )
            if told
        )
        lines.append(
            f"read {what} ({size(plan.files.new_bytes + plan.sessions.new_bytes)}) into {data}:\n"
            f"     full text takes {_span(expected.words_s)}; vectors for search by\n"
            f"     meaning follow in the background: {_span(expected.vectors_s)};\n"
            f"     {size(expected.bytes)} of disk space (all estimates, from rates measured on two cores)"
        )
        free = _free(memory.settings.places.data)
        if free < expected.bytes:
            tell(f"warning: only {size(free)} of disk space are free there")
    return lines


def _free(folder: Path) -> int:
    there = next(one for one in (folder, *folder.parents) if one.exists())
    return shutil.disk_usage(there).free


def _span(seconds: float) -> str:
    if seconds < 5:
        return "a few seconds"
    if seconds < 90:
        return f"about {5 * round(seconds / 5)} seconds"
    return (
        f"about {round(seconds / 60)} minutes" if seconds < 7200 else f"about {round(seconds / 3600)} hours"
    )


def _connection_lines(plan: "SetupPlan", home: Path) -> list[str]:
    from ragmem.assistants.places import SERVER_FORMS

    lines = []
    for outcome in plan.connects:
        hooks = {_short(one.path, home): None for one in outcome.changes if one.form not in SERVER_FORMS}
        servers = [_short(one.path, home) for one in outcome.changes if one.form in SERVER_FORMS]
        told = f"{plural(len(outcome.assistant.hook_events()), 'hook')} in {', '.join(hooks)}"
        server = f"; the MCP server in {', '.join(servers)}" if servers else ""
        lines.append(f"connect {outcome.assistant.title}: {told}{server}")
    return lines


def _say_problems(plan: "SetupPlan") -> None:
    for one in plan.problems:
        tell(f"note: {one.name}: {one.reason}")


def _carry_out(memory: "Ragmem", desk: "ConnectContext", plan: "SetupPlan", *, as_json: bool) -> int:
    """Connect first, because reading may take long; answer when the latest sessions are read, and go on."""
    from ragmem.services.processes.operation import SharedProgress

    told: list[FirstAnswer] = []

    def answer() -> None:
        told.append(_say_answer(memory))
        say()
        say(
            dim(
                "Reading older sessions now. You can already query; after ^C run the same command to "
                "continue."
            )
        )

    if not as_json:
        say()
    with Bar(quiet=as_json) as bar, SharedProgress(memory.settings.places.state, "setup", bar) as shared:
        shared.begin("connect", len(plan.connects))
        failed = _connect(desk, plan, quiet=as_json)
        failed += _install(plan, quiet=as_json)
        reports = _seed(memory, plan, shared, quiet=as_json, on_recent=None if as_json else answer)
    indexing = _index(memory)
    broken = sum(report.failed for report in reports)
    if as_json:
        done = {
            "read": sum(tally.new + tally.changed for report in reports for tally in report.tallies),
            "failed": broken,
            "background": indexing,
            "problems": [asdict(one) for report in reports for one in report.problems],
            "errors": failed,
            "answer": _answer_shape(_find_answer(memory)),
        }
        say_json(_document(plan, dry_run=False) | done)
    else:
        _say_answer(memory, besides=told)
        _say_next(memory, plan)
    return EXIT_FAILED if failed or broken or any(report.note for report in reports) else EXIT_OK


def _seed(
    memory: "Ragmem",
    plan: "SetupPlan",
    progress: "SharedProgress",
    *,
    quiet: bool,
    on_recent: "Callable[[], None] | None",
) -> list["SeedReport"]:
    """Read the files first and then the sessions, which may be gigabytes."""
    from ragmem.domain.sessions.transcript import SOURCE

    reports = []
    files = [name for name in plan.sources if name != SOURCE] if plan.files.new else []
    for names in (files, [SOURCE] if plan.sessions.new else []):
        if not names:
            continue
        report = memory.seed(sources=names, wait=False, llm=False, progress=progress, on_recent=on_recent)
        reports.append(report)
        if not quiet:
            _say_read(report, what="sessions" if names == [SOURCE] else "files")
    return reports


def _say_read(report: "SeedReport", *, what: str) -> None:
    stored = sum(tally.new + tally.changed for tally in report.tallies)
    say(
        f"read {what}: {plural(stored, 'memory', 'memories')} in {report.seconds:.0f} s; full text "
        "already finds them"
    )
    failures = [one for one in report.problems if one.level == "failed"]
    for problem in failures[:SHOWN_PROBLEMS]:
        tell(f"failed: {problem.place}: {problem.reason}")
    if len(failures) > SHOWN_PROBLEMS:
        command = SEED_SESSIONS if what == "sessions" else SEED_FILES
        tell(f"... and {len(failures) - SHOWN_PROBLEMS:,} more; `{command}` lists them")
    warnings = {one.place: one.reason for one in report.problems if one.level == "warning"}
    if warnings:
        place, reason = next(iter(warnings.items()))
        told = reason if place in reason else f"{place}: {reason}"
        tell(f"note: of {plural(len(warnings), 'file')} a part could not be read, such as {told}")
    if report.note:
        tell(f"failed: {report.note}")


def _say_pending(memory: "Ragmem", plan: "SetupPlan", *, act: bool) -> None:
    """Say who makes the vectors that wait; with `act` a process is started that does."""
    from ragmem.daemon import indexer

    if not plan.pending:
        return
    waiting = plural(plan.pending, "memory waits for its vectors", "memories wait for their vectors")
    if indexer.is_running(memory) or (act and _index(memory)):
        say(f"{waiting}, made in the background; full text already finds them")
    else:
        tell(f"note: {waiting}: `ragmem ingest --drain` makes them")


def _index(memory: "Ragmem") -> bool:
    """Have another process make the vectors of what waits."""
    from ragmem.cli.seed import index_in_background

    waits = memory.catalog.exists() and bool(memory.catalog.memories.pending_ids(most=1))
    return waits and index_in_background(memory)


def _connect(desk: "ConnectContext", plan: "SetupPlan", *, quiet: bool) -> list[str]:
    """Connect the assistants of the plan; return what failed."""
    from ragmem.errors import RagmemError
    from ragmem.services.wiring.connect import connect

    failed = []
    for planned in plan.connects:
        try:
            done = connect(desk, planned.assistant, "user")
        except RagmemError as error:
            failed.append(f"{planned.assistant.title}: {error.full_message}")
            tell(f"failed: {failed[-1]}")
            continue
        if quiet:
            continue
        kept = "".join(f"; backup of the settings: {one}" for one in done.kept)
        say(f"connected {done.assistant.title}{kept}")
        for note in (*done.notes, done.assistant.note):
            if note:
                tell(f"note: {note}")
    return failed


def _install(plan: "SetupPlan", *, quiet: bool) -> list[str]:
    """Install the completion of the plan; return what failed."""
    from ragmem.errors import RagmemError
    from ragmem.services.wiring.shell_completion import apply

    if plan.completion is None or not plan.installs:
        return []
    try:
        apply(plan.completion)
    except RagmemError as error:
        tell(f"failed: {error.full_message}")
        return [error.full_message]
    if not quiet:
        say(f"installed the completion of {plan.completion.shell}")
        if plan.completion.start_up_change == "needed":
            tell("note: `ragmem completions install --edit-rc` adds the line that your shell needs")
    return []


def _answer_shape(answer: "FirstAnswer") -> dict[str, Any]:
    return {
        "about": answer.about,
        "lines": [{**asdict(line), "at": moment(line.at)} for line in answer.lines],
    }


def _find_answer(memory: "Ragmem") -> "FirstAnswer":
    from ragmem.services.setup.first_answer import FirstAnswer, first_answer

    return first_answer(memory.catalog) if memory.catalog.exists() else FirstAnswer("latest")


def _say_answer(memory: "Ragmem", *, besides: Sequence["FirstAnswer"] = ()) -> "FirstAnswer":
    """Print the latest decision or result, unless it was printed already, and return it."""
    answer = _find_answer(memory)
    said = [line.text for line in answer.lines]
    if said in ([line.text for line in one.lines] for one in besides):
        return answer
    say()
    if not answer.lines:
        if _holds_memories(memory):
            say("None of the files that were read states a decision or a result.")
        else:
            say("There is nothing to query yet: no files or sessions were found.")
        return answer
    count = len(answer.lines)
    many = {1: "", 2: "two ", 3: "three "}.get(count, f"{count} ")
    decided = answer.about == "decisions"
    say(bold("What did I decide last?" if decided else "What did I work on last?"))
    noun = "decision" if decided else "memory"
    nouns = "decisions" if decided else "memories"
    say(f"Your last {many}{noun if count == 1 else nouns} {'is' if count == 1 else 'are'}:")
    for line in answer.lines:
        name = line.project_name or line.project.rpartition("-")[0]
        where = "" if line.project in {"user", "unassigned"} else f"  {printable(name)}"
        say(f"  {line.at:%Y-%m-%d}{where}  {dim(line.id)}")
        say(f"    {printable(line.text)}")
    return answer


def _say_next(memory: "Ragmem", plan: "SetupPlan") -> None:
    say()
    say(bold("What comes next"))
    if not _holds_memories(memory):
        say("  ragmem ingest FOLDER           # store notes from any folder")
        say("  ragmem setup                   # again, after an assistant has worked on this machine")
        return
    say('  ragmem query "why did we ..."  # ask in your own words; in a project folder, about that project')
    say("  ragmem inspect memory ID       # show one of the above in full")
    if plan.connections or _has_connection(plan):
        say("  Start a new assistant session: relevant memories are injected. `ragmem doctor` verifies this.")
    else:
        say("  ragmem connect NAME            # inject memories into an assistant's sessions")

    if shutil.which("ragmem") is None:
        tell(f'note: to put `ragmem` on your PATH: PATH="{Path(sys.executable).parent}:$PATH"')


def _document(plan: "SetupPlan", *, dry_run: bool) -> dict[str, Any]:
    from ragmem.cli.connections import redact_diff

    found, expected = plan.survey, plan.estimate
    return {
        "schema": SCHEMA,
        "dry_run": dry_run,
        "done": plan.is_done,
        "assistants": [
            {
                "assistant": one.assistant.name,
                "found": one.found,
                "version": one.version,
                "sessions": asdict(one.sessions),
                "connected": one.connected,
            }
            for one in found.assistants
        ],
        "sources": [asdict(one) for one in found.sources],
        "repositories": list(found.repositories),
        "unread": [asdict(one) for one in found.unread],
        "left_out": [asdict(one) for one in found.left_out],
        "plan": {
            "sources": list(plan.sources),
            "files": asdict(plan.files),
            "sessions": asdict(plan.sessions),
            "pending": plan.pending,
            "estimate": {
                "words_seconds": round(expected.words_s, 1),
                "vectors_seconds": round(expected.vectors_s, 1),
                "bytes": expected.bytes,
            },
            "connections": [
                {
                    "assistant": one.assistant.name,
                    "changed": one.is_changed,
                    "files": [
                        {"path": change.path, "changed": change.is_changed, "diff": redact_diff(change)}
                        for change in one.changes
                    ],
                }
                for one in plan.connections
            ],
            "completion": None
            if plan.completion is None
            else {
                "shell": plan.completion.shell,
                "file": plan.completion.file,
                "change": plan.completion.change,
            },
            "problems": [asdict(one) for one in plan.problems],
        },
    }
