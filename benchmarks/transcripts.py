"""Measure transcripts: time until full text and vectors, memory, and kills on the way.

Every run is a real `ragmem` process with a home of its own. The corpus's transcripts lie where their
assistants would keep them. The large file is made of the corpus's sessions of Claude Code, again and again,
each time with other ids and times, and with another word in what was asked, for what was told before is not
stored twice.
"""

import argparse
import os
import random
import re
import shutil
import signal
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import common
from measures.command_runs import Run, ragmem

LAYOUT = {
    "transcripts_claude": ".claude/projects/-corpus/{name}",
    "transcripts_codex": ".codex/sessions/2026/01/01/rollout-{name}",
    "transcripts_gemini": ".gemini/tmp/0/chats/{name}",
    "transcripts_multi": ".claude/projects/-several/{name}",
}
"""Where a set of the corpus lies in a person's home; of the mixed set each file's content tells whose."""

GIGABYTES = 1.2
"""What a person has after a year, to which figures are extrapolated."""

QUESTIONS = 40

_IDS = re.compile(rb'"(uuid|parentUuid|sessionId|leafUuid|messageId|id|requestId|promptId)":"([^"]{8,})"')
_TIMES = re.compile(rb'"timestamp":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)')
_ASKED = re.compile(rb'"role":"user","content":"|"role":"user","content":\[\{"type":"text","text":"')


def as_person(home: Path, *words: str, kill_after: float | None = None) -> Run:
    """Run a command for the person who lives beside the home."""
    return ragmem(home, *words, person=home.parent / "person", kill_after=kill_after)


