"""What a run of gc did."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Outcome:
    """What gc did so far; `run` names it for undo.

    `removed` are the missing and doubled, `archived` what the lifecycle sorted out, `merged` the originals of
    `made` merged memories. `skipped` counts memories that had changed since the plan was made. `stopped`
    tells that time was up, and `note` why memories that were to be finished wait.
    """

    run: str = ""
    removed: int = 0
    archived: int = 0
    merged: int = 0
    made: int = 0
    superseded: int = 0
    promoted: int = 0
    reprieved: int = 0
    mended: int = 0
    dropped: int = 0
    skipped: int = 0
    stopped: bool = False
    note: str = ""
    swept: dict[str, int] = field(default_factory=dict)

    @property
    def changed(self) -> int:
        """How many memories are other, or elsewhere, than before."""
        return self.removed + self.archived + self.merged + self.superseded + self.promoted + self.reprieved

    def logged(self) -> dict[str, str | int]:
        """Return what the log tells of the run."""
        counts = {
            "archived": self.removed + self.archived + self.merged,
            "made": self.made,
            "superseded": self.superseded,
            "promoted": self.promoted,
            "reprieved": self.reprieved,
            "mended": self.mended,
            "dropped": self.dropped,
        }
        return {"run": self.run, **{name: count for name, count in counts.items() if count}}
