"""Compute the method resolution order of classes."""

from collections.abc import Mapping, Sequence

Base = int | str
"""A class of the repository, or the name of an external one."""


def resolution_orders(bases: Mapping[int, Sequence[Base]]) -> dict[int, list[Base]]:
    """Return each class with its bases by the C3 linearization, as Python does.

    If there is none (contradictory bases, circles), the order is depth first.
    """
    known: dict[int, list[Base]] = {}
    for one in bases:
        _order(one, bases, known)
    return known


def _order(start: int, bases: Mapping[int, Sequence[Base]], known: dict[int, list[Base]]) -> None:
    """Compute the order of a class after its bases, without recursion."""
    stack, open_now = [start], set()
    while stack:
        one = stack[-1]
        if one in known:
            stack.pop()
            continue
        open_now.add(one)
        missing = [
            base
            for base in bases[one]
            if isinstance(base, int) and base not in known and base not in open_now
        ]
        if missing:
            stack += missing
            continue
        above = [known.get(base, [base]) if isinstance(base, int) else [base] for base in bases[one]]
        merged = _merge([*(list(order) for order in above), list(bases[one])])
        if merged is None:
            merged = list(dict.fromkeys(base for order in above for base in order))
        known[one] = [one, *(base for base in merged if base != one)]
        open_now.discard(one)
        stack.pop()


def _merge(orders: list[list[Base]]) -> list[Base] | None:
    merged: list[Base] = []
    while orders := [order for order in orders if order]:
        for order in orders:
            head = order[0]
            if not any(head in other[1:] for other in orders):
                break
        else:
            return None
        merged.append(head)
        orders = [order[1:] if order[0] == head else order for order in orders]
    return merged
