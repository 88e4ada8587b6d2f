"""Choose the title of a merged memory: the title or sentence with most of the shared words."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ragmem.domain.classification.filler import Voice, classify_voice
from ragmem.domain.model.lifecycle import Entry
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import BlockType, blocks, units
from ragmem.domain.text.exchanges import clip
from ragmem.domain.text.keywords import is_stop_word, keywords
from ragmem.domain.text.words import words_of

MAX_CHARS = 80
OPENING_CHARS = 400
"""Characters of a memory that are searched for a title."""

MOST_NAMES = 4
MOST_WITHOUT = 0.34
"""Largest share of a line that is not words; a line with more is a command, a listing or data."""

_AROUND = " \t\r\n#>*_-+.,;:!|`&"
_MARKER = re.compile(r"^\s*(?:\d{1,4}[.)]|[-*+>#]+)\s+")
_NAME = re.compile(r"[^\W\d_]{3}")
_PLAIN = re.compile(r"[^\W\d_][^\W_]*(?:['\u2019-][^\W_]+)*")
_VALUES = frozenset({"true", "false", "none", "null"})


def title_of(entries: Sequence[Entry], redactor: Redactor) -> str:
    """Return a title of at most 80 characters for memories about one thing, oldest first.

    The title that all have; else of their titles and headings the one that says most of what they share;
    else the sentence that does, cut between words; else names that they share; else the newest's beginning.
    """
    titles = {entry.memory.title.strip() for entry in entries}
    if len(titles) == 1 and (title := titles.pop()):
        return _clip(redactor.redact(title)[0], redactor=redactor)
    shared = _shared_stems(entries)
    newest = entries[::-1]
    best = _best(_headings(newest), shared, redactor=redactor) or _best(
        _sentences(newest), shared, redactor=redactor
    )
    if not best:
        names = list(_names(newest, shared))
        best = ", ".join(names) if len(names) > 1 else next(_headings(newest), "") or newest[0].text
    # Redact before the cut: half a secret is not recognized.
    return _clip(redactor.redact(best)[0], redactor=redactor)


def _clip(text: str, redactor: Redactor) -> str:
    """Return a text as one line without punctuation around it, cut between words if it is too long."""
    return clip(text.strip(_AROUND), MAX_CHARS, redactor=redactor).rstrip(_AROUND)


def _shared_stems(entries: Sequence[Entry]) -> dict[str, int]:
    """Return stem -> number of memories, for stems in the first lines of at least half, most first."""
    having: Counter[str] = Counter()
    for entry in entries:
        having.update(dict.fromkeys(words_of(_opening(entry))).keys())
    most = max(2, (len(entries) + 1) // 2)
    return {stem: count for stem, count in having.most_common() if count >= most and _is_distinctive(stem)}


def _is_distinctive(word: str) -> bool:
    return bool(_NAME.search(word)) and not is_stop_word(word) and word not in _VALUES


def _opening(entry: Entry) -> str:
    return f"{entry.memory.title}\n{entry.text[:OPENING_CHARS]}"


def _headings(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the titles and headings of memories."""
    for entry in entries:
        if entry.memory.title.strip():
            yield entry.memory.title
        opening = entry.text[:OPENING_CHARS]
        for block in blocks(opening):
            if block.form is BlockType.HEADING and block.end < len(opening):
                yield block.title


def _sentences(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the first sentences of the memories."""
    for entry in entries:
        opening = entry.text[:OPENING_CHARS]
        for block, start, end in units(opening):
            if block.form in {BlockType.PARAGRAPH, BlockType.ITEM}:
                # A sentence at the end may be cut off here.
                stop = end if end < len(opening) else len(entry.text)
                yield _MARKER.sub("", entry.text[start : min(stop, end + OPENING_CHARS)])


def _best(lines: Iterable[str], shared: Mapping[str, int], redactor: Redactor) -> str:
    """Return the first line with most shared stems; "" if none has at least two."""
    best, most = "", 0
    for whole in lines:
        line = _clip(whole, redactor=redactor)
        found = set(words_of(line)).intersection(shared)
        worth = sum(shared[stem] for stem in found)
        if len(found) > 1 and worth > most and _is_prose(line):
            best, most = whole, worth
    return best


def _is_prose(line: str) -> bool:
    """Tell whether a line is prose with content: no command, listing, data or narration."""
    words = line.split()
    plain = sum(bool(_PLAIN.fullmatch(word.strip(_AROUND + "\"'()[]"))) for word in words)
    return len(words) - plain <= MOST_WITHOUT * len(words) and classify_voice(line) is not Voice.CHATTER


def _names(newest: Sequence[Entry], shared: Mapping[str, int]) -> Iterator[str]:
    """Yield the words and names with shared stems, until the title is full."""
    form: dict[str, str] = {}
    for entry in newest:
        for word in keywords(_opening(entry)):
            for stem in words_of(word):
                if _is_distinctive(word.lower()):
                    form.setdefault(stem, word)
    left = MAX_CHARS
    for word in list(dict.fromkeys(form[stem] for stem in shared if stem in form))[:MOST_NAMES]:
        left -= len(word) + 2
        if left >= 0:
            yield word
