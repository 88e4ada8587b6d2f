"""The impact of a change of a symbol or file: its dependents, their tests, and related memories."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragmem.charts.layered_diagram import Arrow, Box, Layers, Tint
from ragmem.domain.code.code import Edge, EdgeKind, SymbolKind
from ragmem.domain.code.impact import dependents
from ragmem.domain.code.qualified_names import is_within
from ragmem.services.code.links import LIMIT, Memories, memories_of
from ragmem.services.code.targets import Target, target_of
from ragmem.storage.code.code import SymbolPlace
from ragmem.storage.code.overview import test_code
from ragmem.storage.home.catalog import Catalog

DEPTH = 3
"""Default depth of the dependents shown."""

MOST = 150
"""Maximum readable number of boxes."""

_TARGET = "\x00target"


@dataclass(frozen=True, slots=True)
class ImpactedSymbol:
    """A dependent of the target: its distance, its score, and its references to nearer symbols."""

    located: SymbolPlace
    depth: int
    score: float
    references: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Impact:
    """The impact of a change of the target, nearest and strongest first.

    `reached` are the dependents up to the requested depth, without test code; `tests` are of any depth, and
    `helpers` are the other dependents in test files. `depths` counts the dependents of every depth, without
    tests and helpers. If the code is not `complete`, its last ingestion did not finish.
    """

    target: Target
    depth: int
    reached: tuple[ImpactedSymbol, ...]
    tests: tuple[ImpactedSymbol, ...]
    helpers: tuple[ImpactedSymbol, ...]
    depths: dict[int, int]
    memories: Memories
    complete: bool

    @property
    def beyond(self) -> int:
        """The number of dependents beyond the requested depth."""
        return sum(count for depth, count in self.depths.items() if depth > self.depth)


def impact(catalog: Catalog, project: str, name: str, *, depth: int = DEPTH, memories: int = LIMIT) -> Impact:
    """Return the impact of a change of a symbol or file, and the first memories that mention it.

    Naming a class or a file means all that it defines. Raises NotFoundError for a name that nothing has,
    UsageError for one that several have.
    """
    target = target_of(catalog, project, name)
    every = _impacted_symbols(catalog, project, target)
    tested = test_code(catalog.database, project, (one.located for one in every))
    plain = [one for one in every if one.located not in tested]
    tests, helpers = _split_tests([one for one in every if one.located in tested])
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


def _impacted_symbols(catalog: Catalog, project: str, target: Target) -> list[ImpactedSymbol]:
    targets = {one.symbol.qualified for one in target.symbols}
    found = dependents(_edges(catalog, project, targets), targets)
    places: dict[str, SymbolPlace] = {}
    for one in catalog.code.symbols_named(project, (dependent.qualified for dependent in found)):
        places.setdefault(one.symbol.qualified, one)
    return [
        ImpactedSymbol(places[one.qualified], one.depth, one.score, one.references)
        for one in found
        if one.qualified in places
    ]


def _edges(catalog: Catalog, project: str, targets: set[str]) -> list[Edge]:
    """Return all references on the paths to the targets; each symbol is queried once."""
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
    """Return source and target of imports of single members of a module.

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
        if _imports_members_only(edge.target, lines[edge.path, edge.source, edge.line], modules)
    }


def _imports_members_only(module: str, beside: set[str], modules: set[str]) -> bool:
    """Return whether an import statement takes members of a module, rather than the module."""
    if any(is_within(module, other) for other in beside):
        return False
    # A re-exported member has the name of its definition.
    return any(other not in modules or is_within(other, module) for other in beside)


def _split_tests(
    reached: Sequence[ImpactedSymbol],
) -> tuple[tuple[ImpactedSymbol, ...], tuple[ImpactedSymbol, ...]]:
    """Split off the tests, and the nearest helper of each test file without tests."""
    covered = {one.located.path for one in reached if _is_a_test(one)}
    tests: list[ImpactedSymbol] = []
    helpers: list[ImpactedSymbol] = []
    for one in reached:
        if _is_a_test(one) or one.located.path not in covered:
            tests.append(one)
            covered.add(one.located.path)
        else:
            helpers.append(one)
    tests.sort(key=lambda one: (one.depth, not _is_a_test(one), -one.score))
    return tuple(tests), tuple(helpers)


def _is_a_test(one: ImpactedSymbol) -> bool:
    return one.located.symbol.is_test and one.located.symbol.kind is not SymbolKind.MODULE


def picture(found: Impact, *, most: int = MOST) -> Layers:
    """Return a picture with the target and its nearest dependents, at most `most` boxes."""
    inside = {one.symbol.qualified for one in found.target.symbols}
    beside = (*found.tests, *found.helpers)
    every = [*found.reached, *(one for one in beside if one.depth <= found.depth)]
    every.sort(key=lambda one: (one.depth, -one.score, one.located.path, one.located.symbol.line))
    testing = set(beside)
    boxes = [_target(found)]
    arrows: list[Arrow] = []
    drawn = dict.fromkeys(inside, _TARGET)
    for one in every:
        ways: dict[str, dict[str, None]] = {}
        for edge in one.references:
            if edge.target in drawn:
                ways.setdefault(drawn[edge.target], {})[edge.kind.value] = None
        if len(boxes) < most and ways:
            boxes.append(_box(one, is_test=one in testing))
            drawn[one.located.symbol.qualified] = one.located.symbol.qualified
            key = one.located.symbol.qualified
            arrows += [Arrow(key, target, ", ".join(kinds)) for target, kinds in ways.items()]
    deepest = max((box.layer for box in boxes), default=0)
    counts = [sum(box.layer == layer for box in boxes) for layer in range(deepest + 1)]
    names = ["target", *(f"depth {layer} ({counts[layer]})" for layer in range(1, deepest + 1))]
    total, drawn_boxes = sum(found.depths.values()) + len(beside), len(boxes) - 1
    told = "1 symbol depends" if total == 1 else f"{total:,} symbols depend"
    more = "" if total == drawn_boxes else f", {drawn_boxes:,} are drawn"
    return Layers(f"{found.target.name}: {told} on it{more}", boxes, arrows, names)


def _target(found: Impact) -> Box:
    target = found.target
    first = target.symbols[0].symbol if target.symbols else None
    if target.is_file or first is None:
        detail = f"{len(target.symbols):,} symbols"
        return Box(_TARGET, 0, target.name, detail, target.name, Tint.TARGET)
    detail = f"{target.paths[0]}:{first.line}"
    return Box(_TARGET, 0, first.qualified, detail, f"{first.qualified}\n{first.doc}".strip(), Tint.TARGET)


def _box(reached: ImpactedSymbol, *, is_test: bool) -> Box:
    symbol = reached.located.symbol
    place = f"{reached.located.path}:{symbol.line}"
    how = "\n".join(
        f"{edge.kind.value} {edge.target}, {edge.path}:{edge.line}" for edge in reached.references[:8]
    )
    tint = Tint.TEST if is_test else Tint.PLAIN
    tooltip = f"{symbol.qualified}\nscore {reached.score:.3g}\n{how}"
    return Box(symbol.qualified, reached.depth, symbol.qualified, place, tooltip, tint)
