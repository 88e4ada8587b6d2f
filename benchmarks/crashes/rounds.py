"""The rounds of the reliability driver: fork a writer, kill it, replay its log, have the home checked."""

import argparse
import gc
import importlib
import json
import os
import pkgutil
import random
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# One thread: this process forks the ones that it kills.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import common
from crashes import check, writer
from crashes.plan import KINDS, SENTENCE, World, plan
from crashes.world import GRADUAL, LIVING, Expected, Place, Step, between, conserved

import ragmem.backends.lightrag
import ragmem.domain
import ragmem.readers
import ragmem.services
import ragmem.storage

LIFE = 20
"""Rounds after which a world is replaced by a new one, unless it has become too small or too large before."""

PATIENCE = 120.0
"""Seconds after which a writer or a check that does not end is a violation."""

AIMS = ("moment", "change", "statement", "before commit", "after commit")
FILE_AIMS = ("moment", "change")


@dataclass(slots=True)
class Round:
    """One writer from its start to its end."""

    number: int
    kind: str
    aim: str
    killed: bool = False
    running: bool = False
    within: str = ""
    """The step that was in flight."""
    acknowledged: int = 0
    pending: int = 0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)


class Durations:
    """How long each kind of step takes here, learned while it runs: the range of random moments."""

    def __init__(self) -> None:
        self._known: dict[str, float] = {}

    def learn(self, kind: str, seconds: float) -> None:
        """Take one into the average."""
        self._known[kind] = 0.7 * self._known.get(kind, seconds) + 0.3 * seconds

    def of(self, kind: str) -> float:
        """Return the average, or a guess."""
        return self._known.get(kind, 0.05)


