"""To which project a path belongs, by an identity that a move of the folder does not change."""

import hashlib
import os.path
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from ragmem.config import SourceSpec
from ragmem.domain.model import USER, Scope
from ragmem.readers.fields import clean
from ragmem.readers.files import show
from ragmem.readers.git import Repository, repository_at
from ragmem.readers.git_folder import Checkout, checkout_at, has_commit
from ragmem.readers.roots import GIT, OTHER_MARKERS, candidates
from ragmem.readers.slugs import resolve_slug, slug_of

FINGERPRINT_LENGTH = 8
"""Hexadecimal digits of an id's hash: 32 bits tell one person's projects apart, next to the name."""

MAX_NAME_CHARS = 48
_SLUG_PARENT = "projects"


class Place(Protocol):
    """What was seen at a folder when something was last written there."""

    @property
    def path(self) -> str:
        """The folder."""

    @property
    def project(self) -> str:
        """The id of its project."""

    @property
    def root_commit(self) -> str:
        """Its first commit, empty where it had none or git did not tell."""

    @property
    def remote(self) -> str:
        """Its remote, normalized."""

    @property
    def stamp(self) -> str:
        """`Checkout.stamp` of it."""


class Registry(Protocol):
    """The projects that are known, and what leads to them."""

    def places(self, paths: Iterable[str]) -> Mapping[str, Place]:
        """Return path -> what was seen there."""

    def marked(self, mark: str) -> Sequence[Place]:
        """Return the places whose stamp begins with a repository's mark."""

    def of_commit(self, root_commit: str, remote: str = "") -> str | None:
        """Return the project of a first commit."""

    def of_remote(self, remote: str) -> str | None:
        """Return the one project that was seen with a remote."""

    def paths(self, project: str) -> Sequence[str]:
        """Return the folders of a project on this machine."""


@dataclass(frozen=True, slots=True)
class ProjectIdentity:
    """A project: `id` is `<name>-<8 hexadecimal digits>`; `root` is None for a slug of no known folder.

    `stamp` is that of the repository at the root. Where `is_due`, commit and remote are those that were seen
    last and may be others by now: `ProjectFinder.looked_up` asks git.
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
        """The hash in the id, the same after the project's folder was renamed if git knows the project."""
        return self.id.rpartition("-")[2]


