"""Process several texts so that one rejected text does not stop the others."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ragmem.domain.model import Draft, Memory
from ragmem.frozen import dataclass
from ragmem.readers.failures import check, failure

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rejected text, with its place and the reason; if it `is_stored`, only its vectors are missing."""

    source: str
    uri: str
    reason: str
    is_stored: bool = False
    id: str = ""

    @classmethod
    def of(cls, text: Draft | Memory, reason: str, *, is_stored: bool = False) -> "Refusal":
        """Return the refusal of a draft or memory."""
        return cls(text.source, text.uri, reason, is_stored, text.id)

    @property
    def message(self) -> str:
        """The refusal in a line."""
        if self.is_stored:
            return f'"{self.uri}" is stored, and full text finds it; it has no vectors: {self.reason}'
        return f'cannot store "{self.uri}": {self.reason}'


def isolate_failures(
    items: Sequence[Item], work: Callable[[Sequence[Item]], object]
) -> list[tuple[Item, str]]:
    """Process items together, and by halves after an error; return the rejected ones with the reason.

    Work that raises must not change anything. Errors that are not the fault of an item (`failures.check`) are
    raised; then the work was done on some of the items.
    """
    if not items:
        return []
    try:
        work(items)
    except Exception as error:  # noqa: BLE001 - one text never stops the others
        if len(items) == 1:
            return [(items[0], failure(error))]
        check(error)
    else:
        return []
    half = len(items) // 2
    return [*isolate_failures(items[:half], work), *isolate_failures(items[half:], work)]
