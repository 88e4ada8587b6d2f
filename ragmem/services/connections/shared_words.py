"""Number the distinctive words of memories, and compute their overlap for many pairs at once."""

from array import array
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.lifecycle.connections import (
    BY_WORDS,
    ENOUGH,
    MOST_WORDS,
    NEAREST,
    USUAL_WORDS,
    Scale,
    weights,
)
from ragmem.domain.text.keywords import is_stop_word
from ragmem.domain.text.words import fold_words, pairs, stem

Rows = NDArray[np.intp]
Numbers = NDArray[np.float64]

Told = tuple[int, str, str, str, Iterable[str]]
"""The index of a memory, its title, text and summary, and its names."""

AT_ONCE = 2000
"""Number of texts that are tokenized together: some tenths of a second."""

_UNREAD = -1

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


class SharedWords:
    """The words of some memories of one project, by index, read on demand."""

    def __init__(self, size: int, read: Callable[[Rows], Iterable[Told]], usual: Iterable[Told]) -> None:
        """Use indexes below `size`; `usual` is the sample for the rarity of words, by number."""
        self._read = read
        self._numbers = WordNumbers()
        self._starts = np.zeros(size, np.intp)
        self._lengths = np.full(size, _UNREAD, np.intp)
        self._words = np.empty(0, np.intc)
        self._used = 0
        self._weights = np.ones(0)
        _, sizes, words, _ = self._counts(usual)
        known = weights(("", part.tolist()) for part in np.split(words, np.cumsum(sizes)[:-1])).get("", {})
        self._weights = np.ones(len(self._numbers))
        self._weights[np.fromiter(known, np.intp, len(known))] = np.fromiter(
            known.values(), np.float64, len(known)
        )

    def _counts(self, told: Iterable[Told]) -> tuple[Rows, Rows, NDArray[np.intc], Rows]:
        """Return the indexes, the number of words of each, all words in sequence, and their counts."""
        places, sizes, found = array("q"), array("q"), array("i")
        for place, title, text, summary, names in told:
            numbers = self._numbers.of(title, text, summary, names)
            places.append(place)
            sizes.append(len(numbers))
            found.extend(numbers)
        words = np.frombuffer(found, np.intc)
        owners = np.repeat(np.arange(len(places)), np.frombuffer(sizes, np.int64))
        counts = words != STOP_WORD
        keys = (owners[counts] << 32) | words[counts]
        keys.sort()
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        often = np.diff(firsts, append=len(keys))
        keys = keys[firsts]
        each = np.bincount(keys >> 32, minlength=len(places)).astype(np.intp)
        return np.array(places, np.intp), each, (keys & 0x7FFFFFFF).astype(np.intc), often

    def _learn(self, places: Rows) -> None:
        """Read the words of memories that are not read yet."""
        wanted = np.zeros(len(self._lengths), np.bool_)
        wanted[places] = True
        new = np.flatnonzero(wanted & (self._lengths == _UNREAD))
        for start in range(0, len(new), AT_ONCE):
            part = new[start : start + AT_ONCE]
            found, sizes, words, often = self._counts(self._read(part))
            more = len(self._numbers) - len(self._weights)
            self._weights = np.concatenate([self._weights, np.ones(more)])
            telling = self._distinctive(sizes, words, often)
            words = words[telling]
            owners = np.repeat(np.arange(len(sizes)), sizes)[telling]
            sizes = np.bincount(owners, minlength=len(sizes))
            if self._used + len(words) > len(self._words):
                room = max(len(words), len(self._words))
                self._words = np.concatenate([self._words, np.empty(room, np.intc)])
            self._words[self._used : self._used + len(words)] = words
            # A deleted memory has no words.
            self._lengths[part] = 0
            self._lengths[found] = sizes
            self._starts[found] = self._used + np.cumsum(sizes) - sizes
            self._used += len(words)

    def _distinctive(self, sizes: Rows, words: NDArray[np.intc], often: Rows) -> NDArray[np.bool_]:
        """Return the most distinctive words of the memories."""
        kept = np.ones(len(words), np.bool_)
        long = np.flatnonzero(np.repeat(sizes > MOST_WORDS, sizes))
        owners = np.repeat(np.arange(len(sizes)), sizes)[long]
        worth = self._weights[words[long]] * np.log1p(often[long])
        # Equal ones stay in the order of their numbers.
        order = np.lexsort((-worth, owners))
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        ranks = np.arange(len(long)) - np.repeat(firsts, np.diff(firsts, append=len(long)))
        kept[long[order[ranks >= MOST_WORDS]]] = False
        return kept

    def overlap(self, ones: Rows, others: Rows) -> Numbers:
        """Return the overlap of pairs, from 0 to 1; equal values in `ones` must be adjacent.

        0 is nothing, 1 a lot.
        """
        if not len(ones):
            return np.empty(0)
        self._learn(np.concatenate([ones, others]))
        lengths = self._lengths[others]
        ends = np.cumsum(lengths)
        begins = ends - lengths
        places = np.arange(int(ends[-1])) + np.repeat(self._starts[others] - begins, lengths)
        words = self._words[places]
        worth = np.zeros(len(words) + 1)
        table = np.zeros(len(self._weights))
        firsts = np.flatnonzero(np.diff(ones, prepend=-1))
        lasts = np.append(firsts[1:], len(ones)) - 1
        for one, start, end in zip(
            ones[firsts].tolist(), begins[firsts].tolist(), ends[lasts].tolist(), strict=True
        ):
            own = self._words[self._starts[one] : self._starts[one] + self._lengths[one]]
            table[own] = self._weights[own]
            worth[start:end] = table[words[start:end]]
            table[own] = 0.0
        sums = np.cumsum(np.concatenate([[0.0], worth]))
        both = sums[ends] - sums[begins]
        usual = np.maximum(1.0, np.sqrt(self._lengths[ones] * lengths) / USUAL_WORDS)
        return np.asarray(1.0 - np.exp(-np.maximum(both, 0.0) / usual / ENOUGH))


def strengths(scale: Scale, cosines: NDArray[np.float32], shared: Numbers) -> Numbers:
    """Return the strength (0 to 1) of pairs; from 0.5 they have the same subject.

    Neither the cosine nor the overlap is enough alone. Vectors of a small model are near if the jargon is the
    same, and words are shared by chance.
    """
    scaled = (cosines.astype(np.float64) - scale.unrelated) / (scale.related - scale.unrelated)
    near = np.clip(scaled / NEAREST, 0.0, 1.0)
    return np.asarray(BY_WORDS * np.clip(shared, 0.0, 1.0) + (1.0 - BY_WORDS) * near)
