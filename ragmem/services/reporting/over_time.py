"""How a memory looks over time: recency by age, ages, weeks, growth."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta

from ragmem.charts.model import Axis, Columns, Curves, Layer, Line, Mark, Plot, Strip
from ragmem.domain.model.decay import Decay, exponential_recency
from ragmem.services.reporting.reading import LAYERS, ReportReader
from ragmem.storage.memories.report_queries import Timed
from ragmem.storage.sql.rows import from_stamp, to_stamp

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
MONTH = timedelta(days=30)

LONGEST = timedelta(days=3650)
"""What the curve of growth reaches back at most."""

AGES = (
    ("1 d", 1),
    ("1 w", 7),
    ("1 mo", 30),
    ("3 mo", 91),
    ("6 mo", 182),
    ("1 y", 365),
    ("2 y", 730),
    ("5 y", 1826),
)
"""Classes of ages: below so many days; what is older is in one more."""

MICROSECOND = timedelta(microseconds=1)
"""What stamps count."""

WEEKS = 53
"""Weeks of the strip."""

POINTS = 60
"""Steps of a curve over time."""

TIMED: tuple[tuple[str, Timed], ...] = (("by event", "event_at"), ("by storing", "created_at"))


def decay(reading: ReportReader) -> Plot:
    """Return how near memories of each kind are by their age, with the half-lives."""
    return decay_plot(reading.decay)


def decay_plot(policy: Decay) -> Curves:
    """Return the same of some numbers of decay.json."""
    longest = max(policy.half_lives_days.values())
    # What is fresh falls within days.
    days = sorted({0.5, 1, 1.5, 2, 3, 4} | {longest * 2 * step / POINTS for step in range(POINTS + 1)})
    halves: dict[float, list[str]] = {}
    for kind, half in policy.half_lives_days.items():
        halves.setdefault(half, []).append(kind.value)
    lines = [
        Line(", ".join(sorted(kinds)), [(day, exponential_recency(day, half)) for day in days])
        for half, kinds in sorted(halves.items(), reverse=True)
    ]
    used = Line("as ranked", [(day, policy.recency(day, longest)) for day in days])
    told = ", ".join(f"{' and '.join(sorted(kinds))} {half:g} d" for half, kinds in sorted(halves.items()))
    return Curves(
        "Recency over age",
        Axis("age", "days", least=0),
        Axis("recency", least=0, most=1),
        [*lines, used],
        [
            Mark(half, f"{half:g} d: half of {', '.join(sorted(kinds))}")
            for half, kinds in sorted(halves.items())
        ],
        [Mark(policy.min_score, f"floor {policy.min_score:g}")],
        f"Half-lives of decay.json: {told}. Ranking halves {policy.fresh_share:.0%} of the recency every"
        f" {policy.fresh_days:g} d (the line as ranked, of the longest half-life), and a match of any age"
        f" keeps {1 - policy.most_lost:.0%} of its score. Scores below the floor are not shown.",
    )


def ages(reading: ReportReader) -> Plot:
    """Return how old the memories are by the time of their event, per source."""
    found = reading.figures.ages([to_stamp(reading.now - timedelta(days=days)) for _, days in AGES])
    totals = Counter[str]()
    for (source, _), count in found.items():
        totals[source] += count
    names = [*(f"<{label}" for label, _ in AGES), f">{AGES[-1][0]}"]
    told = reading.source_names([*totals])
    largest = sorted(totals, key=lambda source: (-totals[source], source))
    own = largest if len(largest) <= LAYERS + 1 else largest[:LAYERS]
    layers = [Layer(told[one], [found.get((one, place), 0) for place in range(len(names))]) for one in own]
    if rest := [one for one in largest if one not in own]:
        counts = [sum(found.get((one, place), 0) for one in rest) for place in range(len(names))]
        layers.append(Layer(f"{len(rest)} others", counts))
    return Columns(
        "Ages of the memories",
        Axis("age, by the time of the event"),
        Axis("memories"),
        names,
        layers,
        note=_middle_told(reading),
    )


def _middle_told(reading: ReportReader) -> str:
    middle = reading.figures.middle("event_at")
    if middle is None:
        return ""
    days = (reading.now - from_stamp(middle)) / DAY
    if days < 0:
        return "Half of them lie ahead."
    return f"Half of them are older than {f'{days:,.0f} d' if days >= 2 else f'{days * 24:,.0f} h'}."


def weeks(reading: ReportReader) -> Plot:
    """Return how many memories happened in each of the last weeks."""
    begin = reading.now - WEEKS * WEEK
    counts = reading.figures.spans("event_at", WEEK // MICROSECOND, origin=to_stamp(begin))
    cells = [(f"{begin + number * WEEK:%Y-%m-%d}", counts.get(number, 0)) for number in range(WEEKS)]
    total = sum(count for _, count in cells)
    before = counts.get(-1, 0)
    return Strip(
        "The last year by week",
        "memories",
        cells,
        note=f"{total:,} in {WEEKS} weeks by the time of the event, {before:,} before; a cell is"
        " the week that begins on its day.",
    )


def growth(reading: ReportReader) -> Plot:
    """Return how many memories there were over time: by their events, and by when they were stored."""
    figures = reading.figures
    extents = [extent for _, timed in TIMED if (extent := figures.extent(timed))]
    x, y = Axis("days, 0 is now"), Axis("memories", least=0)
    if not extents:
        return Curves("Growth", x, y, [])
    first = max(min(begin for begin, _ in extents), to_stamp(reading.now - LONGEST))
    last = max(to_stamp(reading.now), first + POINTS)
    step = -(-(last - first) // POINTS)
    lines = [
        Line(name, _summed(reading, figures.spans(timed, step, origin=first), first, step))
        for name, timed in TIMED
    ]
    begin = to_stamp(reading.now - MONTH)
    month = figures.spans("created_at", to_stamp(reading.now) - begin + 1, origin=begin).get(0, 0)
    return Curves("Growth", x, y, lines, note=f"{month:,} were stored within the last 30 days.")


def _summed(
    reading: ReportReader, counts: Mapping[int, int], first: int, step: int
) -> list[tuple[float, float]]:
    total, points = counts.get(-1, 0), []
    for number in range(POINTS):
        total += counts.get(number, 0)
        end = first + (number + 1) * step
        points.append((min(0.0, (end - to_stamp(reading.now)) / (DAY / MICROSECOND)), float(total)))
    return points
