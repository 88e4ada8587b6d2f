"""`ragmem gc`: archive duplicates and noise, or undo a run."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from ragmem.api.memory import Ragmem
from ragmem.cli.common import (
    Bar,
    bold,
    dim,
    moment,
    open_memory,
    plural,
    require_consent,
    say,
    say_fitted,
    say_json,
    style,
    table,
    tell,
)
from ragmem.cli.options import (
    DryRunOption,
    JsonOption,
    LimitOption,
    QuietOption,
    SourcesFileOption,
    YesOption,
)
from ragmem.domain.lifecycle.consolidation_prompt import distinctive_words
from ragmem.domain.model import Memory
from ragmem.domain.model.supersession import DECLARED
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, UsageError
from ragmem.services.lifecycle.items import Item, Plan
from ragmem.services.lifecycle.outcome import Outcome
from ragmem.services.lifecycle.plan_clusters import MOST_DIFFERENCES, HiddenMemory, PlanCluster, Segment

HIDDEN, KEPT = "31", "32"
"""The colours of words that only the hidden or only the kept memory has."""

MOST_CLUSTERS = 200
"""Clusters of a plan that are told one by one without --all; the memories of others are listed."""

MOST_HIDDEN = 5
"""Hidden memories of a cluster that are listed; `--show` has all."""

MOST_WORDS = 12
"""Words of one difference that are listed."""

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem gc --dry-run
  ragmem gc --show 3q7hn2zk5x4m
  ragmem gc --missing --dry-run
  ragmem gc --undo
  ragmem gc --restore 3q7hn2zk5x4m
  ragmem gc --purge
  ragmem gc --enable-idle

\b
Exit codes:
  0  done
  2  usage, or more than a third would be archived
  3  done, but memories lack vectors: no model is available
  5  the store is busy
  130  interrupted; what was done is shown, and can be undone
"""


