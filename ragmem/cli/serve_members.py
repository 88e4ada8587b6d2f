"""`ragmem serve members`: who may use the server of a team, with which role."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from ragmem.cli.common import command_group, open_memory, say, say_json, table, tell
from ragmem.cli.options import JsonOption, QuietOption
from ragmem.errors import EXIT_OK

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.server.security.members import Members

T = TypeVar("T")

EPILOG = """\b
Examples:
  ragmem serve members add ann --role writer
  ragmem serve members list
  ragmem serve members rotate bob
  ragmem serve members remove bob

\b
Exit codes:
  0  done
  2  usage, a name that exists already, or an unknown name
  3  the members file cannot be written
"""

app = command_group(
    "serve members",
    about="List, add and remove the members of a team's server.",
    epilog=EPILOG,
    default="list",
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits, -, . and _.")]


@app.command()
def add(
    name: _Name,
    role: Annotated[
        Literal["reader", "writer", "admin"],
        typer.Option("--role", help="reader queries; writer also stores; admin also runs gc and jobs."),
    ],
    projects: Annotated[
        list[str] | None,
        typer.Option(
            "--project", metavar="NAME", help="A project that the member may see; all by default. Repeatable."
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Add a member, and print the token once."""

    def change(memory: "Ragmem", members: "Members") -> str:
        chosen = None
        if projects:
            memory.require()
            chosen = memory.projects.resolve(projects)
        return members.add(name, role, chosen)

    return _say_token(name, _changed("add", name, change, quiet=quiet), as_json=as_json, quiet=quiet)


@app.command(name="list")
def list_(as_json: JsonOption = False) -> int:
    """List the members by name."""
    from ragmem.server.security.members import Members

    with open_memory() as memory:
        found = Members(memory.settings.places.state).all()
        names = memory.catalog.projects.names() if found and memory.catalog.exists() else {}
    if as_json:
        shown = [{key: value for key, value in asdict(one).items() if key != "token_sha256"} for one in found]
        say_json({"schema": 1, "members": shown})
    elif not found:
        say("there are no members; add one: `ragmem serve members add NAME --role writer`")
    else:
        table(
            ("member", "role", "projects", "token issued (UTC)"),
            (
                (one.name, one.role, _project_names(one.projects, names), one.token_at[:16].replace("T", " "))
                for one in found
            ),
        )
    return EXIT_OK


@app.command()
def remove(name: _Name, quiet: QuietOption = False) -> int:
    """Remove a member and revoke the token; memories stay."""
    _changed("remove", name, lambda _, members: members.remove(name), quiet=quiet)
    if not quiet:
        say(f"removed {name}; memories of this member stay")
    return EXIT_OK


@app.command()
def rotate(name: _Name, as_json: JsonOption = False, quiet: QuietOption = False) -> int:
    """Replace the token of a member, and print the new one once."""
    token = _changed("rotate", name, lambda _, members: members.rotate(name), quiet=quiet)
    return _say_token(name, token, as_json=as_json, quiet=quiet)


def _changed(what: str, name: str, change: "Callable[[Ragmem, Members], T]", *, quiet: bool) -> T:
    """Change the members, and leave a line in the audit log."""
    from ragmem.server.security.members import Members

    with open_memory(quiet=quiet) as memory:
        done = change(memory, Members(memory.settings.places.state))
        try:
            from ragmem.server.security.audit import FILE_NAME, MAX_TEAM_FILES, AuditLog
        except ModuleNotFoundError:
            tell("warning: the change is not in the audit log: pip install 'ragmem[team]'")
            return done
        path = memory.settings.places.state / FILE_NAME
        log = AuditLog(path, warn=lambda line: tell(f"warning: {line}"), kept=MAX_TEAM_FILES)
        log.record(who="owner", method="CLI", route=f"serve members {what}", status="done", member=name)
    return done


def _project_names(projects: Sequence[str] | None, names: "dict[str, str]") -> str:
    return "all" if projects is None else ", ".join(names.get(one, one) for one in projects) or "none"


def _say_token(name: str, token: str, *, as_json: bool, quiet: bool) -> int:
    if as_json:
        say_json({"schema": 1, "member": name, "token": token})
        return EXIT_OK
    say(token)
    if not quiet:
        tell(f"the token of {name}, shown only once; anyone who has it can act as {name}")
    return EXIT_OK
