"""Normalize the names of a project's code in memories: one name for each symbol and file."""

from collections.abc import Iterable, Mapping

from ragmem.domain.code.qualified_names import ends_with, parts_of
from ragmem.storage.home.catalog import Catalog


def with_code_names(
    catalog: Catalog, project: str, named: Mapping[int, frozenset[str]]
) -> Mapping[int, frozenset[str]]:
    """Return the names in memories, with a symbol or file of the project's code under its full name.

    `Store.put` and `put` are the same symbol if the project has only one, and so is a file under a former
    path. Ambiguous names, and names that are not code, stay unchanged.
    """
    if project not in {root.project for root in catalog.code.roots()}:
        return named
    whole = _whole_names(catalog, project, {name for names in named.values() for name in names})
    return {memory: frozenset(whole.get(name, name) for name in names) for memory, names in named.items()}


def _whole_names(catalog: Catalog, project: str, names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    files = {name: name.rpartition("/")[2] for name in names if "." in name.rpartition("/")[2]}
    paths: dict[str, list[str]] = {}
    for path in catalog.code.paths_called(project, files.values()):
        paths.setdefault(path.rpartition("/")[2], []).append(path)
    for name, last in files.items():
        here = [path for path in paths.get(last, ()) if f"/{path}".endswith(f"/{name}")]
        if not here and (current := catalog.code.current(project, name)):
            here = [current]
        if len(here) == 1:
            found[name] = here[0]
    ends = {name: parts_of(name.removesuffix("()")) for name in names if name not in found}
    symbols: dict[str, list[str]] = {}
    for one in catalog.code.symbols_called(project, (parts[-1] for parts in ends.values() if parts)):
        symbols.setdefault(one.symbol.name, []).append(one.symbol.qualified)
    for name, parts in ends.items():
        meant = [symbol for symbol in symbols.get(parts[-1], ()) if ends_with(symbol, parts)] if parts else []
        if len(meant) == 1:
            found[name] = meant[0]
    return found
