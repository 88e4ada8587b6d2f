"""How a long operation tells what it is doing, without knowing who listens."""

from typing import Protocol


class Progress(Protocol):
    """Receives the steps of a long operation."""

    def begin(self, label: str, total: int) -> None:
        """Start a stretch of `total` steps."""
        ...

    def advance(self, steps: int = 1) -> None:
        """Tell that steps are done."""
        ...


class Silent:
    """Nobody listens."""

    def begin(self, label: str, total: int) -> None:
        """Do nothing."""

    def advance(self, steps: int = 1) -> None:
        """Do nothing."""
