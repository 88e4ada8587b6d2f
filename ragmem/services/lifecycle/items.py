"""What a plan of gc consists of: one item for each memory, and the memories that are to be merged."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragmem.domain.model import Chunk, Memory
from ragmem.domain.model.lifecycle import Action, Decision, Entry, LifecycleState

LARGE_SHARE = 0.5
"""A plan that takes more than this share of the memories out of what is searched needs a second word: a disk
may be unmounted, or a rule gone wrong."""

SMALL_STORE = 10
"""Below so many memories the share says nothing."""

TEMPLATE = "template"
"""The rule for what says the same as another but for the marks of a run."""

SUBSTANCE = "has substance"
"""The rule for a memory that is indexed after all, though it came in with a low signal."""

UNFINISHED = "unfinished"
"""The rule for what a killed run had merged, and all of whose originals are still there."""

UPKEEP = ("missing", "duplicate", UNFINISHED, "unowned", "unindexed")
"""The rules that keep the store in order."""

CHANGES = (
    "declared",
    "moved",
    "replaced",
    "instead",
    "gone",
    "former",
    "no longer",
    "now",
    "version",
    "value",
    "former value",
    "opposite",
    "negated",
)
"""The rules by which a newer memory makes an older one untrue."""

RULES = (
    *UPKEEP,
    TEMPLATE,
    SUBSTANCE,
    *CHANGES,
    "cluster",
    "no-substance",
    "substance",
    "diamond",
    "bad-feedback",
    "recalled",
)
"""All rules that do something, by which a run can be narrowed."""

Seen = tuple[Any, ...]
"""What was known of a memory when its fate was decided."""


@dataclass(frozen=True, slots=True)
class Item:
    """One decision of the plan, with what people know the memory by.

    `seen` is what the memory was when it was decided: where it is something else by now, nothing is done.
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
    seen: Seen = ()

    def __reduce__(self) -> tuple[type["Item"], tuple[Any, ...]]:
        """Be handed to another process as values in a row: a tenth of the time of a name for each."""
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
        """Return it for JSON."""
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
class MergePlan:
    """A memory that is to be made, and of which ones, its `members`: these go."""

    memory: Memory
    chunks: tuple[Chunk, ...]
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What gc would do: each memory of which something was decided has one item.

    `searched` counts the memories that are searched by default. `hashes` are the content hashes of memories
    that take another's place. `sweep` counts what no memory owns in the store, `expired` what `gc --purge`
    may delete for good; `uncompared` the memories whose connections are not known yet, and `note` says why.
    """

    items: tuple[Item, ...]
    memories: int
    searched: int = 0
    merges: tuple[MergePlan, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    sweep: Mapping[str, int] = field(default_factory=dict)
    expired: int = 0
    uncompared: int = 0
    note: str = ""

    def ids(self, *actions: Action) -> list[str]:
        """Return the ids with one of these actions."""
        return [item.id for item in self.items if item.action in actions]

    def acting(self) -> list[Item]:
        """Return the items that change something."""
        return [item for item in self.items if item.action != "keep" or item.life]

    def counts(self) -> Counter[tuple[Action, str]]:
        """Return (action, rule) -> memories."""
        return Counter((item.action, item.rule) for item in self.items)

    @property
    def empty(self) -> bool:
        """Tell whether nothing would change."""
        return not (self.acting() or any(self.sweep.values()))

    @property
    def leaving(self) -> int:
        """How many memories would no longer be searched by default, less those that are made of them."""
        return len(self.ids("remove", "archive", "merge", "supersede")) - len(self.merges)

    @property
    def large(self) -> bool:
        """Tell whether more than half of what is searched would no longer be."""
        before = self.searched or self.memories
        return before > SMALL_STORE and self.leaving > LARGE_SHARE * before


def seen(entry: Entry) -> Seen:
    """Return what must still be so for a decision on this memory to hold."""
    return (
        entry.memory.content_hash,
        entry.life.value,
        entry.pinned,
        entry.reprieves,
        entry.checked_age,
        entry.sessions,
        entry.feedback,
        entry.superseded_by,
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
        () if decision.action == "keep" and decision.life is None else seen(entry),
    )
