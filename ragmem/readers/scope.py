"""Find the project of a path, by an identity that survives a move of the folder."""

import hashlib
import os.path
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Protocol

from ragmem.config.settings import SourceSpec
from ragmem.domain.model import USER, Scope
from ragmem.frozen import dataclass
from ragmem.readers.fields import clean
from ragmem.readers.files import show
from ragmem.readers.git import Repository, repository_at
from ragmem.readers.git_folder import Checkout, checkout_at, has_commit
from ragmem.readers.roots import GIT, OTHER_MARKERS, candidates
from ragmem.readers.slugs import resolve_slug, slug_of

FINGERPRINT_LENGTH = 8
"""Hexadecimal digits of an id's hash: with the name, 32 bits distinguish the projects of one person."""

MAX_NAME_CHARS = 48
_SLUG_PARENT = "projects"


class Place(Protocol):
    """The project of a folder, as it was when a memory was last stored there."""

    @property
    def path(self) -> str:
        """The folder."""

    @property
    def project(self) -> str:
        """The id of its project."""

    @property
    def root_commit(self) -> str:
        """Its first commit; empty without one or an answer of git."""

    @property
    def remote(self) -> str:
        """Its remote, normalized."""

    @property
    def stamp(self) -> str:
        """Its `Checkout.stamp`."""


class Registry(Protocol):
    """The known projects and what identifies them."""

    def places(self, paths: Iterable[str]) -> Mapping[str, Place]:
        """Return path -> the place that was stored for it."""

    def places_with_mark(self, mark: str) -> Sequence[Place]:
        """Return the places whose stamp begins with a repository's mark."""

    def of_commit(self, root_commit: str, remote: str = "") -> str | None:
        """Return the project of a first commit."""

    def of_remote(self, remote: str) -> str | None:
        """Return the project of a remote, if it is the only one."""

    def paths(self, project: str) -> Sequence[str]:
        """Return the folders of a project on this machine."""


