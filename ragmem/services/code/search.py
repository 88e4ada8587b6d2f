"""Rank the files of a project's code for a question, by their words, names and places.

The weights were chosen by benchmarks/code_search.py, cross-validated over repositories.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.code.code import SymbolKind
from ragmem.domain.code.words import name_term, names_in, parts_of, stems_of, term_of
from ragmem.domain.text.gloss import in_english
from ragmem.domain.text.words import stem
from ragmem.frozen import dataclass
from ragmem.storage.code.code import SymbolPlace
from ragmem.storage.code.word_index import WordIndex, word_index
from ragmem.storage.fulltext.bm25 import K1, B
from ragmem.storage.fulltext.terms import STOP_WORDS
from ragmem.storage.home.catalog import Catalog

Array = NDArray[Any]

WEIGHTS: Mapping[str, float] = {
    "best_chunk": 0.5,
    "second_chunk": 0.3,
    "file_name": 0.2,
    "file_name_whole": 0.5,
    "folders": 0.75,
    "definition": 0.5,
    "defines": 1.0,
    "file_is_named": 1.0,
    "size": 0.4,
    "depth": -0.1,
}
"""What each term of a score counts; see `_terms`."""

BEHIND: Sequence[re.Pattern[str]] = (
    re.compile(
        r"(?:^|/)(?:tests?|specs?|__tests__|testing|testdata|fixtures?|e2e|bench|benchmarks?)/|(?:^|/)test_[^/]*$"
        r"|[._-](?:tests?|spec|bench)\.[^/]*$|(?<=[a-z])(?:Tests?|Spec)\.\w+$"
    ),
    re.compile(r"(?:^|/)_?(?:examples?|samples?|demos?|docs)/"),
    re.compile(r"(?:^|/)_?(?:compat|legacy|deprecated)/|_?compat\.\w+$"),
    re.compile(r"\.d\.[cm]?ts$|\.pyi$"),
)
"""Paths that say that others are meant first: tests, examples, former code, declarations."""

PENALTY = 0.7
"""The factor of the score of a file for each of these."""

MOST_WORDS = 24
"""Words of a question that are searched."""

DEEPEST = 4
"""Folders below the shallowest file that count."""

LARGE = 7.0
"""The logarithm of the lines of a large file, which is where its size counts fully."""

LEAST_COVERAGE = 0.4
LEAST_SHARE = 0.5
"""Shares of the question's idf mass and of its words; below both in every file, nothing fits."""

CANDIDATES = 8
"""Files that are compared by their paths, as a multiple of the limit."""

_NONE = np.empty(0, dtype=np.int64)
_WORD = re.compile(r"[\w!?]+")
_SYMBOL = re.compile(r"[\w$]+(?:(?:::|\\|->|[./#:])[\w$]+)*[!?]?(?:\(\))?")
_SEPARATOR = re.compile(r"->|[\\./#:]")


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A file that a question may mean, best first, and the lines in it that fit best.

    `symbol` is the definition there, None where the lines are in none; `purpose` is the file's. `terms` adds
    up to `score`, before the penalties.
    """

    path: str
    line: int
    end_line: int
    score: float
    terms: Mapping[str, float]
    symbol: SymbolPlace | None = None
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The stems of a question in order, those of its parts alone, and the names in it."""

    stems: tuple[str, ...]
    parts: frozenset[str]
    names: tuple[str, ...]


def search_code(catalog: Catalog, project: str, question: str, *, limit: int) -> list[CodePlace]:
    """Return the places in a project's code that fit a question best, one for each file.

    Empty where nothing fits, and where the code was never ingested.
    """
    index = word_index(catalog.database, project)
    if index is None:
        return []
    ranked = list(rank_files(index, question, limit=limit))
    symbols: dict[str, list[SymbolPlace]] = {}
    for one in catalog.code.symbols(project, [place.path for place in ranked]):
        symbols.setdefault(one.path, []).append(one)
    stems = frozenset(words_of_question(question).stems) if ranked else frozenset()
    return [_with_symbol(place, symbols.get(place.path, ()), stems) for place in ranked]


