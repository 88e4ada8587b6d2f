"""The port by which a long operation reports its progress."""

from typing import Protocol


class Progress(Protocol):
    """Receives the steps of a long operation."""

    def begin(self, label: str, total: int, *, unit: str = "") -> None:
        """Start a phase of `total` steps; `unit` "bytes" gives their unit."""

    def advance(self, steps: int = 1, *, told: str = "") -> None:
        """Report finished steps, and perhaps the results so far."""


class Silent:
    """Ignores all progress."""

    def begin(self, label: str, total: int, *, unit: str = "") -> None:
        """Do nothing."""

    def advance(self, steps: int = 1, *, told: str = "") -> None:
        """Do nothing."""
