"""To which project a path belongs, by an identity that a move of the folder does not change."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from ragmem.config import SourceSpec
from ragmem.domain.model import USER, Scope
from ragmem.readers.fields import clean
from ragmem.readers.git import Repository, repository_at
from ragmem.readers.roots import MARKERS, candidates, marked_root
from ragmem.readers.slugs import resolve_slug, slug_of

FINGERPRINT_LENGTH = 8
"""Hexadecimal digits of an id's hash: 32 bits tell one person's projects apart, next to the name."""

MAX_NAME_CHARS = 48
_SLUG_PARENT = "projects"

Known = Callable[[str, str], str | None]
"""Tells from first commit and remote the id under which a repository is known already."""

Placed = Callable[[Path], str | None]
"""Tells the id of the project that is known at a folder."""


@dataclass(frozen=True, slots=True)
class ProjectIdentity:
    """A project: `id` is `<name>-<8 hexadecimal digits>`; `root` is None for a slug of no known folder."""

    id: str
    name: str
    root: Path | None
    git_root_commit: str = ""
    remote: str = ""

    @property
    def fingerprint(self) -> str:
        """The hash in the id, the same after the project's folder was renamed if git knows the project."""
        return self.id.rpartition("-")[2]


class ProjectFinder:
    """Finds the projects of paths; each folder is looked at once."""

    def __init__(self, home: Path, known: Known | None = None, placed: Placed | None = None) -> None:
        self._home = home
        self._known = known
        self._placed = placed
        self._roots: dict[Path, ProjectIdentity] = {}
        self._folders: dict[Path, ProjectIdentity | None] = {}
        self._slugs: dict[str, ProjectIdentity | None] = {}

    def found(self) -> list[ProjectIdentity]:
        """Return the projects met so far, each once."""
        met = [*self._roots.values(), *self._slugs.values()]
        return list({identity.id: identity for identity in met if identity}.values())

    def project_of(self, path: Path) -> ProjectIdentity | None:
        """Return the project that holds a file or folder; None for the home itself and for `/`.

        The root is the nearest folder above with a `.git`, else with another marker, else the folder itself;
        the home and what is above it are never a root for paths inside of it, so that a home under version
        control is not one big project. The id comes from the first commit and the remote; all worktrees of a
        repository are one project. Without git it comes from the path, relative to the home. Never raises.
        """
        try:
            folder = path if path.is_dir() else path.parent
        except OSError:
            folder = path.parent
        if folder not in self._folders:
            self._folders[folder] = self._find(folder)
        return self._folders[folder]

    def marked_project_of(self, path: Path) -> ProjectIdentity | None:
        """Return the project of a path if its root bears a marker; None for a loose folder."""
        project = self.project_of(path)
        if project is None or project.root is None:
            return None
        return project if any(_has(project.root, marker) for marker in MARKERS) else None

    def project_with_root(self, root: Path) -> ProjectIdentity:
        """Return the project whose root a folder is, or was, if it has gone since."""
        if root not in self._roots:
            repository = repository_at(root) if _has(root, ".git") else None
            self._roots[root] = self._identity(root, repository)
        return self._roots[root]

    def project_of_slug(self, slug: str) -> ProjectIdentity | None:
        """Return the project that Claude Code's folder name stands for; None for the slug of the home.

        A slug whose folder is gone gives an identity of its own, the same each time.
        """
        if slug not in self._slugs:
            folder = resolve_slug(slug, self._home)
            self._slugs[slug] = self.project_of(folder) if folder else self._gone(slug)
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
        """Return to whom a file of this source belongs; the user where no project is found."""
        project = None
        if spec.scope == "project":
            project = self.project_of(path)
        elif spec.scope == "slug":
            slug = _slug_in(path)
            project = self.project_of_slug(slug) if slug else None
        return Scope(project.id) if project else Scope(USER)

    def _find(self, folder: Path) -> ProjectIdentity | None:
        root = self._root(folder)
        return None if root is None else self.project_with_root(root)

    def _root(self, folder: Path) -> Path | None:
        if not candidates(str(folder), str(self._home)):
            return None
        return Path(marked_root(str(folder), str(self._home)) or folder)

    def _gone(self, slug: str) -> ProjectIdentity:
        name = slug.removeprefix(slug_of(self._home)).strip("-") or "project"
        return ProjectIdentity(_identify(name, "slug", slug), name, None)

    def _from_before(self, root: Path) -> str | None:
        """Return the id that a folder had while it was not there; None where nothing was stored then."""
        former = self._gone(slug_of(root)).id
        return former if self._placed and self._placed(root) == former else None

    def _identity(self, root: Path, repository: Repository | None) -> ProjectIdentity:
        if repository and (repository.root_commit or repository.remote):
            commit, remote = repository.root_commit, repository.remote
            name = remote.rpartition("/")[2] or repository.root.name
            known = self._known(commit, remote) if self._known else None
            known = known or self._from_before(repository.root)
            identifier = known or _identify(name, "git", commit, remote)
            return ProjectIdentity(identifier, name, repository.root, commit, remote)
        root = repository.root if repository else root
        inside = root.is_relative_to(self._home)
        place = f"~/{root.relative_to(self._home)}" if inside else str(root)
        identifier = self._from_before(root) or _identify(root.name, "path", place)
        return ProjectIdentity(identifier, clean(root.name), root)


def _identify(name: str, *parts: str) -> str:
    readable = slug_of(name.lower()).strip("-")[:MAX_NAME_CHARS].strip("-") or "project"
    hashed = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{readable}-{hashed[:FINGERPRINT_LENGTH]}"


def _slug_in(path: Path) -> str:
    """Return the folder's name below `projects`, as Claude Code lays files out; empty without one."""
    parts = path.parts[:-1]
    # The last one, because a project may lie in a folder of that name itself.
    return next((slug for parent, slug in reversed([*pairwise(parts)]) if parent == _SLUG_PARENT), "")


def _has(folder: Path, name: str) -> bool:
    try:
        return (folder / name).exists()
    except OSError:
        return False