def _with_symbol(place: CodePlace, symbols: Sequence[SymbolPlace], stems: frozenset[str]) -> CodePlace:
    """Return a place with the definition in its lines whose name fits best, else the one around its begin."""
    purpose = next((one.symbol.doc for one in symbols if one.symbol.kind is SymbolKind.MODULE), "")
    defined = [one for one in symbols if one.symbol.kind is not SymbolKind.MODULE]
    around = [one for one in defined if one.symbol.line <= place.line <= one.symbol.end_line]
    below = [one for one in defined if place.line < one.symbol.line <= place.end_line]
    found = max(
        (*around[-1:], *below),
        key=lambda one: len(stems.intersection(stems_of(one.symbol.name))),
        default=None,
    )
    if found is None:
        return replace(place, purpose=purpose)
    at = found.symbol
    return replace(place, line=at.line, end_line=at.end_line, symbol=found, purpose=purpose)


def rank_files(index: WordIndex, question: str, *, limit: int) -> Iterator[CodePlace]:
    """Yield the best files for a question; their places have no symbols yet."""
    words = words_of_question(question)
    if not words.stems or not index.paths:
        return
    found = _Evidence(index, words)
    if found.coverage.max() < LEAST_COVERAGE and found.share.max() < LEAST_SHARE:
        return
    weighted = [WEIGHTS[name] * values for name, values in found.terms.items()]
    scores: Array = np.sum(weighted, axis=0) * found.has_any
    candidates = np.argsort(-scores, kind="stable")[: CANDIDATES * limit]
    scores[candidates] *= [_penalty(index.paths[file]) for file in candidates.tolist()]
    order = candidates[np.argsort(-scores[candidates], kind="stable")][:limit]
    for file in order[scores[order] > 0].tolist():
        first, last = found.lines(file)
        terms = {name: round(float(WEIGHTS[name] * values[file]), 4) for name, values in found.terms.items()}
        yield CodePlace(index.paths[file], first, last, float(scores[file]), terms)


def words_of_question(question: str) -> QuestionWords:
    """Return the words of a question in any language; an English one stays as it is."""
    text = in_english(question)
    words = _WORD.findall(text)[: 4 * MOST_WORDS]
    telling = [word for word in words if word.lower() not in STOP_WORDS] or words
    stems = dict.fromkeys(one for word in telling for one in stems_of(word))
    bare = question.strip()
    if _SYMBOL.fullmatch(bare):
        last = _SEPARATOR.split(bare.removesuffix("()"))[-1]
        names = [last]
    else:
        names = names_in(_WORD.findall(question))
    parts = frozenset(stem(part) for word in telling for part in parts_of(word))
    return QuestionWords(tuple(stems)[:MOST_WORDS], parts, tuple(dict.fromkeys(names)))


