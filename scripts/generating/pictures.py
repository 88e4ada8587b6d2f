"""docs/images: pictures of decay.json and the lifecycle, drawn from their numbers."""

import tempfile
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from generating.tree import Command
from ragmem.charts.model import Axis, Curves, Line, Mark, Row, Scale, Stacks
from ragmem.charts.svg import svg
from ragmem.config.loader import load
from ragmem.config.settings import Settings
from ragmem.domain.lifecycle.ageing import decide_entry
from ragmem.domain.model import Kind, Memory, content_hash
from ragmem.domain.model.lifecycle import Entry, LifecyclePolicy, LifecycleState
from ragmem.services.reporting.time_plots import decay_plot

YEAR = 365
RELEVANCE = 0.6
"""Of the match whose score is drawn."""

WEIGHTS = ((1.0, 0.0), (0.85, 0.15), (0.7, 0.3), (0.5, 0.5), (0.3, 0.7), (0.0, 1.0))
"""Of relevance and recency."""

NEWER = 100
"""Newer memories up to which lives are drawn."""

FACT = "The importer skips rows whose key is empty instead of failing, so the counts differ."
CHATTER = "Perfect! Now let me check the output:"
PARTS = ("young", "reprieved", "connected", "kept for good", "in the archive")


def decay_picture(tree: Command) -> str:
    """Return the recency of each kind over age."""
    del tree  # pictures are no commands
    return svg(decay_plot(_shipped().decay), name="decay")


def score_picture(tree: Command) -> str:
    """Return the score of one match over its age, for each half-life."""
    del tree
    policy = _shipped().decay
    kinds: dict[float, list[str]] = {}
    for kind, days in policy.half_lives_days.items():
        kinds.setdefault(days, []).append(kind.value)
    lines = [
        Line(
            ", ".join(sorted(named)),
            [
                (float(day), policy.score(RELEVANCE, policy.recency(day, days)))
                for day in (0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 7, *range(10, YEAR + 1, 5))
            ],
        )
        for days, named in sorted(kinds.items(), reverse=True)
    ]
    least = RELEVANCE * (1 - policy.max_loss)
    plot = Curves(
        f"Score of a match with relevance {RELEVANCE:g}",
        Axis("age", "days", Scale.LOG),
        Axis("score", least=0.4, most=RELEVANCE),
        lines,
        levels=[Mark(least, f"never below {least:.2f}")],
        note=f"relevance * (1 - {policy.bound:g} * (1 - recency)): age costs {policy.bound:.0%} at most, and"
        f" {policy.bound * policy.fresh_share:.0%} of it within the first days.",
    )
    return svg(plot, name="score")


def weights_picture(tree: Command) -> str:
    """Return the score of one match over its age, for several weights."""
    del tree
    shipped = _shipped().decay
    half_life = shipped.half_life(Kind.GENERAL)
    lines = []
    for semantic, recent in WEIGHTS:
        policy = replace(shipped, semantic_weight=semantic, recency_weight=recent)
        points = [
            (float(day), policy.score(RELEVANCE, policy.recency(day, half_life)))
            for day in (0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 7, *range(10, YEAR + 1, 5))
        ]
        named = f"{semantic:g} / {recent:g}"
        if (semantic, recent) == (shipped.semantic_weight, shipped.recency_weight):
            named += ", as shipped"
        lines.append(Line(named, points))
    plot = Curves(
        f"Score of a match with relevance {RELEVANCE:g}, by weights.semantic / weights.recency",
        Axis("age", "days", Scale.LOG),
        Axis("score", least=0.4, most=1),
        lines,
        note=f"Half-life {half_life:g} days. The more recency weighs, the nearer are the scores of all"
        " relevances to each other, and the more does age decide.",
    )
    return svg(plot, name="weights")


def ageing_picture(tree: Command) -> str:
    """Return what becomes of memories while newer ones come, as the rules decide it."""
    del tree
    policy = LifecyclePolicy()
    rows = [
        ("alone, worthless", _life(CHATTER, policy)),
        ("alone, not worthless", _life(FACT, policy)),
        ("the same, rated bad", _life(FACT, policy, feedback=-1)),
        ("connected", _life(CHATTER, policy, connections=1)),
        ("recalled in 3 sessions", _life(CHATTER, policy, sessions=policy.promote_sessions)),
        ("pinned", _life(CHATTER, policy, pinned=True)),
    ]
    plot = Stacks(
        f"While {NEWER} newer memories come",
        "newer memories",
        PARTS,
        [Row(label, [float(counts[part]) for part in PARTS]) for label, counts in rows],
        f"Looked at every {policy.age_after} newer memories of the project; isolation and the judge"
        " decide, not days.",
        "memory",
    )
    return svg(plot, name="ageing")


def _life(
    text: str,
    policy: LifecyclePolicy,
    *,
    connections: int = 0,
    feedback: int = 0,
    sessions: int = 0,
    pinned: bool = False,
) -> Counter[str]:
    """Return for how many newer memories one is what; gc runs after each of them."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    memory = Memory("m", "notes", "m", text, "", moment, moment, moment, content_hash(text))
    entry = Entry(memory, 0, feedback=feedback, sessions=sessions, pinned=pinned)
    counts: Counter[str] = Counter()
    for newer in range(NEWER):
        decision = decide_entry(entry, newer, connections, policy)
        if decision.action == "archive":
            counts["in the archive"] += NEWER - newer
            break
        if decision.action == "promote":
            entry = replace(entry, life=decision.life or LifecycleState.PROVEN)
        elif decision.action == "reprieve":
            entry = replace(entry, reprieves=entry.reprieves + 1, checked_age=newer)
        if decision.rule in ("young", "connected"):
            counts[decision.rule] += 1
        else:
            counts["reprieved" if decision.rule in ("alone", "reprieved") else "kept for good"] += 1
    return counts


def _shipped() -> Settings:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        return load(environ={"HOME": folder, "RAGMEM_HOME": folder}, home=home, cwd=home)
