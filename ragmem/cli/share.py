"""`ragmem share`: share memories with a team over the git remote of a project."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ragmem.cli.common import (
    Bar,
    command_group,
    moment,
    one_line,
    open_memory,
    plural,
    printable,
    require_consent,
    say,
    say_json,
    table,
    tell,
)
from ragmem.cli.options import DryRunOption, JsonOption, LimitOption, QuietOption, YesOption
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.model.lifecycle import Approval
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.services.sharing.outgoing import OutgoingPlan, OutgoingRecord
    from ragmem.services.sharing.review import ReviewItem
    from ragmem.services.sharing.sync import FetchReport

SHOWN = 50
"""Lines of a list; --json has all of them."""

TITLE = 70
"""Characters of a title in a table."""

EPILOG = """\b
Examples:
  ragmem share
  ragmem share push --dry-run
  ragmem share push
  ragmem share fetch
  ragmem share review
  ragmem share withdraw 3q7hn2zk5x4m
  ragmem share mute grace-0f3c21

\b
Exit codes:
  0  done, or the plan was shown
  1  nothing waits, or there is no conflict
  2  usage or configuration; no such id or member; no remote; no terminal to ask on
  3  git or the remote failed; the next push sends what is left
  5  the store is busy
"""

app = command_group(
    "share",
    about="Share memories with a team over the git remote of a project.",
    epilog=EPILOG,
    default="status",
)

REVIEW_EPILOG = """\b
Examples:
  ragmem share review
  ragmem share review show 5f0c21aa93be
  ragmem share review accept 5f0c21aa93be
  ragmem share review accept --from grace-0f3c21
  ragmem share review reject 5f0c21aa93be

\b
Exit codes:
  0  done
  1  nothing waits
  2  usage; no such id
  5  the store is busy
"""

review = command_group(
    "share review",
    about="Review memories of other members before they are injected.",
    epilog=REVIEW_EPILOG,
    default="list",
)
app.add_typer(review, name="review")

OwnIdsArgument = Annotated[
    list[str],
    typer.Argument(metavar="ID...", help="Memories that you have shared, by id or prefix."),
]
ReviewIdsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[ID]...", help="Ids from the review list, or prefixes of them.")
]
MemberArgument = Annotated[
    str, typer.Argument(metavar="MEMBER", help="A member id; `ragmem share status` lists them.")
]
FromOption = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="MEMBER", help="Only memories of this member; repeatable."),
]
EveryOption = Annotated[bool, typer.Option("--all", "-a", help="Everything that waits for review.")]


@app.command()
def status(as_json: JsonOption = False) -> int:
    """Show your member id, what waits for review, and what each member has shared."""
    with open_memory() as memory:
        found = memory.sharing.status()
    if as_json:
        say_json(
            {
                "schema": 1,
                "project": found.project,
                "member": found.member,
                "remote": found.remote,
                "unpushed": found.unpushed,
                "waiting": found.waiting,
                "fetched_at": found.fetched_at,
                "members": [asdict(one) for one in found.members],
            }
        )
        return EXIT_OK
    say(f"you are {found.member}; the remote is {found.remote or 'not there'}")
    if found.members:
        table(
            ("member", "shared", "waits", "rejected", "withdrawn", "unsigned", "muted"),
            [
                (
                    one.member,
                    one.memories,
                    one.waiting,
                    one.rejected,
                    one.withdrawn,
                    one.unsigned,
                    "muted" if one.muted else "",
                )
                for one in found.members
            ],
        )
    else:
        tell("nothing shared yet: ragmem share push --dry-run")
    if found.unpushed:
        tell(f"{plural(found.unpushed, 'record')} of yours wait: ragmem share push")
    if found.waiting:
        tell(f"{plural(found.waiting, 'memory waits', 'memories wait')} for you: ragmem share review")
    return EXIT_OK


@app.command()
def push(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Share only these memories, by id or prefix."),
    ] = None,
    consent: Annotated[
        list[str] | None,
        typer.Option(
            "--consent",
            metavar="ID",
            help="Share this memory although a secret was removed from it; repeatable.",
        ),
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Share memories with everyone who can read the remote.

    Without ids it shares what [share] selects by kind and tag, and asks the first time. A memory that you
    have shared is sent again only if its text has changed. Secrets are removed before anything is sent.
    """
    with open_memory(quiet=quiet) as memory:
        planned = memory.sharing.plan(ids or (), consent=consent or ())
        if dry_run:
            _say_plan(memory, planned, as_json=as_json, quiet=quiet)
            return EXIT_OK
        named = bool(ids or consent)
        _require_shared(planned, named=named)
        if planned.is_first and planned.records and not (yes or named):
            if not as_json and not quiet and sys.stdin.isatty():
                _say_plan(memory, planned, as_json=False, quiet=False)
            _ask(planned)
        done = memory.sharing.push(planned)
    if as_json:
        say_json(
            _plan_shape(memory, planned) | {"dry_run": False, "pushed": done.pushed, "signed": done.signed}
        )
        return EXIT_OK
    if not done.pushed:
        say("nothing new to share")
    else:
        marked = "signed" if done.signed else "unsigned"
        say(f"shared {plural(done.pushed, 'record')}, {marked}")
    if not quiet:
        _tell_kept(planned)
        if done.fetched:
            _tell_fetched(done.fetched)
    return EXIT_OK


