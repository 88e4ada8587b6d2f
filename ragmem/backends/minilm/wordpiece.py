"""WordPiece: text to the token ids that the uncased BERT vocabulary was trained with.

Pure Python, because for short texts it is faster than a call into a compiled tokenizer, and it needs no
dependency. The rules are those of BertNormalizer and BertPreTokenizer in the `tokenizers` library, whose
tables end with Unicode 8; characters that Unicode added later are read by this Python's own tables. None of
them is in the vocabulary: the one effect is that a newer accent is stripped where it made its word [UNK].
Text is data: "[SEP]" inside a text is five characters, never the separator.
"""

import unicodedata
from collections.abc import Sequence
from pathlib import Path

from ragmem.errors import BackendError

UNKNOWN = "[UNK]"
START = "[CLS]"
END = "[SEP]"
CONTINUATION = "##"

LONGEST_WORD = 100
"""Characters; the reference gives longer words one [UNK] instead of searching them."""

CACHED_WORDS = 50_000
"""Words in the cache (about 8 MB); it starts over when it is full."""

HEAD_CHARACTERS = 8192
"""The part of a long text that is read first: it nearly always fills the window of 256 tokens."""

# The ranges that BERT separates into single characters. 0x2B920 is the reference's own slip for 0x2B820;
# the model has never seen it otherwise.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_REMOVED = frozenset({"Cc", "Cf", "Co", "Cs"})


def _is_punctuation(character: str) -> bool:
    if character.isascii():  # BERT counts symbols such as $ + < ^ ` | as punctuation too
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character).startswith("P")


def normalise_character(character: str) -> str:
    """Return BERT's reading of a character: nothing, a space, or lower-case letters without accents.

    Punctuation and ideographs come back between spaces, so that splitting at white space isolates them.
    """
    code = ord(character)
    if character in "\t\n\r":
        return " "
    if code in {0, 0xFFFD} or unicodedata.category(character) in _REMOVED:
        return ""
    if character.isspace():
        return " "
    # One character at a time, so Greek capital sigma never becomes its final form: the reference's way.
    letters = "".join(
        letter for letter in unicodedata.normalize("NFD", character) if unicodedata.category(letter) != "Mn"
    ).lower()
    letters = "".join(f" {letter} " if _is_punctuation(letter) else letter for letter in letters)
    return f" {letters} " if any(low <= code <= high for low, high in _IDEOGRAPHS) else letters


class _Characters(dict[int, str]):
    """The table for `str.translate`, filled on demand."""

    def __missing__(self, code: int) -> str:
        replacement = self[code] = normalise_character(chr(code))
        return replacement


class WordPiece:
    """The tokenizer; safe in several threads, because it only adds equal values to its caches."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Take the pieces in the order of their ids; raise BackendError when a special piece is missing."""
        self._ids = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        try:
            self.unknown = self._ids[UNKNOWN]
            self._start = self._ids[START]
            self._end = self._ids[END]
        except KeyError as error:
            message = f'the vocabulary has no piece "{error.args[0]}"'
            raise BackendError(message, hint="reinstall ragmem") from None
        self._longest_piece = max(map(len, self._ids))
        self._characters = _Characters()
        self._words: dict[str, tuple[int, ...]] = {}

    def pieces(self, text: str) -> list[int]:
        """Return the ids of the whole text, without [CLS] and [SEP]; an empty text gives an empty list."""
        words = self._words
        ids: list[int] = []
        for word in text.translate(self._characters).split():
            known = words.get(word)
            ids.extend(self._remember(word) if known is None else known)
        return ids

    def encode(self, text: str, *, limit: int) -> list[int]:
        """Return [CLS], the ids of the text, [SEP]: at most `limit` ids, so a long text is cut."""
        room = limit - 2
        ids: list[int] = []
        if len(text) > HEAD_CHARACTERS:
            # A space always ends a word, so the head's ids are a prefix of the whole text's ids.
            ids = self.pieces(text[: max(text.rfind(" ", 0, HEAD_CHARACTERS), 0)])
        if len(ids) < room:
            ids = self.pieces(text)
        return [self._start, *ids[:room], self._end]

    def _remember(self, word: str) -> tuple[int, ...]:
        if len(word) > LONGEST_WORD:
            return (self.unknown,)
        ids = self._split(word)
        if len(self._words) >= CACHED_WORDS:
            self._words.clear()
        self._words[word] = ids
        return ids

    def _split(self, word: str) -> tuple[int, ...]:
        """Return the longest pieces from the left; one [UNK] when a part of the word has no piece."""
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = CONTINUATION if start else ""
            for end in range(min(len(word), start + self._longest_piece), start, -1):
                number = self._ids.get(prefix + word[start:end])
                if number is not None:
                    ids.append(number)
                    start = end
                    break
            else:
                return (self.unknown,)
        return tuple(ids)


def read_vocabulary(path: Path) -> list[str]:
    """Return the pieces of a vocab.txt, one a line; raise BackendError when it cannot be read."""
    try:
        # Not splitlines(): the vocabulary has pieces that are themselves line separators to Unicode.
        return path.read_bytes().decode().rstrip("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        message = f'cannot read the vocabulary "{path}": {error}'
        raise BackendError(message, hint="reinstall ragmem") from error
