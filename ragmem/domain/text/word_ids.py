"""The words that tell what a memory is about, as numbers: the same one for a word however it is written."""

from collections.abc import Iterable

from ragmem.domain.text.keywords import means_nothing
from ragmem.domain.text.words import folded, pairs, stem

WHOLE = 4000
"""Characters of a text that is read whole; of a longer one that was summarized, the summary."""

SHORTEST = 2
LONGEST = 64
"""Letters; a longer word is data."""

SAYS_NOTHING = -1
"""In place of the number of a word that does not count."""


class WordNumbers:
    """Numbers words in the order in which they are met, from 0.

    Words are folded and without their endings; a path, a flag or a dotted name counts as its words, and so
    does a name of several words, besides as one.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._words = _Words(self._numbers)
        self._names = _Names(self._numbers)

    def __len__(self) -> int:
        """Return how many words were met."""
        return len(self._numbers)

    def of(self, title: str, text: str, summary: str, names: Iterable[str]) -> list[int]:
        """Return the numbers of a memory's words, each as often as it has it, SAYS_NOTHING among them.

        `names` are what the text names.
        """
        told = f"{title}\n{text if len(text) <= WHOLE or not summary else summary}"
        known, named = self._words, self._names
        found = [known[word] for word in folded(told)]
        if not told.isascii():
            found += [_number(self._numbers, pair) for pair in pairs(told)]
        found += [named[name] for name in sorted(names)]
        return found


class _Words(dict[str, int]):
    """A folded word -> the number of its stem."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers

    def __missing__(self, word: str) -> int:
        self[word] = number = _number(self._numbers, stem(word)) if _tells(word) else SAYS_NOTHING
        return number


class _Names(dict[str, int]):
    """A name -> the number that it has besides those of its words, where these are several."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers

    def __missing__(self, name: str) -> int:
        words = folded(name)
        self[name] = number = _number(self._numbers, " ".join(words)) if len(words) > 1 else SAYS_NOTHING
        return number


def _number(numbers: dict[str, int], word: str) -> int:
    return numbers.setdefault(word, len(numbers))


def _tells(word: str) -> bool:
    return SHORTEST <= len(word) <= LONGEST and not word.isdecimal() and not means_nothing(word)
