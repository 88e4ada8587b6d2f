"""What an import means: a file or namespace of the repository, or something outside."""

import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragmem.domain.code.code import ParsedFile
from ragmem.domain.code.scopes import Found, Names

Resolve = Callable[[ParsedFile, str, str], Found | None]
"""File, module as written, the inline module around -> what it means; None is something that is no code."""

_JAVASCRIPT_ENDINGS = (".d.ts", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_ASSETS = (".css", ".scss", ".sass", ".less", ".json", ".svg", ".png", ".jpg", ".html", ".md", ".vue", ".txt")
_ENTRIES = ("src/index", "index", "src/main", "lib/index")
_INCLUDE_FOLDERS = ("include", "src", "inc", "lib")
_RUBY_FOLDERS = ("lib", "app", "spec", "test")


def manifests(files: Sequence[ParsedFile]) -> dict[str, Mapping[str, Any]]:
    """Return folder -> what its manifests say, those of the longest folder first."""
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        if manifest := file.facts.get("manifest"):
            found.setdefault(posixpath.dirname(file.path), {}).update(manifest)
    return dict(sorted(found.items(), key=lambda item: (-len(item[0]), item[0])))


def _within(folder: str, path: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _joined(folder: str, path: str) -> str:
    """Return a path as seen from a folder; empty for one that leads out of the repository."""
    whole = posixpath.normpath(posixpath.join(folder, path))
    return "" if whole.startswith("..") else whole


class _JavaScript:
    """The modules of JavaScript and TypeScript, and what manifests say of their names."""

    def __init__(self, files: Sequence[ParsedFile]) -> None:
        self.manifests = manifests(files)
        self.modules = {file.module for file in files if "manifest" not in file.facts}
        self.packages = {
            str(manifest["package"]): (folder, str(manifest.get("entry", "")))
            for folder, manifest in self.manifests.items()
            if manifest.get("package")
        }

    def resolve(self, file: ParsedFile, module: str, _around: str) -> Found | None:
        if not module:
            return Found(file.module)
        if module.startswith("."):
            return self._at(_joined(posixpath.dirname(file.path), module))
        if module.endswith(_ASSETS):
            return None
        return self._mapped(file.path, module) or self._packaged(module) or Found(module, internal=False)

    def _at(self, path: str) -> Found | None:
        stem = path
        for ending in _JAVASCRIPT_ENDINGS:
            stem = stem.removesuffix(ending)
        tried = (path, stem, posixpath.join(path, "index"))
        return next((Found(one) for one in tried if one in self.modules), None)

    def _mapped(self, path: str, module: str) -> Found | None:
        for folder, manifest in self.manifests.items():
            if not _within(folder, path):
                continue
            base = _joined(folder, str(manifest.get("base", ".")))
            tried = [
                _joined(base, target)
                for pattern, targets in manifest.get("paths", {}).items()
                for target in _substituted(module, pattern, targets)
            ]
            if manifest.get("base"):
                tried.append(_joined(base, module))
            if found := next(filter(None, map(self._at, tried)), None):
                return found
        return None

    def _packaged(self, module: str) -> Found | None:
        parts = module.split("/")
        named = "/".join(parts[: 2 if module.startswith("@") else 1])
        if named not in self.packages:
            return None
        folder, entry = self.packages[named]
        rest = module[len(named) + 1 :]
        tried = (rest, f"src/{rest}") if rest else (entry, *_ENTRIES)
        return next((found for one in tried if one and (found := self._at(_joined(folder, one)))), None)


def _substituted(module: str, pattern: str, targets: Sequence[str]) -> list[str]:
    """Return the paths that a module stands for, where it fits a pattern with at most one star."""
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

    def resolve(_file: ParsedFile, module: str, _within: str) -> Found | None:
        for root, folder in roots:
            if module == root or module.startswith(f"{root}/"):
                package = _joined(folder, module[len(root) + 1 :] or ".")
                package = _root_package(files, folder) if package == "." else package
                return Found(package) if package in names.namespaces else Found(module, internal=False)
        return Found(module, internal=False)

    return resolve


def _root_package(files: Sequence[ParsedFile], folder: str) -> str:
    return next(
        (str(file.facts.get("namespace", "")) for file in files if posixpath.dirname(file.path) == folder), ""
    )


def packages(_files: Sequence[ParsedFile], names: Names) -> Resolve:
    """Resolve the packages and namespaces of Java and C#, and classes of which members are taken."""

    def resolve(_file: ParsedFile, module: str, _within: str) -> Found | None:
        known = module in names.namespaces or names.is_class(module)
        return Found(module, internal=known)

    return resolve


def rust(files: Sequence[ParsedFile], names: Names) -> Resolve:
    """Resolve `crate`, `self`, `super`, modules of the same crate, and crates of the same repository."""
    crates = {
        str(manifest["crate"]): posixpath.basename(folder).replace("-", "_") if folder else "crate"
        for folder, manifest in manifests(files).items()
        if manifest.get("crate")
    }
    modules = {file.module for file in files}

    def known(name: str) -> bool:
        return name in modules or name in names.namespaces or name in names.kinds

    def resolve(file: ParsedFile, module: str, within: str) -> Found | None:
        parts = module.split("::")
        here = within or file.module
        crate = file.module.partition("::")[0]
        # The module of a crate's root file is the crate.
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
        found = next((one for one in tried if known(one)), None)
        if found:
            return Found(found)
        if parts[0] in {"crate", "self", "super"}:
            return _through_exports(names, tried[0])
        return Found(module, internal=False)

    return resolve


def _through_exports(names: Names, name: str) -> Found | None:
    owner, _, last = name.rpartition("::")
    return names.member(owner, last) if owner else None


def ruby(files: Sequence[ParsedFile], _names: Names) -> Resolve:
    """Resolve what is required: by its path from the file, or below a folder of the load path."""
    paths = {file.path for file in files}
    tails: dict[str, list[str]] = {}
    for path in sorted(paths):
        parts = path.split("/")
        for at, part in enumerate(parts[:-1]):
            if part in _RUBY_FOLDERS:
                tails.setdefault("/".join(parts[at + 1 :]), []).append(path)

    def resolve(file: ParsedFile, module: str, _within: str) -> Found | None:
        wanted = module if module.endswith(".rb") else f"{module}.rb"
        if module.startswith("."):
            found = _joined(posixpath.dirname(file.path), wanted)
            return Found(found) if found in paths else None
        candidates = [wanted] if wanted in paths else tails.get(wanted, [])
        return Found(candidates[0]) if len(candidates) == 1 else Found(module, internal=False)

    return resolve


def c(files: Sequence[ParsedFile], names: Names) -> Resolve:
    """Resolve headers: beside the file, below a folder for headers, or by the only path that ends so."""
    paths = {file.path for file in files}
    tails: dict[str, list[str]] = {}
    for path in sorted(paths):
        parts = path.split("/")
        for at in range(len(parts)):
            tails.setdefault("/".join(parts[at:]), []).append(path)

    def resolve(file: ParsedFile, module: str, _within: str) -> Found | None:
        if module.startswith("::"):
            name = module[2:]
            return Found(name, internal=name in names.namespaces or name in names.kinds)
        local = module.startswith("./")
        wanted = module.removeprefix("./") if local else module
        beside = _joined(posixpath.dirname(file.path), wanted)
        if local and beside in paths:
            return Found(beside)
        found = tails.get(posixpath.normpath(wanted).lstrip("./"), [])
        if not local:
            found = [path for path in found if path == wanted or _in_include_folder(path, wanted)]
        if len(found) > 1:
            nearest = max(_common(path, file.path) for path in found)
            found = [path for path in found if _common(path, file.path) == nearest]
        if len(found) == 1:
            return Found(found[0])
        return None if local else Found(module, internal=False)

    return resolve


def _in_include_folder(path: str, wanted: str) -> bool:
    folder = path[: -len(wanted)].rstrip("/")
    return posixpath.basename(folder) in _INCLUDE_FOLDERS


def _common(one: str, other: str) -> int:
    return len(posixpath.commonprefix([one.split("/"), other.split("/")]))
