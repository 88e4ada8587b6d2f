"""Plots over time: recency by age, ages, weeks, growth."""

from collections.abc import Mapping
from datetime import timedelta

from ragmem.charts.model import Axis, Columns, Curves, Layer, Line, Mark, Plot, Strip
from ragmem.domain.model.decay import Decay, exponential_recency
from ragmem.services.reporting.context import LAYERS, ReportContext, largest_sources
from ragmem.storage.memories.report_queries import Timed
from ragmem.storage.sql.rows import from_stamp, to_stamp

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
MONTH = timedelta(days=30)

LONGEST = timedelta(days=3650)
"""Maximum length of the growth curve."""

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
"""Classes of ages, each below a number of days; older ones are in one more class."""

MICROSECOND = timedelta(microseconds=1)
"""The unit of stamps."""

WEEKS = 53
"""Number of weeks of the strip."""

POINTS = 60
"""Number of steps of a curve."""

TIMESTAMPS: tuple[tuple[str, Timed], ...] = (("by event", "event_at"), ("by storing", "created_at"))


def decay(context: ReportContext) -> Plot:
    """Return the recency of memories of each kind by age, with the half-lives."""
    return decay_plot(context.decay)


def decay_plot(policy: Decay) -> Curves:
    """Return the recency for the given numbers of decay.json."""
    longest = max(policy.half_lives_days.values())
    # The recency of fresh memories falls within days.
    days = sorted({0.5, 1, 1.5, 2, 3, 4} | {longest * 2 * step / POINTS for step in range(POINTS + 1)})
    halves: dict[float, list[str]] = {}
    for kind, half in policy.half_lives_days.items():
        halves.setdefault(half, []).append(kind.value)
    lines = [
        Line(", ".join(sorted(kinds)), [(day, exponential_recency(day, half)) for day in days])
        for half, kinds in sorted(halves.items(), reverse=True)
    ]
    used = Line("as ranked", [(day, policy.recency(day, longest)) for day in days])
    summary = ", ".join(f"{' and '.join(sorted(kinds))} {half:g} d" for half, kinds in sorted(halves.items()))
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
        f"Half-lives of decay.json: {summary}. Ranking halves {policy.fresh_share:.0%} of the recency every"
        f" {policy.fresh_days:g} d (the line as ranked, of the longest half-life), and a match of any age"
        f" keeps {1 - policy.max_loss:.0%} of its score. Scores below the floor are not shown.",
    )


def ages(context: ReportContext) -> Plot:
    """Return the ages of the memories by the time of their event, per source."""
    found = context.figures.ages([to_stamp(context.now - timedelta(days=days)) for _, days in AGES])
    names = [*(f"<{label}" for label, _ in AGES), f">{AGES[-1][0]}"]
    largest = largest_sources(found)
    titles = context.source_names(largest)
    own = largest if len(largest) <= LAYERS + 1 else largest[:LAYERS]
    layers = [Layer(titles[one], [found.get((one, place), 0) for place in range(len(names))]) for one in own]
    if rest := [one for one in largest if one not in own]:
        counts = [sum(found.get((one, place), 0) for one in rest) for place in range(len(names))]
        layers.append(Layer(f"{len(rest)} others", counts))
    return Columns(
        "Ages of the memories",
        Axis("age, by the time of the event"),
        Axis("memories"),
        names,
        layers,
        note=_median_note(context),
    )


def _median_note(context: ReportContext) -> str:
    middle = context.figures.middle("event_at")
    if middle is None:
        return ""
    days = (context.now - from_stamp(middle)) / DAY
    if days < 0:
        return "Half of them are in the future."
    return f"Half of them are older than {f'{days:,.0f} d' if days >= 2 else f'{days * 24:,.0f} h'}."


def weeks(context: ReportContext) -> Plot:
    """Return the number of memories by the week of their event."""
    begin = context.now - WEEKS * WEEK
    counts = context.figures.spans("event_at", WEEK // MICROSECOND, origin=to_stamp(begin))
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


def growth(context: ReportContext) -> Plot:
    """Return the number of memories over time: by event, and by storing."""
    figures = context.figures
    extents = [extent for _, timed in TIMESTAMPS if (extent := figures.extent(timed))]
    x, y = Axis("days, 0 is now"), Axis("memories", least=0)
    if not extents:
        return Curves("Growth", x, y, [])
    first = max(min(begin for begin, _ in extents), to_stamp(context.now - LONGEST))
    last = max(to_stamp(context.now), first + POINTS)
    step = -(-(last - first) // POINTS)
    lines = [
        Line(name, _cumulate(context, figures.spans(timed, step, origin=first), first, step))
        for name, timed in TIMESTAMPS
    ]
    begin = to_stamp(context.now - MONTH)
    month = figures.spans("created_at", to_stamp(context.now) - begin + 1, origin=begin).get(0, 0)
    return Curves("Growth", x, y, lines, note=f"{month:,} were stored within the last 30 days.")


def _cumulate(
    context: ReportContext, counts: Mapping[int, int], first: int, step: int
) -> list[tuple[float, float]]:
    total, points = counts.get(-1, 0), []
    for number in range(POINTS):
        total += counts.get(number, 0)
        end = first + (number + 1) * step
        points.append((min(0.0, (end - to_stamp(context.now)) / (DAY / MICROSECOND)), float(total)))
    return points