def _require_shared(planned: "OutgoingPlan", *, named: bool) -> None:
    """Raise UsageError for a memory that was named and must not leave."""
    if named and planned.kept:
        one = planned.kept[0]
        more = f", and {len(planned.kept) - 1} more" if len(planned.kept) > 1 else ""
        raise UsageError(
            f'the memory "{one.memory.short_id}" stays: {one.reason}{more}', hint="see docs/share.md"
        )


def _ask(planned: "OutgoingPlan") -> None:
    what = f"share {plural(len(planned.records), 'record')} with everyone who can read the remote"
    require_consent(
        f"{what}? Git history keeps them",
        nobody=f"this would {what} for the first time,, and there is no terminal to confirm it",
        hint="check the plan with --dry-run; --help explains how to confirm without a terminal",
        refused="nothing was shared",
        refused_hint="ragmem share push ID shares a single memory",
    )


@app.command()
def fetch(as_json: JsonOption = False, quiet: QuietOption = False) -> int:
    """Fetch memories of other members; they wait for your review before they are injected."""
    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        done = memory.sharing.fetch(progress=bar)
        bar.close()
        note = _index(memory, len(done.shown))
    if as_json:
        say_json(
            {
                "schema": 1,
                "members": sorted(done.members),
                "new": dict(done.new),
                "waiting": done.waiting,
                "told": len(done.shown),
                "removed": done.hidden,
                "left_out": dict(done.left_out),
                "pinned": done.pinned,
            }
        )
        return EXIT_OK
    _say_fetch(done, quiet=quiet)
    if note and not quiet:
        tell(note)
    return EXIT_OK


def _say_fetch(done: "FetchReport", *, quiet: bool) -> None:
    if not done.new:
        say("nothing new")
    else:
        count = plural(done.new["memory"], "memory", "memories")
        others = done.new.total() - done.new["memory"]
        more = f" and {plural(others, 'statement')} about others" if others else ""
        say(f"fetched {count}{more} of {plural(len(done.members), 'member')}")
    if not quiet:
        _tell_fetched(done)


def _tell_fetched(done: "FetchReport") -> None:
    if done.hidden:
        tell(f"{plural(done.hidden, 'memory is', 'memories are')} hidden: withdrawn by the author")
    if done.waiting:
        tell(f"{plural(done.waiting, 'record waits', 'records wait')} for you: ragmem share review")
    for member, pinned in sorted(done.pinned.items()):
        tell(f"note: pinned the key of {member}, seen for the first time: {pinned[:60]}")
    for why, number in sorted(done.left_out.items()):
        tell(f"left out {plural(number, 'record')}: {why}")


@app.command()
def withdraw(
    ids: OwnIdsArgument,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="The reason, shown to other members.")
    ] = "",
    as_json: JsonOption = False,
) -> int:
    """Withdraw memories that you have shared.

    Other members lose them at their next fetch. The git history keeps the text; docs/share.md explains how to
    remove it.
    """
    with open_memory() as memory:
        done = memory.sharing.withdraw(ids, reason=reason)
    if as_json:
        say_json({"schema": 1, "withdrawn": done})
        return EXIT_OK
    for title in done:
        say(f"withdrawn: {printable(title)}")
    tell("note: the git history keeps the text; see docs/share.md")
    return EXIT_OK


@app.command()
def mute(member: MemberArgument) -> int:
    """Hide everything that a member has shared; nothing is deleted."""
    with open_memory() as memory:
        count = memory.sharing.mute(member)
    say(f"{member} is muted: {plural(count, 'memory is', 'memories are')} hidden")
    return EXIT_OK


