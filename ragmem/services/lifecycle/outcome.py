"""The outcome of a run of gc."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Outcome:
    """What gc did so far; `run` names it for undo.

    `removed` counts missing and duplicate memories, `archived` those archived by the lifecycle, `made` the
    cards of a language model. `skipped` counts memories that changed since the plan was made.
    `marked` counts those that are perhaps outdated.
    `stopped` means that the time was up; `note` says why memories are still pending.
    """

    run: str = ""
    removed: int = 0
    archived: int = 0
    made: int = 0
    superseded: int = 0
    marked: int = 0
    promoted: int = 0
    reprieved: int = 0
    mended: int = 0
    dropped: int = 0
    skipped: int = 0
    stopped: bool = False
    note: str = ""
    swept: dict[str, int] = field(default_factory=dict)

    @property
    def changed_count(self) -> int:
        """The number of changed or archived memories."""
        return sum((self.removed, self.archived, self.superseded, self.marked, self.promoted, self.reprieved))

    def log_fields(self) -> dict[str, str | int]:
        """Return the fields of the run's log entry."""
        counts = {
            "archived": self.removed + self.archived,
            "made": self.made,
            "superseded": self.superseded,
            "marked": self.marked,
            "promoted": self.promoted,
            "reprieved": self.reprieved,
            "mended": self.mended,
            "dropped": self.dropped,
        }
        return {"run": self.run, **{name: count for name, count in counts.items() if count}}
