"""The code that a benchmark measures, as one short hash, which shows if a table is outdated.

It is made of the script's own files and of what they import of ragmem, whole modules, without comments and
docstrings. A script that starts `ragmem`, or opens a memory, whose back ends come in by entry points, is
taken to measure all of it. Git is not asked, so it is the same in a clone, in a copy and in an archive.
"""

import ast
import hashlib
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_ALL = re.compile(r"\bsubprocess\b|\bmultiprocessing\b|ragmem\.api|common\.environment")
_LENGTH = 12


def fingerprint(script: str, root: Path = ROOT) -> str:
    """Return the hash of what a script of benchmarks/ measures; "" where there is no such script."""
    first = root / "benchmarks" / f"{script}.py"
    if not first.is_file():
        return ""
    files = _closure(first, root)
    shared = root / "benchmarks" / "common.py"
    own = [path for path in files if path.is_relative_to(root / "benchmarks") and path != shared]
    if any(_ALL.search(_read(path)) for path in own):
        files |= set((root / "ragmem").rglob("*.py"))
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(root).as_posix()}\0{_plain(_read(path))}\0".encode())
    return digest.hexdigest()[:_LENGTH]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _closure(first: Path, root: Path) -> set[Path]:
    found: set[Path] = set()
    waiting = [first]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [place for name in _imported(_read(path)) for place in _places(name, root)]
    return found


def _places(name: str, root: Path) -> list[Path]:
    parts = name.split(".")
    if parts == ["fingerprint"]:  # its own hash is no part of what is measured
        return []
    module = root.joinpath(*([] if parts[0] == "ragmem" else ["benchmarks"]), *parts)
    return [place for place in (module.with_suffix(".py"), module / "__init__.py") if place.is_file()]


@cache
def _imported(text: str) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
    return tuple(names)


@cache
def _plain(text: str) -> str:
    """Return what a file does, without what it says of it."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_text(one)]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
