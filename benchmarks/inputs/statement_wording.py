"""Statements of stored memories, and two questions for each, made without a model.

A statement is a sentence with a name, a number or a cause. Its own words are the six of it that the fewest
memories have. Its paraphrase is made by rule: the content words in another order (the second half first),
stop words dropped, common words replaced by those of a small table; names, numbers and paths stay.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragmem.domain.model import Memory

SEED = 21
RAREST = 6
CHARACTERS = range(40, 301)
"""Of a statement."""

CONTENT_WORDS = range(6, 41)
"""Different content words of a statement: with fewer nobody could find it, with more it is a list."""

_STOP = frozenset(
    """
    a about after all also an and any are as at be been before being but by can could did do does doing done
    each for from get gets go going had has have having he her here him his how i if in into is it its just
    let like make may me might more most must my no not now of off on one only or other our out over own same
    she should so some such than that the their them then there these they this those through to too under
    until up us use used uses using very was we well were what when where which while who why will with would
    yes you your
    """.split()
)

_SYNONYMS = dict(
    pair.split(":")
    for pair in """
    add:append added:appended adds:appends allow:permit allows:permits answer:reply approach:way bug:defect
    bugs:defects build:compile builds:compiles cause:reason causes:triggers change:alter changed:altered
    changes:edits check:verify checks:verifies choose:pick clear:obvious code:source complete:finish
    correct:right correctly:properly create:produce created:produced creates:produces current:present
    currently:presently default:standard delete:erase deleted:erased directory:folder directories:folders
    docs:documentation document:page ensure:guarantee ensures:guarantees error:failure errors:failures
    example:sample existing:present explain:describe fail:break failed:broke fails:breaks feature:capability
    features:capabilities file:document files:documents find:locate finds:locates fix:repair fixed:repaired
    fixes:repairs folder:directory function:routine functions:routines good:fine handle:treat handles:treats
    help:assist helps:assists important:essential improve:enhance include:contain includes:contains
    issue:problem issues:problems keep:retain keeps:retains large:big launch:start list:enumerate look:view
    message:notice missing:absent need:require needs:requires new:fresh old:former output:result
    problem:issue problems:issues project:repository provide:offer provides:offers quick:fast read:load
    reads:loads remove:drop removed:dropped removes:drops replace:swap request:query return:yield
    returns:yields review:inspect run:execute running:executing runs:executes save:store saved:stored
    search:lookup send:transmit set:assign show:display shows:displays simple:plain small:little
    start:begin starts:begins stop:halt support:backing supports:handles task:job tasks:jobs test:trial
    tests:trials tool:utility tools:utilities try:attempt understand:grasp update:refresh updated:refreshed
    updates:refreshes user:person users:people want:wish work:operate working:operating works:operates
    write:record writes:records wrong:incorrect
    """.split()
)

_WORD = re.compile(r"\w(?:[\w./:@#+-]*\w)?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_SAYS = re.compile(
    r"\d|`|\w_\w|\w\.\w|/\w|[a-z][A-Z]|(?<=[a-z,;:] )[A-Z]\w"
    r"|\b(?:because|since|due to|caused|causes|so that|therefore|otherwise|leads to|in order to|reason)\b"
)
"""A number, a name (in code, a path, a word with a capital within a sentence), or a cause."""

_DAY = r"\d{4}-\d\d-\d\d"
_RUN_MARK = re.compile(
    rf"{_DAY}(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d:\d\d\b"
    r"|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?:-[0-9a-f]{4,12})*\b"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a memory, with its two questions by their names."""

    memory: str
    text: str
    questions: Mapping[str, str]


def words_of(text: str) -> list[str]:
    """Return the words of a text in order; names, numbers and paths are one word each."""
    return _WORD.findall(text)


def plain(text: str) -> str:
    """Return a text as it is compared with another: without case, blanks, marks, dates, times, and hashes."""
    return " ".join(words_of(_RUN_MARK.sub(" ", text).lower()))


def statements(memories: Sequence[Memory], others: Iterable[Memory], count: int) -> list[Statement]:
    """Return up to `count` statements of the memories, drawn by a fixed seed, as few of each as possible.

    How rare a word is, is counted over the memories and the others.
    """
    chance = random.Random(SEED)
    known: Counter[str] = Counter()
    for memory in (*memories, *others):
        known.update({word.lower() for word in words_of(memory.text)})
    found: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    seen: set[str] = set()
    for memory in chance.sample(memories, len(memories)):
        own = [text for text in _sentences(memory.text) if plain(text) not in seen]
        seen.update(map(plain, own))
        for turn, text in enumerate(chance.sample(own, len(own))):
            found[turn].append((memory.id, text))
    drawn = [one for turn in sorted(found) for one in found[turn]][:count]
    return [
        Statement(memory, text, {"own words": own_words(text, known), "paraphrase": paraphrase(text)})
        for memory, text in drawn
    ]


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.lstrip().startswith(("|", "```", "<", "{", "[")):
            continue
        for part in _SENTENCE.split(line.strip(" #*->\t")):
            fits = len(part) in CHARACTERS and len(set(_content(part))) in CONTENT_WORDS
            if fits and _SAYS.search(part):
                yield part


def _content(text: str) -> list[str]:
    return [word for word in words_of(text) if word.lower() not in _STOP and len(word) > 1]


def own_words(text: str, known: Mapping[str, int]) -> str:
    """Return the rarest content words in their order; of two as rare the first one counts."""
    content = list(dict.fromkeys(_content(text)))
    rare = sorted(content, key=lambda word: known.get(word.lower(), 0))[:RAREST]
    return " ".join(word for word in content if word in rare)


def paraphrase(text: str) -> str:
    """Return the content words, the second half first, with other words where the table has some."""
    content = [_SYNONYMS.get(word, word) for word in _content(text)]
    middle = len(content) // 2
    return " ".join((*content[middle:], *content[:middle]))
