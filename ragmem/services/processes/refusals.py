"""A text that a rule, the database or the model rejects."""

from ragmem.domain.model import Draft, Memory
from ragmem.frozen import dataclass


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