def lay_out(data: Path, person: Path, *, quick: bool) -> int:
    """Copy the corpus's transcripts to where their assistants keep them; return the bytes."""
    size = 0
    for folder, pattern in LAYOUT.items():
        for number, path in enumerate(sorted((data / folder).glob("*.json*"))):
            if quick and (number % 4 or path.stat().st_size > 600_000):
                continue
            target = person / pattern.format(name=path.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            os.utime(target, (1.7e9 + number, 1.7e9 + number))
            size += target.stat().st_size
    return size


def write_large(data: Path, path: Path, *, megabytes: float) -> int:
    """Write one transcript of that size: sessions of the corpus with other ids, times and words each time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sessions = [
        lines
        for one in sorted((data / "transcripts_claude").glob("*.jsonl"))
        if b'"sessionId"' in (lines := one.read_bytes()) and lines.endswith(b"\n")
    ]
    written = round_ = 0
    with path.open("wb") as file:
        while written < megabytes * 1e6:
            for session in sessions:
                written += file.write(_varied(session, round_))
                if written >= megabytes * 1e6:
                    break
            round_ += 1
    os.utime(path, (1.7e9, 1.7e9))
    return written


def _varied(session: bytes, round_: int) -> bytes:
    mark = f"{round_:06d}".encode()
    session = _IDS.sub(rb'"\1":"\2-' + mark + b'"', session)
    session = _ASKED.sub(lambda found: found[0] + b"In run " + mark + b": ", session)
    return _TIMES.sub(lambda found: b'"timestamp":"' + _later(found[1], round_), session)


def _later(moment: bytes, round_: int) -> bytes:
    return (datetime.fromisoformat(moment.decode()) - timedelta(hours=round_)).isoformat().encode()


def stored(home: Path) -> dict[str, Any]:
    """Return what a home holds of transcripts, and whether anything is there twice."""
    database = sqlite3.connect(f"file:{home / 'data' / 'memory.db'}?mode=ro", uri=True)
    one = lambda sql: database.execute(sql).fetchone()[0]  # noqa: E731 - four times the same
    found = {
        "memories": one("SELECT count(*) FROM memories"),
        "texts": one("SELECT count(DISTINCT content_hash) FROM memories"),
        "chunks": one("SELECT count(*) FROM chunks"),
        "pending": one("SELECT count(*) FROM memories WHERE state = 'pending'"),
        "text_mb": one("SELECT coalesce(sum(length(text)), 0) FROM memories") / 1e6,
        "hashes": sorted(h for (h,) in database.execute("SELECT content_hash FROM memories")),
    }
    database.close()
    found["home_mb"] = common.folder_bytes(home) / 1e6
    return found


def ask(home: Path, person: Path, *, questions: int) -> dict[str, Any]:
    """Ask what was asked in some exchanges, and look where each comes: right after full text, no vectors."""
    from ragmem.api.memory import Ragmem

    with Ragmem.open(environ=common.environment(home), home=person, cwd=person) as memory:
        memory.require()
        every = [one for one in memory.catalog.memories.each() if len(one.title.split()) >= 5]
        chosen = random.Random(1).sample(every, min(questions, len(every)))
        ranks, seconds = [], []
        for wanted in chosen:
            began = time.perf_counter()
            found = memory.query(wanted.title.removesuffix("…")).matches
            seconds.append(time.perf_counter() - began)
            ids = [match.memory.id for match in found]
            ranks.append(ids.index(wanted.id) if wanted.id in ids else None)
    first = [rank for rank in ranks if rank is not None]
    return {
        "asked": len(ranks),
        "first": sum(rank == 0 for rank in first),
        "of_five": sum(rank < 5 for rank in first),
        "seconds": common.spread(seconds) if seconds else {},
    }


def seed_once(place: Path, name: str) -> tuple[Path, Run]:
    home = place / name
    run = as_person(home, "seed", "--source", "transcripts", "--no-wait")
    done = run.report["transcripts"]
    common.tell(
        f"{name}: {done['exchanges']:,} exchanges in {run.seconds:.1f} s, "
        f"{done['bytes'] / 1e6 / run.seconds:.1f} MB/s, {run.peak_mb:.0f} MB"
    )
    return home, run


def figures(run: Run, size: int) -> dict[str, Any]:
    return {
        **{name: value for name, value in asdict(run).items() if name != "report"},
        "mb": size / 1e6,
        "mb_per_second": size / 1e6 / run.seconds,
    }


def measure_corpus(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Seed the corpus's transcripts, ask, then make the vectors."""
    place.mkdir()
    size = lay_out(options.data, place / "person", quick=options.quick)
    home, run = seed_once(place, "corpus")
    text = stored(home)
    asked = ask(home, place / "person", questions=QUESTIONS)
    found = {
        "files": run.report["sources"][0]["files"],
        "exchanges": run.report["transcripts"]["exchanges"],
        **{name: value for name, value in text.items() if name != "hashes"},
        "full_text": figures(run, size),
        "questions": asked,
        "problems": len(run.report["problems"]),
    }
    again = as_person(home, "seed", "--source", "transcripts", "--no-wait")
    found["again"] = {"seconds": again.seconds, "new": again.report["sources"][0]["new"]}
    if not options.no_vectors:
        vectors = as_person(home, "ingest", "--drain")
        common.tell(f"vectors of {text['pending']:,} memories in {vectors.seconds:.1f} s")
        found["vectors"] = figures(vectors, size) | {"memories": text["pending"]}
    return found


def measure_large(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Seed one large transcript."""
    place.mkdir()
    path = place / "person" / LAYOUT["transcripts_claude"].format(name="large.jsonl")
    size = write_large(options.data, path, megabytes=4 if options.quick else options.size)
    home, run = seed_once(place, "large")
    found = stored(home)
    del found["hashes"]
    return {
        **found,
        "exchanges": run.report["transcripts"]["exchanges"],
        "full_text": figures(run, size),
    }


def measure_kills(place: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Kill seedings on the way and go on; compare what is there with an undisturbed one."""
    place.mkdir()
    path = place / "person" / LAYOUT["transcripts_claude"].format(name="large.jsonl")
    write_large(options.data, path, megabytes=4 if options.quick else 30)
    undisturbed, run = seed_once(place, "undisturbed")
    home, chance, kills = place / "killed", random.Random(1), 0
    for _ in range(options.kills):
        after = chance.uniform(0.2, 0.8) * run.seconds
        ended = as_person(home, "seed", "--source", "transcripts", "--no-wait", kill_after=after)
        kills += ended.code == -signal.SIGKILL
    as_person(home, "seed", "--source", "transcripts", "--no-wait")
    wanted, there = stored(undisturbed), stored(home)
    return {
        "kills": kills,
        "memories": wanted["memories"],
        "lost": len(set(wanted["hashes"]) - set(there["hashes"])),
        "doubled": there["memories"] - there["texts"],
        "equal": wanted["hashes"] == there["hashes"],
    }


def table(document: Mapping[str, Any]) -> tuple[Sequence[str], list[Sequence[Any]]]:
    """Return what is printed."""
    corpus = document["corpus"]
    rows: list[Sequence[Any]] = [
        ("corpus: files, exchanges", f"{corpus['files']:,}, {corpus['exchanges']:,}"),
        ("memories, chunks", f"{corpus['memories']:,}, {corpus['chunks']:,}"),
        *_rates("full text", corpus["full_text"]),
        (
            "questions right after it: answer first, in the first five",
            "{first}, {of_five} of {asked}".format(**corpus["questions"]),
        ),
        ("a question, median", common.milliseconds(corpus["questions"]["seconds"]["median"]) + " ms"),
        ("second run, nothing new", f"{corpus['again']['seconds']:.1f} s, {corpus['again']['new']} new"),
    ]
    if "vectors" in corpus:
        rows += _rates("vectors", corpus["vectors"])
    if "large" in document:
        large = document["large"]
        rows += [
            ("one large file: MB, exchanges", f"{large['full_text']['mb']:,.0f}, {large['exchanges']:,}"),
            *_rates("full text of it", large["full_text"]),
            ("its memories, chunks", f"{large['memories']:,}, {large['chunks']:,}"),
            ("size of the home", f"{large['home_mb']:,.0f} MB"),
        ]
    if "kills" in document:
        kills = document["kills"]
        rows.append(
            (
                f"{kills['kills']} kills: lost, duplicated of {kills['memories']:,}",
                f"{kills['lost']}, {kills['doubled']}",
            )
        )
    return ("what", "figure"), rows


def _rates(what: str, run: Mapping[str, Any]) -> list[Sequence[Any]]:
    minutes = GIGABYTES * 1000 / run["mb_per_second"] / 60
    return [
        (
            f"{what}: seconds, MB/s, processor seconds",
            f"{run['seconds']:.1f}, {run['mb_per_second']:.2f}, {run['cpu_seconds']:.1f}",
        ),
        (f"{what}: time for {GIGABYTES} GB", f"{minutes:.1f} min"),
        (
            f"{what}: peak memory, all processes, the largest",
            f"{run['peak_mb']:.0f} MB, {run['largest_mb']:.0f} MB",
        ),
    ]


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/corpus")
    parser.add_argument("--size", type=float, default=500, metavar="MB", help="of the large file; 0: none")
    parser.add_argument("--kills", type=int, default=3, help="kills of a seeding; 0: none")
    parser.add_argument("--no-vectors", action="store_true", help="measure full text alone")
    options = parser.parse_args()
    if not (options.data / "transcripts_claude").is_dir():
        raise SystemExit(f'there is no folder "{options.data / "transcripts_claude"}"')
    document: dict[str, Any] = {"benchmark": "transcripts", "machine": common.machine()}
    with common.temporary_folder("transcripts") as place:
        document["corpus"] = measure_corpus(place / "a", options)
        if options.kills:
            document["kills"] = measure_kills(place / "b", options)
        if options.size:
            document["large"] = measure_large(place / "c", options)
    headers, rows = table(document)
    notes = ["times are of whole processes, including their start; memory is their proportional set size"]
    common.report("transcripts", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