@dataclass(frozen=True, slots=True)
class ProjectIdentity:
    """A project: `id` is `<name>-<8 hexadecimal digits>`; `root` is None for a slug without a known folder.

    `stamp` is that of the repository at the root. Where `is_due`, commit and remote may be out of date:
    `ProjectFinder.refresh` asks git.
    """

    id: str
    name: str
    root: Path | None
    git_root_commit: str = ""
    remote: str = ""
    stamp: str = ""
    is_due: bool = field(default=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """The hash in the id, which a rename of the folder does not change if git knows the project."""
        return self.id.rpartition("-")[2]


class ProjectFinder:
    """Finds the projects of paths, for writes and for questions; each folder is examined once.

    A known folder keeps its project, unless another repository is there now. An unknown folder has the
    project of its repository's first commit, or of its remote where the first commit is unknown. Git is asked
    only where a repository is unknown or has changed; without an answer, a known folder keeps its project.
    """

    def __init__(self, home: Path, registry: Registry | None = None) -> None:
        self.home = home
        self._registry = registry
        self._roots: dict[Path, ProjectIdentity] = {}
        self._folders: dict[Path, ProjectIdentity | None] = {}
        self._slugs: dict[str, ProjectIdentity | None] = {}

    def seen_projects(self) -> list[ProjectIdentity]:
        """Return the projects found so far, each once."""
        met = [*self._roots.values(), *self._slugs.values()]
        return list({(one.id, one.root): one for one in met if one}.values())

    def refresh(self, identity: ProjectIdentity) -> ProjectIdentity:
        """Return a project with its current first commit and remote, as far as git answers."""
        if not identity.is_due or identity.root is None:
            return identity
        repository = repository_at(identity.root)
        if repository is None:
            # The next write asks again.
            return replace(identity, stamp="", is_due=False)
        return replace(
            identity,
            # The stored commit still exists; another one may only be the root of another branch.
            git_root_commit=identity.git_root_commit or repository.root_commit,
            remote=repository.remote,
            is_due=False,
        )

    def project_of(self, path: Path) -> ProjectIdentity | None:
        """Return the project that holds a file or folder; None for the home itself and for `/`.

        The root is the nearest folder above that has a `.git` or is known, else the nearest with another
        marker, else the folder itself. The home and the folders above it are never a root for paths inside
        it, so that a home under version control is not one big project. All worktrees of a repository are one
        project. Without git the id comes from the path, relative to the home. Never raises.
        """
        folder = _folder(path)
        if folder not in self._folders:
            self._folders[folder] = self._find(folder)
        return self._folders[folder]

    def find_known_project(self, path: Path) -> ProjectIdentity | None:
        """Return the project that holds a path, as `project_of`; None for a loose folder.

        A loose folder is unknown and has no marker, nor has any folder above it.
        """
        folder = _folder(path)
        root = self._find_root(folder)
        return self.project_with_root(root) if root else None

    def project_with_root(self, root: Path) -> ProjectIdentity:
        """Return the project whose root is this folder, which may be deleted."""
        if root not in self._roots:
            self._roots[root] = self._identity(root)
        return self._roots[root]

    def project_of_slug(self, slug: str) -> ProjectIdentity | None:
        """Return the project for Claude Code's name of a folder; None for the slug of the home.

        A slug whose folder is missing has an identity of its own, the same each time.
        """
        if slug not in self._slugs:
            folder = resolve_slug(slug, self.home)
            self._slugs[slug] = self.project_of(folder) if folder else self._missing_project(slug)
        return self._slugs[slug]

    def project_of_missing(self, folder: PurePath) -> ProjectIdentity | None:
        """Return the project of a missing folder, or of one of Windows: the one of its slug.

        When the folder is restored it keeps that project, if the catalog knows it at this path.
        """
        slug = slug_of(folder)
        found = self.project_of_slug(slug)
        if found and found.root is None:
            found = self._slugs[slug] = replace(found, root=Path(folder))
        return found

    def scope_of(self, path: Path, spec: SourceSpec) -> Scope:
        """Return the scope of a file of this source by its path; the user's where no project is found.

        Projects that a text names are found when it is stored: see `readers.named_projects`.
        """
        project = None
        if spec.scope == "project":
            project = self.project_of(path)
        elif spec.scope == "slug":
            slug = _find_slug(path)
            project = self.project_of_slug(slug) if slug else None
        return Scope(project.id) if project else Scope(USER)

    def _find(self, folder: Path) -> ProjectIdentity | None:
        root = self._find_root(folder)
        if root is None:
            root = folder if os.path.isdir(folder) else folder.parent  # noqa: PTH112 - never raises
            if not candidates(str(root), str(self.home)):
                return None
        return self.project_with_root(root)

    def _find_root(self, folder: Path) -> Path | None:
        """Return the nearest folder that has a `.git` or is known, else the nearest with another marker.

        Without a repository, a marker has priority over a known folder above it.
        """
        above = [Path(one) for one in candidates(str(folder), str(self.home))]
        places = self._places(above)
        known: Path | None = None
        marked: Path | None = None
        for one in above:
            if _has(one, GIT):
                return known or one
            if known is None and show(one) in places:
                known = one
            if known in {None, one} and marked is None and any(_has(one, name) for name in OTHER_MARKERS):
                marked = one
        return marked or known

    def _missing_project(self, slug: str) -> ProjectIdentity:
        name = slug.removeprefix(slug_of(self.home)).strip("-") or "project"
        return ProjectIdentity(new_id(name, "slug", slug), name, None)

    def _places(self, paths: Iterable[Path]) -> Mapping[str, Place]:
        return self._registry.places([show(path) for path in paths]) if self._registry else {}

    def _identity(self, root: Path) -> ProjectIdentity:
        checkout = checkout_at(root) if _has(root, GIT) else None
        main = checkout.root if checkout else root
        places = self._places(dict.fromkeys((root, main)))
        place = places.get(show(root)) or places.get(show(main))
        if place and self._is_unchanged(place, root, checkout):
            return self._identify_known(place, checkout)
        return self._identify_unknown(root, checkout)

    def _identify_known(self, place: Place, checkout: Checkout | None) -> ProjectIdentity:
        stamp = checkout.stamp if checkout else place.stamp
        return _stored_identity(place, Path(place.path), stamp=stamp, is_due=stamp != place.stamp)

    def _is_unchanged(self, place: Place, root: Path, checkout: Checkout | None) -> bool:
        """Return whether the repository at a known place is still the stored one, as far as can be known."""
        if checkout is None or place.stamp == checkout.stamp:
            return True
        if place.root_commit:
            if has_commit(root, place.root_commit) is not False or checkout.is_shallow:
                return True
            repository = repository_at(root)
            # Without an answer only the place is known. An empty repository in place of one with a history is
            # another one.
            return repository is None
        before = place.stamp.partition("|")[0]
        if not before or before == checkout.mark:
            return True
        # It had no commit, or git did not answer: another repository may belong to another project.
        repository = repository_at(root)
        known = self._of_repository(repository) if repository and repository.root_commit else None
        return known is None or known == place.project

    def _identify_unknown(self, root: Path, checkout: Checkout | None) -> ProjectIdentity:
        """Return the project of the repository at an unknown place, or a new one."""
        if checkout and (moved := self._find_moved(checkout)):
            return moved
        repository = repository_at(root) if checkout or _has(root, GIT) else None
        stamp = checkout.stamp if checkout else ""
        if repository and (repository.root_commit or repository.remote):
            commit, remote = repository.root_commit, repository.remote
            name = remote.rpartition("/")[2] or repository.root.name
            identifier = self._of_repository(repository) or self._unused_id(name, "git", commit, remote)
            return ProjectIdentity(identifier, clean(name), repository.root, commit, remote, stamp=stamp)
        root = repository.root if repository else root
        inside = root.is_relative_to(self.home)
        place = f"~/{root.relative_to(self.home)}" if inside else str(root)
        # Where git does not answer, the next write asks again.
        stamp = stamp if repository else ""
        return ProjectIdentity(self._unused_id(root.name, "path", place), clean(root.name), root, stamp=stamp)

    def _of_repository(self, repository: Repository) -> str | None:
        if self._registry is None:
            return None
        if repository.root_commit:
            return self._registry.of_commit(repository.root_commit, repository.remote)
        return self._registry.of_remote(repository.remote)

    def _find_moved(self, checkout: Checkout) -> ProjectIdentity | None:
        """Return the project of a repository that was moved here from a known place."""
        if not checkout.mark or self._registry is None:
            return None
        for place in self._registry.places_with_mark(checkout.mark):
            there = checkout_at(Path(place.path))
            if there is None or there.mark != checkout.mark:
                return _stored_identity(place, checkout.root, stamp=checkout.stamp, is_due=True)
        return None

    def _unused_id(self, name: str, *parts: str) -> str:
        """Return the id of a new project, which no project that has moved away uses."""
        identifier = new_id(name, *parts)
        count = 1
        while self._registry and self._registry.paths(identifier):
            count += 1
            identifier = new_id(name, *parts, str(count))
        return identifier


def _stored_identity(place: Place, root: Path, *, stamp: str, is_due: bool) -> ProjectIdentity:
    name = place.remote.rpartition("/")[2] or clean(root.name)
    return ProjectIdentity(place.project, name, root, place.root_commit, place.remote, stamp, is_due)


def new_id(name: str, *parts: str) -> str:
    """Return the id of a project from a readable name and the parts that make it unique."""
    readable = slug_of(name.lower()).strip("-")[:MAX_NAME_CHARS].strip("-") or "project"
    hashed = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{readable}-{hashed[:FINGERPRINT_LENGTH]}"


def _find_slug(path: Path) -> str:
    """Return the name of the folder below `projects`, as in Claude Code's folders; empty without one."""
    parts = path.parts[:-1]
    # The last one, because a project may be in a folder of that name itself.
    return next((slug for parent, slug in reversed([*pairwise(parts)]) if parent == _SLUG_PARENT), "")


def _folder(path: Path) -> Path:
    """Return the folder of a file; a folder is returned as it is, even if it is missing."""
    try:
        return path.parent if path.exists() and not path.is_dir() else path
    except (OSError, ValueError):
        return path


def _has(folder: Path, name: str) -> bool:
    try:
        return (folder / name).exists()
    except OSError:
        return False
