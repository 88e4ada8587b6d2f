"""Find memories of one session that say the same once more: those that may become one memory each."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ragmem.domain.lifecycle.templates import masked, own_title
from ragmem.domain.model import Scope
from ragmem.domain.model.lifecycle import Entry
from ragmem.domain.text.blocks import units

FEWEST_WORDS = 6
"""Words that a memory has at least to say the same as another: "Looks good." depends on where it stands."""

Stated = tuple[str, ...]
"""What a text states, statement by statement, without the marks of a run (`templates.masked`)."""


def near_copies(entries: Iterable[Entry], *, minimum: int) -> list[tuple[Entry, ...]]:
    """Return the groups of so many memories or more of which one says all that the others say.

    All of a group are of one session, source and scope, and `mergeable`; none is in two groups. What the
    others say stands in that one without a gap, word for word but for the marks of a run: a memory with
    another name, number, path or word joins no group. Each group comes by event time. The order of the
    entries does not matter.
    """
    sessions: dict[tuple[Scope, str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.mergeable:
            sessions[entry.scope, entry.memory.source, entry.session].append(entry)
    found = [group for members in sessions.values() for group in _groups(members) if len(group) >= minimum]
    return sorted(found, key=lambda group: group[0].id)


def _groups(members: Sequence[Entry]) -> Iterable[tuple[Entry, ...]]:
    stated = {entry.id: _stated(entry) for entry in members}
    # What says most first: it takes in all that it says, and the next one what is left.
    left = sorted(members, key=lambda entry: (-len(stated[entry.id]), *_when(entry)))
    while left:
        whole, *others = left
        inside = [entry for entry in others if _holds(stated[whole.id], stated[entry.id])]
        taken = {entry.id for entry in inside}
        left = [entry for entry in others if entry.id not in taken]
        yield tuple(sorted((whole, *inside), key=_when))


def _stated(entry: Entry) -> Stated:
    title = own_title(entry.memory)
    text = entry.text
    return (*([title] if title else []), *(masked(text[start:end]) for _, start, end in units(text)))


def _holds(whole: Stated, part: Stated) -> bool:
    """Tell whether all of a part stands in the whole, in its order and without a gap."""
    size = len(part)
    enough = sum(len(one.split()) for one in part) >= FEWEST_WORDS
    return enough and any(whole[at : at + size] == part for at in range(len(whole) - size + 1))


def _when(entry: Entry) -> tuple[float, int, str]:
    return entry.memory.event_time.timestamp(), entry.number, entry.id
