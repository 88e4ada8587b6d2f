"""Statistics of moments: how often each injected, how often that was useful, and why it was silent."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ragmem.domain.code.mentions import line_mentions
from ragmem.domain.model import Memory
from ragmem.storage.activity.injections import Injection
from ragmem.storage.activity.moment_counts import MomentCounts
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.edits import edited_paths

MOMENTS = ("start", "prompt", "research", "file", "command", "failure", "subagent")
"""The moments of need, in the order of a session."""

READ_LINES = 400
"""Lines of a told memory in which the names are looked for that a session may touch."""


@dataclass(slots=True)
class MomentFigures:
    """The figures of one moment: how often it injected, how many memories, how often it was silent, and why.

    `judged` texts are those of sessions that were read since; of these `useful` ones told of a file or a
    symbol that the session touched afterwards, or of a memory that was called good.
    """

    moment: str
    told: int = 0
    memories: int = 0
    judged: int = 0
    useful: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def silent(self) -> int:
        """How often it was silent."""
        return self.reasons.total()


def moment_figures(catalog: Catalog, counts: MomentCounts, *, since: datetime) -> list[MomentFigures]:
    """Return the figures of each moment since a time, also of those that never came."""
    found = {moment: MomentFigures(moment) for moment in MOMENTS}
    for moment, reasons in counts.since(since).items():
        found.setdefault(moment, MomentFigures(moment)).reasons += reasons
    texts: dict[tuple[str, str, str, datetime], list[Injection]] = {}
    for one in catalog.injections.list(since=since):
        texts.setdefault((one.event, one.session, one.agent, one.injected_at), []).append(one)
    memories = catalog.memories.get({one.memory for told in texts.values() for one in told} - {""})
    lives = catalog.lives.of(memories)
    later: dict[str, list[Memory]] = {}
    for (moment, session, _, at), told in texts.items():
        figures = found.setdefault(moment, MomentFigures(moment))
        figures.told += 1
        figures.memories += sum(bool(one.memory) for one in told)
        if session not in later:
            later[session] = catalog.memories.beneath("transcripts", catalog.transcripts.paths_of(session))
        since_then = [memory for memory in later[session] if memory.event_time >= at]
        known = [memories[one.memory] for one in told if one.memory in memories]
        rated = [life.feedback for one in known if (life := lives.get(one.id)) and life.feedback]
        if since_then or rated:
            figures.judged += 1
            figures.useful += any(each > 0 for each in rated) or _is_touched(known, since_then)
    return list(found.values())


def _is_touched(told: Iterable[Memory], since_then: Iterable[Memory]) -> bool:
    """Return whether exchanges changed a file that memories name, or name one of their symbols."""
    paths, symbols = set[str](), set[str]()
    for memory in told:
        for line in memory.indexed_text.splitlines()[:READ_LINES]:
            for mention in line_mentions(line, 1):
                (paths if mention.is_path else symbols).add(mention.text)
        paths |= edited_paths(memory.metadata).keys()
    for exchange in since_then:
        changed = edited_paths(exchange.metadata)
        if any(_same_file(one, other) for one in changed for other in paths):
            return True
        if any(len(name) > 5 and name in exchange.indexed_text for name in symbols):
            return True
    return False


def _same_file(one: str, other: str) -> bool:
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def moment_shape(figures: MomentFigures) -> Mapping[str, object]:
    """Return the figures of a moment as JSON fields."""
    return {
        "moment": figures.moment,
        "told": figures.told,
        "memories": figures.memories,
        "judged": figures.judged,
        "useful": figures.useful,
        "silent": figures.silent,
        "reasons": dict(figures.reasons.most_common()),
    }
