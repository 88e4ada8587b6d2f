"""Resolve a name to exactly one symbol or file of a project's code."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from heapq import nsmallest

from ragmem.domain.code.code import SymbolKind
from ragmem.domain.code.qualified_names import is_constructor, is_within, parts_of
from ragmem.domain.model import USER
from ragmem.errors import NotFoundError, UsageError
from ragmem.patterns import lazy
from ragmem.storage.code.code import SymbolMatch, SymbolPlace
from ragmem.storage.code.overview import names
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.edits import plain_path

SHOWN = 8
"""Maximum candidates in an error."""

INGEST = "ragmem ingest --code ."
_CALL = lazy(r"\([^()]*\)\s*$|[()*&]")
_HOLDING = frozenset({SymbolKind.CLASS, SymbolKind.INTERFACE})


@dataclass(frozen=True, slots=True)
class Target:
    """A symbol, or (`is_file`) files with all their definitions.

    `symbols` are the named one and all symbols within it: a class has its methods, a constructor its class.
    `former` is the given path if the file has another one now.
    """

    project: str
    asked: str
    symbols: tuple[SymbolPlace, ...]
    paths: tuple[str, ...]
    is_file: bool
    former: str = ""

    @property
    def name(self) -> str:
        """The path of the file, or the qualified name."""
        return self.paths[0] if self.is_file else self.symbols[0].symbol.qualified


def project_of_code(catalog: Catalog, projects: Iterable[str] | None, *, named: bool = False) -> str:
    """Return the project with code: one of these, else the only one with code.

    `named`: only these projects are allowed. Raises NotFoundError if there is none, UsageError if there are
    several.
    """
    with_code = [root.project for root in catalog.code.roots()]
    if not with_code:
        raise NotFoundError("there is no code graph yet", hint=f"create one: {INGEST}")
    wanted = [name for name in projects or () if name in with_code]
    names = catalog.projects.names()
    if named and not wanted:
        listed = ", ".join(names.get(name, name) for name in projects or () if name != USER)
        whose = f'the project "{listed}"' if listed else "this folder"
        raise NotFoundError(f"there is no code graph of {whose}", hint=f"create one: {INGEST}")
    wanted = wanted or with_code
    if len(wanted) > 1:
        listed = ", ".join(sorted(names.get(name, name) for name in wanted))
        raise UsageError("several projects have a code graph", hint=f"name the project, one of: {listed}")
    return wanted[0]


def target_of(catalog: Catalog, project: str, name: str) -> Target:
    """Return the target of a name; raises NotFoundError for none, UsageError for several."""
    # As in prose and in Go: `parse(text)`, `(*Login).Check`.
    bare = _CALL.sub("", name)
    tried = dict.fromkeys((name.strip(), bare.strip()))
    found = next((found for one in tried if one and (found := catalog.code.find(project, one))), None)
    if found is None:
        folder = plain_path(name).rstrip("/")
        if any(file.path.startswith(f"{folder}/") for file in catalog.code.files(project)):
            raise UsageError(
                f'"{name}" is a folder', hint=f"name something in it: ragmem inspect code {folder}"
            )
        near = _similar_names(catalog, project, bare)
        hint = f"near it: {', '.join(near)}" if near else f"bring the code up to date: {INGEST}"
        raise NotFoundError(f'there is no symbol or file "{name}"', hint=hint)
    if found.how in {"path", "former path"}:
        if len(found.paths) > 1:
            raise _ambiguous(name, "files", found.paths)
        return _file(catalog, project, name, found)
    chosen = _without_constructors(_without_tests(found))
    qualified = list(dict.fromkeys(one.symbol.qualified for one in chosen))
    if len(qualified) > 1:
        raise _ambiguous(name, "symbols", qualified)
    if chosen[0].symbol.kind is SymbolKind.MODULE:
        return _file(catalog, project, name, found)
    paths = tuple(dict.fromkeys(one.path for one in chosen))
    inside = list(chosen)
    beside = catalog.code.symbols(project, paths)
    if chosen[0].symbol.kind in _HOLDING:
        inside += [one for one in beside if is_within(one.symbol.qualified, qualified[0])]
    else:
        # Whoever calls a constructor names its class.
        inside += [
            one
            for one in beside
            if one.symbol.kind in _HOLDING and is_constructor(qualified[0], one.symbol.qualified)
        ]
    return Target(project, name, tuple(inside), paths, is_file=False)


def _file(catalog: Catalog, project: str, name: str, found: SymbolMatch) -> Target:
    symbols = tuple(catalog.code.symbols(project, found.paths))
    former = name if found.how == "former path" else ""
    return Target(project, name, symbols, found.paths, is_file=True, former=former)


def _without_tests(found: SymbolMatch) -> list[SymbolPlace]:
    """Return the symbols outside of tests, else all; modules only if there is nothing else."""
    symbols = [one for one in found.symbols if not one.symbol.is_test] or list(found.symbols)
    return [one for one in symbols if one.symbol.kind is not SymbolKind.MODULE] or symbols


def _without_constructors(symbols: list[SymbolPlace]) -> list[SymbolPlace]:
    """Leave out the constructors of classes that are there, because a class means its methods as well."""
    classes = [one.symbol.qualified for one in symbols if one.symbol.kind in _HOLDING]
    return [one for one in symbols if not any(is_constructor(one.symbol.qualified, name) for name in classes)]


def _ambiguous(name: str, what: str, candidates: Iterable[str]) -> UsageError:
    every = list(candidates)
    more = f", and {len(every) - SHOWN:,} more" if len(every) > SHOWN else ""
    return UsageError(
        f'"{name}" may be one of {len(every):,} {what}', hint=f"name one: {', '.join(every[:SHOWN])}{more}"
    )


def _similar_names(catalog: Catalog, project: str, name: str) -> list[str]:
    known = names(catalog.database, project)
    folded = {one.lower(): one for one in known}
    short = name.rstrip("/").rpartition("/")[2] if "/" in name else (parts_of(name) or [""])[-1]
    short = short.strip().lower()
    close = get_close_matches(name.strip().lower(), folded, n=SHOWN, cutoff=0.7)
    close += get_close_matches(short, folded, n=SHOWN, cutoff=0.7)
    if len(short) > 2:
        close += nsmallest(SHOWN, (one for one in folded if short in one), key=len)
    return [folded[one] for one in dict.fromkeys(close)][:SHOWN]