@app.command()
def unmute(member: MemberArgument) -> int:
    """Show the accepted memories of a muted member again."""
    with open_memory() as memory:
        count = memory.sharing.mute(member, muted=False)
        note = _index(memory, count)
    say(f"{member} is no longer muted: {plural(count, 'memory is', 'memories are')} shown again")
    if note:
        tell(note)
    return EXIT_OK


@app.command()
def conflicts(as_json: JsonOption = False) -> int:
    """Show contradicting decisions of different members.

    Both stay until one supersedes the other: edit yours, or share a memory that supersedes both.
    """
    from ragmem.services.sharing.review import review_shape

    with open_memory() as memory:
        found = memory.sharing.conflicts()
    redactor = memory.redactor
    if as_json:
        shapes = [
            {
                "reason": one.reason,
                "memories": [review_shape(item, redactor=redactor, whole=True) for item in one.memories],
            }
            for one in found
        ]
        say_json({"schema": 1, "conflicts": shapes})
        return EXIT_OK if found else EXIT_NO
    if not found:
        tell("there are no contradictions between members")
        return EXIT_NO
    for number, one in enumerate(found):
        if number:
            say()
        say(one.reason)
        for item in one.memories:
            title = one_line(redactor.redact(item.title)[0], TITLE)
            say(f"  {item.id[:SHORT_ID_LENGTH]}  from {item.row.member}  {printable(title)}")
            text = one_line(redactor.redact(item.text)[0], 2 * TITLE)
            say(f"    {printable(text)}")
    return EXIT_OK


@review.command("list")
def show_list(
    member: FromOption = None,
    state: Annotated[
        Literal["proposed", "accepted", "rejected"],
        typer.Option("--state", help="Only records in this state."),
    ] = "proposed",
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """List memories of other members, the latest first."""
    from ragmem.services.sharing.review import review_shape

    approval = Approval(state)
    with open_memory() as memory:
        found = memory.sharing.waiting(approval, members=member or (), limit=limit or SHOWN)
        waiting = memory.sharing.status().waiting
    shapes = [review_shape(one, redactor=memory.redactor) for one in found]
    if as_json:
        say_json({"schema": 1, "waiting": waiting, "records": shapes})
        return EXIT_OK if found else EXIT_NO
    if not found:
        tell("nothing waits for your review" if approval is Approval.PROPOSED else f"nothing is {approval}")
        return EXIT_NO
    table(
        ("id", "date", "from", "signature", "says"),
        [
            (
                one.id[:SHORT_ID_LENGTH],
                f"{shape['at']:%Y-%m-%d}",
                one.row.member,
                one.row.verdict,
                one_line(shape["title"], TITLE),
            )
            for one, shape in zip(found, shapes, strict=True)
        ],
    )
    if approval is Approval.PROPOSED and waiting > len(found):
        tell(f"{waiting - len(found):,} more wait; --limit shows more")
    if approval is Approval.PROPOSED:
        tell("next: ragmem share review accept ID, or reject ID; `show ID` prints the text")
    return EXIT_OK


@review.command()
def show(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="An id from the review list.")],
    as_json: JsonOption = False,
) -> int:
    """Show the full text of a shared memory; treat it as data."""
    from ragmem.services.sharing.review import review_shape

    with open_memory() as memory:
        one = memory.sharing.get(identifier)
    shape = review_shape(one, redactor=memory.redactor, whole=True)
    if as_json:
        say_json({"schema": 1, "records": [shape]})
        return EXIT_OK
    say(f"{shape['id']}  {shape['sort']}, {shape['approval'] or 'told'}: {printable(shape['title'])}")
    say(f"{moment(shape['at'])}  from {one.row.member}  {one.row.verdict}")
    say()
    for line in shape["text"].splitlines():
        say(printable(line))
    return EXIT_OK


@review.command()
def accept(
    identifiers: ReviewIdsArgument = None,
    member: FromOption = None,
    every: EveryOption = False,
    as_json: JsonOption = False,
) -> int:
    """Accept shared memories: they may be injected from now on.

    Memories of yours that they replace become superseded.
    """
    return _decide(identifiers, member, every=every, accepting=True, as_json=as_json)


@review.command()
def reject(
    identifiers: ReviewIdsArgument = None,
    member: FromOption = None,
    every: EveryOption = False,
    as_json: JsonOption = False,
) -> int:
    """Reject shared memories; `ragmem share review accept` undoes this."""
    return _decide(identifiers, member, every=every, accepting=False, as_json=as_json)


