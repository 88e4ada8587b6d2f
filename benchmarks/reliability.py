"""Kill a writer with SIGKILL again and again, and check after each kill that nothing is lost or half done.

The writer is a process that carries out seeded operations on a real home and logs, outside of it, what the
API has acknowledged. It is killed at a random moment, when a file of the home has just changed, or at a
chosen SQL statement or commit. Then another process opens the home, checks every invariant, does what a
person does next (seed or gc), and checks again.
"""

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import common
from crashes.plan import KINDS
from crashes.rounds import AIMS, Driver, Round

KILLS = 234
QUICK = 20
SEED = 20260901


@dataclass(slots=True)
class Tally:
    """What came of one operation."""

    rounds: int = 0
    kills: int = 0
    running: int = 0
    acknowledged: int = 0
    lost: int = 0
    inconsistent: int = 0
    mended: int = 0


def main(words: Sequence[str] | None = None) -> int:
    """Run the rounds and print the table; 1 when anything was lost or inconsistent."""
    parser = common.arguments(__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, help=f"kills in all (default {KILLS}, quick {QUICK})")
    parser.add_argument("--seed", type=int, default=SEED, help="of texts, steps and aims")
    parser.add_argument("--models", default="fake", choices=("fake", "minilm"), help="what makes vectors")
    parser.add_argument("--only", choices=KINDS, action="append", help="this operation only; may be repeated")
    parser.add_argument("--aim", choices=AIMS, action="append", help="this aim only; may be repeated")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where homes with a violation are kept")
    options = parser.parse_args(words)
    kills = options.kills or (QUICK if options.quick else KILLS)
    began = time.monotonic()
    with common.temporary_folder("reliability") as folder:
        driver = Driver(options, folder)
        rounds = driver.run(kills)
    return _report(options, rounds, kills=kills, seconds=time.monotonic() - began)


def _report(options: argparse.Namespace, rounds: list[Round], *, kills: int, seconds: float) -> int:
    tallies: dict[str, Tally] = {}
    for one in rounds:
        tally = tallies.setdefault(one.kind, Tally())
        tally.rounds += 1
        tally.kills += one.killed
        tally.running += one.running
        tally.acknowledged += one.acknowledged
        lost = sum("lost: " in line for line in one.violations)
        tally.lost += lost
        tally.inconsistent += len(one.violations) - lost
        tally.mended += one.pending
    names = [name for name in KINDS if name in tallies]
    total = Tally(
        **{
            name: sum(getattr(tally, name) for tally in tallies.values())
            for name in Tally.__dataclass_fields__
        }
    )
    rows = [
        [label, *(str(getattr(tally, name)) for name in _COLUMNS)]
        for label, tally in [*((KINDS[name], tallies[name]) for name in names), ("all", total)]
    ]
    document = {
        "machine": common.machine(),
        "seed": options.seed,
        "models": options.models,
        "seconds": seconds,
        "kills": kills,
        "operations": {name: {c: getattr(tallies[name], c) for c in _COLUMNS} for name in names},
        "seconds_of": {
            name: sum(one.seconds for one in rounds if one.kind == name) / tallies[name].rounds
            for name in names
        },
        "within": dict(Counter(one.within for one in rounds if one.running)),
        "aims": dict(Counter(one.aim for one in rounds if one.killed)),
        "violations": [
            {"round": one.number, "operation": one.kind, "aim": one.aim, "what": line}
            for one in rounds
            for line in one.violations
        ],
    }
    aims = ", ".join(f"{count} {name}" for name, count in sorted(document["aims"].items()))
    common.report(
        "reliability",
        document,
        ["operation", *(_COLUMNS.values())],
        rows,
        options=options,
        notes=(
            (
                f"`python benchmarks/reliability.py --kills {kills} --seed {options.seed}"
                f" --models {options.models}`, {seconds:.0f} s; kills by target: {aims}"
            ),
        ),
    )
    return 1 if total.lost or total.inconsistent else 0


_COLUMNS = {
    "kills": "kills",
    "running": "while running",
    "acknowledged": "acknowledged",
    "lost": "lost",
    "inconsistent": "inconsistent",
    "mended": "recovered",
}


if __name__ == "__main__":
    raise SystemExit(main())