class Driver:
    """Runs rounds in a scratch folder."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.durations = Durations()
        self.worlds: dict[str, World] = {}
        self.made = 0
        self.kinds = [kind for kind in KINDS if not options.only or kind in options.only]
        if options.models != "fake":
            self.kinds = [kind for kind in self.kinds if kind != "remodel"]

    def run(self, kills: int) -> list[Round]:
        """Return the rounds, of which as many as asked for ended in a kill; each kind gets its share."""
        _preload()
        rounds: list[Round] = []
        done: Counter[str] = Counter()
        attempts: Counter[str] = Counter()
        share = -(-kills // len(self.kinds))
        number = 0
        while sum(done.values()) < kills:
            kind = min(self.kinds, key=lambda one: (done[one], self.kinds.index(one)))
            if attempts[kind] > 4 * share + 8:
                raise SystemExit(f"the operation {kind} ends before it can be killed")
            attempts[kind] += 1
            began = time.monotonic()
            one = self.round(number, kind)
            one.seconds = time.monotonic() - began
            rounds.append(one)
            done[kind] += one.killed
            number += 1
            for line in one.violations:
                common.tell(f"seed {self.options.seed}, round {number - 1} ({kind}, {one.aim}): {line}")
            if number % 20 == 0:
                common.tell(f"{sum(done.values())} of {kills} kills")
        return rounds

    def round(self, number: int, kind: str) -> Round:
        """Plan, fork the writer, kill it, check what is left."""
        chance = random.Random(f"{self.options.seed}/{number}")
        world = self._world(kind, number)
        steps, target = plan(kind, world, chance)
        # Writing the files of vectors takes few statements and no commit.
        aim = chance.choice(self.options.aim or (FILE_AIMS if kind == "vectors" else AIMS))
        one = Round(number, kind, aim)
        before = world.expected.copy()
        log = world.place.root / f"log-{number}"
        wish = writer.Aim(aim, target, _count(aim, chance))
        pid = _fork(
            world.place.root / f"writer-{number}.err",
            lambda: writer.write(world.place, world.models, steps, log, wish),
        )
        other = self._start_other(world, number)
        status = self._end(
            pid, world.place, log, wish, usual=self.durations.of(steps[target].kind), chance=chance
        )
        one.killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if not one.killed and status != 0:
            one.violations.append(f"the writer failed: {_tail(world.place.root / f'writer-{number}.err')}")
        if other is not None:
            self._end_other(world, other, number, one)
        states, after = self._replay(world, steps, _events(log), one)
        self._check(world, states, after, one, seed=number)
        if one.violations:
            self._keep(world, number, steps, one, before)
        world.rounds += 1
        return one

    def _start_other(self, world: World, number: int) -> int | None:
        if not world.beside:
            return None
        log = world.place.root / f"log-{number}-beside"
        nobody = writer.Aim("none", 0, 0)
        steps = world.beside
        return _fork(
            world.place.root / f"beside-{number}.err",
            lambda: writer.write(world.place, world.models, steps, log, nobody),
        )

    def _end_other(self, world: World, pid: int, number: int, one: Round) -> None:
        """Wait for the writer that nobody kills: it must come through, whatever became of the first one."""
        steps, world.beside = world.beside, []
        if _wait(pid, PATIENCE) != 0:
            told = _tail(world.place.root / f"beside-{number}.err")
            one.violations.append(f"the writer beside the killed one failed: {told}")
        for event in _events(world.place.root / f"log-{number}-beside"):
            if event["event"] == "done":
                step = steps[event["step"]]
                world.begin(step)
                # What both have ingested never overlaps, so that the order does not matter.
                world.expected = world.after(step, [event])[-1]
                one.acknowledged += len(event["ids"])

    def _world(self, kind: str, number: int) -> World:
        """Return the world of a kind: a new one, the one of its kind, or the common one."""
        if kind == "import" and "donor" not in self.worlds:
            donor = self.worlds["donor"] = World.make(
                self._place("donor"), kind="donor", models=self.options.models
            )
            self._fill(donor, number)
        if kind in {"create", "migrate", "import"}:
            world = World.make(self._place(kind), kind=kind, models=self.options.models)
            world.donor = self.worlds.get("donor")
            return world
        name = kind if kind in {"vectors", "lifecycle"} else "common"
        world = self.worlds.get(name)
        if world is None or world.rounds >= LIFE or not world.usable:
            if world is not None:
                shutil.rmtree(world.place.root, ignore_errors=True)
            world = self.worlds[name] = World.make(self._place(name), kind=name, models=self.options.models)
            self._fill(world, number)
        return world

    def _place(self, kind: str) -> Place:
        self.made += 1
        place = Place(self.folder / f"world-{self.made}", SENTENCE if kind == "vectors" else 0)
        place.root.mkdir()
        place.prepare()
        return place

    def _fill(self, world: World, number: int) -> None:
        """Give a new world its first memories, undisturbed."""
        steps = world.first_steps(random.Random(f"{self.options.seed}/fill/{number}"))
        if not steps:
            return
        log = world.place.root / "log-fill"
        errors = world.place.root / "fill.err"
        nobody = writer.Aim("none", 0, 0)
        pid = _fork(errors, lambda: writer.write(world.place, world.models, steps, log, nobody))
        if _wait(pid, PATIENCE) != 0:
            raise SystemExit(f"a world cannot be made: {_tail(errors)}")
        for step in steps:
            world.expected = world.after(step, [])[-1]
            world.end(step)
        world.base = len(world.expected.memories)

    def _end(
        self,
        pid: int,
        place: Place,
        log: Path,
        wish: writer.Aim,
        *,
        usual: float,
        chance: random.Random,
    ) -> int:
        """Wait until the target step has begun, then kill at the moment or change that was drawn."""
        deadline = time.monotonic() + PATIENCE
        aim = wish.what
        reached = _log_reaches(log, wish.step)
        changes, delay = int(2 ** (chance.random() * 5)), chance.random()
        while not reached():
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status
            _patience(deadline, pid)
            time.sleep(0.0002)
        if aim == "moment":
            due = time.monotonic() + 1.3 * delay * usual
        seen = _picture(place.data)
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status
            _patience(deadline, pid)
            if aim == "moment" and time.monotonic() >= due:
                break
            if aim == "change":
                now = _picture(place.data)
                changes -= now != seen
                seen = now
                if changes <= 0:
                    break
            else:
                time.sleep(0.0001)
        os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, 0)[1]

    def _replay(
        self, world: World, steps: Sequence[Step], events: list[dict[str, Any]], one: Round
    ) -> tuple[list[Expected], Expected | None]:
        """Follow the log; return the states that may be found, and for a seeding its end."""
        notes: list[dict[str, Any]] = []
        begun: float | None = None
        current: Step | None = None
        for event in events:
            step = steps[event["step"]]
            if event["event"] == "begin":
                notes, begun, current = [], event["at"], step
                world.begin(step)
                continue
            notes.append(event)
            if event["event"] == "note":
                one.violations += world.doubt(step, event)
            else:
                world.expected = world.after(step, notes)[-1]
                world.end(step)
                one.acknowledged += len(event.get("ids", ())) or 1
                assert begun is not None
                self.durations.learn(step.kind, event["at"] - begun)
                current = None
        one.running = one.killed and current is not None
        one.within = current.kind if current is not None else ""
        if current is None:
            return [world.expected], None
        after = world.after(current, notes)
        if current.kind in GRADUAL:
            return [world.expected], after[-1]
        return [world.expected, *after], None

    def _check(
        self, world: World, states: list[Expected], after: Expected | None, one: Round, *, seed: int
    ) -> None:
        answer = world.place.root / "answer.json"
        answer.unlink(missing_ok=True)
        errors = world.place.root / "check.err"
        pid = _fork(
            errors,
            lambda: check.check(
                world.place,
                (world.models, world.former),
                answer,
                seed=seed,
                asked=world.words,
                whole=not world.large,
                damaged=one.kind == "repair",
            ),
        )
        try:
            status = _wait(pid, PATIENCE)
        except TimeoutError as error:
            one.violations.append(str(error))
            return
        if status != 0:
            one.violations.append(f"the home cannot be used: {_tail(errors)}")
            return
        told = json.loads(answer.read_bytes())
        found = Expected(told["memories"], told["archive"])
        one.pending = told["pending"]
        one.violations += told["violations"]
        if after is not None and one.within in LIVING:
            one.violations += conserved(states[0], after, found)
        elif after is not None:
            one.violations += between(states[0], after, found)
        else:
            differences = [state.differences(found) for state in states]
            if all(differences):
                one.violations += min(differences, key=len)
        world.expected = found
        world.models = told["models"]

    def _keep(self, world: World, number: int, steps: Sequence[Step], one: Round, before: Expected) -> None:
        """Copy the world away, with all that is needed to understand it, and go on with a new one."""
        root = self.options.keep or Path(tempfile.gettempdir()) / "ragmem-reliability"
        kept = root / f"seed-{self.options.seed}-round-{number}"
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(world.place.root, kept)
        (kept / "violations.txt").write_text("\n".join([f"{one.kind}, {one.aim}", *one.violations, ""]))
        (kept / "steps.txt").write_text("\n".join(map(repr, [before, *steps, ""])))
        common.tell(f"kept for inspection: {kept}")
        self.worlds = {name: other for name, other in self.worlds.items() if other is not world}


def _preload() -> None:
    """Import what the forked processes need: each starts in milliseconds, and all run the same code."""
    importlib.import_module("lightrag.operate")
    for package in (ragmem.storage, ragmem.domain, ragmem.readers, ragmem.services, ragmem.backends.lightrag):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    # What is shared with the forked processes stays shared.
    gc.freeze()


def _count(aim: str, chance: random.Random) -> int:
    """Return at which statement or commit the writer ends itself: early ones as likely as late ones."""
    if aim == "statement":
        return int(2 ** (chance.random() * 10))
    return chance.choice((1, 1, 1, 2, 2, 3, 4, 6))


def _log_reaches(log: Path, target: int) -> Callable[[], bool]:
    """Return a function that tells whether the target step has begun."""

    def reached() -> bool:
        return any(event["step"] >= target for event in _events(log))

    return reached


def _events(log: Path) -> list[dict[str, Any]]:
    try:
        lines = log.read_text().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    # The writer may have been killed within its last line, which then acknowledges nothing.
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _picture(folder: Path) -> list[tuple[str, int, int]]:
    """Return what tells that a file of the home has changed."""
    found = []
    for directory, folders, names in os.walk(folder):
        for name in (*folders, *names):
            with suppress(OSError):
                status = Path(directory, name).lstat()
                found.append((f"{directory}/{name}", status.st_size, status.st_mtime_ns))
    return found


def _fork(errors: Path, work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    descriptor = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 2)
    try:
        work()
    except BaseException:  # noqa: BLE001 - it must not run on as a second driver
        traceback.print_exc()
    finally:
        os._exit(70)


def _wait(pid: int, patience: float) -> int:
    deadline = time.monotonic() + patience
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        _patience(deadline, pid)
        time.sleep(0.001)


def _patience(deadline: float, pid: int) -> None:
    if time.monotonic() > deadline:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise TimeoutError(f"a process did not end within {PATIENCE:g} s")


def _tail(path: Path) -> str:
    lines = path.read_text(errors="replace").split("\n") if path.exists() else []
    return " | ".join(line.strip() for line in lines[-8:] if line.strip())
