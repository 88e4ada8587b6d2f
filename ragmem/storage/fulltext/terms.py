"""The terms by which full text is found: those of a chunk with their weights, and those of a query.

A term is a number, the hash of a word without its ending. An identifier counts as its words, also where
capitals divide them, and as one word of all its letters: getUserName, get_user_name and "user name" meet.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from hashlib import blake2b

from ragmem.domain.model import Hit
from ragmem.domain.secrets.marks import without_marks
from ragmem.domain.text.gloss import UNSPACED, gloss_run, gloss_word
from ragmem.domain.text.identifiers import parts
from ragmem.domain.text.language import foreign_language, function_words
from ragmem.domain.text.stemming import has_stemmer, stem_in
from ragmem.domain.text.words import fold_words, pairs, stem, unspaced_runs
from ragmem.frozen import dataclass
from ragmem.heap import word_cache

TITLE, HEADING, TAGS, PLACE = 3, 2, 2, 1
"""How often a word counts there; in the text once. A title says more of a memory than a word of its text."""

MAX_TERMS = 48
"""Distinct words of a query that are searched; of a longer query the rarest count."""

MAX_RUN = 200
"""Characters of an identifier; a longer one is data, found by its words only."""

PLACE_PARTS = 3
"""Names at the end of a path that tell of a memory; the folders above them are those of all."""

Analysed = tuple[int, Mapping[int, int]]
"""A chunk's words, and term -> weighted frequency."""

# Words that say nothing of what is sought: function words of English, as any search engine drops them, and
# letters of which those of Chinese and Japanese are made.
STOP_WORDS = frozenset(
    (
        "a an and are as at be been but by can could did do does for from had has have he her his how i "
        "if in into is it its me my no not of on or our she should so than that the their them then there "
        "these they this to us was we were what when where which who whom why will with would you your"
    ).split()
) | frozenset("的了是在和吗呢什么怎我们你他她它这那有也就都与及或吧啊哪谁のはがをにへとでもかただすまし")

