"""Describe a gc plan by cluster: what stays, what is hidden behind it, and how the two differ."""

from collections import defaultdict
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from ragmem.domain.model import Memory, digest
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import NotFoundError
from ragmem.services.lifecycle.items import Item, Plan
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memories import MIN_PREFIX

STATEMENT = 240
"""Characters of a common statement that are shown."""

MOST_DIFFERENCES = 12
"""Differences of two texts that are listed; `--show` has all."""

MOST_LISTED = 50
"""Hidden memories of a cluster in a list of clusters."""

GAP = "\u2026"
"""Stands in a common statement where the texts differ."""

MOST_WORDS = 3000
"""Words of each text that are compared, because the time grows with their product."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of words that two texts share, or where they differ; a side without words there is ""."""

    first: str
    other: str

    @property
    def same(self) -> bool:
        """Return whether both texts have these words."""
        return self.first == self.other


def word_diff(first: str, other: str) -> list[Segment]:
    """Return the segments of two texts in order; white space makes no difference.

    Of very long texts only the beginnings are compared.
    """
    mine, theirs = first.split()[:MOST_WORDS], other.split()[:MOST_WORDS]
    steps = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    return [
        Segment(" ".join(mine[start:end]), " ".join(theirs[begin:stop]))
        for _, start, end, begin, stop in steps
    ]


@dataclass(frozen=True, slots=True)
class HiddenMemory:
    """A memory behind another one, which is `kept`, and its decision."""

    item: Item
    memory: Memory
    kept: Memory
    redactor: Redactor

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of the text that stays and of its own, without secrets."""
        return _segments(self.kept.text, self.memory.text, self.redactor)

    @property
    def differences(self) -> list[Segment]:
        """Where its words are not those of the memory that stays; what only that one says is left out."""
        return [one for one in self.segments if not one.same and one.other]

    @property
    def words_more(self) -> int:
        """The number of words that only the memory that stays has."""
        return sum(len(one.first.split()) for one in self.segments if not one.other)


@dataclass(frozen=True, slots=True)
class PlanCluster:
    """Memories that one rule hides behind `kept`; the same memories have the same id in each plan."""

    action: str
    rule: str
    kept: Memory
    hidden: tuple[HiddenMemory, ...] = field(default_factory=tuple)

    @property
    def id(self) -> str:
        """The id of the cluster, for `gc --show`."""
        return digest(self.rule, self.kept.id, *sorted(one.memory.id for one in self.hidden))[:8]

    @property
    def statement(self) -> str:
        """What the first of the hidden memories shares with the one that stays, in one line."""
        shared = f" {GAP} ".join(one.first for one in self.hidden[0].segments if one.same)
        return shared if len(shared) <= STATEMENT else shared[:STATEMENT].rpartition(" ")[0] + f" {GAP}"

    def document(self, *, whole: bool = False) -> dict[str, Any]:
        """Return the cluster as JSON fields; `whole` adds the texts and all segments, of all memories."""
        return {
            "id": self.id,
            "action": self.action,
            "rule": self.rule,
            "statement": self.statement,
            "size": len(self.hidden),
            "kept": _document(self.kept, whole=whole),
            "hidden": [
                {
                    **_document(one.memory, whole=whole),
                    "reason": one.item.reason,
                    "differs": [[part.other, part.first] for part in one.differences[:MOST_DIFFERENCES]],
                    "words_more": one.words_more,
                    **({"diff": [[part.first, part.other] for part in one.segments]} if whole else {}),
                }
                for one in self.hidden[: None if whole else MOST_LISTED]
            ],
        }


def _document(memory: Memory, *, whole: bool) -> dict[str, Any]:
    return {
        "id": memory.short_id,
        "title": memory.title or memory.uri,
        "at": f"{memory.event_time:%Y-%m-%dT%H:%M:%SZ}",
        "source": memory.source,
        **({"text": memory.text} if whole else {}),
    }


def clusters_of(catalog: Catalog, plan: Plan, *, most: int | None = None) -> list[PlanCluster]:
    """Return the clusters of a plan by rule, the largest first; at most `most`.

    A cluster has all memories that one rule hides behind the same one. A decision without another memory is
    in none.
    """
    groups: dict[tuple[str, str, str], list[Item]] = defaultdict(list)
    for item in plan.active_items():
        if item.others and item.action not in {"promote", "reprieve"}:
            groups[item.action, item.rule, item.others[0]].append(item)
    chosen = sorted(groups.items(), key=lambda one: (one[0][:2], -len(one[1]), one[0]))[:most]
    wanted = {key for (_, _, kept), items in chosen for key in (kept, *(item.id for item in items))}
    known = catalog.memories.get(wanted)
    return [
        PlanCluster(
            action,
            rule,
            known[kept],
            tuple(
                HiddenMemory(item, known[item.id], known[kept], catalog.redactor)
                for item in items
                if item.id in known
            ),
        )
        for (action, rule, kept), items in chosen
        if kept in known
    ]


@lru_cache(maxsize=1024)
def _segments(kept: str, hidden: str, redactor: Redactor) -> tuple[Segment, ...]:
    # Redact before the comparison: a part of a secret is not recognized.
    return tuple(word_diff(redactor.redact(kept)[0], redactor.redact(hidden)[0]))


def show(catalog: Catalog, plan: Plan, wanted: str) -> tuple[list[Item], list[PlanCluster]]:
    """Return the decisions and the clusters of a plan that an id means.

    That is the id of a cluster, or the beginning of the id of a memory: then all that is decided about it,
    and all that is hidden behind it. Raises NotFoundError for anything else.
    """
    asked = wanted.strip().lower()
    clusters = clusters_of(catalog, plan)
    chosen = [one for one in clusters if one.id == asked]
    if chosen:
        return [], chosen
    items = [item for item in plan.items if len(asked) >= MIN_PREFIX and item.id.startswith(asked)]
    if not items:
        raise NotFoundError(
            f'the plan has neither a cluster nor a memory "{wanted}"',
            hint="`ragmem gc --dry-run` lists the clusters; `ragmem gc --dry-run --all` the memories",
        )
    if len({item.id for item in items}) > 1:
        raise NotFoundError(
            f'several memories of the plan have ids that start with "{wanted}"', hint="use a longer prefix"
        )
    about = items[0].id
    return items, [
        one for one in clusters if about == one.kept.id or about in {part.memory.id for part in one.hidden}
    ]
