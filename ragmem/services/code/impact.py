"""What a change of a symbol or file reaches: its dependents, the tests among them, and the memories of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragmem.domain.code.code import Edge, EdgeKind, SymbolKind
from ragmem.domain.code.impact import Dependent, dependents
from ragmem.domain.code.qualified import is_within
from ragmem.services.code.links import LIMIT, Memories, memories_of
from ragmem.services.code.targets import Target, target_of
from ragmem.storage.code.code import Located
from ragmem.storage.code.overview import test_files
from ragmem.storage.home.catalog import Catalog

DEPTH = 3
"""Steps that are shown unless more are asked for."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A symbol that depends on the target: how far away, how strongly, and where it refers to nearer ones."""

    located: Located
    depth: int
    score: float
    references: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Impact:
    """What a change of the target reaches, nearest and strongest first.

    `reached` goes as deep as was asked, without what is there for tests; `tests` are of any depth, and
    `helpers` what else of their files leads to them. `depths` counts all that is reached at each depth,
    without tests and helpers, also beyond. Where the code is not `complete`, its last reading did not end.
    """

    target: Target
    depth: int
    reached: tuple[Reached, ...]
    tests: tuple[Reached, ...]
    helpers: tuple[Reached, ...]
    depths: dict[int, int]
    memories: Memories
    complete: bool

    @property
    def beyond(self) -> int:
        """How many symbols lie deeper than was asked."""
        return sum(count for depth, count in self.depths.items() if depth > self.depth)


def impact(catalog: Catalog, project: str, name: str, *, depth: int = DEPTH, memories: int = LIMIT) -> Impact:
    """Return what a change of a symbol or file reaches, and the first memories that mention it or its files.

    Naming a class or a file means all that it defines. Raises NotFoundError for a name that nothing has,
    UsageError for one that several have.
    """
    target = target_of(catalog, project, name)
    every = _reached(catalog, project, target)
    # What helps tests is test code as well.
    helping = test_files(catalog.database, project, (one.located.path for one in every))
    testing = {
        one.located.symbol.qualified
        for one in every
        if one.located.symbol.is_test or one.located.path in helping
    }
    plain = [one for one in every if one.located.symbol.qualified not in testing]
    tests, helpers = _covering([one for one in every if one.located.symbol.qualified in testing])
    return Impact(
        target,
        depth,
        tuple(one for one in plain if one.depth <= depth),
        tests,
        helpers,
        dict(sorted(Counter(one.depth for one in plain).items())),
        memories_of(catalog, project, symbols=target.symbols, paths=target.paths, limit=memories),
        all(root.complete for root in catalog.code.roots() if root.project == project),
    )


def _reached(catalog: Catalog, project: str, target: Target) -> list[Reached]:
    targets = {one.symbol.qualified for one in target.symbols}
    found = dependents(_edges(catalog, project, targets), targets)
    places: dict[str, Located] = {}
    for one in catalog.code.symbols_named(project, (dependent.qualified for dependent in found)):
        places.setdefault(one.symbol.qualified, one)
    return [_at(places, dependent) for dependent in found if dependent.qualified in places]


def _at(places: dict[str, Located], dependent: Dependent) -> Reached:
    return Reached(places[dependent.qualified], dependent.depth, dependent.score, dependent.references)


def _edges(catalog: Catalog, project: str, targets: set[str]) -> list[Edge]:
    """Return all references on the ways to the targets; a symbol is asked for once."""
    modules = {file.module for file in catalog.code.files(project)}
    edges: list[Edge] = []
    seen, waiting = set(targets), sorted(targets)
    while waiting:
        found = catalog.code.edges_to(project, waiting)
        idle = _idle(catalog, project, (edge for edge in found if edge.target not in targets), modules)
        found = [edge for edge in found if (edge.source, edge.target) not in idle]
        edges += found
        waiting = sorted({edge.source for edge in found} - seen)
        seen.update(waiting)
    return edges


def _idle(catalog: Catalog, project: str, edges: Iterable[Edge], modules: set[str]) -> set[tuple[str, str]]:
    """Return source and target of imports of a module of which only something is taken.

    `from shop import price` depends on the price, and not on all that the shop imports in its turn.
    """
    imports = [edge for edge in edges if edge.kind is EdgeKind.IMPORTS and edge.target in modules]
    lines: dict[tuple[str, str, int], set[str]] = {}
    for edge in catalog.code.edges_from(project, {edge.source for edge in imports}):
        if edge.kind is EdgeKind.IMPORTS:
            lines.setdefault((edge.path, edge.source, edge.line), set()).add(edge.target)
    return {
        (edge.source, edge.target)
        for edge in imports
        if _only_takes(edge.target, lines[edge.path, edge.source, edge.line], modules)
    }


def _only_takes(module: str, beside: set[str], modules: set[str]) -> bool:
    """Tell whether a statement that imports these takes something from a module, rather than the module."""
    if any(is_within(module, other) for other in beside):
        return False
    # What a module passes on has the name of where it is defined.
    return any(other not in modules or is_within(other, module) for other in beside)


def _covering(reached: Sequence[Reached]) -> tuple[tuple[Reached, ...], tuple[Reached, ...]]:
    """Return the tests, with the nearest of each file of which none is there, and what else there is."""
    covered = {one.located.path for one in reached if _is_a_test(one)}
    tests: list[Reached] = []
    helpers: list[Reached] = []
    for one in reached:
        if _is_a_test(one) or one.located.path not in covered:
            tests.append(one)
            covered.add(one.located.path)
        else:
            helpers.append(one)
    tests.sort(key=lambda one: (one.depth, not _is_a_test(one), -one.score))
    return tuple(tests), tuple(helpers)


def _is_a_test(one: Reached) -> bool:
    return one.located.symbol.is_test and one.located.symbol.kind is not SymbolKind.MODULE
