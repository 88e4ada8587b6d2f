"""What takes the longest of storing memories and needs their texts only: other processes can do it ahead."""

from dataclasses import dataclass

from ragmem.catalog.memories import words_of
from ragmem.catalog.terms import Analysed
from ragmem.domain.extraction import extract
from ragmem.domain.model import Chunk, Extraction
from ragmem.domain.stated import stated_in
from ragmem.services.covered import covered
from ragmem.services.extracted import Item, keep


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of a memory's chunks, and what rules find in them without secrets and private parts."""

    words: tuple[Analysed, ...]
    named: tuple[tuple[Chunk, Extraction], ...]

    def keep(self) -> None:
        """Let this process know what rules found."""
        keep(dict(self.named))


def reading_of(item: Item) -> Reading:
    """Read a memory."""
    memory, chunks = item
    named = () if stated_in(memory) else tuple((one, extract(one)) for one in covered(memory, chunks))
    return Reading(tuple(words_of(memory, chunks)), named)
