"""Gloss texts of other languages: give English words for their words, by a glossary for each language.

A gloss is no translation: it keeps the order of the words, leaves function words out, and keeps names and
words that it does not know. It is enough for a model that knows English alone, and for full text: measured
by benchmarks/multilingual.py. The glossaries are word alignments of translated messages of programs,
learnt by scripts/build_glossaries.py, which names their sources.
"""

import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from ragmem.domain.text.language import detect, function_words
from ragmem.domain.text.stemming import stem_each, stem_in
from ragmem.domain.text.words import fold_words, is_unspaced, unspaced_runs
from ragmem.heap import word_cache
from ragmem.patterns import lazy

FOLDER = Path(__file__).with_name("glossaries")

UNSPACED = frozenset({"ja", "ko", "zh"})
"""Languages whose words are found by the longest entry of the glossary."""

LONGEST_ENTRY = 4
"""Letters of an entry in a language without spaces."""

COMPOUNDING = frozenset({"da", "de", "fi", "hu", "nb", "nl", "sv"})
_SHORTEST_PART, _SHORTEST_COMPOUND = 3, 8
_LINKS = ("s", "es", "n", "en", "er", "e")
"""Letters between the parts of a compound."""

_PARTICLES: Mapping[str, frozenset[str]] = {
    "de": frozenset(
        "ab an auf aus bei ein frei her hin hinzu hoch los mit nach um vor weg zu zuruck zusammen".split()
    ),
    "nl": frozenset("aan af bij door in mee na om op over terug toe uit vast voor weg".split()),
    "hu": frozenset("at be el fel fol hozza ki le meg ossze ra vissza".split()),
}
"""Folded particles that stand apart from their verb, often at the end of the clause: "leite ... um"."""

_RUN = lazy(r"[^\W_]+")
_CLAUSE_END = lazy(r"[.,;:!?\n()]")
_FINITE_ENDING = lazy(r"(?:e?st|e?t|en?)$")
_STRONG_VOWEL = lazy(r"ie?(?=[^aeiou]+$)")
"""The vowel of the German "gibt" and "bricht", where the infinitive has an e."""


@cache
def glossaries() -> frozenset[str]:
    """Return the ISO 639-1 codes of the languages with a glossary."""
    return frozenset(path.name.partition(".")[0] for path in FOLDER.glob("*.z"))


