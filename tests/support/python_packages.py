"""Imports and bases of an installed package as Python itself sees them, beside the edges that its text gives.

Run as a program, it imports the package named on standard input and prints what happened as JSON.
"""

import ast
import builtins
import contextlib
import importlib
import importlib.util
import inspect
import json
import pkgutil
import pydoc
import re
import subprocess
import sys
import typing
from dataclasses import dataclass
from pathlib import Path

from ragmem.domain.code.code import Edge, EdgeKind, ParsedFile
from ragmem.domain.python.code import link_python, parse_python
from ragmem.domain.text.python_syntax import module_tree

_SKIPPED = re.compile("TYPE_CHECKING|__name__ == .__main__")

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Compared:
    """Pairs of names that Python saw, that we found, and what was left out of the comparison."""

    files: int
    lines: int
    imports_seen: set[Pair]
    imports_found: set[Pair]
    bases_seen: set[Pair]
    bases_found: set[Pair]
    not_loaded: list[str]
    without_source: list[str]


def recall(seen: set[Pair], found: set[Pair]) -> float:
    """Return which share of what Python saw was found."""
    return len(seen & found) / len(seen) if seen else 1.0


def folder_of(package: str) -> Path:
    """Return where a package is installed."""
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def parsed(package: str) -> list[ParsedFile]:
    """Return the files of an installed package, parsed."""
    folder = folder_of(package)
    return [
        parse_python(path.relative_to(folder.parent).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
    ]


def compared(package: str) -> Compared:
    """Compare imports within a package and all bases of its classes."""
    folder = folder_of(package)
    files = parsed(package)
    edges = link_python(files)
    for_types = {(path, line) for path in folder.rglob("*.py") for line in _type_checking(path)}
    outside = sorted({one.target for one in edges if one.kind is EdgeKind.INHERITS and not one.internal})
    asked = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        input=json.dumps({"package": package, "names": outside}),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    seen = json.loads(asked.stdout)
    loaded, classes = set(seen["modules"]), set(seen["classes"])
    return Compared(
        len(files),
        sum(path.read_text(encoding="utf-8").count("\n") for path in folder.rglob("*.py")),
        {(one, other) for one, other in seen["imports"] if one in loaded},
        set(_imports(edges, files, loaded, {(str(path), line) for path, line in for_types}, folder.parent)),
        {(one, base) for one, base in seen["bases"] if one in classes},
        {
            (one.source, seen["resolved"].get(one.target, one.target))
            for one in edges
            if one.kind is EdgeKind.INHERITS and one.source in classes
        },
        sorted({one.module for one in files} - loaded),
        seen["without_source"],
    )


def _imports(
    edges: list[Edge], files: list[ParsedFile], loaded: set[str], for_types: set[tuple[str, int]], root: Path
) -> list[Pair]:
    modules = {one.module for one in files}
    return [
        (one.source, one.target)
        for one in edges
        if one.kind is EdgeKind.IMPORTS
        and one.source in loaded
        and one.target in modules
        and (str(root / one.path), one.line) not in for_types
    ]


def _type_checking(path: Path) -> list[int]:
    """Return the lines that importing skips: for type checkers only, or for running the file."""
    lines: list[int] = []
    for node in ast.walk(module_tree(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and _SKIPPED.search(ast.unparse(node.test)):
            lines += range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
    return lines


def _name(kind: object) -> str:
    kind = typing.get_origin(kind) or kind
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', '')}"


def _watched(package: str) -> set[Pair]:
    """Import all modules of a package; return who imported what of it."""
    seen: set[Pair] = set()
    original = builtins.__import__

    def noted(name, scope=None, local=None, wanted=(), level=0):
        found = original(name, scope, local, wanted, level)
        importer = (scope or {}).get("__name__") or ""
        if importer.split(".")[0] == package:
            relative = "." * level + name
            full = importlib.util.resolve_name(relative, scope["__package__"]) if level else name
            targets = [full, *(f"{full}.{one}" for one in wanted or () if _is_module(full, one))]
            seen.update((importer, one) for one in targets if one.split(".")[0] == package)
        return found

    builtins.__import__ = noted
    for one in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not one.name.endswith("__main__"):
            with contextlib.suppress(Exception):
                importlib.import_module(one.name)
    builtins.__import__ = original
    return {(one, other) for one, other in seen if one != other}


def _is_module(package: str, name: str) -> bool:
    inner = sys.modules.get(f"{package}.{name}")
    return inner is not None and getattr(sys.modules[package], name, None) is inner


def _has_source(kind: type) -> bool:
    try:
        inspect.getsourcelines(kind)
    except (OSError, TypeError):
        return False
    return True


def _observe(package: str, names: list[str]) -> dict[str, object]:
    imports = _watched(package)
    modules = sorted(name for name in sys.modules if name.split(".")[0] == package)
    found = [
        kind
        for module in modules
        for kind in list(vars(sys.modules[module]).values())
        if inspect.isclass(kind) and kind.__module__ == module and "<" not in kind.__qualname__
    ]
    classes = [kind for kind in found if _has_source(kind)]
    bases = {
        (_name(kind), _name(base))
        for kind in classes
        for base in kind.__dict__.get("__orig_bases__", kind.__bases__)
        if base is not object
    }
    return {
        "imports": sorted(imports),
        "modules": modules,
        "classes": sorted({_name(kind) for kind in classes}),
        "bases": sorted(bases),
        "without_source": sorted({_name(kind) for kind in found if kind not in classes}),
        "resolved": {one: _name(pydoc.locate(one)) for one in names if pydoc.locate(one) is not None},
    }


if __name__ == "__main__":
    asked_for = json.load(sys.stdin)
    print(json.dumps(_observe(asked_for["package"], asked_for["names"])))
