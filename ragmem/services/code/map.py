"""The map of a project's code: an overview, the files of a folder, the symbols of a file, a symbol."""

from collections import Counter
from typing import Any

from ragmem.domain.code.code import EdgeKind, SymbolKind
from ragmem.services.code.shapes import edge_shape, symbol_shape
from ragmem.services.code.targets import Target, target_of
from ragmem.storage.code import overview
from ragmem.storage.code.code import CodeFile
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.edits import plain_path

MOST_IMPORTED = 15


def code_map(catalog: Catalog, project: str, name: str = "") -> dict[str, Any]:
    """Return the map of a project's code, or of one folder, file or symbol, as JSON fields.

    Exactly one of `overview`, `folder`, `file` and `symbol` is there. Raises what `target_of` raises.
    """
    files = catalog.code.files(project)
    if not name:
        return {"overview": _overview(catalog, project, files)}
    folder = _folder(catalog, project, name, files)
    if folder is not None:
        return {"folder": _folder_shape(catalog, project, folder, files)}
    target = target_of(catalog, project, name)
    if target.is_file:
        return {"file": _file(catalog, project, target, files)}
    return {"symbol": _symbol(catalog, project, target)}


def _overview(catalog: Catalog, project: str, files: list[CodeFile]) -> dict[str, Any]:
    database, counts = catalog.database, catalog.code.counts(project)
    purposes = {file.path: file.purpose for file in files}
    (root,) = (root for root in catalog.code.roots() if root.project == project)
    outside: Counter[str] = Counter()
    for name, importers in overview.external_imports(database, project).items():
        # `os.path` and `os.environ` both count for `os`, each with its files; the larger number is shown.
        first = name.partition(".")[0].partition("/")[0] or name
        outside[first] = max(outside[first], importers)
    return {
        "root": root.root,
        "complete": root.complete,
        "files": counts.files,
        "symbols": counts.symbols,
        "references": counts.edges,
        "languages": dict(Counter(file.language for file in files).most_common()),
        "kinds": overview.kinds(database, project),
        "folders": _folders(files),
        "most_imported": [
            {"file": path, "importers": importers, "purpose": purposes.get(path, "")}
            for path, importers in overview.most_imported_files(database, project, limit=MOST_IMPORTED)
        ],
        "most_imported_from_outside": dict(outside.most_common(MOST_IMPORTED)),
        "unread": [{"file": file.path, "problem": file.problem} for file in files if file.problem],
    }


def _folders(files: list[CodeFile]) -> dict[str, int]:
    """Return the top-level folders, below a common root, with their files."""
    parts = [file.path.split("/")[:-1] for file in files]
    level = 1
    while level < 3 and len({tuple(part[:level]) for part in parts}) < 4:
        level += 1
    counted = Counter("/".join(part[:level]) or "." for part in parts)
    return dict(sorted(counted.items()))


def _folder(catalog: Catalog, project: str, name: str, files: list[CodeFile]) -> str | None:
    """Return the path of a folder with that name, "" for the root, None if there is none."""
    path = plain_path(name).rstrip("/") if name not in {".", "./"} else ""
    for root in catalog.code.roots():
        if root.project == project:
            path = "" if path == root.root else path.removeprefix(f"{root.root.rstrip('/')}/")
    if not path:
        return ""
    return path if any(file.path.startswith(f"{path}/") for file in files) else None


def _folder_shape(catalog: Catalog, project: str, folder: str, files: list[CodeFile]) -> dict[str, Any]:
    inside = [file for file in files if not folder or file.path.startswith(f"{folder}/")]
    symbols = Counter(
        one.path
        for one in catalog.code.symbols(project, (file.path for file in inside))
        if one.symbol.kind is not SymbolKind.MODULE
    )
    return {
        "path": folder or ".",
        "files": [
            {
                "file": file.path,
                "language": file.language,
                "symbols": symbols[file.path],
                "purpose": file.purpose,
                "problem": file.problem,
            }
            for file in inside
        ],
    }


def _file(catalog: Catalog, project: str, target: Target, files: list[CodeFile]) -> dict[str, Any]:
    (file,) = (file for file in files if file.path == target.name)
    qualified = [one.symbol.qualified for one in target.symbols]
    referred = overview.count_references(catalog.database, project, qualified)
    referring = Counter(
        edge.path
        for edge in catalog.code.edges_to(project, qualified)
        if edge.path != file.path and edge.kind is not EdgeKind.TESTS
    )
    return {
        "path": file.path,
        "language": file.language,
        "module": file.module,
        "purpose": file.purpose,
        "problem": file.problem,
        "former_paths": catalog.code.former(project, file.path),
        "symbols": [
            symbol_shape(one)
            | {
                "references": known.references if (known := referred.get(one.symbol.qualified)) else 0,
                "referring_files": known.files if known else 0,
            }
            for one in target.symbols
            if one.symbol.kind is not SymbolKind.MODULE
        ],
        "referred_by": dict(referring.most_common()),
    }


def _symbol(catalog: Catalog, project: str, target: Target) -> dict[str, Any]:
    qualified = [one.symbol.qualified for one in target.symbols]
    to = [edge for edge in catalog.code.edges_to(project, qualified[:1]) if edge.kind is not EdgeKind.TESTS]
    away = [
        edge for edge in catalog.code.edges_from(project, qualified[:1]) if edge.kind is not EdgeKind.TESTS
    ]
    return symbol_shape(target.symbols[0]) | {
        "inside": [symbol_shape(one) for one in target.symbols[1:]],
        "refers_to": [edge_shape(edge) for edge in away],
        "referred_by": [edge_shape(edge) for edge in to],
    }
