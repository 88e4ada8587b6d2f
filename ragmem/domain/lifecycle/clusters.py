"""Group connected memories around the best connected one, so that no chain joins what is far apart."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from ragmem.domain.lifecycle.connections import CONNECTED
from ragmem.domain.model.lifecycle import Connection


def star_clusters(
    connections: Iterable[Connection], among: Collection[str], *, minimum: int
) -> list[tuple[str, ...]]:
    """Return clusters of at least `minimum` of the ids in `among`, the largest first.

    Each begins with its centre, followed by the ids that are directly connected with that, strongest first.
    The id with the greatest sum of strengths is a centre and takes all of its neighbours; of those left the
    next one is, and so on. No id is in two clusters. The order of the connections does not matter.
    """
    near: dict[str, dict[str, float]] = defaultdict(dict)
    for one in connections:
        if one.strength >= CONNECTED and one.first in among and one.second in among:
            near[one.first][one.second] = near[one.second][one.first] = one.strength
    taken: set[str] = set()
    found = []
    for centre in sorted(near, key=lambda key: (-sum(near[key].values()), key)):
        if centre in taken:
            continue
        around = sorted(near[centre].keys() - taken, key=lambda key: (-near[centre][key], key))
        if 1 + len(around) >= minimum:
            taken.update((centre, *around))
            found.append((centre, *around))
    return sorted(found, key=lambda cluster: (-len(cluster), cluster[0]))
