"""Find near copies among the memories of one session, each group of which may become one memory."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ragmem.domain.lifecycle.templates import mask_values, own_title
from ragmem.domain.model import Scope
from ragmem.domain.model.lifecycle import Entry
from ragmem.domain.text.blocks import units

FEWEST_WORDS = 6
"""Minimum words of a memory that can be a copy: "Looks good." depends on its context."""

Stated = tuple[str, ...]
"""The words of a text, statement by statement, with run values masked (`templates.mask_values`)."""


def near_copies(entries: Iterable[Entry], *, minimum: int) -> list[tuple[Entry, ...]]:
    """Return the groups of at least `minimum` memories in which one contains all the others.

    All of a group are of one session, source and scope, and `mergeable`; none is in two groups. What the
    others say stands in that one without a gap, word for word but for the marks of a run: a memory with
    another name, number, path or word joins no group. Each group comes by event time. The order of the
    entries does not matter.
    """
    sessions: dict[tuple[Scope, str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.is_mergeable:
            sessions[entry.scope, entry.memory.source, entry.session].append(entry)
    found = [group for members in sessions.values() for group in _groups(members) if len(group) >= minimum]
    return sorted(found, key=lambda group: group[0].id)


def _groups(members: Sequence[Entry]) -> Iterable[tuple[Entry, ...]]:
    stated = {entry.id: _statement_keys(entry) for entry in members}
    # Longest first: it takes all memories that it contains, and the next one takes from the rest.
    left = sorted(members, key=lambda entry: (-len(stated[entry.id]), *age_order(entry)))
    while left:
        whole, *others = left
        inside = [entry for entry in others if _contains(stated[whole.id], stated[entry.id])]
        taken = {entry.id for entry in inside}
        left = [entry for entry in others if entry.id not in taken]
        yield tuple(sorted((whole, *inside), key=age_order))


def _statement_keys(entry: Entry) -> Stated:
    title = own_title(entry.memory)
    text = entry.text
    return (*([title] if title else []), *(mask_values(text[start:end]) for _, start, end in units(text)))


def _contains(whole: Stated, part: Stated) -> bool:
    """Tell whether the whole contains all statements of the part, contiguous and in order."""
    size = len(part)
    enough = sum(len(one.split()) for one in part) >= FEWEST_WORDS
    return enough and any(whole[at : at + size] == part for at in range(len(whole) - size + 1))


def age_order(entry: Entry) -> tuple[float, int, str]:
    """Return a sort key: by event time, then in the order of insertion."""
    return entry.memory.event_time.timestamp(), entry.number, entry.id
