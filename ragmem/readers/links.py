"""Decide which links of a folder may be followed, because others may have written its contents."""

import os
from pathlib import Path

from ragmem.readers.files import show
from ragmem.readers.roots import OTHER_MARKERS


class Links:
    """The links inside a folder that a person has chosen; that folder may be a link itself."""

    def __init__(self, chosen: Path, *, home: Path, beyond: Path | None = None) -> None:
        self._home = _real(home)
        self._beyond = None if beyond is None else _real(beyond)
        self._roots = [_real(chosen)]

    def leads_out(self, link: Path, to: Path | None = None) -> str:
        """Return how a link leads out of its bounds; empty for a link that is allowed. Never raises.

        With `to` the link is a file that imports another one.

        A link may lead into the chosen folder or, inside a project, into that project: the folder with
        `.git`, else the outermost one below the chosen folder with another marker of a project. Outside of
        projects it may also lead into `beyond`, because people keep files elsewhere and link to them. Even
        then a visible folder must not lead to a hidden one such as `~/.ssh`, a file not to one with another
        suffix, and a folder not to one above it. The target of an allowed link counts as chosen.
        """
        try:
            target = Path(os.path.realpath(to or link, strict=True))
        except (OSError, ValueError):
            return ""  # broken or in a circle: opening it reports that
        place = _real(link.parent)
        root = next((root for root in reversed(self._roots) if place.is_relative_to(root)), place)
        bound = _project(place, root)
        if target.is_relative_to(bound or root):
            return ""
        if bound is None and self._may_leave(link, place, root, target):
            self._roots.append(target)
            return ""
        what = "a link" if to is None else "an import"
        return f"{what} that leads out of {show(bound or root)}, to {show(target)}"

    def _may_leave(self, link: Path, place: Path, root: Path, target: Path) -> bool:
        if self._beyond is None or not target.is_relative_to(self._beyond) or place.is_relative_to(target):
            return False
        if self._is_hidden(target) and not self._is_hidden(place):
            return False
        if not target.is_dir() and link.suffix.lower() != target.suffix.lower():
            return False
        above = [folder for folder in root.parents if folder != self._home and self._home in folder.parents]
        return not any(_has(folder, ".git") for folder in above)

    def _is_hidden(self, path: Path) -> bool:
        inner = path.relative_to(self._home) if path.is_relative_to(self._home) else path
        return any(part.startswith(".") for part in inner.parts)


def _project(place: Path, root: Path) -> Path | None:
    """Return the root of a folder's project, if that is the chosen folder or below it."""
    folders = [folder for folder in (place, *place.parents) if folder.is_relative_to(root)]
    repository = next((folder for folder in folders if _has(folder, ".git")), None)
    if repository is not None:
        return repository
    marked = [folder for folder in folders[:-1] if any(_has(folder, marker) for marker in OTHER_MARKERS)]
    return marked[-1] if marked else None


def _has(folder: Path, name: str) -> bool:
    return os.path.lexists(folder / name)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