@cache
def _glossary(language: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return word -> English words, and stem -> those of its most frequent form, with blanks between them."""
    if language not in glossaries():
        return {}, {}
    lines = zlib.decompress((FOLDER / f"{language}.z").read_bytes()).decode().splitlines()
    words = dict(line.split("\t", 1) for line in lines)  # the most frequent ones first
    if language in UNSPACED:
        return words, {}
    stems: dict[str, str] = {}
    for stem, english in zip(stem_each(language, list(words)), words.values(), strict=True):
        stems.setdefault(stem, english)
    return words, stems


@word_cache(8_192)
def gloss_word(word: str, language: str) -> tuple[str, ...]:
    """Return English words for a folded word; none where the glossary does not know it."""
    return _known(word, language) or _compound(word, language)


def _known(word: str, language: str) -> tuple[str, ...]:
    words, stems = _glossary(language)
    english = words.get(word) or stems.get(stem_in(language, word)) or ""
    return tuple(english.split())


def _compound(word: str, language: str) -> tuple[str, ...]:
    """Return the English words of both parts of a compound, cut where the shorter part is longest."""
    if language not in COMPOUNDING or len(word) < _SHORTEST_COMPOUND:
        return ()
    middle = len(word) // 2
    for cut in sorted(range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1), key=lambda at: abs(at - middle)):
        last = _known(word[cut:], language)
        if not last:
            continue
        first = word[:cut]
        heads = [first, *(first.removesuffix(link) for link in _LINKS if first.endswith(link)), f"{first}e"]
        for head in heads:
            if len(head) >= _SHORTEST_PART and (known := _known(head, language)):
                return (*known, *last)
    return ()


def gloss_run(run: str, language: str) -> Iterator[tuple[str, ...]]:
    """Yield the English words of the longest entries in a run of letters of a language without spaces."""
    return (english for _, english in _longest_entries(run, language))


def _longest_entries(run: str, language: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    words, _ = _glossary(language)
    place = 0
    while place < len(run):
        for size in range(min(LONGEST_ENTRY, len(run) - place), 0, -1):
            entry = run[place : place + size]
            if found := words.get(entry):
                yield entry, tuple(found.split())
                place += size
                break
        else:
            place += 1


def known_share(text: str) -> float | None:
    """Return the share of a text's words that the glossary of its language has, without function words.

    In a language without spaces it is the share of letters that are in entries of more than one: most letters
    have an entry of their own. None without a glossary, as for English.
    """
    language = detect(text)
    if language is None or language not in glossaries():
        return None
    if language in UNSPACED:
        runs = unspaced_runs(text)
        entries = (entry for run in runs for entry, _ in _longest_entries(run, language))
        known = sum(len(entry) for entry in entries if len(entry) > 1)
        return known / max(1, sum(map(len, runs)))
    empty = function_words().get(language, frozenset())
    words = [word for word in fold_words(text) if word not in empty]
    return sum(bool(gloss_word(word, language)) for word in words) / max(1, len(words))


def gloss(text: str, language: str) -> str:
    """Return a text with English words in place of those that the glossary knows, without function words.

    An empty string if nothing is left. Names and unknown words stay as they are.
    """
    found: list[str] = []
    empty = function_words().get(language, frozenset())
    unspaced = language in UNSPACED
    separable = _separable_verbs(text, language) if language in _PARTICLES else {}
    for match in _RUN.finditer(text):
        run = match[0]
        if match.start() in separable:
            found.extend(separable[match.start()])
            continue
        if unspaced and not run.isascii():
            for piece in _pieces(run):
                if is_unspaced(piece):
                    found.extend(word for words in gloss_run(piece, language) for word in words)
                else:
                    found.append(piece)
            continue
        folded = fold_words(run)
        if len(folded) == 1:
            if folded[0] in empty:
                continue
            if words := gloss_word(folded[0], language):
                found.extend(words)
                continue
        found.append(run)
    return " ".join(found)


def _separable_verbs(text: str, language: str) -> dict[int, tuple[str, ...]]:
    """Return place -> English words for each verb whose particle ends the clause; none for the particle."""
    found: dict[int, tuple[str, ...]] = {}
    start = 0
    for end in (*(match.start() for match in _CLAUSE_END.finditer(text)), len(text)):
        words = [(match.start(), " ".join(fold_words(match[0]))) for match in _RUN.finditer(text, start, end)]
        start = end
        if not words or words[-1][1] not in _PARTICLES[language]:
            continue
        particle_at, particle = words.pop()
        for place, verb in words:
            forms = (verb, *_infinitives(verb)) if language == "de" else (verb,)
            if english := next(filter(None, (_known(particle + form, language) for form in forms)), ()):
                found |= {place: english, particle_at: ()}
                break
    return found


def _infinitives(word: str) -> tuple[str, str]:
    """Return what the infinitive of a finite German verb may be: of a weak verb, and of one like "bricht"."""
    root = _FINITE_ENDING.sub("", word)
    return f"{root}en", f"{_STRONG_VOWEL.sub('e', root)}en"


def _pieces(run: str) -> Iterator[str]:
    """Yield the parts of a run that are, or are not, in scripts without spaces."""
    start = 0
    for place in range(1, len(run) + 1):
        if place == len(run) or is_unspaced(run[place]) != is_unspaced(run[start]):
            yield run[start:place]
            start = place


def in_english(text: str) -> str:
    """Return the gloss of a text in another language; an English text, or one of no language, as it is."""
    language = detect(text)
    return text if language not in glossaries() else gloss(text, language) or text
