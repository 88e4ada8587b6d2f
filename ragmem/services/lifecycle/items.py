"""The parts of a gc plan: one item for each memory, and the cards to write."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragmem.domain.lifecycle.ageing import COLD
from ragmem.domain.model.lifecycle import Action, Decision, Entry, LifecycleState
from ragmem.domain.model.supersession import DECLARED, MARKS, RESTATED

LARGE_SHARE = 1 / 3
"""A plan that removes more than this share of the searched memories needs a confirmation: a disk may be
unmounted, or a rule may be wrong."""

SMALL_STORE = 10
"""For this many memories or fewer the share says nothing."""

FOLD = "fold"
"""The rule for memories that say nothing of their own beside another one."""

FOLDED = (FOLD, "duplicate", "template")
"""The rules of archived memories whose successor says the same; "template" is of earlier releases."""

CARD = "merged_by"
"""The metadata field of a memory that a language model wrote of others."""

UPKEEP = ("missing", "duplicate", "unowned", "unindexed")
"""The rules that keep the store in order."""

CHANGES = (DECLARED, RESTATED, *MARKS)
"""The rules by which a newer memory makes an older one untrue; the last two only mark it."""

RULES = (
    *UPKEEP,
    FOLD,
    *CHANGES,
    COLD,
    "alone",
    "diamond",
    "bad-feedback",
    "recalled",
    "rated",
    "used",
)
"""All rules that change something; a run can be restricted to some of them."""

Snapshot = tuple[Any, ...]
"""The state of a memory when it was decided on."""


@dataclass(frozen=True, slots=True)
class Item:
    """One decision of the plan, with the memory's title and place for people.

    `snapshot` is the memory's state at the decision; if it has changed since, nothing is done.
    """

    id: str
    action: Action
    rule: str
    reason: str
    title: str = ""
    uri: str = ""
    project: str = ""
    others: tuple[str, ...] = ()
    life: LifecycleState | None = None
    age: int = 0
    snapshot: Snapshot = ()

    def __reduce__(self) -> tuple[type["Item"], tuple[Any, ...]]:
        """Pickle the values by position, which takes a tenth of the time of a name for each."""
        return Item, tuple(getattr(self, name) for name in self.__slots__)

    @property
    def decision(self) -> Decision:
        """The decision alone."""
        return Decision(self.id, self.action, self.rule, self.reason, self.others, self.life, self.age)

    @property
    def name(self) -> str:
        """The action and the rule, as runs are counted."""
        return f"{self.action}/{self.rule}"

    def document(self) -> dict[str, Any]:
        """Return the item as JSON fields."""
        return {
            "id": self.id[:12],
            "action": self.action,
            "rule": self.rule,
            "reason": self.reason,
            "title": self.title,
            "uri": self.uri,
            "others": [other[:12] for other in self.others],
            **({"life": self.life.value} if self.life else {}),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """A memory, and older ones of its project that it may make untrue; `keys` are of each pair's texts."""

    newer: str
    older: tuple[str, ...]
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What gc would do, with one item for each memory.

    `searched` counts the memories that are searched by default. `hashes` are the content hashes of memories
    that replace others. `sweep` counts orphans in the store, `expired` the memories that `gc --purge` may
    delete permanently, and `uncompared` those whose connections are not known yet; `note` says why. `cards`
    are the ids of connected memories of one session of which a language model is to write one text more, and
    `comparisons` what it is to compare; None where it is to decide nothing.
    """

    items: tuple[Item, ...]
    memories: int
    searched: int = 0
    cards: tuple[tuple[str, ...], ...] = ()
    comparisons: tuple[Comparison, ...] | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    sweep: Mapping[str, int] = field(default_factory=dict)
    expired: int = 0
    uncompared: int = 0
    note: str = ""

    def ids(self, *actions: Action) -> list[str]:
        """Return the ids with one of these actions."""
        return [item.id for item in self.items if item.action in actions]

    def active_items(self) -> list[Item]:
        """Return the items that change something."""
        return [item for item in self.items if item.action != "keep" or item.life]

    def counts(self) -> list[tuple[tuple[Action, str], int]]:
        """Return (action, rule) and the number of its memories, most first; what stays comes last."""
        counts = Counter((item.action, item.rule) for item in self.items)
        return sorted(counts.items(), key=lambda one: (one[0][0] == "keep", -one[1], one[0]))

    def document(self) -> dict[str, Any]:
        """Return the plan as JSON fields, but its items, clusters and cards, which are many."""
        return {
            "memories": self.memories,
            "searched": self.searched,
            "searched_after": self.searched - self.removal_count,
            "counts": [
                {"action": action, "rule": rule, "memories": count} for (action, rule), count in self.counts()
            ],
            "comparisons": len(self.comparisons or ()),
            "sweep": dict(self.sweep),
            "expired": self.expired,
            "uncompared": self.uncompared,
            "note": self.note,
        }

    @property
    def empty(self) -> bool:
        """Return whether nothing would change."""
        return not (self.active_items() or self.cards or self.comparisons or any(self.sweep.values()))

    @property
    def removal_count(self) -> int:
        """The number of memories that would no longer be searched by default."""
        return len(self.ids("remove", "archive", "supersede"))

    @property
    def large(self) -> bool:
        """Return whether more than a third of the searched memories would be removed."""
        before = self.searched or self.memories
        return before > SMALL_STORE and self.removal_count > LARGE_SHARE * before


def snapshot_of(entry: Entry) -> Snapshot:
    """Return the state of a memory that must be unchanged for a decision to hold."""
    return (
        entry.memory.content_hash,
        entry.life.value,
        entry.pinned,
        entry.reprieves,
        entry.checked_age,
        entry.sessions,
        entry.feedback,
        entry.superseded_by,
        entry.perhaps_outdated,
        entry.approval.value,
    )


def item_of(decision: Decision, entry: Entry) -> Item:
    """Return the item of a decision on a memory."""
    memory = entry.memory
    return Item(
        decision.id,
        decision.action,
        decision.rule,
        decision.reason,
        memory.title,
        memory.uri,
        memory.scope.project,
        decision.others,
        decision.life,
        decision.age,
        () if decision.action == "keep" and decision.life is None else snapshot_of(entry),
    )
