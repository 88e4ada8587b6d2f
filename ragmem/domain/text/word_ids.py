"""Number the distinctive words of memories, with the same number for all spellings of a word."""

from collections.abc import Iterable

from ragmem.domain.text.keywords import is_stop_word
from ragmem.domain.text.words import fold_words, pairs, stem

WHOLE = 4000
"""Maximum characters of a text that is read whole; of a longer one the summary is read."""

SHORTEST = 2
LONGEST = 64
"""Maximum letters of a word; longer ones are data."""

STOP_WORD = -1
"""The number of a word that does not count."""


class WordNumbers:
    """Numbers words in the order of their first occurrence, from 0.

    Words are folded and stemmed. A name of several parts counts as its words; if blanks separate them, also
    as a whole.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._words = _Words(self._numbers)
        self._names = _Names(self._numbers)

    def __len__(self) -> int:
        """Return the number of known words."""
        return len(self._numbers)

    def of(self, title: str, text: str, summary: str, names: Iterable[str]) -> list[int]:
        """Return the numbers of a memory's words, with repetitions and SAYS_NOTHING; `names` are its names.

        `names` are what the text names.
        """
        content = f"{title}\n{text if len(text) <= WHOLE or not summary else summary}"
        known, named = self._words, self._names
        found = [known[word] for word in fold_words(content)]
        if not content.isascii():
            found += [_number(self._numbers, pair) for pair in pairs(content)]
        found += [named[name] for name in sorted(names)]
        return found


class _Words(dict[str, int]):
    """A folded word -> the number of its stem."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers

    def __missing__(self, word: str) -> int:
        self[word] = number = _number(self._numbers, stem(word)) if _is_informative(word) else STOP_WORD
        return number


class _Names(dict[str, int]):
    """A name of several words -> its own number."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers

    def __missing__(self, name: str) -> int:
        words = fold_words(name)
        self[name] = number = _number(self._numbers, " ".join(words)) if len(words) > 1 else STOP_WORD
        return number


def _number(numbers: dict[str, int], word: str) -> int:
    return numbers.setdefault(word, len(numbers))


def _is_informative(word: str) -> bool:
    return SHORTEST <= len(word) <= LONGEST and not word.isdecimal() and not is_stop_word(word)
