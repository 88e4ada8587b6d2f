"""`ragmem approve`: accept or reject proposed memories and skills."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragmem.cli.common import (
    command_group,
    moment,
    one_line,
    open_memory,
    plural,
    printable,
    say,
    say_json,
    select_projects,
    table,
    tell,
)
from ragmem.cli.options import AllOption, JsonOption, LimitOption, ProjectOption
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.model.lifecycle import Approval
from ragmem.errors import EXIT_NO, EXIT_OK

if TYPE_CHECKING:
    from ragmem.domain.secrets.redaction import Redactor
    from ragmem.services.lifecycle.approval import Proposal

DEFAULT_LIMIT = 50

TITLE = 70
"""Characters of a title in the table."""

EPILOG = """\b
Examples:
  ragmem approve
  ragmem approve show 3q7hn2zk5x4m
  ragmem approve accept 3q7hn2zk5x4m 5k2mzq7a4b3c
  ragmem approve reject 3q7hn2zk5x4m
  ragmem approve draft

\b
Exit codes:
  0  done
  1  no proposals, or no workflow was found
  2  usage or configuration, or no such id, or a file is in the way
  3  the file of a skill cannot be written
  5  the store is busy
"""

app = command_group(
    "approve",
    about="Accept or reject proposed memories and skills.",
    epilog=EPILOG,
    default="list",
)

IdsArgument = Annotated[
    list[str], typer.Argument(metavar="ID...", help="Ids of memories and drafts, or prefixes of them.")
]


@app.command("list")
def show_list(
    project: ProjectOption = None,
    everywhere: AllOption = False,
    state: Annotated[
        Literal["proposed", "accepted", "rejected"],
        typer.Option("--state", help="Only proposals in this state."),
    ] = "proposed",
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """List proposals: drafted skills, then the latest memories."""
    approval = Approval(state)
    with open_memory() as memory:
        memory.require()
        projects = select_projects(memory, project, every=everywhere)
        found = memory.approvals.proposals(approval, projects=projects, limit=limit or DEFAULT_LIMIT)
        waiting = sum(memory.approvals.count(projects))
    if as_json:
        _say_json(found, redactor=memory.redactor, waiting=waiting)
        return EXIT_OK if found else EXIT_NO
    if not found:
        tell("nothing waits for your review" if approval is Approval.PROPOSED else f"nothing is {approval}")
        return EXIT_NO
    table(
        ("id", "date", "what", "project", "says"),
        [
            (
                one.id[:SHORT_ID_LENGTH],
                f"{one.at:%Y-%m-%d}",
                one.sort,
                one.project,
                one_line(one.line(memory.redactor), TITLE),
            )
            for one in found
        ],
    )
    if approval is Approval.PROPOSED and waiting > len(found):
        tell(f"{waiting - len(found):,} more wait; --limit shows more")
    return EXIT_OK


@app.command()
def show(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The id of a memory or a draft.")],
    as_json: JsonOption = False,
) -> int:
    """Show the origin and the full text of a proposal."""
    with open_memory() as memory:
        one = memory.approvals.get(identifier)
    redactor = memory.redactor
    if as_json:
        _say_json([one], redactor=redactor)
        return EXIT_OK
    say(f"{one.id[:SHORT_ID_LENGTH]}  {one.sort}, {one.approval}: {printable(redactor.redact(one.title)[0])}")
    say(f"{moment(one.at)}  {one.project}  from {', '.join(one.sources)}")
    if one.path:
        say(f"written to {one.path}")
    say()
    for line in redactor.redact(one.text)[0].splitlines():
        say(printable(line))
    return EXIT_OK


@app.command()
def accept(
    identifiers: IdsArgument,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="DIR",
            help="Write skills below this folder instead of the project's.",
            file_okay=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Accept proposals: a memory takes effect, a skill is written for the assistant.

    A skill becomes `.claude/skills/NAME/SKILL.md` in the folder of its project. It never replaces a file.
    `ragmem approve reject` undoes this.
    """
    with open_memory() as memory:
        done = memory.approvals.accept(identifiers, to=to)
    return _report(done, redactor=memory.redactor, as_json=as_json)


@app.command()
def reject(identifiers: IdsArgument, as_json: JsonOption = False) -> int:
    """Reject proposals: a memory stays searchable but has no other effect.

    Removes the file of an accepted skill unless it was edited. `ragmem approve accept` undoes this.
    """
    with open_memory() as memory:
        done = memory.approvals.reject(identifiers)
    return _report(done, redactor=memory.redactor, as_json=as_json)


@app.command()
def draft(project: ProjectOption = None, everywhere: AllOption = False, as_json: JsonOption = False) -> int:
    """Find workflows in stored sessions, and draft a skill from each.

    A workflow is a sequence of commands that occurs in three sessions of a project.
    """
    with open_memory() as memory:
        memory.require()
        projects = select_projects(memory, project, every=everywhere)
        new, found = memory.approvals.draft(projects)
    if as_json:
        say_json({"schema": 1, "workflows": found, "new": new})
    elif found:
        say(f"{plural(found, 'workflow')}, {plural(new, 'new draft')}: ragmem approve")
    else:
        tell("no workflow was seen in three sessions of a project")
    return EXIT_OK if found else EXIT_NO


def _report(done: "list[Proposal]", *, redactor: "Redactor", as_json: bool) -> int:
    if as_json:
        _say_json(done, redactor=redactor)
        return EXIT_OK
    for one in done:
        where = f", written to {one.path}" if one.path else ""
        title = printable(redactor.redact(one.title)[0])
        say(f"{one.id[:SHORT_ID_LENGTH]}  {title}: {one.approval}{where}")
        if one.note:
            tell(f"note: {one.note}")
    return EXIT_OK


def _say_json(found: "list[Proposal]", *, redactor: "Redactor", waiting: int | None = None) -> None:
    from ragmem.services.lifecycle.approval import proposal_shape

    whole = waiting is None
    shapes = [proposal_shape(one, redactor=redactor, whole=whole) for one in found]
    say_json({"schema": 1, "proposals": shapes} | ({} if waiting is None else {"waiting": waiting}))
