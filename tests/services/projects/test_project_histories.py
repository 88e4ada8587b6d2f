"""Whatever happens to folders and repositories, what was written in a place is found from that place."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.api.memory import Ragmem
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.ingestion.scope import project_at, project_finder, remember_projects
from ragmem.services.transcripts.scopes import Scopes

NAMES = ("a", "b", "a/c", "a/c/d", "b/e", "wide")
"""Folders below the home; some lie in others."""

PLAIN, EMPTY = "plain", "empty"


@dataclass
class Thing:
    """A folder as a person knows it: what it is, and the projects of what was written in it."""

    first: str
    remote: str = ""
    shallow: bool = False
    projects: set[str] = field(default_factory=set)


class World:
    """A home with folders and one memory; each step is one that people take."""

    def __init__(self, home: Path) -> None:
        self.home = home
        environ = {"RAGMEM_HOME": str(home / ".ragmem"), "RAGMEM_MODELS_BACKEND": "fake"}
        self.memory = Ragmem.open(environ=environ, home=home, cwd=home)
        self.memory.prepare()
        self.things: dict[Path, Thing] = {}
        self.numbers = count()

    def git(self, folder: Path, *arguments: str) -> str:
        identity = [
            "-c",
            "user.name=Sam",
            "-c",
            "user.email=sam@example.org",
            "-c",
            "init.defaultBranch=main",
        ]
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_ALLOW_PROTOCOL": "file"}
        return subprocess.run(
            ["git", *identity, *arguments],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            env=environ,
        ).stdout.strip()

    def folder(self, name: str) -> Path:
        return self.home / "work" / name

    # --- what a person does

    def make(self, at: Path, _: Path) -> None:
        at.mkdir(parents=True, exist_ok=True)
        for one in (at, *at.parents):
            if one == self.home / "work":
                break
            self.things.setdefault(one, Thing(PLAIN))

    def mark(self, at: Path, _: Path) -> None:
        if self.is_plain(at):
            (at / "CLAUDE.md").write_text("rules")

    def init(self, at: Path, _: Path) -> None:
        if self.is_plain(at):
            self.git(at, "init", "-q")
            self.things[at].first = EMPTY

    def commit(self, at: Path, _: Path) -> None:
        thing = self.things.get(at)
        if thing and thing.first == EMPTY:
            (at / "one.txt").write_text(str(next(self.numbers)))
            self.git(at, "add", "one.txt")
            self.git(at, "commit", "-q", "-m", f"first {next(self.numbers)}")
            thing.first = self.git(at, "rev-parse", "HEAD")

    def set_url(self, at: Path, _: Path) -> None:
        thing = self.things.get(at)
        if thing and thing.first != PLAIN:
            url = f"https://git.example/sam/{next(self.numbers)}.git"
            self.git(at, "remote", *(("set-url",) if thing.remote else ("add",)), "origin", url)
            thing.remote = url

    def remove_remote(self, at: Path, _: Path) -> None:
        thing = self.things.get(at)
        if thing and thing.remote:
            self.git(at, "remote", "remove", "origin")
            thing.remote = ""

    def move(self, at: Path, to: Path) -> None:
        thing = self.things.get(at)
        if thing and not to.exists() and not to.is_relative_to(at) and to.parent.is_dir():
            at.rename(to)
            for place in [one for one in self.things if one.is_relative_to(at)]:
                moved = self.things.pop(place)
                if moved.first == PLAIN:
                    # Nothing but its path tells such a folder from others.
                    moved.projects = set()
                self.things[to / place.relative_to(at)] = moved

    def clone(self, at: Path, to: Path) -> None:
        self.copied(at, to)

    def shallow_clone(self, at: Path, to: Path) -> None:
        self.copied(at, to, "--depth", "1")

    def copied(self, at: Path, to: Path, *options: str) -> None:
        thing = self.things.get(at)
        if thing and len(thing.first) == 40 and not thing.shallow and not to.exists() and to.parent.is_dir():
            self.git(self.home, "clone", "-q", *options, f"file://{at}", str(to))
            # A shallow one shows no first commit, and no project has its remote.
            known = set() if options else thing.projects
            self.things[to] = Thing(thing.first, f"file://{at}", bool(options), known)

    def worktree(self, at: Path, to: Path) -> None:
        thing = self.things.get(at)
        apart = not to.is_relative_to(at) and (at / ".git").is_dir()
        if thing and len(thing.first) == 40 and not to.exists() and to.parent.is_dir() and apart:
            self.git(at, "worktree", "add", "-q", "--detach", str(to))
            assert project_at(self.memory.catalog, to, home=self.home) == project_at(
                self.memory.catalog, at, home=self.home
            )
            self.git(at, "worktree", "remove", "--force", str(to))

    def replace(self, at: Path, _: Path) -> None:
        """Another repository with another first commit in the place of this one."""
        thing = self.things.get(at)
        if thing and len(thing.first) == 40 and not thing.shallow:
            before = project_at(self.memory.catalog, at, home=self.home)
            shutil.rmtree(at)
            for place in [one for one in self.things if one.is_relative_to(at)]:
                del self.things[place]
            self.make(at, at)
            self.init(at, at)
            self.commit(at, at)
            after = project_at(self.memory.catalog, at, home=self.home)
            assert after is None or after != before, "another repository has the project of the former one"

    def write(self, at: Path, _: Path) -> None:
        """Hand a file in, write to the inbox, or tell a transcript: one after the other."""
        if at not in self.things:
            return
        number = next(self.numbers)
        expected = project_at(self.memory.catalog, at, home=self.home)
        if number % 3 == 0:
            (at / "note.md").write_text(f"We decided to use port {number} because of the proxy.")
            handed = self.memory.ingestion.draft([at / "note.md"], DraftOptions())
            scopes = {draft.scope.project for draft in handed.drafts}
            remember_projects(self.memory.catalog, handed.projects)
        elif number % 3 == 1:
            with Ragmem(self.memory.settings, home=self.home, cwd=at) as here:
                here.remember(f"We decided to use port {number} because of the proxy.")
                here.inbox.drain()
                [newest] = [one for one in here.catalog.memories.each() if f"port {number} " in one.text]
            scopes = {newest.scope.project}
        else:
            projects = project_finder(self.memory.catalog, home=self.home)
            scopes = {Scopes(self.memory.catalog, projects, home=self.home).of(str(at)).project}
            remember_projects(self.memory.catalog, projects)
        if expected is not None:
            assert scopes == {expected}, "who writes knows another project than who asks"
        self.things[at].projects |= scopes

    def is_plain(self, at: Path) -> bool:
        thing = self.things.get(at)
        return thing is not None and thing.first == PLAIN

    # --- what holds after each step

    def check(self) -> None:
        for place, thing in self.things.items():
            assert place.is_dir()
            asked = set(self.memory.projects.at(place))
            assert asked >= thing.projects, f"{place}: {thing} is asked of {asked}"
            assert asked == set(Ragmem(self.memory.settings, home=self.home, cwd=place).projects.at(place))
        seen = {}
        for place, thing in self.things.items():
            known = project_at(self.memory.catalog, place, home=self.home)
            if known and thing.first not in {PLAIN, EMPTY} and not thing.shallow:
                seen.setdefault(known, set()).add(thing.first)
        assert all(len(firsts) == 1 for firsts in seen.values()), f"one project of two repositories: {seen}"


STEPS = ("make", "mark", "init", "commit", "write", "write", "set_url", "remove_remote", "move", "clone",
         "shallow_clone", "worktree", "replace")  # fmt: skip
STEP = st.tuples(st.sampled_from(STEPS), st.sampled_from(NAMES), st.sampled_from(NAMES))
BEGINNING = [("make", name, name) for name in NAMES[:3]] + [("init", "a", "a"), ("commit", "a", "a")]


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, min_size=5, max_size=25))
def test_what_was_written_in_a_place_is_found_from_that_place(steps):
    with TemporaryDirectory() as folder:
        home = Path(folder).resolve() / "home"
        (home / "work").mkdir(parents=True)
        world = World(home)
        try:
            for name, at, to in [*BEGINNING, *steps]:
                getattr(world, name)(world.folder(at), world.folder(to))
                world.check()
        finally:
            world.memory.close()
