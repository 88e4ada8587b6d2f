"""The project of an exchange: that of the folder in which the assistant worked."""

from pathlib import Path, PurePath, PureWindowsPath

from ragmem.domain.model import USER, Scope
from ragmem.patterns import lazy
from ragmem.readers.scope import ProjectFinder
from ragmem.storage.home.catalog import Catalog

_WITHOUT_PROJECT = lazy(r"[A-Z]:/(?i:(?:users(?:/[^/]+)?)?)")
"""A drive of Windows, and a person's home on it."""


class Scopes:
    """The scopes of folders, each looked up once."""

    def __init__(self, catalog: Catalog, projects: ProjectFinder, *, home: Path) -> None:
        self._catalog = catalog
        self._projects = projects
        self._home = home
        self._known: dict[str, Scope] = {}
        self._gone: dict[PurePath, str] = {}

    def of(self, folder: str) -> Scope:
        """Return the scope of a folder, which may no longer exist; the user's without a folder.

        A missing folder belongs to the project that Claude Code's name for it stands for, as its memory files
        do, or to that of a parent folder in which the same session worked. So does a folder of Windows. The
        result is remembered.
        """
        if folder not in self._known:
            project = self._project(folder)
            self._known[folder] = Scope(project) if project else Scope(USER)
        return self._known[folder]

    def _project(self, folder: str) -> str:
        path: PurePath = Path(folder)
        if not folder or "\0" in folder:
            return ""
        if isinstance(path, Path) and path.is_absolute():
            if _is_folder(path):
                found = self._projects.project_of(path)
                return found.id if found else ""
            if found := self._projects.find_known_project(path):
                return found.id
        else:
            path = PureWindowsPath(folder[0].upper() + folder[1:])
            if not path.is_absolute() or _WITHOUT_PROJECT.fullmatch(path.as_posix()):
                return ""
        if known := next((self._gone[one] for one in path.parents if one in self._gone), None):
            return known
        if found := self._projects.project_of_missing(path):
            self._gone[path] = found.id
        return found.id if found else ""


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