@app.command(epilog=EPILOG)
def gc(
    missing: Annotated[
        bool, typer.Option("--missing", help="Also archive memories whose source no longer has them.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Undo the latest run.")] = False,
    run: Annotated[str, typer.Option("--run", metavar="RUN", help="With --undo: the run to undo.")] = "",
    restore: Annotated[
        str, typer.Option("--restore", metavar="ID", help="Restore one memory from the archive.")
    ] = "",
    purge: Annotated[
        bool, typer.Option("--purge", help="Permanently delete what was archived long ago.")
    ] = False,
    history: Annotated[bool, typer.Option("--history", help="Show what each run did.")] = False,
    limit: LimitOption = None,
    show: Annotated[
        str,
        typer.Option(
            "--show", metavar="ID", help="Show a cluster of the plan, or the decision about a memory."
        ),
    ] = "",
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="RULE", help="Apply only this rule.")
    ] = None,
    project: Annotated[
        list[str] | None, typer.Option("--project", "-p", metavar="NAME", help="Process only this project.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="With --dry-run: also list the memories that are kept.")
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option("--budget", metavar="SECONDS", min=0, help="Stop between two steps after this time."),
    ] = None,
    idle: Annotated[
        bool | None,
        typer.Option(
            "--enable-idle/--disable-idle",
            help="Let `ragmem serve` run gc while it is idle; off by default.",
        ),
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    allow_large: Annotated[
        bool, typer.Option("--allow-large", help="Allow a run to archive more than a third of the memories.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    sources_file: SourcesFileOption = None,
) -> int:
    """Archive duplicates and noise, or undo a run.

    Only --purge deletes: everything else is archived, and --undo and --restore bring it back.
    """
    _refuse_mixed_modes(
        undo=undo,
        restore=bool(restore),
        purge=purge,
        history=history,
        **{"disable-idle" if idle is False else "enable-idle": idle is not None},
        planning=missing or bool(only) or (idle is not None and dry_run),
    )
    if run and not undo:
        raise UsageError("--run requires --undo", hint=f"ragmem gc --undo --run {run}")
    dry_run = dry_run or bool(show)
    if dry_run and (undo or restore or history or (purge and show)):
        raise UsageError("--dry-run works only for a run and for --purge", hint="ragmem gc --dry-run")
    with open_memory(sources_file=sources_file, quiet=quiet) as memory:
        if idle is not None:
            return _switch_idle(memory, idle, as_json=as_json)
        if undo or restore:
            bring_back = _restore if restore else _undo
            return bring_back(memory, restore or run, as_json=as_json)
        if purge or history:
            return (
                _purge(memory, dry_run=dry_run, yes=yes, as_json=as_json)
                if purge
                else _history(memory, limit, as_json=as_json)
            )
        memory.require()
        with Bar(quiet=quiet or as_json) as bar:
            plan = memory.gc.plan(
                missing=missing,
                projects=memory.projects.resolve(project) if project else None,
                rules=only or (),
                budget_s=budget,
                workers=memory.gc.worker_count(),
                progress=bar,
            )
        if show:
            return _show(memory, plan, show, as_json=as_json)
        clusters = memory.gc.clusters(plan, most=None if everything else MOST_CLUSTERS)
        if not as_json:
            _say_plan(plan, clusters, everything=everything, redactor=memory.redactor)
        document = (
            memory.redactor.redact_document(_document(plan, clusters, dry_run=dry_run, everything=everything))
            if as_json
            else {}
        )
        for problem in () if dry_run else memory.gc.prune_shared():
            tell(problem)
        if dry_run or plan.empty:
            if as_json:
                say_json(document)
            return EXIT_OK
        _confirm(plan, yes=yes)
        outcome = Outcome()
        try:
            with Bar(quiet=quiet or as_json) as bar:
                memory.gc.apply(
                    plan,
                    allow_large=allow_large,
                    budget_s=budget,
                    outcome=outcome,
                    progress=bar,
                )
        except KeyboardInterrupt:
            tell(f"interrupted: {_summary(outcome)}")
            _tell_undo(outcome, quiet=quiet)
            raise
    if as_json:
        say_json(document | {"outcome": asdict(outcome)})
    else:
        say(_summary(outcome))
        _tell_undo(outcome, quiet=quiet)
    return _exit_code(outcome.note)


def _refuse_mixed_modes(*, planning: bool, **modes: bool) -> None:
    chosen = [name for name, wanted in modes.items() if wanted]
    if len(chosen) > 1 or (chosen and planning):
        raise UsageError(
            f"--{chosen[0]} cannot be combined with other options",
            hint="use one at a time; `ragmem gc --help` explains them",
        )


def _document(
    plan: Plan, clusters: Sequence[PlanCluster], *, dry_run: bool, everything: bool
) -> dict[str, object]:
    return {
        "schema": 2,
        "dry_run": dry_run,
        **plan.document(),
        "items": [item.document() for item in _visible_items(plan, everything=everything)],
        "clusters": [one.document() for one in clusters],
        "cards": [[key[:12] for key in members] for members in plan.cards],
    }


def _visible_items(plan: Plan, *, everything: bool) -> Iterable[Item]:
    # A memory that another rule would have removed is worth a line; thousands that simply stay are not.
    from ragmem.services.lifecycle.upkeep import GONE

    return [
        item
        for item in plan.items
        if everything or item.action != "keep" or item.others or item.reason.startswith(GONE)
    ]


def _switch_idle(memory: Ragmem, wanted: bool, *, as_json: bool) -> int:
    """Turn idle gc on or off in config.toml, and print the setting that applies now."""
    from ragmem.config import toml_edit
    from ragmem.config.loader import CONFIG_FILE

    change = toml_edit.plan(memory.settings.places.config / CONFIG_FILE, {"lifecycle": {"automatic": wanted}})
    toml_edit.write(change)
    holds = memory.lifecycle.is_automatic()
    if as_json:
        say_json({"schema": 1, "idle_gc": holds, "file": str(change.path)})
    elif holds != wanted:
        tell("idle gc is unchanged: the environment variable RAGMEM_LIFECYCLE_AUTOMATIC overrides it")
    elif holds:
        minutes = memory.settings.lifecycle.idle_minutes
        say(f"idle gc is on: `ragmem serve` runs gc after {minutes:g} minutes without a request")
        say("`ragmem gc --dry-run` shows what it would do, `ragmem gc --history` what it did")
    else:
        say("idle gc is off: gc runs only when you run it")
    return EXIT_OK if holds == wanted else EXIT_USAGE


def _undo(memory: Ragmem, run: str, *, as_json: bool) -> int:
    done = memory.gc.undo(run, workers=memory.gc.worker_count())
    if as_json:
        say_json({"schema": 1, "undone": done.run, **asdict(done)})
    else:
        others = f", and reverted {plural(done.reverted, 'other decision')}" if done.reverted else ""
        say(f"restored {plural(done.restored, 'memory', 'memories')} of run {done.run}{others}")
        if done.left:
            tell(f"{done.left:,} stay in the archive: a newer text has taken their place")
        if done.kept:
            tell(
                f"{done.kept:,} merged memories stay: they were changed, pinned or recalled since, or "
                "their originals are purged"
            )
    return _exit_code(done.note)


def _restore(memory: Ragmem, prefix: str, *, as_json: bool) -> int:
    item, note = memory.gc.restore(prefix)
    if as_json:
        say_json({"schema": 1, "restored": item.memory.id, "run": item.run, "rule": item.rule, "note": note})
    else:
        title = memory.redactor.redact(item.memory.title or item.memory.uri)[0]
        say(f"restored {item.memory.short_id}  {title}")
    return _exit_code(note)


def _purge(memory: Ragmem, *, dry_run: bool, yes: bool, as_json: bool) -> int:
    plan = memory.gc.plan_purge()
    what = f"{plural(plan.memories, 'memory', 'memories')} of the archive"
    if plan.discarded:
        what += f" and {plural(plan.discarded, 'discarded text')}"
    if not dry_run and (plan.memories or plan.discarded):
        lost = (
            f"; {plural(plan.texts, 'text')} would be lost"
            if plan.texts
            else "; other memories have the same texts"
        )
        _ask(f"delete {what} permanently{lost}", yes=yes, look="ragmem gc --history")
        plan = memory.gc.purge()
    if as_json:
        say_json({"schema": 1, "dry_run": dry_run, **asdict(plan)})
    else:
        done = "would delete" if dry_run else "deleted"
        say(f"{done} {what}, including {plural(plan.texts, 'text')} without another copy")
        if plan.left:
            say("another process still reads the old data; `ragmem scrub` removes it from the log later")
    return EXIT_OK


def _history(memory: Ragmem, limit: int | None, *, as_json: bool) -> int:
    runs = memory.gc.history(limit)
    if as_json:
        say_json(
            {
                "schema": 1,
                "runs": [
                    {
                        **asdict(run),
                        "started": moment(run.started),
                        "ended": moment(run.ended) if run.ended else None,
                        "undone": moment(run.undone) if run.undone else None,
                    }
                    for run in runs
                ],
            }
        )
        return EXIT_OK
    if not runs:
        say("gc has not run yet")
        return EXIT_OK
    table(
        ("run", "started", "by", "state", "in the archive", "did"),
        [
            (
                run.run,
                moment(run.started),
                run.caller,
                "undone" if run.undone else "done" if run.ended else "stopped",
                run.archived,
                ", ".join(f"{name} {count:,}" for name, count in sorted(run.counts.items()) if count),
            )
            for run in runs
        ],
    )
    return EXIT_OK


def _summary(outcome: Outcome) -> str:
    counted = (
        (outcome.removed, f"removed {plural(outcome.removed, 'memory', 'memories')}"),
        (outcome.archived, f"archived {plural(outcome.archived, 'memory', 'memories')}"),
        (outcome.made, f"wrote {plural(outcome.made, 'card')}"),
        (outcome.superseded, f"marked {outcome.superseded:,} superseded"),
        (outcome.marked, f"marked {outcome.marked:,} perhaps outdated"),
        (outcome.promoted, f"promoted {outcome.promoted:,}"),
        (outcome.reprieved, f"reprieved {outcome.reprieved:,}"),
        (outcome.mended, f"finished {outcome.mended:,}"),
        (outcome.dropped, f"dropped {outcome.dropped:,} unowned"),
        (outcome.skipped, f"left {outcome.skipped:,} that have changed in the meantime"),
        (outcome.stopped, "stopped at the time limit: the next run continues"),
        (any(outcome.swept.values()), f"swept {sum(outcome.swept.values()):,} orphaned rows"),
    )
    return ", ".join(told for count, told in counted if count) or "nothing was done"


def _tell_undo(outcome: Outcome, *, quiet: bool) -> None:
    if outcome.run and outcome.changed_count and not quiet:
        tell(f"undo with: ragmem gc --undo --run {outcome.run}")


def _exit_code(note: str) -> int:
    """Print why memories wait for vectors, if some do; return the exit code."""
    if not note:
        return EXIT_OK
    tell(f"failed: only in full text until the next seed or gc indexes it: {note}")
    return EXIT_FAILED


def _show(memory: Ragmem, plan: Plan, wanted: str, *, as_json: bool) -> int:
    """Print a cluster of the plan with both texts and their difference, or all decisions about a memory."""
    items, clusters = memory.gc.show(plan, wanted)
    if as_json:
        document = {
            "schema": 2,
            "items": [item.document() for item in items],
            "clusters": [one.document(whole=True) for one in clusters],
        }
        say_json(memory.redactor.redact_document(document))
        return EXIT_OK
    for item in items:
        say(f"{bold(f'{item.action}/{item.rule}')}  {item.id[:12]}  {item.reason}")
    for cluster in clusters:
        _say_cluster(cluster, memory.redactor)
        _say_text("kept", cluster.kept, memory.redactor)
        for one in cluster.hidden:
            _say_text(_role(cluster), one.memory, memory.redactor)
            say(dim("difference: [-only hidden-] {+only kept+}"))
            say(memory.redactor.redact(" ".join(map(_format_segment, one.segments)))[0])
    return EXIT_OK


def _say_text(role: str, memory: Memory, redactor: Redactor) -> None:
    say(f"{bold(role)}  {memory.short_id}")
    say(redactor.redact(memory.text)[0].strip())
    say()


def _format_segment(part: Segment) -> str:
    if part.same:
        return part.first
    marked = (
        style(f"[-{part.other}-]", HIDDEN) if part.other else "",
        style(f"{{+{part.first}+}}", KEPT) if part.first else "",
    )
    return " ".join(filter(None, marked))


def _role(cluster: PlanCluster) -> str:
    """Return what becomes of the older ones: a mark hides nothing."""
    return "behind" if cluster.action == "mark" else "hidden"


def _say_cluster(cluster: PlanCluster, redactor: Redactor) -> None:
    def line(role: str, memory: Memory) -> str:
        return f"  {role:<6}  {memory.event_time:%Y-%m-%d}  {memory.short_id}  {memory.title or memory.uri}"

    def redacted(text: str) -> str:
        return redactor.redact(text)[0]

    say(f"{bold(cluster.id)}  {cluster.action}/{cluster.rule}")
    # Two texts of which one names the other have little in common to show.
    is_declared = cluster.rule == DECLARED
    if cluster.statement and not is_declared:
        say_fitted(f"  {'says':<6}  {redacted(cluster.statement)}", indent=10)
    say_fitted(redacted(line("kept", cluster.kept)), indent=10)
    for one in cluster.hidden[:MOST_HIDDEN]:
        say_fitted(redacted(line(_role(cluster), one.memory)), indent=10)
        if not is_declared and (told := redacted(_differences(one))):
            say_fitted(f"  {'':<6}  {told}", indent=10)
    if len(cluster.hidden) > MOST_HIDDEN:
        say(dim(f"  and {len(cluster.hidden) - MOST_HIDDEN:,} more: ragmem gc --show {cluster.id}"))
    say()


def _differences(hidden: HiddenMemory) -> str:
    """Return what a hidden memory says otherwise, names and numbers in colour."""
    found = [
        f"{_emphasize(part.other, HIDDEN)} -> {_emphasize(part.first, KEPT) or '(nothing)'}"
        for part in hidden.differences[:MOST_DIFFERENCES]
    ]
    if len(hidden.differences) > MOST_DIFFERENCES:
        found.append(f"{len(hidden.differences) - MOST_DIFFERENCES:,} more differences")
    if hidden.words_more:
        found.append(f"the kept one says {plural(hidden.words_more, 'word')} more")
    return "; ".join(found)


def _emphasize(text: str, codes: str) -> str:
    names = distinctive_words(text)
    return " ".join(
        style(word, codes) if word.strip(".,;:!?()") in names else word for word in text.split()[:MOST_WORDS]
    ) + (" ..." if len(text.split()) > MOST_WORDS else "")


def _say_plan(plan: Plan, clusters: Sequence[PlanCluster], *, everything: bool, redactor: Redactor) -> None:
    for cluster in clusters:
        _say_cluster(cluster, redactor)
    told = {one.memory.id for cluster in clusters for one in cluster.hidden}
    shown = [item for item in _visible_items(plan, everything=everything) if item.id not in told]
    if shown:
        table(
            ("action", "rule", "id", "memory", "because"),
            redactor.redact_document(
                [(i.action, i.rule, i.id[:12], i.title or i.uri, i.reason) for i in shown]
            ),
        )
        say()
    if everything or plan.active_items():
        table(
            ("action", "rule", "memories"),
            [(action, rule, count) for (action, rule), count in plan.counts()],
        )
        say()
    swept = {name: count for name, count in plan.sweep.items() if count}
    if swept:
        say_fitted("orphaned rows: " + ", ".join(f"{count:,} {name}" for name, count in swept.items()))
    if plan.empty:
        say_fitted(f"nothing to do: {plural(plan.memories, 'memory', 'memories')} checked")
    else:
        after = plan.searched - plan.removal_count
        found = plural(plan.searched, "memory", "memories")
        say_fitted(f"searched by default: {found} now, {after:,} afterwards")
    if plan.cards:
        say_fitted(f"{plural(len(plan.cards), 'cluster')} for the language model to summarize")
    if plan.comparisons:
        count = plural(len(plan.comparisons), "memory", "memories")
        say_fitted(f"{count} for the language model to compare with older ones")
    if plan.uncompared:
        say_fitted(
            f"{plural(plan.uncompared, 'memory is', 'memories are')} not compared yet, and their projects"
            f" not aged{': ' + plan.note if plan.note else ''}"
        )
    if plan.expired:
        kept = plural(plan.expired, "memory has been", "memories have been")
        say_fitted(
            f"{kept} in the archive for longer than archive.keep_days; `ragmem gc --history` shows the runs"
        )


def _confirm(plan: Plan, *, yes: bool) -> None:
    leaving = len(plan.ids("remove", "archive"))
    if leaving:
        what = f"remove {plural(leaving, 'memory', 'memories')}"
        _ask(what, yes=yes, look="ragmem gc --dry-run")


def _ask(what: str, *, yes: bool, look: str) -> None:
    if yes:
        return
    require_consent(
        f"{what}?",
        nobody=f"this would {what}, and there is no terminal to confirm it",
        hint=f"`{look}` shows the plan",
        refused="nothing was removed",
    )
