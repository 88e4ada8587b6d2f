"""Measure sharing in a team of 500: the first and a week's fetch, one push, the remote's size and growth."""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import common
from inputs import real_texts

from ragmem.domain.sharing.record import SharedMemory, encode, record_id, without_controls, write_packs
from ragmem.services.sharing.repository import SharedRepository
from ragmem.services.sharing.signatures import merge, sign

MEMBERS, EACH, WEEK, PUSHERS, WEEKS = 500, 200, 2_000, 100, 50
QUICK_MEMBERS, QUICK_EACH = 20, 20

KEYS = 40
"""Keys that sign the attestations: to make one for each member takes longer than the rest."""

GROWN = 4
"""Members of whom a year of weekly pushes is made, one after the other."""

PUSHES = 5
START = datetime(2026, 1, 1, tzinfo=UTC)
SEED = 27
FIRST_AIM, WEEK_AIM, PUSH_AIM = 60.0, 5.0, 1.0
"""Seconds: until 100,000 memories are found by words, until 2,000 more are, and of a push beside git's."""

REFS = "+refs/ragmem/*:refs/remote/*"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command cost: seconds of the clock and of processors, and the largest resident size in MB."""

    wall: float
    processor: float
    memory: float


class Texts:
    """Decisions of two drawn paragraphs and a number each, so that none is like another."""

    def __init__(self, data: Path) -> None:
        self._paragraphs = [without_controls(text)[:300] for text in real_texts.paragraphs(data)]
        self._draw = random.Random(SEED)
        self._count = 0

    def records(self, member: str, count: int) -> dict[str, bytes]:
        """Return new records of a member by id."""
        made = {}
        for _ in range(count):
            self._count += 1
            at = START + timedelta(minutes=self._count)
            first, second = self._draw.choices(self._paragraphs, k=2)
            text = f"We decided no. {self._count}, word{self._count}x.\n\n{first}\n\n{second}"
            title = f"Decision {self._count} of {member}"
            encoded = encode(
                SharedMemory(member, at, at, title, text, kind="general", record_type="decision")
            )
            made[record_id(encoded)] = encoded
        return made


def run(words: Sequence[str], environ: Mapping[str, str], folder: Path) -> tuple[str, Cost]:
    """Run a command; return its output and what it and its children cost."""
    began = time.perf_counter()
    process = subprocess.Popen(
        words, env=environ, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    output, errors = process.stdout.read(), process.stderr.read()  # type: ignore[union-attr]
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(f"{' '.join(words)}: {errors.strip()}")
    return output, Cost(wall, usage.ru_utime + usage.ru_stime, common.resident_mb(usage))


def git(folder: Path, *arguments: str, given: bytes = b"") -> str:
    """Run git in a folder."""
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], input=given, check=True, capture_output=True
    )
    return done.stdout.decode()


class Team:
    """A remote with the histories of many members, written by git fast-import, and a person with a home."""

    def __init__(self, folder: Path, texts: Texts, members: int) -> None:
        self.folder, self.texts = folder, texts
        self.members = [f"member-{number:03d}" for number in range(members)]
        self.remote = folder / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.remote)], check=True)
        self.signers = [self.person(f"signer{number}", f"{number}") for number in range(min(KEYS, members))]

    def person(self, name: str, key: str = "") -> Path:
        """Return a new clone; with a key git signs by it."""
        clone = self.folder / name
        subprocess.run(["git", "init", "-q", "-b", "main", "--template=", str(clone)], check=True)
        settings = {"user.email": f"{name}@example.com", "user.name": name, "remote.origin.url": self.remote}
        if key:
            path = self.folder / f"key{key}"
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
            settings |= {"gpg.format": "ssh", "user.signingkey": f"{path}.pub"}
        for setting, value in settings.items():
            git(clone, "config", setting, str(value))
        return clone

    def add(self, members: Iterable[str], count: int) -> None:
        """Let members push so many new records each, as one pack with an attestation."""
        stream = []
        for number, member in enumerate(members):
            records = self.texts.records(member, count)
            attestation = sign(self.signers[number % len(self.signers)], sorted(records))
            assert attestation
            blobs = {f"packs/{sha256(pack).hexdigest()}": pack for pack in write_packs(records.values())}
            blobs[f"attestations/{sha256(attestation).hexdigest()}"] = attestation
            ref = f"refs/ragmem/{member}"
            stream.append(
                f"commit {ref}\ncommitter x <x@x> {1_770_000_000 + number} +0000\ndata 0\n".encode()
            )
            if self._exists(ref):
                stream.append(f"from {ref}^0\n".encode())
            for path, blob in blobs.items():
                stream += [f"M 100644 inline {path}\ndata {len(blob)}\n".encode(), blob, b"\n"]
        git(self.remote, "fast-import", "--quiet", given=b"".join(stream))

    def _exists(self, ref: str) -> bool:
        return bool(git(self.remote, "for-each-ref", ref))

    def fetch_by_git(self, mirror: Path) -> Cost:
        """Fetch the same refs by git alone."""
        return run(["git", "fetch", "-q", str(self.remote), REFS], os.environ, mirror)[1]


def ragmem(environ: Mapping[str, str], clone: Path, *words: str) -> tuple[str, Cost]:
    """Run ragmem's command line in a clone."""
    return run([sys.executable, "-m", "ragmem", *words], environ, clone)


