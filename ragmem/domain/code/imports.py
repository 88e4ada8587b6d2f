"""Resolve imports to a file or namespace of the repository, or to an external name."""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragmem.domain.code.code import ParsedFile
from ragmem.domain.code.scopes import Names, Resolution

Resolve = Callable[[ParsedFile, str, str], Resolution | None]
"""Resolver: (file, module as written, enclosing inline module) -> resolution; None if it is not code."""

_JAVASCRIPT_ENDINGS = (".d.ts", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_ASSETS = (".css", ".scss", ".sass", ".less", ".json", ".svg", ".png", ".jpg", ".html", ".md", ".vue", ".txt")
_ENTRIES = ("src/index", "index", "src/main", "lib/index")
_INCLUDE_FOLDERS = ("include", "src", "inc", "lib")
_RUBY_FOLDERS = ("lib", "app", "spec", "test")


def manifests(files: Sequence[ParsedFile]) -> dict[str, Mapping[str, Any]]:
    """Return folder -> content of its manifests, the longest folder first."""
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        if manifest := file.facts.get("manifest"):
            found.setdefault(posixpath.dirname(file.path), {}).update(manifest)
    return dict(sorted(found.items(), key=lambda item: (-len(item[0]), item[0])))


def _within(folder: str, path: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _join(folder: str, path: str) -> str:
    """Return a path relative to a folder; "" if it leads out of the repository."""
    whole = posixpath.normpath(posixpath.join(folder, path))
    return "" if whole.startswith("..") else whole


class _JavaScript:
    """The modules of JavaScript and TypeScript, with the names that manifests give them."""

    def __init__(self, files: Sequence[ParsedFile]) -> None:
        self.manifests = manifests(files)
        self.modules = {file.module for file in files if "manifest" not in file.facts}
        self.packages = {
            str(manifest["package"]): (folder, str(manifest.get("entry", "")))
            for folder, manifest in self.manifests.items()
            if manifest.get("package")
        }

    def resolve(self, file: ParsedFile, module: str, _around: str) -> Resolution | None:
        if not module:
            return Resolution(file.module)
        if module.startswith("."):
            return self._file_at(_join(posixpath.dirname(file.path), module))
        if module.endswith(_ASSETS):
            return None
        return (
            self._alias_targets(file.path, module)
            or self._package_targets(module)
            or Resolution(module, internal=False)
        )

    def _file_at(self, path: str) -> Resolution | None:
        stem = _without_ending(path)
        entry = str(self.manifests.get(path.strip("."), {}).get("entry", ""))
        # The root of the repository is ".".
        tried = (path, stem, _without_ending(_join(path, entry)), posixpath.normpath(f"{path}/index"))
        return next((Resolution(one) for one in tried if one in self.modules), None)

    def _alias_targets(self, path: str, module: str) -> Resolution | None:
        for folder, manifest in self.manifests.items():
            if not _within(folder, path):
                continue
            base = _join(folder, str(manifest.get("base", ".")))
            tried = [
                _join(base, target)
                for pattern, targets in manifest.get("paths", {}).items()
                for target in _substitute(module, pattern, targets)
            ]
            if manifest.get("base"):
                tried.append(_join(base, module))
            if found := next(filter(None, map(self._file_at, tried)), None):
                return found
        return None

    def _package_targets(self, module: str) -> Resolution | None:
        parts = module.split("/")
        named = "/".join(parts[: 2 if module.startswith("@") else 1])
        if named not in self.packages:
            return None
        folder, entry = self.packages[named]
        rest = module[len(named) + 1 :]
        tried = (rest, f"src/{rest}") if rest else (entry, *_ENTRIES)
        return next((found for one in tried if one and (found := self._file_at(_join(folder, one)))), None)


def _without_ending(path: str) -> str:
    for ending in _JAVASCRIPT_ENDINGS:
        path = path.removesuffix(ending)
    return path


def _substitute(module: str, pattern: str, targets: Sequence[str]) -> list[str]:
    """Return the paths for a module that matches a pattern with at most one star."""
    head, star, tail = pattern.partition("*")
    if not star:
        return list(targets) if module == pattern else []
    if not (module.startswith(head) and module.endswith(tail)):
        return []
    middle = module[len(head) : len(module) - len(tail)]
    return [target.replace("*", middle) for target in targets]


def javascript(files: Sequence[ParsedFile], _names: Names) -> Resolve:
    """Resolve paths, the `paths` of a tsconfig, and packages of the same repository."""
    return _JavaScript(files).resolve


def go(files: Sequence[ParsedFile], names: Names) -> Resolve:
    """Resolve packages by the module path of the nearest go.mod."""
    roots = sorted(
        (
            (str(manifest["module"]), folder)
            for folder, manifest in manifests(files).items()
            if manifest.get("module")
        ),
        key=lambda item: -len(item[0]),
    )

    def resolve(_file: ParsedFile, module: str, _within: str) -> Resolution | None:
        for root, folder in roots:
            if module == root or module.startswith(f"{root}/"):
                package = _join(folder, module[len(root) + 1 :] or ".")
                package = _root_package(files, folder) if package == "." else package
                return (
                    Resolution(package) if package in names.namespaces else Resolution(module, internal=False)
                )
        return Resolution(module, internal=False)

    return resolve


def _root_package(files: Sequence[ParsedFile], folder: str) -> str:
    return next(
        (str(file.facts.get("namespace", "")) for file in files if posixpath.dirname(file.path) == folder), ""
    )


def packages(_files: Sequence[ParsedFile], names: Names) -> Resolve:
    """Resolve the packages and namespaces of Java and C#, and their static members."""

    def resolve(_file: ParsedFile, module: str, _within: str) -> Resolution | None:
        return Resolution(module, internal=module in names.namespaces or names.is_class(module))

    return resolve


def php(files: Sequence[ParsedFile], names: Names) -> Resolve:
    """Resolve namespaces, and what `require` loads: beside the file, or by a unique path suffix."""
    named, tails = packages(files, names), _tails(files)

    def resolve(file: ParsedFile, module: str, within: str) -> Resolution | None:
        if not module.startswith("./"):
            return named(file, module, within)
        beside = _join(posixpath.dirname(file.path), module)
        found = [beside] if beside in names.module_of else tails.get(_join("", module), [])
        return Resolution(found[0]) if len(found) == 1 else None

    return resolve


def rust(files: Sequence[ParsedFile], names: Names) -> Resolve:
    """Resolve `crate`, `self`, `super`, modules of the same crate, and crates of the same repository."""
    crates = names.crates = {
        str(manifest["crate"]): posixpath.basename(folder).replace("-", "_") if folder else "crate"
        for folder, manifest in manifests(files).items()
        if manifest.get("crate")
    }
    modules = {file.module for file in files}

    def is_known(name: str) -> bool:
        return name in modules or name in names.namespaces or name in names.kinds

    def resolve(file: ParsedFile, module: str, within: str) -> Resolution | None:
        parts = module.split("::")
        here = within or file.module
        crate = file.module.partition("::")[0]
        # The root file of a crate is the module of the crate.
        inside = crate if here == file.module and file.path.endswith(("/main.rs", "/lib.rs")) else here
        if parts[0] == "crate":
            tried = ["::".join([crate, *parts[1:]]), "::".join([crate, "main", *parts[1:]])]
        elif parts[0] in {"self", "super"}:
            at = inside
            for part in parts:
                if part == "super":
                    at = at.rpartition("::")[0] or at
            rest = [part for part in parts if part not in {"self", "super"}]
            tried = ["::".join([at, *rest]), "::".join([here, *rest])]
        else:
            tried = ["::".join([inside, *parts]), "::".join([crates.get(parts[0], ""), *parts[1:]])]
        found = next((one for one in tried if is_known(one)), None)
        if found:
            return Resolution(found)
        if parts[0] not in {"crate", "self", "super"}:
            return Resolution(module, internal=False)
        owner, _, last = tried[0].rpartition("::")
        return names.member(owner, last) if owner else None

    return resolve


def ruby(files: Sequence[ParsedFile], _names: Names) -> Resolve:
    """Resolve `require`: relative to the file, or below a folder of the load path."""
    paths = {file.path for file in files}
    tails: dict[str, list[str]] = {}
    for path in sorted(paths):
        parts = path.split("/")
        for at, part in enumerate(parts[:-1]):
            if part in _RUBY_FOLDERS:
                tails.setdefault("/".join(parts[at + 1 :]), []).append(path)

    def resolve(file: ParsedFile, module: str, _within: str) -> Resolution | None:
        wanted = module if module.endswith(".rb") else f"{module}.rb"
        if module.startswith("."):
            found = _join(posixpath.dirname(file.path), wanted)
            return Resolution(found) if found in paths else None
        candidates = [wanted] if wanted in paths else tails.get(wanted, [])
        return Resolution(candidates[0]) if len(candidates) == 1 else Resolution(module, internal=False)

    return resolve


def c(files: Sequence[ParsedFile], names: Names) -> Resolve:
    """Resolve headers: beside the file, below an include folder, or by a unique path suffix."""
    tails = _tails(files)

    def resolve(file: ParsedFile, module: str, _within: str) -> Resolution | None:
        if module.startswith("::"):
            name = module[2:]
            return Resolution(name, internal=name in names.namespaces or name in names.kinds)
        local = module.startswith("./")
        wanted = module.removeprefix("./") if local else module
        beside = _join(posixpath.dirname(file.path), wanted)
        if local and beside in names.module_of:
            return Resolution(beside)
        found = tails.get(posixpath.normpath(wanted).lstrip("./"), [])
        if not local:
            found = [path for path in found if path == wanted or _in_include_folder(path, wanted)]
        if len(found) > 1:
            nearest = max(_common(path, file.path) for path in found)
            found = [path for path in found if _common(path, file.path) == nearest]
        if len(found) == 1:
            return Resolution(found[0])
        return None if local else Resolution(module, internal=False)

    return resolve


def _tails(files: Sequence[ParsedFile]) -> dict[str, list[str]]:
    """Return each end of a path, from a folder on -> the paths that end so."""
    tails: dict[str, list[str]] = {}
    for path in sorted({file.path for file in files}):
        for at in (0, *(found.end() for found in re.finditer("/", path))):
            tails.setdefault(path[at:], []).append(path)
    return tails


def _in_include_folder(path: str, wanted: str) -> bool:
    folder = path[: -len(wanted)].rstrip("/")
    return posixpath.basename(folder) in _INCLUDE_FOLDERS


def _common(one: str, other: str) -> int:
    return len(posixpath.commonprefix([one.split("/"), other.split("/")]))
