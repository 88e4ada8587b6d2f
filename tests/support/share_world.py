"""Five homes that share over one remote, and what may come between: kills, mirrors, a hostile member."""

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from random import Random
from typing import Any

import pytest
from canonical_state import canonical_bytes
from shared_remotes import git, make_remote, records, write_blob, write_history, write_tree

from ragmem.api.memory import Ragmem
from ragmem.domain.model import SHARED, Draft, Scope
from ragmem.domain.model import Supersession as Replacement
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.sharing.record import MAX_RECORD, record_id, write_packs
from ragmem.domain.sharing.state import State, Statement, Verdict, fold
from ragmem.errors import NotFoundError
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.processes.progress import Silent
from ragmem.services.sharing import bare_repository, objects, sync
from ragmem.services.sharing.outgoing import OutgoingPlan
from ragmem.services.sharing.review import decide, list_review, plan_withdrawal
from ragmem.storage.sharing.shared_records import SharedRecord, record_of
from ragmem.storage.sql.sqlite import SQLiteDatabase

NAMES = ("ann", "ann", "bob", "cy", "dee")
"""The members of the five homes: the first two are machines of one member."""

EVE = "eve"
"""A member who may push anything to the remote, and has no home."""

PROJECT = "team"
START = datetime(2026, 3, 1, tzinfo=UTC)
SKEW_DAYS = 400
TITLES = ("Which queue", "How we retry", "Where errors go", "")

MOST = 60
"""Memories of a member that a home takes in."""

FLOOD = 10_000
"""Records that the hostile member pushes at once."""

ROUNDS = 6
"""Rounds of push and fetch after which all homes must be quiet."""

MOST_TOUCHES = 40
"""Touches of git and the database before a kill, at most: about as many as an action has."""


class KilledError(BaseException):
    """The process ends here: no handler of exceptions may catch it."""


class Faults:
    """Ends an action at its n-th touch of git or of the database."""

    def __init__(self) -> None:
        self._left = 0

    @contextmanager
    def at(self, touch: int) -> Iterator[None]:
        """Kill the block at this touch; 0 is never."""
        self._left = touch
        try:
            yield
        finally:
            self._left = 0

    def touch(self) -> None:
        """Count a touch, which may be the last one."""
        if self._left:
            self._left -= 1
            if not self._left:
                raise KilledError

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that touches before and after."""

        @wraps(function)
        def touching(*arguments: Any, **options: Any) -> Any:
            self.touch()
            result = function(*arguments, **options)
            self.touch()
            return result

        return touching

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Let all that git and the database do touch."""
        write = SQLiteDatabase.write

        @contextmanager
        def touching(database: SQLiteDatabase, **options: Any) -> Iterator[Any]:
            self.touch()
            with write(database, **options) as connection:
                yield connection
            self.touch()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bare_repository, "run", self.around(bare_repository.run))
            for name in ("sizes", "contents"):
                patch.setattr(objects.ObjectReader, name, self.around(getattr(objects.ObjectReader, name)))
            patch.setattr(SQLiteDatabase, "write", touching)
            yield


def make_template(folder: Path) -> Path:
    """Make an empty home, which is quicker to copy than to make."""
    with Ragmem.open(
        environ={**os.environ, "RAGMEM_HOME": str(folder)}, home=folder, cwd=folder.parent
    ) as one:
        one.prepare()
    return folder


