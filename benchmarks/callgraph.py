"""Score call graphs of small Python programs by annotated ones, and real packages by Python itself.

A folder has `micro-benchmark/snippets/CATEGORY/PROGRAM` with Python files and `callgraph.json`, as the PyCG
micro-benchmark does (Salis et al., "PyCG: Practical Call Graph Generation in Python", ICSE 2021). Its
conventions are applied to our edges: a class is called where its constructor is, and built-in functions and
types have its names.
"""

import ast
import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import common

from ragmem.domain.code.code import EdgeKind, ParsedFile, SymbolKind
from ragmem.domain.python.code import link_python, parse_python

sys.path.append(str(common.REPOSITORY / "tests" / "support"))

Graph = set[tuple[str, str]]

PUBLISHED = {
    "args": (6, 6, 6),
    "assignments": (4, 3, 4),
    "builtins": (3, 1, 3),
    "classes": (22, 22, 22),
    "decorators": (6, 5, 7),
    "dicts": (12, 11, 12),
    "direct_calls": (4, 4, 4),
    "exceptions": (3, 3, 3),
    "functions": (4, 4, 4),
    "generators": (6, 6, 6),
    "imports": (14, 14, 14),
    "kwargs": (3, 3, 3),
    "lambdas": (5, 5, 5),
    "lists": (8, 7, 8),
    "mro": (7, 5, 7),
    "returns": (4, 4, 4),
}
"""PyCG's complete and sound programs, and all of them, by category: table 3 of the paper.

Read from the sample results in github.com/vitsalis/pycg-evaluation (data/results/table3.txt), where `args` is
called parameters. The categories dynamic and external are not in it.
"""

BUILTIN_TYPES = {
    "str": "PyStr",
    "dict": "PyDict",
    "list": "PyList",
    "tuple": "PyTuple",
    "set": "PySet",
    "int": "PyNum",
}

PACKAGES = ("pathspec", "typer", "rich")

SPEED_PACKAGE = "networkx"


def as_annotated(name: str) -> str:
    """Return the name of something built-in as the micro-benchmark writes it."""
    first, _, rest = name.partition(".")
    if first != "builtins":
        return name
    owner, _, method = rest.partition(".")
    return f"<**{BUILTIN_TYPES.get(owner, owner)}**>.{method}" if method else f"<builtin>.{owner}"


def ours(files: Sequence[ParsedFile]) -> Graph:
    classes = {
        symbol.qualified
        for one in files
        for symbol in one.symbols
        if symbol.kind in {SymbolKind.CLASS, SymbolKind.INTERFACE}
    }
    return {
        (edge.source, edge.target if edge.internal else as_annotated(edge.target))
        for edge in link_python(files)
        if edge.kind is EdgeKind.CALLS and not (edge.internal and edge.target in classes)
    }


def by_last_name(files: Sequence[ParsedFile], texts: Sequence[str]) -> Graph:
    """Return the naive graph: a call goes to every function of its last name, whatever it stands for."""
    named: dict[str, list[str]] = {}
    for one in files:
        for symbol in one.symbols:
            if symbol.kind in {SymbolKind.FUNCTION, SymbolKind.METHOD}:
                named.setdefault(symbol.name, []).append(symbol.qualified)
    graph: Graph = set()
    for one, text in zip(files, texts, strict=True):
        graph.update(_named_calls(ast.parse(text), one.module, named))
    return graph


