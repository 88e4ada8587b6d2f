"""Convert between a project's folder and Claude Code's name for it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from ragmem.patterns import lazy

MAX_FOLDERS = 4000
"""Maximum number of folders to search for one slug; real searches need some dozens."""

_WORKTREE = lazy(r"--(?:claude-)?worktrees?-.+$")
_HOMES = lazy(r"^(?:[A-Za-z]-)?-(?:home|Users)-")
_DRIVE = lazy(r"([A-Za-z])-(?=-)")


def slug_of(path: PurePath | str) -> str:
    """Return Claude Code's name for a folder: each character but ASCII letters and digits becomes `-`.

    As in JavaScript, a character beyond the basic plane counts twice.
    """
    return "".join(
        character if character.isascii() and character.isalnum() else "--" if character > "\uffff" else "-"
        for character in str(path)
    )


def resolve_slug(slug: str, home: Path) -> Path | None:
    """Return an existing folder with this slug, or None.

    Where several folders have this slug, one with a `.git` wins, then the longest names (`tide-api` before
    `tide/api`). A slug from another machine (`-Users-sam-repos-x`, `C--Users-sam-repos-x`) is searched below
    this home, and the slug of a missing worktree gives its main folder. The search is bounded.
    """
    for start, rest in _candidates(slug, home):
        found = list(_search(start, rest, [MAX_FOLDERS]))
        if found:
            return next((path for path in found if os.path.lexists(path / ".git")), found[0])
    main = _WORKTREE.sub("", slug)
    return resolve_slug(main, home) if main != slug else None


def _candidates(slug: str, home: Path) -> Iterator[tuple[Path, str]]:
    """Yield (folder to start in, rest of the slug), most literal first."""
    own = slug_of(home)
    if slug == own:
        yield home, ""
    elif slug.startswith(own + "-"):
        yield home, slug[len(own) :]
    if slug.startswith("-"):
        yield Path("/"), slug
    if found := _DRIVE.match(slug):
        # The Windows Subsystem for Linux shows the drives there.
        yield Path("/mnt", found[1].lower()), slug[found.end() :]
    if found := _HOMES.match(slug):
        # The user's name may contain dashes, so the home may end at each dash.
        tail = slug[found.end() :]
        yield from ((home, tail[dash.start() :]) for dash in re.finditer("-", tail))


def _search(folder: Path, rest: str, budget: list[int]) -> Iterator[Path]:
    """Yield the folders below whose names match the rest, longest names first."""
    if not rest:
        yield folder
        return
    if budget[0] <= 0:
        return
    budget[0] -= 1
    rest = rest[1:]
    for name in _matching_folders(folder, rest):
        yield from _search(folder / name, rest[len(slug_of(name)) :], budget)


def _matching_folders(folder: Path, rest: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if _fits(rest, slug_of(entry.name)) and entry.is_dir()]
    except OSError:
        return []
    return sorted(names, key=lambda name: (-len(name), name))


def _fits(rest: str, part: str) -> bool:
    return rest == part or rest.startswith(part + "-")
