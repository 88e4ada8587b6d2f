"""How a long operation tells what it is doing, without knowing who listens."""

from typing import Protocol


class Progress(Protocol):
    """Receives the steps of a long operation."""

    def begin(self, label: str, total: int, *, unit: str = "") -> None:
        """Start a stretch of `total` steps; `unit` "bytes" tells what they are."""
        ...

    def advance(self, steps: int = 1, *, told: str = "") -> None:
        """Tell that steps are done, and perhaps what came of all so far."""
        ...


class Silent:
    """Nobody listens."""

    def begin(self, label: str, total: int, *, unit: str = "") -> None:
        """Do nothing."""

    def advance(self, steps: int = 1, *, told: str = "") -> None:
        """Do nothing."""
