"""Compare two texts word by word."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_WORDS = 3000
"""Words of each text that are compared, because the time grows with their product."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of words that two texts share, or where they differ; a side without words there is ""."""

    first: str
    other: str

    @property
    def same(self) -> bool:
        """Return whether both texts have these words."""
        return self.first == self.other


def word_diff(first: str, other: str) -> list[Segment]:
    """Return the segments of two texts in order; white space makes no difference.

    Of very long texts only the beginnings are compared.
    """
    mine, theirs = first.split()[:MOST_WORDS], other.split()[:MOST_WORDS]
    steps = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    return [
        Segment(_join(mine, start, end), _join(theirs, begin, stop)) for _, start, end, begin, stop in steps
    ]


def _join(words: Sequence[str], start: int, end: int) -> str:
    return " ".join(words[start:end])
