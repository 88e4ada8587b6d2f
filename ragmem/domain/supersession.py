"""Put a superseded memory behind the one that replaces it, as far as their metadata tells."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from ragmem.domain.model import Match, Memory
from ragmem.domain.ranking import Collapsed

REPLACES = ("supersedes", "replaces", "obsoletes")
REPLACED_BY = ("superseded_by", "superseded-by", "replaced_by", "replaced-by", "obsoleted_by")
_NAME = re.compile(r"[^\s,;\[\]\"']+")
MIN_ID = 4
"""Characters of an id that name a memory, as everywhere."""

MIN_NAME = 3
"""A shorter file name ("a.md" without its ending) names nothing for sure."""


def declared(metadata: Mapping[str, str], keys: Sequence[str] = REPLACES) -> tuple[str, ...]:
    """Return the ids, URIs and file names that stand under any of the keys, each once."""
    return tuple(dict.fromkeys(name for key in keys for name in _NAME.findall(metadata.get(key, ""))))


def names(reference: str, memory: Memory) -> bool:
    """Tell whether a reference names a memory: by its id or the start of it, its URI, or its file's name.

    A file name may lack its folders and its ending.
    """
    if len(reference) >= MIN_ID and memory.id.startswith(reference.lower()):
        return True
    if reference == memory.uri:
        return True
    path, wanted = memory.uri.partition("#")[0], reference.partition("#")[0].removeprefix("./")
    stem = path.rpartition("/")[2].rpartition(".")[0]
    return len(wanted) >= MIN_NAME and (
        path.endswith(f"/{wanted}") or (wanted == stem and "#" not in memory.uri)
    )


def direct_successors(memories: Sequence[Memory]) -> dict[str, str]:
    """Return id of a superseded memory -> id of the one that replaces it, as these memories tell.

    Only memories of one project replace each other. Of several that replace the same one the latest counts,
    by event time. Memories that are said to replace each other, in a circle, are all returned.
    """
    telling = [
        (memory, said, replaced)
        for memory in memories
        if memory.metadata
        and any((said := declared(memory.metadata), replaced := declared(memory.metadata, REPLACED_BY)))
    ]
    if not telling:
        return {}
    find = _Named(memories)
    direct: dict[str, Memory] = {}
    for memory, said, replaced in telling:
        pairs = [(older, memory) for reference in said for older in find(reference)]
        pairs += [(memory, newer) for reference in replaced for newer in find(reference)]
        for older, newer in pairs:
            before = direct.get(older.id)
            if (
                newer.id != older.id
                and newer.scope.project == older.scope.project
                and (before is None or (newer.event_time, newer.id) > (before.event_time, before.id))
            ):
                direct[older.id] = newer
    return {older: newer.id for older, newer in direct.items()}


class _Named:
    """Find the memories that a reference names without looking at each of them."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._sorted = sorted(memories, key=lambda memory: memory.id)
        self._ids = [memory.id for memory in self._sorted]
        self._files: dict[str, list[Memory]] = defaultdict(list)
        for memory in memories:
            file = memory.uri.partition("#")[0].rpartition("/")[2]
            for name in {file, file.rpartition(".")[0]}:
                self._files[name].append(memory)

    def __call__(self, reference: str) -> list[Memory]:
        """Return them in no order, each once."""
        wanted = reference.lower()
        start = bisect_left(self._ids, wanted)
        near = self._sorted[start : bisect_left(self._ids, wanted + "\x7f")] if len(wanted) >= MIN_ID else []
        file = reference.partition("#")[0].rpartition("/")[2]
        found = {memory.id: memory for memory in chain(near, self._files.get(file, ()))}
        return [memory for memory in found.values() if names(reference, memory)]


def successors(memories: Sequence[Memory]) -> dict[str, str]:
    """Return id of a superseded memory -> id of the last one that replaces it, among these memories.

    See `direct_successors`; where memories are said to replace each other, in a circle, none of them does.
    """
    direct = direct_successors(memories)
    last: dict[str, str] = {}
    for key in direct:
        seen = {key}
        place = key
        while place in direct and direct[place] not in seen:
            place = direct[place]
            seen.add(place)
        if place not in direct:
            last[key] = place
    return last


def behind_successors(groups: Sequence[Collapsed]) -> list[Collapsed]:
    """Return the groups with each superseded memory behind the one that replaces it, best first.

    The successor takes the better score of the two (`superseded` among its terms tells it), and its place,
    also where it stood behind the older one because it says nearly the same. A superseded memory whose
    successor was not found stays where it is. No match is lost or doubled.
    """
    last = successors([match.memory for group in groups for match in (group.match, *group.duplicates)])
    headed = [_headed_by_successor(group, last) for group in groups]
    home = {
        match.memory.id: at for at, group in enumerate(headed) for match in (group.match, *group.duplicates)
    }
    joined = {at: group for at, group in enumerate(headed) if group.match.memory.id not in last}
    for group in headed:
        if group.match.memory.id in last:
            at = home[last[group.match.memory.id]]
            before = joined[at]
            joined[at] = Collapsed(
                _raised(before.match, group.match),
                (*before.duplicates, group.match, *group.duplicates),
            )
    return sorted(joined.values(), key=lambda group: (-group.match.score, group.match.memory.id))


def _headed_by_successor(group: Collapsed, last: Mapping[str, str]) -> Collapsed:
    """Return a group with its best match that nothing replaces in front; unchanged where there is none."""
    matches = (group.match, *group.duplicates)
    head = next((match for match in matches if match.memory.id not in last), group.match)
    if head is group.match:
        return group
    return Collapsed(_raised(head, group.match), tuple(match for match in matches if match is not head))


def _raised(match: Match, older: Match) -> Match:
    """Return a match with the score of the older one, if that is better."""
    if older.score <= match.score:
        return match
    return replace(match, score=older.score, terms={**match.terms, "superseded": older.score})