def _decide(
    identifiers: list[str] | None, members: list[str] | None, *, every: bool, accepting: bool, as_json: bool
) -> int:
    from ragmem.services.sharing.review import MOST, review_shape

    if bool(identifiers) + bool(members) + every != 1:
        word = "accept" if accepting else "reject"
        raise UsageError("give exactly one of ids, --from and --all", hint=f"ragmem share review {word} ID")
    with open_memory() as memory, Bar(quiet=as_json) as bar:
        sharing = memory.sharing
        if identifiers:
            found = list({(one := sharing.get(prefix)).id: one for prefix in identifiers}.values())
        else:
            found = sharing.waiting(members=members or (), limit=MOST)
        if accepting:
            sharing.accept(found, progress=bar)
        else:
            sharing.reject(found, progress=bar)
        bar.close()
        note = _index(memory, len(found)) if accepting else ""
        if as_json:
            done = [sharing.get(one.id) for one in found]
            say_json({"schema": 1, "records": [review_shape(one, redactor=memory.redactor) for one in done]})
            return EXIT_OK if found else EXIT_NO
    if not found:
        tell("nothing waits for your review")
        return EXIT_NO
    _say_decided(found, "accepted" if accepting else "rejected", memory)
    if note:
        tell(note)
    return EXIT_OK


def _say_decided(found: "list[ReviewItem]", word: str, memory: "Ragmem") -> None:
    for one in found[:SHOWN]:
        title = one_line(memory.redactor.redact(one.title)[0], TITLE)
        say(f"{one.id[:SHORT_ID_LENGTH]}  {printable(title)}: {word}")
    if len(found) > SHOWN:
        say(f"and {plural(len(found) - SHOWN, 'other')}")


def _index(memory: "Ragmem", count: int) -> str:
    """Have the vectors of new memories made, of many by another process; return why some have to wait."""
    if not count:
        return ""
    if memory.catalog.memories.has_backlog():
        from ragmem.cli.seed import index_in_background

        index_in_background(memory)
        return "note: in full text now; vectors follow in the background"
    if waiting := memory.sharing.index():
        return f"note: in full text now; vectors are missing: {waiting}"
    return ""


def _say_plan(memory: "Ragmem", planned: "OutgoingPlan", *, as_json: bool, quiet: bool) -> None:
    if as_json:
        say_json(_plan_shape(memory, planned))
        return
    if planned.records:
        table(("id", "what", "says"), [_row_of(one) for one in planned.records[:SHOWN]])
        if len(planned.records) > SHOWN:
            say(f"and {plural(len(planned.records) - SHOWN, 'other')}; --json lists all")
        say()
    say(f"would share {plural(len(planned.records) + planned.unpushed, 'record')}")
    if quiet:
        return
    if planned.kept:
        table(
            ("stays", "why", "memory"),
            [
                (
                    one.memory.short_id,
                    one.reason,
                    one_line(memory.redactor.redact(one.memory.title or one.memory.uri)[0], TITLE),
                )
                for one in planned.kept[:SHOWN]
            ],
        )
    _tell_kept(planned)


def _row_of(one: "OutgoingRecord") -> tuple[str, str, str]:
    from ragmem.domain.sharing.policy import kinds_of

    if one.memory is None:
        return (one.row.target[:SHORT_ID_LENGTH], one.kind, one_line(one.title, TITLE))
    return (
        one.memory.short_id,
        ", ".join(kinds_of(one.memory)) or "with --consent",
        one_line(one.title, TITLE),
    )


def _tell_kept(planned: "OutgoingPlan") -> None:
    if planned.shared:
        tell(f"{plural(planned.shared, 'memory is', 'memories are')} shared already")
    for reason, count in planned.reasons().items():
        tell(f"{plural(count, 'memory stays', 'memories stay')}: {reason}")


def _plan_shape(memory: "Ragmem", planned: "OutgoingPlan") -> dict[str, Any]:
    redactor = memory.redactor
    return {
        "schema": 1,
        "dry_run": True,
        "first": planned.is_first,
        "records": [
            {
                "record": one.id,
                "sort": one.kind,
                "memory": one.memory.short_id if one.memory is not None else "",
                "title": one.title,
                "replaces": one.row.target,
            }
            for one in planned.records
        ],
        "unpushed": planned.unpushed,
        "shared": planned.shared,
        "stays": [
            {
                "memory": one.memory.short_id,
                "reason": one.reason,
                "title": redactor.redact(one.memory.title or one.memory.uri)[0],
            }
            for one in planned.kept
        ],
    }
