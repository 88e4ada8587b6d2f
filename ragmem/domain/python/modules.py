"""Resolve Python module names: from paths of files, and from imports to files."""

import sys
from collections.abc import Iterable
from posixpath import commonprefix

PACKAGE = "__init__"

SOURCE_FOLDERS = ("src", "lib", "python")
"""Folders that hold packages without being one."""

_ENDINGS = (".py", ".pyi", ".pyw")


def module_name(path: str) -> str:
    """Return the dotted name of a file: its path after the last `src`; a package has its folder's name."""
    stem = path
    for ending in _ENDINGS:
        stem = stem.removesuffix(ending) if stem.endswith(ending) else stem
    parts = [part for part in stem.split("/") if part not in {"", "."}]
    if "src" in parts[:-1]:
        parts = parts[len(parts) - parts[::-1].index("src") :]
    if parts[-1:] == [PACKAGE] and len(parts) > 1:
        parts = parts[:-1]
    return ".".join(parts) or PACKAGE


class Modules:
    """Finds the files of imports.

    The search path is that of Python with the folder of a script, the folder above a package, all folders
    above that, and their `src`; if they have no match, any folder of the repository with such a package.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.files: dict[str, str] = {}
        self.folders: set[str] = {""}
        for path in sorted(paths, key=lambda one: (not one.endswith(".py"), one)):
            stem, _, _ = path.rpartition(".")
            self.files.setdefault(stem, path)
            folder = stem.rpartition("/")[0]
            while folder not in self.folders:
                self.folders.add(folder)
                folder = folder.rpartition("/")[0]
        self._packages: dict[str, list[str]] = {}
        for stem in sorted(self.files):
            folder, _, name = stem.rpartition("/")
            if name == PACKAGE and folder:
                above, _, package = folder.rpartition("/")
                if not self.is_package(above):
                    self._packages.setdefault(package, []).append(above)
        self._roots: dict[str, list[str]] = {}
        self._found: dict[tuple[str, str], str | None] = {}

    def is_package(self, folder: str) -> bool:
        """Return whether a folder has an `__init__` file."""
        return bool(folder) and f"{folder}/{PACKAGE}" in self.files

    def roots(self, folder: str) -> list[str]:
        """Return the folders that the imports of a folder's files are searched in."""
        known = self._roots.get(folder)
        if known is None:
            at = folder
            while self.is_package(at):
                at = at.rpartition("/")[0]
            known = []
            while True:
                known.append(at)
                known += [
                    source
                    for source in (f"{at}/{name}".lstrip("/") for name in SOURCE_FOLDERS)
                    if source in self.folders and not self.is_package(source)
                ]
                if not at:
                    break
                at = at.rpartition("/")[0]
            self._roots[folder] = known
        return known

    def at(self, stem: str) -> str | None:
        """Return the file of a package or module, or a folder with a slash at its end; None for neither."""
        found = self.files.get(f"{stem}/{PACKAGE}" if stem else PACKAGE) or self.files.get(stem)
        if found is None and stem in self.folders:
            return f"{stem}/"
        return found

    def find(self, folder: str, name: str) -> str | None:
        """Return the target of an absolute import in a file of the folder; None if it is external."""
        key = (folder, name)
        if key not in self._found:
            self._found[key] = self._find(folder, name)
        return self._found[key]

    def _find(self, folder: str, name: str) -> str | None:
        stem, top = name.replace(".", "/"), name.partition(".")[0]
        bare = None
        for root in self.roots(folder):
            found = self.at(f"{root}/{stem}".lstrip("/"))
            if found is None:
                continue
            if not found.endswith("/"):
                return found
            bare = bare or found
        if bare is None and top not in sys.stdlib_module_names:
            common = sorted(
                self._packages.get(top, []), key=lambda root: (-_common_folders(root, folder), root)
            )
            for root in common:
                found = self.at(f"{root}/{stem}".lstrip("/"))
                if found is not None:
                    return found
        return bare

    def relative(self, path: str, level: int, module: str) -> str | None:
        """Return the target of a relative import of a file; None if it leaves the repository."""
        folder = path.rpartition("/")[0]
        for _ in range(level - 1):
            above = folder.rpartition("/")[0]
            if not folder or (self.is_package(folder) and not self._may_hold(above)):
                return None
            folder = above
        inner = module.replace(".", "/")
        return self.at(f"{folder}/{inner}".strip("/"))

    def _may_hold(self, folder: str) -> bool:
        """Return whether a folder is a package, the repository's root included."""
        return self.is_package(folder) or (not folder and PACKAGE in self.files)

    def below(self, found: str, name: str) -> str | None:
        """Return the submodule of a package or folder."""
        if found.endswith("/"):
            return self.at(f"{found}{name}".lstrip("/"))
        stem = found.rpartition(".")[0]
        folder, _, last = stem.rpartition("/")
        if last != PACKAGE:
            return None
        return self.at(f"{folder}/{name}".lstrip("/"))


def _common_folders(first: str, second: str) -> int:
    """Return the number of common leading folders of two paths."""
    return len(commonprefix([first.split("/"), second.split("/")]))
