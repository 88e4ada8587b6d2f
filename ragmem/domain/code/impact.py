"""Find everything that depends on some symbols, directly or through others.

The score of a dependent is the sum over its paths to a target of 2^-(length - 1), at most 1: a direct
reference gives 1, each path through one other symbol 0.5. Several references of one symbol to another are one
step. Within a cycle a path may only go to symbols nearer to a target, so that all paths are summed in one
pass over the symbols and their references. Without cycles these are all paths.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragmem.domain.code.code import Edge

References = Mapping[str, Mapping[str, list[Edge]]]
"""Source -> target -> the references."""


@dataclass(frozen=True, slots=True)
class Dependent:
    """A symbol that a change affects: its minimum distance to a target, its score (0..1] and its next steps.

    `references` lead to symbols that are one step nearer to a target, in the order of the lines.
    """

    qualified: str
    depth: int
    score: float
    references: tuple[Edge, ...]


def dependents(edges: Iterable[Edge], targets: Collection[str]) -> list[Dependent]:
    """Return the dependents of the targets, without the targets: nearest first, then by score and name.

    Other edges have no effect. The time is linear in the number of edges.
    """
    references_of = _references(edges, targets)
    depths = _depths(references_of, targets)
    scores = _scores(references_of, depths)
    found = [
        Dependent(
            source,
            depth,
            min(1.0, scores[source]),
            tuple(
                sorted(
                    (
                        edge
                        for to, how in references_of[source].items()
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


def _references(edges: Iterable[Edge], targets: Collection[str]) -> References:
    references_of: dict[str, dict[str, list[Edge]]] = defaultdict(dict)
    for edge in edges:
        if edge.source not in targets and edge.source != edge.target:
            references_of[edge.source].setdefault(edge.target, []).append(edge)
    return references_of


def _depths(references_of: References, targets: Collection[str]) -> dict[str, int]:
    """Return the distance of every symbol that leads to a target; a target has 0."""
    referring: dict[str, list[str]] = defaultdict(list)
    for source, reached in references_of.items():
        for target in reached:
            referring[target].append(source)
    depths = dict.fromkeys(targets, 0)
    level = list(depths)
    while level:
        next_level = []
        for target in level:
            for source in referring[target]:
                if source not in depths:
                    depths[source] = depths[target] + 1
                    next_level.append(source)
        level = next_level
    return depths


def _scores(references_of: References, depths: Mapping[str, int]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for cycle in _cycles(references_of, depths):
        within = set(cycle)
        # The scores outside of the cycle are known; those within are computed from near to far.
        for source in sorted(cycle, key=depths.__getitem__):
            scores[source] = sum(
                1.0 if depths[to] == 0 else scores[to] / 2
                for to in references_of[source]
                if to in depths and (to not in within or depths[to] < depths[source])
            )
    return scores


def _cycles(references_of: References, depths: Mapping[str, int]) -> Iterator[Sequence[str]]:
    """Yield the strongly connected components, each after the components that it refers to (Kosaraju)."""
    forth = {
        source: [to for to in references_of[source] if depths.get(to)]
        for source, depth in depths.items()
        if depth
    }
    back: dict[str, list[str]] = {source: [] for source in forth}
    for source, reached in forth.items():
        for to in reached:
            back[to].append(source)
    order: list[str] = []
    seen: set[str] = set()
    for source in back:
        order += _postorder(back, source, seen)
    seen = set()
    for source in reversed(order):
        if source not in seen:
            yield _postorder(forth, source, seen)


def _postorder(graph: Mapping[str, Sequence[str]], start: str, seen: set[str]) -> list[str]:
    """Return the symbols that are reachable and new, each after all symbols reachable from it."""
    if start in seen:
        return []
    seen.add(start)
    order: list[str] = []
    # Iterative, because a chain of calls may be longer than Python's recursion limit.
    trail = [(start, iter(graph[start]))]
    while trail:
        source, waiting = trail[-1]
        to = next((one for one in waiting if one not in seen), None)
        if to is None:
            order.append(source)
            trail.pop()
        else:
            seen.add(to)
            trail.append((to, iter(graph[to])))
    return order