class ProjectFinder:
    """Finds the projects of paths; each folder is looked at once.

    It decides for whoever writes and for whoever asks: a folder that is known has the project that it had,
    unless another repository lies there now; an unknown one has that of its repository's first commit, else
    of its remote where the first commit cannot be known. Git is asked only where a repository is unknown or
    has changed; where it does not answer, a known folder keeps its project.
    """

    def __init__(self, home: Path, registry: Registry | None = None) -> None:
        self._home = home
        self._registry = registry
        self._roots: dict[Path, ProjectIdentity] = {}
        self._folders: dict[Path, ProjectIdentity | None] = {}
        self._slugs: dict[str, ProjectIdentity | None] = {}

    @property
    def home(self) -> Path:
        """The home below which paths are a person's own."""
        return self._home

    def found(self) -> list[ProjectIdentity]:
        """Return the projects met so far, each once."""
        met = [*self._roots.values(), *self._slugs.values()]
        return list({(one.id, one.root): one for one in met if one}.values())

    def looked_up(self, identity: ProjectIdentity) -> ProjectIdentity:
        """Return a project with the first commit and the remote that git tells now, as far as it answers."""
        if not identity.is_due or identity.root is None:
            return identity
        repository = repository_at(identity.root)
        if repository is None:
            # To be asked again by the next one who writes.
            return replace(identity, stamp="", is_due=False)
        return replace(
            identity,
            # The one that was seen is there still; a branch of its own root may be checked out.
            git_root_commit=identity.git_root_commit or repository.root_commit,
            remote=repository.remote,
            is_due=False,
        )

    def project_of(self, path: Path) -> ProjectIdentity | None:
        """Return the project that holds a file or folder; None for the home itself and for `/`.

        The root is the nearest folder above with a `.git` or that is known, else the nearest with another
        marker, else the folder itself; the home and what is above it are never a root for paths inside of it,
        so that a home under version control is not one big project. All worktrees of a repository are one
        project. Without git the id comes from the path, relative to the home. Never raises.
        """
        folder = _folder(path)
        if folder not in self._folders:
            self._folders[folder] = self._find(folder)
        return self._folders[folder]

    def known_project_of(self, path: Path) -> ProjectIdentity | None:
        """Return the project that holds a path, as `project_of`; None for a loose folder.

        That is one without a marker of its own or above it, of which nothing is known.
        """
        folder = _folder(path)
        root = self._marked(folder)
        return self.project_with_root(root) if root else None

    def project_with_root(self, root: Path) -> ProjectIdentity:
        """Return the project whose root a folder is, or was, if it has gone since."""
        if root not in self._roots:
            self._roots[root] = self._identity(root)
        return self._roots[root]

    def project_of_slug(self, slug: str) -> ProjectIdentity | None:
        """Return the project that Claude Code's folder name stands for; None for the slug of the home.

        A slug whose folder is gone gives an identity of its own, the same each time.
        """
        if slug not in self._slugs:
            folder = resolve_slug(slug, self._home)
            self._slugs[slug] = self.project_of(folder) if folder else self._find_gone(slug)
        return self._slugs[slug]

    def project_of_gone(self, folder: Path) -> ProjectIdentity | None:
        """Return the project of a folder that is not there: the one that its slug stands for.

        Once the folder is there again it is that project still, if the catalog knows it at this place.
        """
        slug = slug_of(folder)
        found = self.project_of_slug(slug)
        if found and found.root is None:
            found = self._slugs[slug] = replace(found, root=folder)
        return found

    def scope_of(self, path: Path, spec: SourceSpec) -> Scope:
        """Return to whom a file of this source belongs by its place; the user where no project is found.

        What a text names is looked for where it is stored: see `readers.named`.
        """
        project = None
        if spec.scope == "project":
            project = self.project_of(path)
        elif spec.scope == "slug":
            slug = _slug_in(path)
            project = self.project_of_slug(slug) if slug else None
        return Scope(project.id) if project else Scope(USER)

    def _find(self, folder: Path) -> ProjectIdentity | None:
        root = self._marked(folder)
        if root is None:
            root = folder if os.path.isdir(folder) else folder.parent  # noqa: PTH112 - never raises
            if not candidates(str(root), str(self._home)):
                return None
        return self.project_with_root(root)

    def _marked(self, folder: Path) -> Path | None:
        """Return the nearest folder with a `.git` or that is known, else the nearest with another marker.

        A marker counts before a known folder above it, where there is no repository.
        """
        above = [Path(one) for one in candidates(str(folder), str(self._home))]
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

    def _find_gone(self, slug: str) -> ProjectIdentity:
        name = slug.removeprefix(slug_of(self._home)).strip("-") or "project"
        return ProjectIdentity(_identify(name, "slug", slug), name, None)

    def _places(self, paths: Iterable[Path]) -> Mapping[str, Place]:
        return self._registry.places([show(path) for path in paths]) if self._registry else {}

    def _identity(self, root: Path) -> ProjectIdentity:
        checkout = checkout_at(root) if _has(root, GIT) else None
        main = checkout.root if checkout else root
        places = self._places(dict.fromkeys((root, main)))
        place = places.get(show(root)) or places.get(show(main))
        if place and self._stands(place, root, checkout):
            return self._find_known(place, checkout)
        return self._is_founded(root, checkout)

    def _find_known(self, place: Place, checkout: Checkout | None) -> ProjectIdentity:
        root = Path(place.path)
        stamp = checkout.stamp if checkout else place.stamp
        name = place.remote.rpartition("/")[2] or clean(root.name)
        due = checkout is not None and stamp != place.stamp
        return ProjectIdentity(
            place.project, name, root, place.root_commit, place.remote, stamp=stamp, is_due=due
        )

    def _stands(self, place: Place, root: Path, checkout: Checkout | None) -> bool:
        """Tell whether what lies at a known place is still what was seen there, as far as anything tells."""
        if checkout is None or place.stamp == checkout.stamp:
            return True
        if place.root_commit:
            if has_commit(root, place.root_commit) is not False or checkout.is_shallow:
                return True
            repository = repository_at(root)
            # Without any answer, or history, the place is all that is known. An empty repository where one
            # with a history was is another one.
            return repository is None
        before = place.stamp.partition("|")[0]
        if not before or before == checkout.mark:
            return True
        # It had no commit, or git could not tell: another repository may be another project's.
        repository = repository_at(root)
        known = self._of_repository(repository) if repository and repository.root_commit else None
        return known is None or known == place.project

    def _is_founded(self, root: Path, checkout: Checkout | None) -> ProjectIdentity:
        """Return the project that the repository of an unknown place leads to, or a new one."""
        if checkout and (moved := self._moved(checkout)):
            return moved
        repository = repository_at(root) if checkout or _has(root, GIT) else None
        stamp = checkout.stamp if checkout else ""
        if repository and (repository.root_commit or repository.remote):
            commit, remote = repository.root_commit, repository.remote
            name = remote.rpartition("/")[2] or repository.root.name
            identifier = self._of_repository(repository) or self._free(name, "git", commit, remote)
            return ProjectIdentity(identifier, clean(name), repository.root, commit, remote, stamp=stamp)
        root = repository.root if repository else root
        inside = root.is_relative_to(self._home)
        place = f"~/{root.relative_to(self._home)}" if inside else str(root)
        # Where git does not answer, whoever writes next asks again.
        stamp = stamp if repository else ""
        return ProjectIdentity(self._free(root.name, "path", place), clean(root.name), root, stamp=stamp)

    def _of_repository(self, repository: Repository) -> str | None:
        if self._registry is None:
            return None
        if repository.root_commit:
            return self._registry.of_commit(repository.root_commit, repository.remote)
        return self._registry.of_remote(repository.remote)

    def _moved(self, checkout: Checkout) -> ProjectIdentity | None:
        """Return the project of a repository that was moved here from a place that is known."""
        if not checkout.mark or self._registry is None:
            return None
        for place in self._registry.marked(checkout.mark):
            there = checkout_at(Path(place.path))
            if there is None or there.mark != checkout.mark:
                name = place.remote.rpartition("/")[2] or clean(checkout.root.name)
                return ProjectIdentity(
                    place.project,
                    name,
                    checkout.root,
                    place.root_commit,
                    place.remote,
                    stamp=checkout.stamp,
                    is_due=True,
                )
        return None

    def _free(self, name: str, *parts: str) -> str:
        """Return the id of a new project: another one where a project that has moved away has it."""
        identifier = _identify(name, *parts)
        count = 1
        while self._registry and self._registry.paths(identifier):
            count += 1
            identifier = _identify(name, *parts, str(count))
        return identifier


def new_id(name: str, *parts: str) -> str:
    """Return the id of a project by a name that people read and what tells it from others."""
    return _identify(name, *parts)


def _identify(name: str, *parts: str) -> str:
    readable = slug_of(name.lower()).strip("-")[:MAX_NAME_CHARS].strip("-") or "project"
    hashed = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{readable}-{hashed[:FINGERPRINT_LENGTH]}"


def _slug_in(path: Path) -> str:
    """Return the folder's name below `projects`, as Claude Code lays files out; empty without one."""
    parts = path.parts[:-1]
    # The last one, because a project may lie in a folder of that name itself.
    return next((slug for parent, slug in reversed([*pairwise(parts)]) if parent == _SLUG_PARENT), "")


def _folder(path: Path) -> Path:
    """Return the folder of a file, and a folder itself, be it gone."""
    try:
        return path.parent if path.exists() and not path.is_dir() else path
    except (OSError, ValueError):
        return path


def _has(folder: Path, name: str) -> bool:
    try:
        return (folder / name).exists()
    except OSError:
        return False
