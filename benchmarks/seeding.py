"""Measure seeding of real notes: time until full text and to the end, a second run, and kills.

The runs are real `ragmem seed` processes with a home of their own. For the kills, a seeding is ended by
SIGKILL at random moments and started again until it is done; then its memory is compared with an undisturbed
one's.
"""

import argparse
import json
import random
import signal
import sqlite3
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import common
from measures.command_runs import Run, ragmem
from measures.memory_content import content_of, orphans_of, sizes_of

QUICK_SOURCES = ("memory", "commands")
AGAIN = 3
"""Runs over unchanged sources."""

LATEST_KILL = 0.7
"""Share of the undisturbed seconds after which a run is killed at the latest; later, some would be done."""


def write_sources(folder: Path, data: Path, names: Sequence[str]) -> Path:
    """Write corpus.toml for this data folder, with the chosen sources only (all if none is named)."""
    with (Path(__file__).parent / "corpus.toml").open("rb") as file:
        sources = tomllib.load(file)["sources"]
    lines = []
    for name, source in sources.items():
        if names and name not in names:
            continue
        lines.append(f"[sources.{name}]")
        # What JSON writes of a string or a flag is TOML as well.
        values = {**source, "glob": f"{data.resolve().as_posix()}/{source['glob']}"}
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    path = folder / "sources.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def seed(home: Path, sources: Path, *options: str, kill_after: float | None = None) -> Run:
    """Seed a home, which is made; with `kill_after`, end it so many seconds after its start."""
    home.mkdir(parents=True, exist_ok=True)
    return ragmem(home, "seed", "--sources", str(sources), *options, person=home, kill_after=kill_after)


def words_first(home: Path, sources: Path, *, whole: Run, wanted: Mapping[str, str]) -> dict[str, Any]:
    """Seed another home by words alone, then make its vectors; compare it with that of a whole run."""
    words = seed(home, sources, "--no-wait")
    common.tell(f"in full text after {words.seconds:.1f} s")
    rest = ragmem(home, "ingest", "--drain", person=home)
    there = content_of(home)
    return {
        "seconds": words.seconds,
        "cpu_seconds": words.cpu_seconds,
        "share_of_cpu": words.cpu_seconds / whole.cpu_seconds,
        "both_cpu_seconds": words.cpu_seconds + rest.cpu_seconds,
        "equal": {part: there[part] == value for part, value in wanted.items()},
    }


def kill_and_resume(home: Path, sources: Path, *, kills: int, seconds: float, chance: random.Random) -> int:
    """Seed a new home with at most `kills` kills on the way; return how many there were."""
    for done in range(kills):
        after = chance.uniform(0.05, LATEST_KILL * seconds)
        if seed(home, sources, kill_after=after).code != -signal.SIGKILL:
            return done
        common.tell(f"killed after {after:.1f} s: {sizes_of(home)['memories']:,} memories are in")
    seed(home, sources)
    return kills


def kill_often(place: Path, home: Path, sources: Path, *, seconds: float, options: Any) -> dict[str, Any]:
    """Kill and resume seedings until there were as many kills as asked for; compare each with `home`."""
    chance = random.Random(options.seed)
    found: dict[str, Any] = {"kills": 0, "homes": 0, "equal": {}, "orphans": {}, "integrity": "ok"}
    wanted = content_of(home)
    while found["kills"] < options.kills and found["homes"] < options.kills:
        found["homes"] += 1
        other = place / f"killed-{found['homes']}"
        found["kills"] += kill_and_resume(
            other, sources, kills=options.kills - found["kills"], seconds=seconds, chance=chance
        )
        there = content_of(other)
        for part, value in wanted.items():
            found["equal"][part] = found["equal"].get(part, True) and there[part] == value
        for name, count in orphans_of(other).items():
            found["orphans"][name] = found["orphans"].get(name, 0) + count
        connection = sqlite3.connect(other / "data" / "memory.db")
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
        connection.close()
        if verdict != "ok":
            found["integrity"] = verdict
    return found


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/corpus")
    parser.add_argument("--kills", type=int, default=5, help="kills of further seedings; 0: none")
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the kills")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work there and leave the homes for a look")
    options = parser.parse_args()
    if not options.data.is_dir():
        raise SystemExit(f"there is no folder {options.data}")
    about = common.machine()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        document = measure(options.keep.resolve(), options)
    else:
        with common.temporary_folder("seeding") as place:
            document = measure(place, options)
    document = {"benchmark": "seeding", "machine": about, **document}
    headers, rows = table(document)
    notes = [f"model {document['model']}; times are of whole processes, including their start"]
    common.report("seeding", document, headers, rows, options=options, notes=notes)