class _Evidence:
    """What the files of an index have of a question, as arrays over the files."""

    def __init__(self, index: WordIndex, words: QuestionWords) -> None:
        self._index = index
        self._files = len(index.paths)
        self._idf = np.array([_rarity(index, one) for one in words.stems])
        self._mass = float(self._idf.sum()) or 1.0
        self._at_definition: dict[int, int] = {}
        self.terms = self._chunks(words) | self._names(words) | self._definitions(words)
        self.has_any = sum(self.terms.values()) > 0
        self.terms["size"] = np.log1p(index.lines) / LARGE
        self.terms["depth"] = np.minimum(index.depths - index.depths.min(), DEEPEST)

    def lines(self, file: int) -> tuple[int, int]:
        """Return the lines of a file that fit best."""
        if (line := self._at_definition.get(file)) is not None:
            return line, line
        start, end = self._index.first_chunk[file : file + 2].tolist()
        if start == end:
            return 1, 1
        best = start + int(np.argmax(self._chunk_scores[start:end]))
        return int(self._index.chunk_first[best]), int(self._index.chunk_last[best])

    def _chunks(self, words: QuestionWords) -> dict[str, Array]:
        """Return the BM25 scores of the two best chunks of each file, relative to the best of all."""
        index = self._index
        self._chunk_scores, having = chunk_scores(index, words.stems)
        scores = self._chunk_scores
        for row, stemmed in zip(having, words.stems, strict=True):
            row[index.names.get(stemmed, _NONE)] = True
            row[index.folders.get(stemmed, _NONE)] = True
        self.coverage = self._idf @ having / self._mass
        self.share = having.mean(axis=0)
        filled = np.flatnonzero(np.diff(index.first_chunk))
        starts = index.first_chunk[filled]
        best, second = np.zeros(self._files), np.zeros(self._files)
        if len(filled):
            best[filled] = np.maximum.reduceat(scores, starts)
            rest = scores.copy()
            at = np.flatnonzero(scores == best[index.chunk_file])
            rest[at[np.unique(index.chunk_file[at], return_index=True)[1]]] = 0
            second[filled] = np.maximum.reduceat(rest, starts)
        top = float(best.max()) if len(best) and best.max() > 0 else 1.0
        return {"best_chunk": best / top, "second_chunk": second / top}

    def _names(self, words: QuestionWords) -> dict[str, Array]:
        """Return how far the words of the question are in the names of files and folders, and vice versa."""
        index = self._index
        near, exact, folders = (np.zeros(self._files) for _ in range(3))
        initials: dict[str, list[str]] = {}
        for word in index.names:
            initials.setdefault(word[:3], []).append(word)
        mass = 0.0
        for stemmed, idf in zip(words.stems, self._idf, strict=True):
            own, above = index.names.get(stemmed, _NONE), index.folders.get(stemmed, _NONE)
            folders[above] += idf / self._mass
            if stemmed not in words.parts:
                continue
            likeness = np.zeros(self._files)
            for word in initials.get(stemmed[:3], ()):
                if like := _likeness(stemmed, word):
                    files = index.names[word]
                    likeness[files] = np.maximum(likeness[files], like)
            rarity = _idf(self._files, len(np.union1d(own, above)))
            mass += rarity
            near += rarity * likeness
            exact[own] += 1
        return {
            "file_name": near / (mass or 1.0),
            "file_name_whole": exact / np.maximum(index.name_words, 1),
            "folders": folders,
        }

    def _definitions(self, words: QuestionWords) -> dict[str, Array]:
        """Return how well a definition's name fits, and what has a name of the question as it is written."""
        index = self._index
        fits, defines, named = (np.zeros(self._files) for _ in range(3))
        mass = np.zeros(len(index.definition_file))
        often = np.zeros(len(index.definition_file))
        for stemmed, idf in zip(words.stems, self._idf, strict=True):
            places, _ = index.definitions.of(term_of(stemmed))
            mass[places] += idf / self._mass
            often[places] += 1
        fit = mass * np.minimum(often / np.maximum(index.definition_words, 1), 1)
        some = np.flatnonzero(fit)
        np.maximum.at(fits, index.definition_file[some], fit[some])
        for name in words.names:
            places, _ = index.definitions.of(name_term(name))
            for place in reversed(places.tolist()):
                file = int(index.definition_file[place])
                defines[file] = 1
                self._at_definition[file] = int(index.definition_line[place])
            letters = "".join(parts_of(name))
            for form in (letters, f"{letters}s", letters.removesuffix("s")):
                named[index.letters.get(form, _NONE)] = 1
        self.coverage = np.maximum(self.coverage, np.maximum(defines, named))
        return {"definition": fits, "defines": defines, "file_is_named": named}


def chunk_scores(index: WordIndex, stems: Sequence[str]) -> tuple[Array, Array]:
    """Return the BM25 score of each chunk, and for each stem which files have it."""
    scores = np.zeros(len(index.chunk_file))
    having = np.zeros((len(stems), len(index.paths)), dtype=bool)
    mean = float(index.chunk_words.mean()) if len(index.chunk_words) else 1.0
    norm = K1 * (1 - B + B * index.chunk_words / max(mean, 1.0))
    for row, stemmed in zip(having, stems, strict=True):
        places, frequencies = index.chunks.of(term_of(stemmed))
        often = frequencies.astype(np.float64)
        scores[places] += _rarity(index, stemmed) * often * (K1 + 1) / (often + norm[places])
        row[index.chunk_file[places]] = True
    return scores, having


def _rarity(index: WordIndex, stemmed: str) -> float:
    return _idf(len(index.chunk_file), len(index.chunks.of(term_of(stemmed))[0]))


def _idf(documents: int, having: int) -> float:
    return float(np.log(1 + (documents - having + 0.5) / (having + 0.5)))


@lru_cache(maxsize=65_536)
def _likeness(stemmed: str, word: str) -> float:
    """Return 1 for one word, less for `recover` and `recoveri`, or an abbreviation such as `auth`."""
    if stemmed == word:
        return 1.0
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(stemmed, word, strict=False)))
    if shared >= 4 and shared >= 0.6 * max(len(stemmed), len(word)):
        return 0.7
    return 0.5 if shared >= 3 and shared == len(word) else 0.0


@lru_cache(maxsize=65_536)
def _penalty(path: str) -> float:
    return float(PENALTY ** sum(pattern.search(path) is not None for pattern in BEHIND))