def found(environ: Mapping[str, str], clone: Path, word: str) -> None:
    """Stop unless a question finds a word."""
    output, _ = ragmem(environ, clone, "query", word, "--all", "--json")
    if word not in output:
        raise SystemExit(f"{word} is not found")


def stop_index(home: Path) -> None:
    """End the process that makes the vectors: it would share the cores with what is measured next."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").resolve(strict=True) == home / "data":
                os.kill(int(process.name), signal.SIGTERM)
                while process.exists():
                    time.sleep(0.05)


def bytes_of(remote: Path) -> int:
    """Return the bytes of a remote's objects."""
    return common.folder_bytes(remote / "objects")


def measure(folder: Path, texts: Texts, *, members: int, each: int) -> dict[str, Any]:
    """Build the remote, fetch all, a week and push single ones; return the costs."""
    team = Team(folder, texts, members)
    week = min(WEEK, members * each // 10)
    pushers = min(PUSHERS, members)
    team.add(team.members, each)
    total = members * each
    common.tell(f"{total:,} records of {members} members are on the remote")
    person, mirror = team.person("person", "person"), folder / "mirror.git"
    (person / "README").write_text("x\n")
    git(person, "add", ".")
    git(person, "commit", "-qm", "first")
    environ = common.environment(folder / "home") | {
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_SHARE_REVIEW": "false",
        "RAGMEM_HOOKS": "off",
        # The warm process of a question would share the cores, and write into a folder that is to go.
        "RAGMEM_WARM": "off",
        "PYTHONPATH": str(common.REPOSITORY),
    }
    subprocess.run(["git", "init", "-q", "--bare", str(mirror)], check=True)
    result: dict[str, Any] = {"records": total, "bytes": bytes_of(team.remote)}
    result["git first"] = team.fetch_by_git(mirror)
    _, result["first"] = ragmem(environ, person, "share", "fetch", "--quiet")
    common.tell(f"first fetch: {result['first']}")
    stop_index(folder / "home")
    found(environ, person, f"word{total}x")
    team.add(team.members[:pushers], week // pushers)
    result["git week"] = team.fetch_by_git(mirror)
    _, result["week"] = ragmem(environ, person, "share", "fetch", "--quiet")
    stop_index(folder / "home")
    found(environ, person, f"word{total + week // pushers * pushers}x")
    result |= pushes(environ, person)
    git(team.remote, "gc", "-q", "--prune=now")
    result["bytes after gc"] = bytes_of(team.remote)
    result["records after"] = total + week // pushers * pushers
    return result


def pushes(environ: Mapping[str, str], person: Path) -> dict[str, Cost]:
    """Return the median cost of pushing one memory, and of pushing one blob by git alone."""
    ours, gits = [], []
    for number in range(PUSHES + 1):
        note = person / "note.md"
        note.write_text(f"---\ntype: decision\n---\n# Queue {number}\n\nWe decided on queue {number}.\n")
        ragmem(environ, person, "ingest", "note.md")
        note.unlink()
        ours.append(ragmem(environ, person, "share", "push", "--yes")[1])
        blob = git(person, "hash-object", "-w", "--stdin", given=f"{number}\n".encode()).strip()
        tree = git(person, "mktree", given=f"100644 blob {blob}\tnote\n".encode()).strip()
        commit = git(person, "commit-tree", tree, "-m", "x").strip()
        push = ["git", "push", "-q", "origin", f"{commit}:refs/heads/plain-{number}"]
        gits.append(run(push, os.environ, person)[1])
    # The first of all looks at what another machine of this member has shared.
    return {"first push": ours[0], "push": _median(ours[1:]), "git push": _median(gits[1:])}


def _median(costs: Sequence[Cost]) -> Cost:
    return sorted(costs, key=lambda one: one.wall)[len(costs) // 2]


def grow(folder: Path, texts: Texts, weeks: int) -> list[dict[str, float]]:
    """Return records and bytes of a remote to which members push some records each week."""
    folder.mkdir()
    team = Team(folder, texts, GROWN)
    rows: list[Any] = []
    with SharedRepository.open(folder / "own" / "project.git") as repository:
        for week in range(1, weeks + 1):
            for number, member in enumerate(team.members):
                records = texts.records(member, WEEK // MEMBERS)
                signer = team.signers[number]
                signed = sign(signer, sorted(records))
                assert signed
                url = str(team.remote)
                repository.push(url, member, records, [signed], merge=partial(merge, signer))
            if week in (1, weeks // 2, weeks):
                rows.append({"week": week, "bytes": bytes_of(team.remote)})
                rows[-1]["records"] = week * GROWN * (WEEK // MEMBERS)
    git(team.remote, "gc", "-q", "--prune=now")
    rows[-1]["bytes after gc"] = bytes_of(team.remote)
    return rows


def table(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return what is told for people: what, git alone, ragmem, ratio, processor seconds, memory."""
    rows: list[Any] = []
    for label, key in (("first fetch", "first"), ("a week's fetch", "week"), ("push of one", "push")):
        alone, ours = found[f"git {key}"], found[key]
        rows.append(
            (
                label,
                f"{alone.wall:.2f} s",
                f"{ours.wall:.2f} s",
                f"{ours.wall / alone.wall:.1f}",
                f"{ours.processor:.2f} s",
                f"{ours.memory:.0f} MB",
            )
        )
    return rows


def notes(found: Mapping[str, Any], growth: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the sentences below the table."""
    last = growth[-1]
    return [
        (
            f"{found['records']:,} signed records; goals for {MEMBERS * EACH:,}: {FIRST_AIM:.0f} s until"
            f" word search finds them, {WEEK_AIM:.0f} s for {WEEK:,} more, {PUSH_AIM:.0f} s for a push"
            " more than git's own"
        ),
        (
            f"bytes per record on the remote: {found['bytes'] / found['records']:.0f}, after `git gc`"
            f" {found['bytes after gc'] / found['records after']:.0f}"
        ),
        f"{GROWN} members who push {WEEK // MEMBERS} records a week: "
        + ", ".join(
            f"{row['bytes'] / row['records']:,.0f} bytes per record in week {row['week']}" for row in growth
        )
        + f", after `git gc` {last['bytes after gc'] / last['records']:,.0f}",
    ]


def main() -> None:
    """Build the team, measure, print."""
    parser = common.arguments(__doc__ or "", data="../shared/corpus")
    parser.add_argument("--members", type=int, default=MEMBERS)
    parser.add_argument("--each", type=int, default=EACH, help="records of a member")
    parser.add_argument("--weeks", type=int, default=WEEKS)
    options: argparse.Namespace = parser.parse_args()
    if options.quick:
        options.members, options.each, options.weeks = QUICK_MEMBERS, QUICK_EACH, 4
    machine = common.machine()
    texts = Texts(options.data)
    with common.temporary_folder("share") as folder:
        measured = measure(folder, texts, members=options.members, each=options.each)
        growth = grow(folder / "growth", texts, options.weeks)
    document = {"machine": machine, "growth": growth} | {
        key: vars_of(value) if isinstance(value, Cost) else value for key, value in measured.items()
    }
    headers = ("what", "git alone", "ragmem", "ratio", "processor", "memory")
    common.report("share", document, headers, table(measured), options=options, notes=notes(measured, growth))


def vars_of(cost: Cost) -> dict[str, float]:
    """Return a cost as JSON fields."""
    return {"wall": cost.wall, "processor": cost.processor, "memory": cost.memory}


if __name__ == "__main__":
    main()
