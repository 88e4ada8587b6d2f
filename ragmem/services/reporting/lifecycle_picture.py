"""The lifecycle report as a sheet of charts and as JSON fields."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from ragmem.charts.histogram import columns_between
from ragmem.charts.model import Axis, Columns, Mark, Plot, Row, Sheet, Stacks, Tone
from ragmem.services.reporting.lifecycle_report import LOWEST, Group, LifecycleReport, Similarity
from ragmem.storage.lifecycle.gc_runs import GcRun

TONES = {
    "buffer": Tone.FRESH,
    "proven": Tone.FIRM,
    "permanent": Tone.LASTING,
    "superseded": Tone.FADING,
    "waiting": Tone.PLAIN,
    "archived": Tone.GONE,
}

RULES = {
    "fold": "redundant",
    "template": "redundant",
    "cluster": "merged into one",
    "cold": "isolated and worthless",
    "no-substance": "isolated, no substance",
    "bad-feedback": "isolated, rated bad",
    "duplicate": "said twice",
    "missing": "its source is gone",
    "asked": "forgotten manually",
}
"""Labels of the rules that archived memories; others are shown as they are."""


def sheet(report: LifecycleReport, where: str) -> Sheet:
    """Return the charts of a report; `where` names its projects."""
    plots: list[Plot] = [_states(report), _types(report)]
    if report.similarity is not None:
        plots += _similarity(report.similarity)
    if report.expiries:
        rows = [Row(RULES.get(one.rule, one.rule), [one.memories]) for one in report.expiries]
        plots.append(Stacks("Archived", "memories", ["memories"], rows, category="rule", tones=[Tone.GONE]))
    if report.groups:
        plots.append(
            Stacks(
                "Largest clusters",
                "memories",
                ["memories"],
                [Row(one.title or one.id[:12], [one.size]) for one in report.groups],
                category="cluster",
                tones=[Tone.FIRM],
            )
        )
    return Sheet(f"The lifecycle of {where}", summarize(report), plots)


def _states(report: LifecycleReport) -> Stacks:
    def label(name: str, count: int) -> str:
        share = _share(count, report.memories) if name != "archived" else ""
        return f"{name} {count:,} ({share})" if share else f"{name} {count:,}"

    return Stacks(
        "States",
        "memories",
        [label(name, count) for name, count in report.states.items()],
        [Row("all", [*report.states.values()])],
        (
            "Connected and recalled memories become proven; isolated and worthless ones are archived, and "
            "can be restored."
        ),
        tones=[TONES[name] for name in report.states],
    )


def _types(report: LifecycleReport) -> Stacks:
    rows = [
        Row(name, [count], f"{safe:,} never expire" if safe else "")
        for name, (count, safe) in report.types.items()
    ]
    return Stacks("Types", "memories", ["memories"], rows, category="type")


def summarize(report: LifecycleReport) -> str:
    """Return a summary of the report in a few sentences."""
    connected = f"{report.density:.0%} of them connected ({report.connections:,} connections)"
    lines = [f"{report.memories:,} memories, {connected}."]
    if report.uncompared:
        lines.append(f"{report.uncompared:,} are not compared yet: run `ragmem gc`.")
    if report.promotion_rate is not None:
        left = report.promoted + report.expired
        lines.append(f"Of {left:,} that were promoted or expired {report.promotion_rate:.0%} were promoted.")
    if report.at_risk and not report.uncompared:
        lines.append(f"{report.at_risk:,} isolated and worthless: the next gc archives them.")
    if not report.automatic:
        lines.append("gc runs only when you run it: idle gc is off.")
    elif report.tended and report.tended.refused:
        lines.append(f"idle gc does not run: {report.tended.refused}.")
    else:
        lines.append("gc runs while the server is idle: idle gc is on.")
    return " ".join(lines)


def _similarity(found: Similarity) -> list[Plot]:
    note = f"{found.model}: {found.scale.explanation()}."
    if found.measured:
        note += f" Measured {found.measured:%Y-%m-%d}."
    connects = (found.threshold, "half way to related")
    if not sum(found.nearest):
        return [_cosines("Similarity of memories", "memories", found.nearest, connects, note=note)]
    middle, related = (found.scale.unrelated, "the middle: unrelated"), (found.scale.related, "related")
    return [
        _cosines("Any two memories of a project", "pairs", found.random, middle),
        _cosines("Each memory and its nearest", "memories", found.nearest, connects, related, note=note),
    ]


def _cosines(
    title: str, counted: str, counts: Sequence[int], *marks: tuple[float, str], note: str = ""
) -> Columns:
    width = (1 - LOWEST) / max(1, len(counts))
    return columns_between(
        title,
        [round(LOWEST + number * width, 4) for number in range(len(counts) + 1)],
        counts,
        Axis("cosine"),
        unit=counted,
        marks=[Mark(at, f"{at:.2f} {label}") for at, label in marks],
        note=note,
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole and part else ""


def lifecycle_shape(report: LifecycleReport) -> dict[str, Any]:
    """Return a report as JSON fields; times are RFC 3339."""
    found = report.similarity
    return {
        "projects": list(report.projects) if report.projects is not None else None,
        "memories": report.memories,
        "states": dict(report.states),
        "types": {
            name: {"memories": count, "protected": safe} for name, (count, safe) in report.types.items()
        },
        "pinned": report.pinned,
        "connections": report.connections,
        "connected": report.connected,
        "density": round(report.density, 4),
        "uncompared": report.uncompared,
        "promoted": report.promoted,
        "expired": report.expired,
        "promotion_rate": None if report.promotion_rate is None else round(report.promotion_rate, 4),
        "expiries": {one.rule: one.memories for one in report.expiries},
        "clusters": [_cluster_shape(one) for one in report.groups],
        "at_risk": report.at_risk,
        "loners": [_short(asdict(one)) for one in report.loners],
        "similarity": None
        if found is None
        else {
            "model": found.model,
            "unrelated": round(found.scale.unrelated, 4),
            "related": round(found.scale.related, 4),
            "connects": round(found.threshold, 4),
            "measured_at": _moment(found.measured),
            "memories": found.scale.memories,
            "pairs": found.scale.pairs,
            "lowest": LOWEST,
            "random": list(found.random),
            "nearest": list(found.nearest),
        },
        "runs": [_run_shape(run) for run in report.runs],
        "idle_gc": report.automatic,
        "tended": report.tended
        and {"at": _moment(report.tended.at), "refused": report.tended.refused or None},
    }


def _short(fields: dict[str, Any]) -> dict[str, Any]:
    return fields | {"id": fields["id"][:12]}


def _cluster_shape(cluster: Group) -> dict[str, Any]:
    return _short(asdict(cluster)) | {
        "members": [_short(asdict(one)) | {"at": _moment(one.at)} for one in cluster.members]
    }


def _run_shape(run: GcRun) -> dict[str, Any]:
    return {
        "run": run.run,
        "caller": run.caller,
        "started_at": _moment(run.started),
        "ended_at": _moment(run.ended),
        "undone_at": _moment(run.undone),
        "archived": run.archived,
        "counts": dict(run.counts),
    }


def _moment(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def format_projects(names: Sequence[str] | None) -> str:
    """Return the names of the projects for a title."""
    return "all projects" if names is None else ", ".join(names) or "nothing"