class SharingHome:
    """A home with a clone, its member, and a clock that is wrong by `skew`."""

    def __init__(self, folder: Path, member: str, skew: timedelta, signing: str) -> None:
        self.folder, self.member, self.skew = folder, member, skew
        self.reasons: Counter[str] = Counter()
        self.untold = False
        self._memory: Ragmem | None = None
        self._mirrored = False
        place = folder / "clone"
        place.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet", "--template=", str(place)], check=True)
        with (place / ".git/config").open("a") as config:
            config.write(f'[remote "origin"]\n\turl = {folder.parent}/remote.git\n')
            config.write(f'[remote "mirror"]\n\turl = {folder.parent}/mirror.git\n')
            if signing:
                config.write(f"[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = {signing}\n")

    def close(self) -> None:
        """Close the home; the next use opens it."""
        if self._memory:
            self._memory.close()
        self._memory = None

    def team(self, *, mirror: bool = False) -> sync.Team:
        """Return what sharing needs; with `mirror` over a copy of the remote that may lack something."""
        if self._memory and mirror != self._mirrored:
            self.close()
        self._mirrored = mirror
        if not self._memory:
            environ = {
                **os.environ,
                "RAGMEM_HOME": str(self.folder / "home"),
                "RAGMEM_MODELS_BACKEND": "fake",
                "RAGMEM_STORE_BACKEND": "fake",
                "RAGMEM_SHARE_REMOTE": "mirror" if mirror else "origin",
                "RAGMEM_SHARE_MAX_RECORDS_A_MEMBER": str(MOST),
            }
            self._memory = Ragmem.open(environ=environ, home=self.folder, cwd=self.folder)
            self._memory.prepare()
        memory = self._memory
        return sync.Team(
            memory.catalog,
            lambda: memory.store,
            memory.settings,
            PROJECT,
            self.folder / "clone",
            self.member,
            START + self.skew,
            Silent(),
        )

    @property
    def repository(self) -> Path:
        """The folder of the bare repository in the home."""
        return self.folder / "home/data/share" / f"{PROJECT}.git"

    def rows(self) -> dict[str, SharedRecord]:
        """Return all records that the home has, by id."""
        return {row.id: row for row in self.team().catalog.shared.each(PROJECT)}

    def state(self, ids: Collection[str], *, decided: bool = False) -> State:
        """Return the state of these records; with `decided` by this home's review."""
        rows = {key: row for key, row in self.rows().items() if key in ids}
        accepted = {key for key, row in rows.items() if decided and row.approval is Approval.ACCEPTED}
        statements = (
            Statement(key, record_of(row), row.member, Verdict(row.verdict)) for key, row in rows.items()
        )
        return fold(statements, accepted=accepted)

    # What a person does.

    def say(self, number: int, draw: Random, *, replaces: bool = False) -> list[str]:
        """Store a decision, which may replace one that is known here, and push; return acknowledged ids."""
        team = self.team()
        at = team.now + timedelta(minutes=number)
        text = (
            f"Decision {number} of {self.member}: we keep queue {draw.randrange(10_000)}, because it lasts."
        )
        draft = Draft(
            "notes",
            f"/n/{number}",
            text,
            draw.choice(TITLES),
            event_time=at,
            scope=Scope(PROJECT),
            metadata={"type": "decision"},
        )
        made = classify_draft(
            draft, now=team.now, sizes=team.settings.chunking, rule="off", redactor=team.settings.redactor
        )
        known = sorted(team.catalog.memories.ids())
        with team.catalog.database.write():
            team.catalog.memories.accept([(made.memory, made.chunks)])
            if replaces and known:
                older = draw.choice(known)
                team.catalog.supersessions.put(
                    [Replacement(older, made.memory.id, at, at, "manual", "said so", team.now)]
                )
        plan = sync.plan_push(team, ids=(), consent=())
        self.untold |= plan.is_first
        done = sync.push(team, plan)
        return [one.id for one in done.plan.records]

    def take_back(self, draw: Random) -> list[str]:
        """Withdraw one of the member's own records, of whatever machine; return acknowledged ids."""
        team = self.team()
        own = [row for row in team.catalog.shared.of_member(PROJECT, self.member) if not row.withdrawn]
        if not own:
            return []
        with suppress(NotFoundError):
            planned = plan_withdrawal(team, [draw.choice(own).id], reason="we chose otherwise")
            sync.push(team, OutgoingPlan(is_first=False), extra=planned)
            return [one.id for one in planned]
        return []

    def fetch(self, *, mirror: bool = False) -> int:
        """Fetch; return how many records are new."""
        report = sync.fetch(self.team(mirror=mirror))
        self.reasons += report.left_out
        return report.new.total()

    def push(self) -> int:
        """Push what waits; return how many records the remote got."""
        return sync.push(self.team(), OutgoingPlan(is_first=False)).pushed

    def review(self, draw: Random, *, accept: bool = True) -> None:
        """Decide on some of what waits."""
        team = self.team()
        waiting = list_review(team.catalog, PROJECT, Approval.PROPOSED)
        decide(team, draw.sample(waiting, (len(waiting) + 1) // 2), accept=accept)

    def accept_all(self) -> None:
        """Let in whatever waits or was rejected, until nothing is left to decide on."""
        team = self.team()
        for _ in range(ROUNDS):
            items = [
                item
                for approval in (Approval.PROPOSED, Approval.REJECTED)
                for item in list_review(team.catalog, PROJECT, approval)
            ]
            if not items:
                return
            decide(team, items, accept=True)
        raise AssertionError("a review has no end")


class SharingWorld:
    """A remote, five homes, and what an interleaving has done to them.

    `folder` is its own, and `template` what `make_template` has made; with `killing` processes are killed.
    """

    def __init__(self, folder: Path, seed: int, template: Path, *, killing: bool = False) -> None:
        self.draw = Random(seed)
        self._patch = pytest.MonkeyPatch()
        self._patch.setenv("HOME", str(folder))
        self.remote = make_remote(folder / "remote.git")
        self.mirror = make_remote(folder / "mirror.git")
        self.faults = Faults()
        self.acknowledged: set[str] = set()
        self.hostile: list[str] = []
        self.rewritten = False
        self.done: Counter[str] = Counter()
        self._numbers = iter(range(1, 1_000_000))
        self._killing = killing
        keys = self._keys(folder) if self.draw.random() < 0.25 else {}
        self.homes = [
            SharingHome(
                folder / f"{member}{number}",
                member,
                timedelta(days=self.draw.uniform(-SKEW_DAYS, SKEW_DAYS)),
                keys.get(member, ""),
            )
            for number, member in enumerate(NAMES)
        ]
        for one in self.homes:
            shutil.copytree(template, one.folder / "home")

    def close(self) -> None:
        """Close all homes, and put the environment back."""
        for home in self.homes:
            home.close()
        self._patch.undo()

    def interleave(self, steps: int) -> None:
        """Do so many things in a drawn order, and end some of them halfway."""
        acts: dict[Callable[[SharingHome], object], int] = {
            self._say: 5,
            self._replace: 5,
            self._withdraw: 5,
            self._fetch: 5,
            self._fetch_from_mirror: 2,
            self._review: 4,
            self._be_hostile: 1,
        }
        with self.faults.planted():
            for _ in range(steps):
                home = self.draw.choice(self.homes)
                act = self.draw.choices(list(acts), list(acts.values()))[0]
                self.done[act.__name__] += 1
                kind = self.draw.random()
                if self._killing and kind < 0.2 and act not in (self._be_hostile, self._fetch_from_mirror):
                    self._kill(act, home)
                elif kind < 0.4:
                    self._break(act, home)
                else:
                    act(home)

    def settle(self) -> None:
        """Let all push and fetch until a whole round brings nothing new."""
        if self.rewritten:
            # Whoever pushes brings back what the remote has lost.
            for home in self.homes:
                self._say(home)
        for _ in range(ROUNDS):
            if not sum(home.push() + home.fetch() for home in self.homes):
                return
        raise AssertionError("the homes are never quiet")

    def check(self) -> None:
        """Raise AssertionError unless all homes agree, nothing is lost or doubled, and git is content."""
        # What a member has withdrawn from the remote itself reaches only who was in time.
        without = EVE if len(self.hostile) > 1 or "flood" in self.hostile else ""
        found = [self._shared_ids(home, without) for home in self.homes]
        assert all(ids == found[0] for ids in found)
        assert len({canonical_bytes(home.state(found[0])) for home in self.homes}) == 1
        assert self.acknowledged - self._erased() <= found[0]
        for home in self.homes:
            assert not [row for row in home.rows().values() if not row.pushed]
            assert sum(row.member == EVE for row in home.rows().values()) <= 2 * MOST
            # A fetch that was killed after its end, or was a part of the first push, has told nobody.
            assert home.untold or not self._missed_reasons(home)
        self._check_memories(found[0], without)
        self._check_git()

    def _shared_ids(self, home: SharingHome, without: str) -> set[str]:
        """Return the ids of a home's records but a member's, and but what was taken back before it left."""
        others = set().union(*(one.rows() for one in self.homes if one is not home)) | self.acknowledged
        erased = self._erased()
        return {
            key
            for key, row in home.rows().items()
            if row.member != without and not (row.withdrawn and (key not in others or key in erased))
        }

    def _erased(self) -> set[str]:
        """Return the ids of what was withdrawn after somebody had deleted it from the remote.

        No home has its text any more, so those that had not fetched it before never get it.
        """
        if not self.rewritten:
            return set()
        rows = [home.rows() for home in self.homes]
        withdrawn = {key for some in rows for key, row in some.items() if row.withdrawn}
        return {key for key in withdrawn if not all(key in some for some in rows)}

    def _check_memories(self, ids: set[str], without: str) -> None:
        """Look at the memories after everybody has accepted all: each visible one is there once."""
        for home in self.homes:
            home.accept_all()
        told = []
        for home in self.homes:
            catalog = home.team().catalog
            memories = catalog.memories.get(catalog.memories.ids())
            counts = Counter(one.text for one in memories.values())
            assert max(counts.values(), default=1) == 1
            visible = home.state(ids, decided=True).visible
            shared = {
                one.text
                for one in memories.values()
                if one.source == SHARED and one.metadata["origin"] != without
            }
            texts = {one.text for one in visible.values()}
            assert shared <= texts
            assert texts <= counts.keys()
            told.append(texts)
        assert all(texts == told[0] for texts in told)

    def _check_git(self) -> None:
        if self.hostile:
            git(self.remote, "update-ref", "-d", f"refs/ragmem/{EVE}")
            git(self.remote, "prune", "--expire=now")
        for folder in (self.remote, *(home.repository for home in self.homes)):
            assert git(folder, "fsck", "--strict", "--no-dangling", "--no-progress") == ""

    def _missed_reasons(self, home: SharingHome) -> str:
        """Return what is wrong with the hostile member's history at last, if a home has not told it."""
        last = self.hostile[-1] if self.hostile else ""
        reasons = {
            "forged": "forged",
            "large": "too large",
            "path": "objects that git rejects",
            "flood": "beyond the limit of records",
        }
        wanted = reasons.get(last, "")
        return "" if any(wanted in reason for reason in home.reasons) or not wanted else wanted

    # What happens.

    def _say(self, home: SharingHome) -> None:
        self.acknowledged.update(home.say(next(self._numbers), self.draw))

    def _replace(self, home: SharingHome) -> None:
        self.acknowledged.update(home.say(next(self._numbers), self.draw, replaces=True))

    def _withdraw(self, home: SharingHome) -> None:
        self.acknowledged.update(home.take_back(self.draw))

    def _fetch(self, home: SharingHome) -> None:
        home.fetch()

    def _fetch_from_mirror(self, home: SharingHome) -> None:
        """Fetch from a copy of the remote that has the present histories of some members only."""
        heads = git(self.remote, "for-each-ref", "--format=%(refname)", "refs/ragmem").split()
        some = [f"+{name}:{name}" for name in heads if self.draw.random() < 0.5]
        if some:
            git(self.mirror, "fetch", "--quiet", self.remote, *some)
        home.fetch(mirror=True)

    def _review(self, home: SharingHome) -> None:
        home.review(self.draw, accept=self.draw.random() < 0.7)

    def _break(self, act: Callable[[SharingHome], object], home: SharingHome) -> None:
        """End what a home does at some touch; the home is opened anew after that."""
        try:
            with self.faults.at(self.draw.randint(1, MOST_TOUCHES)):
                act(home)
        except KilledError:
            self.done["broken"] += 1
            home.untold = True
            home.close()

    def _kill(self, act: Callable[[SharingHome], object], home: SharingHome) -> None:
        """Let a process of its own do something, and kill it at some moment."""
        for one in self.homes:
            one.close()
        number = next(self._numbers)  # taken here, since the other process counts for itself
        child = os.fork()
        if not child:
            self._numbers = iter([number])
            with suppress(BaseException):
                act(home)
            os._exit(0)
        time.sleep(self.draw.uniform(0, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.done["killed"] += 1
        home.untold = True

    def _be_hostile(self, _: SharingHome) -> None:
        """Let the hostile member replace a history, delete one, or set one back."""
        kinds = ["forged", "large", "path", "flood", "delete", "back"]
        kind = self.draw.choice(kinds)
        if kind in ("delete", "back"):
            heads = git(self.remote, "for-each-ref", "--format=%(refname)", "refs/ragmem").split()
            if not heads:
                return
            ref = self.draw.choice(heads)
            self.hostile.append(kind)
            self.rewritten = True
            if kind == "back" and len(git(self.remote, "rev-list", "--max-count=2", ref).split()) > 1:
                git(self.remote, "update-ref", ref, f"{ref}~1")
            else:
                git(self.remote, "update-ref", "-d", ref)
            return
        self.hostile.append(kind)
        write_history(self.remote, EVE, self._tree(kind))

    def _tree(self, kind: str) -> str:
        number = next(self._numbers)
        if kind == "path":
            name = self.draw.choice(["..", ".git", "a/b"])
            return write_tree(self.remote, [("100644", name, write_blob(self.remote, b"{}"))])
        if kind == "flood":
            flood = records(EVE, number, number + FLOOD).values()
            packs = {record_id(pack): write_blob(self.remote, pack) for pack in write_packs(flood)}
            inner = write_tree(self.remote, sorted(("100644", key, blob) for key, blob in packs.items()))
            return write_tree(self.remote, [("40000", "packs", inner)])
        encoded = b"x" * (MAX_RECORD + 1)
        if kind == "forged":
            (encoded,) = records("ann", number, number + 1).values()
        key = record_id(encoded)
        leaf = write_tree(self.remote, [("100644", key, write_blob(self.remote, encoded))])
        inner = write_tree(self.remote, [("40000", key[:2], leaf)])
        return write_tree(self.remote, [("40000", "records", inner)])

    def _keys(self, folder: Path) -> dict[str, str]:
        """Make keys of two members, which everybody's git allows."""
        made = {}
        allowed = folder / "allowed"
        for member in ("ann", "bob"):
            key = folder / f"key-{member}"
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
            with allowed.open("a") as file:
                file.write(f"{member} {key.with_suffix('.pub').read_text()}")
            made[member] = str(key.with_suffix(".pub"))
        (folder / ".gitconfig").write_text(f'[gpg "ssh"]\n\tallowedSignersFile = {allowed}\n')
        return made