def _named_calls(node: ast.AST, scope: str, named: dict[str, list[str]]) -> Iterable[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        inner = scope
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{scope}.{child.name}"
        elif isinstance(child, ast.Call):
            last = child.func
            name = (
                last.attr
                if isinstance(last, ast.Attribute)
                else last.id
                if isinstance(last, ast.Name)
                else ""
            )
            yield from ((scope, target) for target in named.get(name, ()))
        yield from _named_calls(child, inner, named)


def expected(folder: Path) -> Graph:
    annotated = json.loads((folder / "callgraph.json").read_text(encoding="utf-8"))
    return {(source, target) for source, targets in annotated.items() for target in targets}


def scored(wanted: Graph, found: Graph) -> dict[str, int]:
    right = len(wanted & found)
    return {
        "programs": 1,
        "complete": int(found <= wanted),
        "sound": int(wanted <= found),
        "exact": int(wanted == found),
        "right": right,
        "found": len(found),
        "wanted": len(wanted),
    }


def added(scores: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in scores:
        for key, value in one.items():
            total[key] = total.get(key, 0) + value
    return total


def share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"


def cells(name: str, score: dict[str, int], naive: dict[str, int]) -> list[str]:
    count = score["programs"]
    known = PUBLISHED.get(name)
    theirs = [f"{known[0]}/{known[2]}", f"{known[1]}/{known[2]}"] if known else ["-", "-"]
    return [
        name,
        f"{score['complete']}/{count}",
        f"{score['sound']}/{count}",
        share(score["right"], score["found"]),
        share(score["right"], score["wanted"]),
        *theirs,
        f"{naive['complete']}/{count}",
        f"{naive['sound']}/{count}",
        share(naive["right"], naive["found"]),
        share(naive["right"], naive["wanted"]),
    ]


def measured(folders: Sequence[Path]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the scores by category, and the programs whose graph is not exactly the annotated one."""
    results: dict[str, dict[str, list[dict[str, int]]]] = {}
    differing: list[dict[str, Any]] = []
    for folder in folders:
        paths = sorted(folder.rglob("*.py"))
        texts = [path.read_text(encoding="utf-8") for path in paths]
        files = [
            parse_python(path.relative_to(folder).as_posix(), text)
            for path, text in zip(paths, texts, strict=True)
        ]
        wanted, found = expected(folder), ours(files)
        category = results.setdefault(folder.parent.name, {"ours": [], "naive": []})
        category["ours"].append(scored(wanted, found))
        category["naive"].append(scored(wanted, by_last_name(files, texts)))
        if wanted != found:
            differing.append(
                {
                    "program": f"{folder.parent.name}/{folder.name}",
                    "missing": sorted(wanted - found),
                    "wrong": sorted(found - wanted),
                }
            )
    sums = {name: {how: added(scores) for how, scores in one.items()} for name, one in results.items()}
    return sums, differing


def packages() -> dict[str, Any]:
    """Return how the imports and bases of real packages compare with what Python sees."""
    from python_packages import compared, recall

    figures: dict[str, Any] = {}
    for name in PACKAGES:
        common.tell(f"comparing {name}")
        one = compared(name)
        figures[name] = {
            "files": one.files,
            "lines": one.lines,
            "imports": len(one.imports_seen),
            "imports_recall": recall(one.imports_seen, one.imports_found),
            "imports_precision": recall(one.imports_found, one.imports_seen),
            "bases": len(one.bases_seen),
            "bases_recall": recall(one.bases_seen, one.bases_found),
            "bases_precision": recall(one.bases_found, one.bases_seen),
            "not_loaded": one.not_loaded,
            "without_source": one.without_source,
        }
    return figures


def speed() -> dict[str, Any]:
    """Return how long a big package takes, in seconds of one core."""
    from python_packages import folder_of

    folder = folder_of(SPEED_PACKAGE)
    texts = {
        path.relative_to(folder.parent).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
    }
    began = time.process_time()
    files = [parse_python(path, text) for path, text in texts.items()]
    parsed = time.process_time()
    edges = link_python(files)
    linked = time.process_time()
    lines = sum(text.count("\n") for text in texts.values())
    return {
        "package": SPEED_PACKAGE,
        "files": len(files),
        "lines": lines,
        "edges": len(edges),
        "parse_seconds": parsed - began,
        "lines_per_second": lines / (parsed - began),
        "link_seconds": linked - parsed,
        "facts_bytes": sum(len(json.dumps(dict(one.facts))) for one in files),
        "source_bytes": sum(len(text) for text in texts.values()),
    }


def _compared(name: str, one: dict[str, Any]) -> str:
    return (
        f"{name} ({one['files']} files, {one['lines']:,} lines), compared with what importing it shows: "
        f"{one['imports']} imports within it, recall {one['imports_recall']:.3f}, "
        f"precision {one['imports_precision']:.3f}; {one['bases']} bases of its classes, "
        f"recall {one['bases_recall']:.3f}, precision {one['bases_precision']:.3f}"
    )


def main() -> int:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval/pycg")
    options = parser.parse_args()
    about = common.machine()
    folders = sorted(path.parent for path in options.data.rglob("callgraph.json"))
    if options.quick:
        folders = folders[::5]
    results, differing = measured(folders)
    rows = [cells(name, one["ours"], one["naive"]) for name, one in sorted(results.items())]
    total = {how: added(one[how] for one in results.values()) for how in ("ours", "naive")}
    known = [PUBLISHED[name] for name in results if name in PUBLISHED]
    rows.append(cells("all", total["ours"], total["naive"]))
    rows[-1][5:7] = [f"{sum(one[at] for one in known)}/{sum(one[2] for one in known)}" for at in (0, 1)]
    headers = ["category", "complete", "sound", "precision", "recall", "PyCG complete", "PyCG sound"]
    headers += [f"by last name: {name}" for name in ("complete", "sound", "precision", "recall")]
    notes = [
        "complete: programs without a wrong edge; sound: without a missing one; the rest: shares of edges"
    ]
    notes.append(
        "PyCG's figures: table 3 of Salis et al., ICSE 2021, from the sample results of its artifact "
        "(vitsalis/pycg-evaluation); it lacks dynamic and external, and precision and recall of "
        "edges are not published for these programs"
    )
    notes += [f"{one['program']}: missing {one['missing']}, wrong {one['wrong']}" for one in differing]
    document = {
        "benchmark": "callgraph",
        "machine": about,
        "programs": len(folders),
        "results": results,
        "differing": differing,
    }
    if not options.quick:
        document["packages"] = packages()
        document["speed"] = speed()
        notes += [_compared(name, one) for name, one in document["packages"].items()]
        quick = document["speed"]
        notes.append(
            f"{quick['package']}: {quick['files']} files, {quick['lines']:,} lines, parsed at "
            f"{quick['lines_per_second']:,.0f} lines/s, linked in {quick['link_seconds']:.1f} s on one core; "
            f"facts as JSON take {quick['facts_bytes'] / quick['source_bytes']:.2f} of the source's size"
        )
    common.report("callgraph", document, headers, rows, options=options, notes=notes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
