"""Put labels as near to their places as they may stand without touching each other."""

from collections.abc import Sequence


def spread(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float | None]:
    """Return for each wanted place one between `low` and `high`, in their order and `gap` apart at least.

    None for those that there is no room for: of too many the first, by their places, have one.
    """
    order = sorted(range(len(wanted)), key=lambda number: (wanted[number], number))
    room = int((high - low) / gap + 1e-9) + 1 if high >= low else 0
    places: list[float | None] = [None] * len(wanted)
    given = [max(low, min(high, wanted[number])) for number in order[:room]]
    for number in range(1, len(given)):
        given[number] = max(given[number], given[number - 1] + gap)
    limit = high
    for number in range(len(given) - 1, -1, -1):
        given[number] = min(given[number], limit)
        limit = given[number] - gap
    for number, place in zip(order, given, strict=False):
        places[number] = max(low, place)
    return places
