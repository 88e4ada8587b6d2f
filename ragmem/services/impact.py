"""What a change of a symbol or file reaches: its dependents, the tests among them, and the memories of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.code import Located
from ragmem.domain.code import Edge, SymbolKind
from ragmem.domain.impact import Dependent, dependents
from ragmem.services.code_links import Memories, memories_of
from ragmem.services.code_targets import Target, target_of

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

    `reached` goes as deep as was asked, without tests; `tests` are of any depth. `depths` counts all that is
    reached at each depth, without tests, also beyond.
    """

    target: Target
    depth: int
    reached: tuple[Reached, ...]
    tests: tuple[Reached, ...]
    depths: dict[int, int]
    memories: Memories

    @property
    def beyond(self) -> int:
        """How many symbols lie deeper than was asked."""
        return sum(count for depth, count in self.depths.items() if depth > self.depth)


def impact(catalog: Catalog, project: str, name: str, *, depth: int = DEPTH) -> Impact:
    """Return what a change of a symbol or file reaches, and the memories that mention it or its files.

    Naming a class or a file means all that it defines. Raises NotFoundError for a name that nothing has,
    UsageError for one that several have.
    """
    target = target_of(catalog, project, name)
    every = _reached(catalog, project, target)
    plain = [one for one in every if not one.located.symbol.is_test]
    return Impact(
        target,
        depth,
        tuple(one for one in plain if one.depth <= depth),
        tuple(_covering([one for one in every if one.located.symbol.is_test])),
        dict(sorted(Counter(one.depth for one in plain).items())),
        memories_of(catalog, project, symbols=target.symbols, paths=target.paths),
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
    edges: list[Edge] = []
    seen, waiting = set(targets), sorted(targets)
    while waiting:
        found = catalog.code.edges_to(project, waiting)
        edges += found
        waiting = sorted({edge.source for edge in found} - seen)
        seen.update(waiting)
    return edges


def _covering(tests: Sequence[Reached]) -> list[Reached]:
    """Return the tests without modules that only import what their own tests use."""
    nearest: dict[str, int] = {}
    for one in tests:
        if one.located.symbol.kind is not SymbolKind.MODULE:
            nearest.setdefault(one.located.path, one.depth)
    return [
        one
        for one in tests
        if one.located.symbol.kind is not SymbolKind.MODULE or one.located.path not in nearest
    ]