def measure(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return all figures; the homes are folders of `place`."""
    sources = write_sources(place, options.data, QUICK_SOURCES if options.quick else ())
    home = place / "undisturbed"
    if home.exists():
        raise SystemExit(f"there is a home in {home} already: a seeding starts from nothing")
    first = seed(home, sources)
    common.tell(f"seeded in {first.seconds:.1f} s")
    words = words_first(place / "words-first", sources, whole=first, wanted=content_of(home))
    again = [seed(home, sources) for _ in range(AGAIN)]
    changed = sum(row["new"] + row["changed"] for run in again for row in run.report["sources"])
    sizes = sizes_of(home)
    tokens = count_tokens(home)
    figures: dict[str, Any] = {
        "model": tokens.pop("model"),
        "first": {
            "seconds": first.seconds,
            "cpu_seconds": first.cpu_seconds,
            "peak_mb": first.largest_mb,
            "report": first.report,
        },
        "words": words,
        "sizes": sizes,
        "tokens": tokens,
        "again": common.spread([run.seconds for run in again])
        | {"changed": changed, "peak_mb": max(run.largest_mb for run in again)},
        "orphans": orphans_of(home),
    }
    if options.kills:
        figures["kills"] = kill_often(place, home, sources, seconds=first.seconds, options=options)
    return figures


def count_tokens(home: Path) -> dict[str, Any]:
    """Return the tokens of all chunks as the embedder reads them; None where it does not count any."""
    from ragmem.api.memory import Ragmem

    with Ragmem.open(environ={**common.environment(home), "HOME": str(home)}, home=home, cwd=home) as memory:
        memory.require()
        embedder = memory.models.embedder
        counted = {"model": embedder.model_id, "all": None, "read": None, "cut": None}
        if not hasattr(embedder, "count_tokens"):
            return counted
        lengths = [
            embedder.count_tokens(chunk.searchable)
            for one in memory.catalog.memories.each()
            for chunk in memory.catalog.memories.chunks(one)
        ]
        window = getattr(embedder, "window", sys.maxsize)
        return counted | {
            "all": sum(lengths),
            "read": sum(min(length, window) for length in lengths),
            "cut": sum(length > window for length in lengths),
        }


def table(document: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    sizes, first, again, tokens = (document[name] for name in ("sizes", "first", "again", "tokens"))
    words = document["words"]
    megabytes = sizes["text_bytes"] / 1e6
    rows = [
        ["documents", f"{sizes['memories']:,}"],
        ["chunks", f"{sizes['chunks']:,}"],
        ["text, MB", f"{megabytes:.2f}"],
        ["tokens", "n/a" if tokens["all"] is None else f"{tokens['all']:,}"],
        ["chunks longer than the model reads", "n/a" if tokens["cut"] is None else f"{tokens['cut']:,}"],
        ["entities", f"{sizes['entities']:,}"],
        ["relations", f"{sizes['relations']:,}"],
        ["first run, s", f"{first['seconds']:.1f}"],
        ["processor time of the first run, s", f"{first['cpu_seconds']:.1f}"],
        [
            "time until full text is complete, share of the first run",
            f"{first['report']['searchable_seconds'] / first['seconds']:.3f}",
        ],
        ["`seed --no-wait`, share of its processor time", f"{words['share_of_cpu']:.3f}"],
        [
            "with `ingest --drain`, share of its processor time",
            f"{words['both_cpu_seconds'] / first['cpu_seconds']:.2f}",
        ],
        ["content as after the first run", _said(words["equal"])],
        ["MB/s", f"{megabytes / first['seconds']:.3f}"],
        ["tokens/s", "n/a" if tokens["all"] is None else f"{tokens['all'] / first['seconds']:,.0f}"],
        ["documents/s", f"{sizes['memories'] / first['seconds']:.1f}"],
        ["peak memory, MB", f"{first['peak_mb']:,.0f}"],
        ["on disk, MB", f"{sizes['disk_bytes'] / 1e6:.1f}"],
        ["on disk per byte of text", f"{sizes['disk_bytes'] / sizes['text_bytes']:.1f}"],
        ["second run, s (median of 3)", f"{again['median']:.2f}"],
        ["second run, as a share of the first", f"{again['median'] / first['seconds']:.4f}"],
        ["changed by the second run", str(again["changed"])],
        ["orphans", str(sum(document["orphans"].values()))],
    ]
    if "kills" in document:
        killed = document["kills"]
        equal = [part for part, same in killed["equal"].items() if same]
        rows += [
            ["kills (SIGKILL), each resumed", str(killed["kills"])],
            ["seed runs that were killed", str(killed["homes"])],
            ["ids and content equal the uninterrupted run", _said(killed["equal"])],
            ["compared", ", ".join(equal)],
            ["orphans after the kills", str(sum(killed["orphans"].values()))],
            ["integrity of the database", killed["integrity"]],
        ]
    return ["seeding", "value"], rows


def _said(equal: Mapping[str, bool]) -> str:
    different = [part for part, same in equal.items() if not same]
    return f"no: {', '.join(different)}" if different else "yes"


if __name__ == "__main__":
    main()
