"""Find everything that depends on some symbols, directly or through others.

The score of a dependent is the sum over its paths to a target of 2^-(length - 1), 1 at most: a direct
reference gives 1, each of two ways round over one other symbol 0.5. Several references of one symbol to
another are one step. Where symbols refer to each other in a circle, a path leads on within the circle only to
what is nearer to a target: so no path turns round, and all are summed in one pass over the symbols and their
references. Where nothing goes in a circle, these are all the paths that there are.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragmem.domain.code.code import Edge

Refers = Mapping[str, Mapping[str, list[Edge]]]
"""Source -> what it refers to -> how."""


@dataclass(frozen=True, slots=True)
class Dependent:
    """A symbol that a change affects: its least distance to a target, its score (0..1] and its next steps.

    `references` lead to symbols that are one step nearer to a target, in the order of the lines.
    """

    qualified: str
    depth: int
    score: float
    references: tuple[Edge, ...]


def dependents(edges: Iterable[Edge], targets: Collection[str]) -> list[Dependent]:
    """Return the dependents of the targets, without the targets: nearest first, then by score and name.

    Edges that lead elsewhere have no effect. The time is linear in the number of edges.
    """
    refers = _refers(edges, targets)
    depths = _depths(refers, targets)
    scores = _scores(refers, depths)
    found = [
        Dependent(
            source,
            depth,
            min(1.0, scores[source]),
            tuple(
                sorted(
                    (
                        edge
                        for to, how in refers[source].items()
                        if depths.get(to) == depth - 1
                        for edge in how
                    ),
                    key=lambda edge: (edge.path, edge.line, edge.target, edge.kind),
                )
            ),
        )
        for source, depth in depths.items()
        if depth
    ]
    return sorted(found, key=lambda one: (one.depth, -one.score, one.qualified))


def _refers(edges: Iterable[Edge], targets: Collection[str]) -> Refers:
    refers: dict[str, dict[str, list[Edge]]] = defaultdict(dict)
    for edge in edges:
        if edge.source not in targets and edge.source != edge.target:
            refers[edge.source].setdefault(edge.target, []).append(edge)
    return refers


def _depths(refers: Refers, targets: Collection[str]) -> dict[str, int]:
    """Return the distance of every symbol that leads to a target; a target has 0."""
    referring: dict[str, list[str]] = defaultdict(list)
    for source, reached in refers.items():
        for target in reached:
            referring[target].append(source)
    depths = dict.fromkeys(targets, 0)
    level = list(depths)
    while level:
        coming = []
        for target in level:
            for source in referring[target]:
                if source not in depths:
                    depths[source] = depths[target] + 1
                    coming.append(source)
        level = coming
    return depths


def _scores(refers: Refers, depths: Mapping[str, int]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for circle in _circles(refers, depths):
        within = set(circle)
        # The scores outside of the circle are known; those within are computed from near to far.
        for source in sorted(circle, key=depths.__getitem__):
            scores[source] = sum(
                1.0 if depths[to] == 0 else scores[to] / 2
                for to in refers[source]
                if to in depths and (to not in within or depths[to] < depths[source])
            )
    return scores


def _circles(refers: Refers, depths: Mapping[str, int]) -> Iterator[Sequence[str]]:
    """Yield the strongly connected components, each after the components that it refers to (Kosaraju)."""
    forth = {
        source: [to for to in refers[source] if depths.get(to)] for source, depth in depths.items() if depth
    }
    back: dict[str, list[str]] = {source: [] for source in forth}
    for source, reached in forth.items():
        for to in reached:
            back[to].append(source)
    left: list[str] = []
    seen: set[str] = set()
    for source in back:
        left += _postorder(back, source, seen)
    seen = set()
    for source in reversed(left):
        if source not in seen:
            yield _postorder(forth, source, seen)


def _postorder(graph: Mapping[str, Sequence[str]], start: str, seen: set[str]) -> list[str]:
    """Return the symbols that are reachable and new, each after all symbols reachable from it."""
    if start in seen:
        return []
    seen.add(start)
    left: list[str] = []
    # Iterative, because a chain of calls may be longer than Python's recursion limit.
    trail = [(start, iter(graph[start]))]
    while trail:
        source, waiting = trail[-1]
        to = next((one for one in waiting if one not in seen), None)
        if to is None:
            left.append(source)
            trail.pop()
        else:
            seen.add(to)
            trail.append((to, iter(graph[to])))
    return left
