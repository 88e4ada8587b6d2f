"""Whose repositories may provide sessions: those where the person works, or that a setting names."""

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from ragmem.config.places import expand_home
from ragmem.config.settings import REPOSITORY, Settings, SourceSpec
from ragmem.readers.files import show
from ragmem.readers.git import normalize_remote, output_of, remote_of
from ragmem.readers.roots import GIT
from ragmem.readers.transcripts import aider, specstory
from ragmem.services.seeding.report import Problem

TIMEOUT = 20.0
"""Seconds for an answer of git; without one, a repository is not trusted."""

_OWN_COMMIT = "^commit[ :]"
"""How `git commit` begins an entry in the reflog; no clone, fetch, pull or checkout writes one."""


class Trust:
    """Tells which repositories may bring sessions along; each is examined once.

    Whoever writes a repository can put any author and any text into it, but nothing into the reflogs of its
    clones. So a commit that was made in the clone itself shows that the person works there.
    """

    def __init__(self, settings: Settings, *, home: Path) -> None:
        self._patterns = settings.seed.trusted_repositories
        self._home = home
        self._known: dict[Path, bool] = {}

    def covers(self, root: Path) -> bool:
        """Return whether the repository at a folder is trusted; False where git does not answer."""
        if root not in self._known:
            self._known[root] = self._is_named(root) or _has_own_commit(root)
        return self._known[root]

    def untrusted_files(self, spec: SourceSpec, paths: Iterable[Path]) -> dict[Path, list[Path]]:
        """Return folder -> its session files that came with a repository that is not trusted.

        A file that git does not track was written here.
        """
        found: dict[Path, list[Path]] = {}
        if not is_gated(spec):
            return found
        written_here: dict[Path, frozenset[str] | None] = {}
        for path in paths:
            root = specstory.root_of(path) or aider.root_of(path)
            if root is None or not any((folder / GIT).exists() for folder in (root, *root.parents)):
                continue
            if root not in written_here:
                written_here[root] = _untracked_files(root)
            own = written_here[root]
            if (own is None or str(path.relative_to(root)) not in own) and not self.covers(root):
                found.setdefault(root, []).append(path)
        return found

    def problem(self, source: str, root: Path, count: int) -> Problem:
        """Return the line that names omitted sessions and how to read them."""
        were, them = ("1 session was", "it") if count == 1 else (f"{count:,} sessions were", "them")
        why = f"{were} skipped: you have no commits in this clone"
        name = remote_of(root) or root
        step = f'to read {them}, name "{name}" in [seed] trusted_repositories of config.toml'
        return Problem(source, show(root), f"{why}; {step}", "warning")

    def _is_named(self, root: Path) -> bool:
        if not self._patterns:
            return False
        homes = (str(expand_home(one, self._home)) if one.startswith("~") else one for one in self._patterns)
        patterns = [normalize_remote(one) for one in homes]
        names = [name for name in (str(root), remote_of(root)) if name]
        return any(fnmatchcase(name, one) for name in names for one in patterns)


def is_gated(spec: SourceSpec) -> bool:
    """Return whether a source reads all repositories of this disk, not only named folders."""
    return any(glob.startswith(REPOSITORY) for glob in spec.globs)


def _has_own_commit(root: Path) -> bool:
    asked = ("log", "-g", "--all", f"--grep-reflog={_OWN_COMMIT}", "--max-count=1", "--format=%h")
    return bool((output_of(root, *asked, timeout=TIMEOUT) or b"").strip())


def _untracked_files(root: Path) -> frozenset[str] | None:
    """Return the paths of session files that git does not track; None where it does not answer."""
    places = specstory.FOLDER, aider.HISTORY
    answer = output_of(root, "ls-files", "--others", "-z", "--", *places, timeout=TIMEOUT)
    return None if answer is None else frozenset(os.fsdecode(answer).split("\0"))
