"""Measure the lifecycle on annotated memories.

Reads entries (JSON lines: text, project, created_at, cluster, loner_value, template_noise, protected,
supersedes, twin_group), stores them in a home of its own through the public interface with the bundled model,
lets them grow old among notes of other things, and runs gc until it is quiet after each of several waves.

What gc promises is to lose nothing: of noise it takes what is surely some. So all targets but two are of what
stays in default answers. An entry is out of them if it is in the archive, or came in as worthless.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import common

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope, State
from ragmem.domain.model.supersession import PERHAPS_OUTDATED

WAVES = 5
"""How often notes come in that make everything older: the first check, three reprieves, and what follows."""

PASSES = 4
"""Runs of gc after each wave at most."""

Row = Mapping[str, Any]
Pair = frozenset[str]

_THINGS = """
basalt kettle harbour orchard violin lantern saddle quarry meadow anchor beehive cellar drum easel ferry
granite hammock icicle juniper kayak loom marble nectar oboe pebble quilt rudder sundial thimble umbrella
vineyard walnut xylophone yarrow zither apricot bonfire cobbler dahlia ember falcon gazebo heron ivy jasmine
kiln lichen mulberry nutmeg otter parsley quince rosemary sparrow tulip urn velvet willow yew acorn badger
cinnamon dovecote elm fennel garnet hazel iris jackdaw kelp lavender magpie nettle opal poppy raven sorrel
thistle underwood vetch wren amber birch clover dandelion elder fern gorse heather indigo juncus kestrel
larch moss nightjar oak plum rowan sage teal vole wisteria
""".split()

_SHAPES = (
    "The {} stood behind the {} all winter.",
    "My aunt painted a {} above her {}.",
    "They traded one {} for a basket with a {}.",
    "A {} is smaller than the {} by the gate.",
    "Nobody in the village had seen the {} or its {} before.",
)


@dataclass(slots=True)
class Seen:
    """What became of the entries, by their names in the data."""

    connected: set[Pair] = field(default_factory=set)
    superseded: set[tuple[str, str]] = field(default_factory=set)
    marked: set[tuple[str, str]] = field(default_factory=set)
    gone: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


def filler(project: str, number: int, at: datetime) -> Draft:
    """Return a note of a file that a person keeps, about nothing that the entries speak of."""
    one, other = _THINGS[number % len(_THINGS)], _THINGS[(number * 7 + 31) % len(_THINGS)]
    text = _SHAPES[number % len(_SHAPES)].format(one, other)
    place = f"/notes/{project}/{number}.md"
    return Draft("memory", place, text, one.title(), event_time=at, scope=Scope(project))


def run(rows: Sequence[Row], folder: Path, *, waves: int) -> Seen:
    """Store the entries, let them grow old, and return what became of them."""
    with Ragmem.open(environ=common.environment(folder), home=folder, cwd=folder) as memory:
        stored = memory.ingest([_draft(row) for row in rows])
        names = {one.id: row["id"] for one, row in zip(stored, rows, strict=True)}
        faint = memory.catalog.memories.ids(states=[State.BUFFERED]) & names.keys()
        seen = Seen(gone={names[key]: "faint" for key in faint})
        projects = sorted({row["project"] for row in rows})
        last = max(_at(row) for row in rows)
        size = memory.settings.lifecycle.policy.age_after
        for wave in range(waves):
            common.tell(f"wave {wave + 1} of {waves}")
            numbers = range(wave * size, (wave + 1) * size)
            memory.ingest(
                [
                    filler(project, number, last + timedelta(hours=number + 1))
                    for project in projects
                    for number in numbers
                ]
            )
            for _ in range(PASSES):
                if not _tidy(memory, names, seen):
                    break
        left = memory.catalog.memories.ids() - faint
        seen.gone = {name: seen.gone.get(name, "") for key, name in names.items() if key not in left}
        for item in memory.catalog.supersessions.all():
            if item.older in names and item.newer in names:
                kind = seen.marked if item.rule == PERHAPS_OUTDATED else seen.superseded
                kind.add((names[item.older], names[item.newer]))
        return seen


def _tidy(memory: Ragmem, names: Mapping[str, str], seen: Seen) -> bool:
    """Run gc once and keep what it did; return whether it did anything."""
    plan = memory.gc.plan()
    for one in memory.catalog.connections.of():
        if one.first in names and one.second in names:
            seen.connected.add(frozenset((names[one.first], names[one.second])))
    for item in plan.active_items():
        seen.counts[item.name] += item.id in names
        if item.id in names and item.action in {"archive", "remove"}:
            seen.gone[names[item.id]] = item.name
    if plan.empty:
        return False
    memory.gc.apply(plan, allow_large=True)
    return True


def _draft(row: Row) -> Draft:
    return Draft(
        "sessions", f"/entries/{row['id']}", row["text"], event_time=_at(row), scope=Scope(row["project"])
    )


def _at(row: Row) -> datetime:
    return datetime.fromisoformat(row["created_at"])


def figures(rows: Sequence[Row], seen: Seen) -> dict[str, Any]:
    """Return every figure, with the names of what went wrong."""
    by_name = {row["id"]: row for row in rows}
    prints = {row["id"] for row in rows if row["template_noise"]}
    noise = {row["id"] for row in rows if row["loner_value"] == "noise"} | prints
    valuable = {row["id"] for row in rows if row["loner_value"] == "valuable"}
    protected = {row["id"] for row in rows if row["protected"]}
    expired = set(seen.gone)
    gold_pairs = {(row["supersedes"], row["id"]) for row in rows if row["supersedes"]}
    across = {pair for pair in seen.connected if len({by_name[name]["project"] for name in pair}) > 1}
    across |= {
        frozenset(pair) for pair in seen.superseded if len({by_name[name]["project"] for name in pair}) > 1
    }
    by_template = {name for name, rule in seen.gone.items() if rule.endswith("/fold")}
    return {
        "entries": len(rows),
        "noise": {"expired": len(noise & expired), "of": len(noise), "left": sorted(noise - expired)},
        "templates": {
            "expired": len(prints & expired),
            "of": len(prints),
            "collapsed": len(prints & by_template),
            "false": sorted(by_template - prints),
        },
        "valuable": {
            "archived": sorted(valuable & expired),
            "of": len(valuable),
        },
        "protected": {"archived": sorted(protected & expired), "of": len(protected)},
        "across_projects": sorted(map(sorted, across)),
        "superseded": {
            "found": len(gold_pairs & seen.superseded),
            "of": len(gold_pairs),
            "missed": sorted(gold_pairs - seen.superseded),
            "false": sorted(seen.superseded - gold_pairs),
            "marked": len(gold_pairs & (seen.superseded | seen.marked)),
            "marked_false": sorted(seen.marked - gold_pairs),
            "turned": len({(newer, older) for older, newer in gold_pairs} & seen.superseded),
        },
        "rules": dict(seen.counts),
    }


LINES: Sequence[tuple[str, str, Callable[[Mapping[str, Any]], tuple[str, bool]]]] = (
    (
        "noise and templates removed from answers",
        "",
        lambda f: (_of(f["noise"]["expired"], f["noise"]["of"]), True),
    ),
    (
        "... of which templates",
        "",
        lambda f: (_of(f["templates"]["expired"], f["templates"]["of"]), True),
    ),
    (
        "texts wrongly taken for templates",
        "0",
        lambda f: (str(len(f["templates"]["false"])), not f["templates"]["false"]),
    ),
    (
        "valuable single memories removed from answers",
        "0",
        lambda f: (_of(len(f["valuable"]["archived"]), f["valuable"]["of"]), not f["valuable"]["archived"]),
    ),
    (
        "protected memories removed from answers",
        "0",
        lambda f: (
            _of(len(f["protected"]["archived"]), f["protected"]["of"]),
            not f["protected"]["archived"],
        ),
    ),
    (
        "connected or superseded across projects",
        "0",
        lambda f: (str(len(f["across_projects"])), not f["across_projects"]),
    ),
    (
        "superseding pairs hidden or marked",
        "at least 75 %",
        lambda f: (
            _of(f["superseded"]["marked"], f["superseded"]["of"]),
            _share(f["superseded"], "marked") >= 0.75,
        ),
    ),
    (
        "... of which hidden",
        "",
        lambda f: (_of(f["superseded"]["found"], f["superseded"]["of"]), True),
    ),
    (
        "hidden pairs that do not supersede",
        "at most 1",
        lambda f: (str(len(f["superseded"]["false"])), len(f["superseded"]["false"]) <= 1),
    ),
    (
        "... of which in the wrong direction",
        "0",
        lambda f: (str(f["superseded"]["turned"]), not f["superseded"]["turned"]),
    ),
)


def _share(part: Mapping[str, Any], name: str) -> float:
    return part[name] / part["of"] if part["of"] else 1.0


def _of(some: int, all_of_them: int) -> str:
    return f"{some} of {all_of_them}"


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval/lifecycle")
    options = parser.parse_args()
    paths = sorted(options.data.glob("*.jsonl"))
    rows = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    if not rows:
        raise SystemExit(f"there are no entries in {options.data}")
    about = common.machine()
    # In the order in which they were written, as they would have come in.
    rows.sort(key=lambda row: (row["created_at"], row["id"]))
    waves = 1 if options.quick else WAVES
    with common.temporary_folder("lifecycle") as folder:
        found = figures(rows, run(rows, folder, waves=waves))
    document = {"benchmark": "lifecycle", "machine": about, "waves": waves, "figures": found}
    table = []
    for line, wanted, told in LINES:
        text, good = told(found)
        table.append([line, wanted, text, ("yes" if good else "no") if wanted else ""])
    for name in ("noise", "valuable", "protected", "templates", "superseded"):
        wrong = {key: part for key, part in found[name].items() if isinstance(part, list) and part}
        print(f"{name}: {json.dumps(wrong)}")
    print(f"across projects: {found['across_projects']}")
    stored = f"{found['entries']} annotated entries (development half), stored with the bundled model"
    notes = [
        f"{stored}; {waves} waves of unrelated notes, with gc after each until nothing changes",
        "noise has no target: uncertain texts stay",
    ]
    common.report(
        "lifecycle", document, ["what", "wanted", "measured", "reached"], table, options=options, notes=notes
    )


if __name__ == "__main__":
    main()