# Possessive, for most words are in no name, and must be left at once.
_JOINED = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_./:\\@#~]++[^\W_]++)++")
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_NAMES = re.compile(r"[/\\:@#]+")
_CONTRACTED = re.compile(r"\b\w+n['\u2019]t\b|['\u2019](?:s|m|re|ve|ll|d)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LexicalHits:
    """The chunks that share words with a query, best first, and how good each is.

    `scores` (BM25) and `coverage` (0..1: the share of the query's idf mass whose words occur) are of the
    hits' chunks and of those that were asked for, and so is `having`, whose bit n tells whether the n-th word
    of `frequencies` occurs; `memories` has score and coverage for each of their memories, taken as one text,
    `openings` its first chunk. `best_possible` is what a text full of the query's words would reach,
    `frequencies` the share of the searched chunks that have a word of the query. `rate` scores further chunks
    by the same words, without a new search, and `find_words` returns their `having` alone; None where the
    query has no word.
    """

    hits: list[Hit] = field(default_factory=list)
    coverage: Mapping[str, float] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    having: Mapping[str, int] = field(default_factory=dict)
    memories: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    openings: Mapping[str, str] = field(default_factory=dict)
    best_possible: float = 0.0
    frequencies: Mapping[str, float] = field(default_factory=dict)
    rate: "Callable[[Iterable[str]], LexicalHits] | None" = field(default=None, compare=False, repr=False)
    find_words: Callable[[Iterable[str]], Mapping[str, int]] | None = field(
        default=None, compare=False, repr=False
    )


@word_cache(16_384)
def term_of(word: str) -> int:
    """Return the term of a folded word: the same for "connections" and "connected"."""
    digest = blake2b(stem(word).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def analyse(text: str, heading: str, frame: tuple[str, str, str]) -> Analysed:
    """Return what a chunk is found by; `frame` is its memory's title, tags and uri.

    Title, tags and heading are read in the language of the chunk: they are too short to detect one.
    """
    language = foreign_language(text)
    words, terms = _terms(text, language)
    found = dict(terms)
    title, tags, uri = frame
    for part, weight in ((title, TITLE), (heading, HEADING), (tags, TAGS), (_end_of(uri), PLACE)):
        if part:
            count, here = _terms_of_field(part, language)
            words += count
            for term, often in here.items():
                found[term] = found.get(term, 0) + weight * often
    return words, found


def _end_of(uri: str) -> str:
    return "/".join(_NAMES.split(uri.rstrip("/"))[-PLACE_PARTS:])


@lru_cache(maxsize=256)
def _terms_of_field(text: str, language: str | None) -> Analysed:
    return _terms(text, language)


def _terms(text: str, language: str | None) -> Analysed:
    text = without_marks(text)
    words = fold_words(text)
    found = Counter(map(term_of, words))
    found.update(map(term_of, pairs(text)))
    for name, often in _names_in(text).items():
        for word in _words_in(name):
            term = term_of(word)
            found[term] += often
    if language is not None:
        found.update(_terms_in(language, text, words))
    return len(words), found


def _terms_in(language: str, text: str, words: Sequence[str]) -> Iterator[int]:
    """Yield the terms by which the words of another language are found besides their letters."""
    empty = function_words().get(language, frozenset())
    for word in words:
        if word not in empty:
            yield from alternatives(word, language)
    for run in unspaced_runs(text) if language in UNSPACED else ():
        for english in gloss_run(run, language):
            yield from map(term_of, english)


@word_cache(8_192)
def alternatives(word: str, language: str) -> tuple[int, ...]:
    """Return the other terms of a folded word: those of its English words, else that of its stem."""
    english = () if language in UNSPACED else gloss_word(word, language)
    if english:
        found = dict.fromkeys(map(term_of, english))
        return tuple(term for term in found if term != term_of(word))
    if not has_stemmer(language):
        return ()
    stemmed = stem_in(language, word)
    return () if stemmed == word else (term_of(f"{language}:{stemmed}"),)


def _names_in(text: str) -> Counter[str]:
    """Return the names in a text that are more than one word, and how often each occurs."""
    names = Counter(_JOINED.findall(text))
    if not _HUMP.search(text):
        return names
    for word, often in Counter(_WORD.findall(text)).items():
        if not word.islower() and not word[1:].islower() and _HUMP.search(word):
            names[word] += often
    return names


@word_cache(4_096)
def _words_in(name: str) -> tuple[str, ...]:
    """Return the words by which a name is found beside those that its letters are divided into by marks."""
    if len(name) > MAX_RUN:
        return ()
    if _WORD.fullmatch(name):
        return tuple(parts(name))
    whole = [name, *(piece for piece in _NAMES.split(name) if _JOINED.fullmatch(piece))]
    if "/" in name:
        # A file is also asked for without its ending.
        whole.append(_NAMES.split(name)[-1].partition(".")[0])
    found = dict.fromkeys("".join(fold_words(piece)) for piece in whole)
    plain = fold_words(name)
    return tuple(word for word in found if word and word not in plain)


def terms_of(query: str) -> dict[str, tuple[int, ...]]:
    """Return the distinct words of a query that are worth searching, in their order, with their terms.

    A word of another language than English has several: any of them is the word. Function words count only
    where there is nothing else. The words that an identifier is made of, and all its letters as one word,
    follow it.
    """
    text = _CONTRACTED.sub(" ", query)
    language = foreign_language(query)
    empty = STOP_WORDS | function_words().get(language, frozenset()) if language else STOP_WORDS
    words = list(dict.fromkeys(fold_words(text)))
    telling = [word for word in words if word not in empty] or words or fold_words(query)
    telling += pairs(text)
    for name in _names_in(text):
        telling += [word for word in _words_in(name) if word not in STOP_WORDS]
    if language in UNSPACED:
        runs = (gloss_run(run, language) for run in unspaced_runs(text))
        telling += [word for run in runs for english in run for word in english if word not in STOP_WORDS]
    found: dict[int, str] = {}
    for word in telling:
        found.setdefault(term_of(word), word)
    return {
        word: (term, *alternatives(word, language)) if language else (term,) for term, word in found.items()
    }
