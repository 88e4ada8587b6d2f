"""Random interleavings of five homes; as a program: `python tests/services/sharing/test_convergence.py`."""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "support"))

from canonical_state import canonical_bytes
from share_world import START, TITLES, SharingWorld, make_template

from ragmem.domain.sharing.record import SharedMemory, Supersession, Withdrawal, encode, record_id
from ragmem.domain.sharing.state import Statement, Verdict, fold

MEMBERS = ("ann", "bob", "zoe")


def run(folder, seed, template, *, steps, killing=False):
    """Run one interleaving and check its end; return what was done in it."""
    folder.mkdir()
    world = SharingWorld(folder, seed, template, killing=killing)
    try:
        world.interleave(steps)
        world.settle()
        world.check()
    finally:
        world.close()
    return world.done + Counter(f"hostile: {kind}" for kind in world.hostile)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return make_template(tmp_path_factory.mktemp("template") / "home")


SEEDS = [pytest.param(seed, marks=[pytest.mark.slow] if seed > 3 else []) for seed in range(8)]


@pytest.mark.parametrize("seed", SEEDS)
def test_homes_converge_whatever_comes_between(tmp_path, template, seed):
    run(tmp_path / "world", seed, template, steps=16)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 101])
def test_homes_converge_though_their_processes_are_killed(tmp_path, template, seed):
    done = run(tmp_path / "world", seed, template, steps=12, killing=True)
    assert done["killed"]


def statements(draw):
    """Return what three members say of each other's memories at random."""
    found = []
    for number in range(30):
        author, about = draw.choice(MEMBERS), [one.id for one in found]
        at = START + timedelta(days=draw.randint(-900, 900))
        first, second = draw.sample(about, 2) if len(about) > 1 else ("", "")
        record = SharedMemory(author, at, at, draw.choice(TITLES), f"{number}", record_type="decision")
        if second and draw.random() < 0.3:
            record = Withdrawal(author, at, first)
        elif second and draw.random() < 0.5:
            record = Supersession(author, at, first, second)
        verdict = draw.choice([Verdict.VERIFIED, Verdict.UNSIGNED])
        found.append(Statement(record_id(encode(record)), record, author, verdict))
    return found


def test_thousands_of_orders_and_parts_give_one_state():
    draw = Random(27)
    outcomes = Counter()
    for _ in range(60):
        said = statements(draw)
        whole = fold(said)
        outcomes.update(conflicts=len(whole.conflicts), withdrawn=len(whole.withdrawn))
        outcomes.update(superseded=len(whole.superseded), pending=len(whole.pending))
        for _ in range(60):
            # A home has a part, gets another one that overlaps, and some of it again.
            first = draw.sample(said, draw.randint(0, len(said)))
            second = [one for one in said if one not in first or draw.random() < 0.3]
            draw.shuffle(second)
            assert canonical_bytes(fold([*first, *second])) == canonical_bytes(whole)
    assert all(outcomes[name] > 20 for name in ("conflicts", "withdrawn", "superseded", "pending")), outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interleavings", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--steps", type=int, default=16)
    options = parser.parse_args()
    done, failed, began = Counter(), [], time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        template = make_template(place / "template")
        for seed in range(options.first, options.first + options.interleavings):
            try:
                done += run(place / "world", seed, template, steps=options.steps, killing=seed % 5 == 0)
            except Exception as error:  # noqa: BLE001 - all that may go wrong is what is counted
                failed.append(seed)
                print(f"seed {seed}: {error!r}", flush=True)
            shutil.rmtree(place / "world")
    print(f"{options.interleavings} interleavings, {len(failed)} failed {failed}")
    print(f"{time.monotonic() - began:.0f} s; {dict(done)}")
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main())
