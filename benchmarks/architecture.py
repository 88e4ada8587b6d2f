"""Count files, lines of code, modules per folder, import cycles, and the modules that a request executes.

A module is entered when one of its functions runs; importing it does not count. The question and the ingest
are warm: each is made twice in one process, and the second one is counted.
"""

import ast
import io
import os
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common

BEFORE = {
    "files": 993,
    "lines of code": 103_828,
    "folders": 38,
    "modules in the largest folder": 205,
    "folders of more than 25 modules": 8,
    "modules in import cycles": 10,
    "modules that a warm question executes": 51,
    "modules that a warm ingest executes": 113,
    "modules that a hook executes": 16,
}
"""The same figures of the commit before the rooms, where each layer was one folder."""

MANY = 25

OPENED = """
import json, os, sys, threading
seen = set()
def entered(frame, event, arg):
    if event == "call" and frame.f_code.co_name != "<module>":
        seen.add(frame.f_code.co_filename)
def tell():
    sys.setprofile(None)
    sys.stderr.write("\\nENTERED " + json.dumps(sorted(seen)))
"""
IN_PROCESS = """
from datetime import UTC, datetime
from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft
with Ragmem.open() as memory:
    def question():
        memory.query("why did the deploy answer 502")
    numbers = iter(range(2, 9))
    def ingest():
        number = next(numbers)
        text = f"Decision {number}: `api.py` retries {number} times."
        memory.ingest([Draft("notes", f"/made/{number}", text)])
    ingest()
    WORK()
    sys.setprofile(entered)
    threading.setprofile(entered)
    WORK()
    tell()
"""
HOOK = """
from ragmem.__main__ import run
sys.setprofile(entered)
threading.setprofile(entered)
try:
    run(["hook", "SessionStart"])
except SystemExit:
    pass
tell()
"""


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0])
    options = parser.parse_args()
    found = counts(common.REPOSITORY / "ragmem")
    with common.temporary_folder("architecture") as folder:
        environ = common.environment(folder) | {"HOME": str(folder)}
        question = IN_PROCESS.replace("WORK", "question")
        ingest = IN_PROCESS.replace("WORK", "ingest")
        found["modules that a warm question executes"] = entered(question, environ)
        found["modules that a warm ingest executes"] = entered(ingest, environ)
        found["modules that a hook executes"] = entered(HOOK, environ)
    document = {"machine": common.machine(), "before": BEFORE, "today": found}
    rows = [[name, f"{BEFORE[name]:,}", f"{count:,}"] for name, count in found.items()]
    common.report("architecture", document, ["what", "before", "today"], rows, options=options)


def counts(package: Path) -> dict[str, int]:
    """Return what can be counted without running anything."""
    paths = sorted(package.rglob("*.py"))
    folders = Counter(path.parent for path in paths if path.name != "__init__.py")
    return {
        "files": len(paths),
        "lines of code": sum(map(code_lines, paths)),
        "folders": len(folders),
        "modules in the largest folder": max(folders.values()),
        f"folders of more than {MANY} modules": sum(count > MANY for count in folders.values()),
        "modules in import cycles": len(circles(package)),
    }


def code_lines(path: Path) -> int:
    """Return the lines of a file with code on them: no comment, no docstring, no blank line."""
    text = path.read_text(encoding="utf-8")
    texts = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    kinds = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in kinds:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - texts)


def imports(package: Path) -> dict[str, set[str]]:
    """Return which modules each module imports, inside functions and for types as well."""
    names = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts): path
        for path in package.rglob("*.py")
    }
    modules = {name.removesuffix(".__init__"): path for name, path in names.items()}
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        above = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found[name] = {
            target
            for one in _named(path, above)
            if (target := _module(one, modules)) not in {"", name, package.name}
        }
    return found


def _named(path: Path, above: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(
                [*above.split(".")[: len(above.split(".")) + 1 - node.level]] if node.level else []
            )
            base = ".".join(part for part in (base, node.module or "") if part)
            yield from (f"{base}.{one.name}" for one in node.names)


def _module(name: str, modules: dict[str, Path]) -> str:
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def circles(package: Path) -> set[str]:
    """Return the modules that import themselves by way of others."""
    graph = imports(package)
    reached = {name: set(targets) for name, targets in graph.items()}
    changed = True
    while changed:
        changed = False
        for name, targets in reached.items():
            wider = targets.union(*(reached[one] for one in targets)) if targets else targets
            if len(wider) > len(targets):
                reached[name] = wider
                changed = True
    return {name for name, targets in reached.items() if name in targets}


def entered(work: str, environ: dict[str, Any]) -> int:
    """Return how many modules of the package a piece of work enters, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", OPENED + work],
        env=environ,
        cwd=environ["HOME"],
        input="{}",
        capture_output=True,
        text=True,
        check=True,
    )
    files = done.stderr.rpartition("ENTERED ")[2]
    return files.count(f"{os.sep}ragmem{os.sep}")


if __name__ == "__main__":
    main()
