"""The activities of software work, with the words, files and commands by which a text or a moment names one.

`rule_topics.tsv` lists them in English, German, French and Spanish. A `~` ends a word of which only the
beginning counts. The last rows are languages of programs, which files name by their extension.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fnmatch import translate
from functools import cache, lru_cache
from pathlib import Path

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

TOPICS = Path(__file__).with_name("rule_topics.tsv")

FIRST_LANGUAGE = "typescript"
"""The first row that is a language and no activity."""

PACKAGES = "dependency"

_ECOSYSTEMS = (
    "npm pnpm yarn bun deno package.json package-lock.json pnpm-lock.yaml yarn.lock",
    "pip pip3 uv poetry pipenv conda mamba requirements.txt pyproject.toml poetry.lock uv.lock Pipfile",
    "cargo Cargo.toml Cargo.lock",
    "go go.mod go.sum",
    "bundle gem Gemfile Gemfile.lock",
    "composer composer.json",
    "flutter dart pubspec.yaml",
    "mvn gradle pom.xml build.gradle build.gradle.kts",
    "mix mix.exs",
    "dotnet",
)
ECOSYSTEM = {word: line.split()[0] for line in _ECOSYSTEMS for word in line.split()}
"""A program or a file of packages -> the ecosystem, so that a rule about npm says nothing of Rust."""

_ACCENTS = lazy("[\u0300-\u036f]")
_WORD = lazy(r"[\w#+]+(?:['\u2019./-][\w#+]+)*|[,;:()?!]")
_SPAN = lazy(r"`[^`\n]{1,120}`|-(?<!\S-)-?[a-z][\w-]*")

CODE = " code_span "
"""What stands for a piece of code or an option."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words, verbs and commands -> their topics, and patterns of files with theirs."""

    things: Mapping[str, str]
    verbs: Mapping[str, str]
    beginnings: tuple[tuple[str, ...], tuple[str, ...]]
    """The first letters of things and of verbs that stand for all words with them, the longest first."""
    phrases: Mapping[str, tuple[tuple[str, ...], ...]]
    """The first word of a phrase -> its other words, and a ~ if only the beginning of the last counts."""
    files: Mapping[str, tuple[str, ...]]
    """The topics -> patterns of their files."""
    commands: Mapping[str, frozenset[str]]
    languages: frozenset[str]
    programs: Mapping[str, frozenset[str]]
    """The programs of the commands -> the topics of all their commands."""

    def thing(self, word: str) -> str:
        """Return the topic that a noun names, or ""."""
        return _thing(word)

    def verb(self, word: str) -> str:
        """Return the topic that a verb names, or ""."""
        return _verb(word)

    @staticmethod
    def find(word: str, exact: Mapping[str, str], beginnings: tuple[str, ...]) -> str:
        """Return the topic of a word, whole or by its beginning, or ""."""
        if word in exact:
            return exact[word]
        if not word.startswith(beginnings):
            return ""
        return exact[next(one for one in beginnings if word.startswith(one)) + "~"]


@lru_cache(maxsize=4096)
def _thing(word: str) -> str:
    known = vocabulary()
    return known.find(word, known.things, known.beginnings[0])


@lru_cache(maxsize=4096)
def _verb(word: str) -> str:
    known = vocabulary()
    return known.find(word, known.verbs, known.beginnings[1])


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary, read once."""
    _, *rows = (line.split("\t") for line in TOPICS.read_text(encoding="utf-8").splitlines())
    things, verbs = dict[str, str](), dict[str, str]()
    commands: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    files: dict[str, tuple[str, ...]] = {}
    for topic, *columns in rows:
        named, done, patterns, run = ([one for one in column.split(", ") if one] for column in columns)
        for word in named:
            things.setdefault(_joined(word), topic)
        for word in done:
            verbs.setdefault(_joined(word), topic)
        for command in run:
            commands[command] |= {topic}
        files[topic] = tuple(patterns)
    phrases: defaultdict[str, tuple[tuple[str, ...], ...]] = defaultdict(tuple)
    for one in sorted((*things, *verbs), key=len, reverse=True):
        first, *rest = one.rstrip("~").split("_")
        if rest:
            phrases[first] = (*phrases[first], (*rest, "~" if one.endswith("~") else ""))
    names = [row[0] for row in rows]
    programs: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for command, topics in commands.items():
        programs[command.split()[0]] |= topics
    return Vocabulary(
        things,
        verbs,
        (_beginnings(things), _beginnings(verbs)),
        phrases,
        files,
        commands,
        frozenset(names[names.index(FIRST_LANGUAGE) :]),
        programs,
    )


def _joined(word: str) -> str:
    return fold(word).replace(" ", "_")


def _beginnings(words: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted((one[:-1] for one in words if one.endswith("~")), key=lambda one: (-len(one), one)))


def fold(text: str) -> str:
    """Return a text in lower case and without accents."""
    low = text.casefold().replace("\u2019", "'")
    return low if low.isascii() else _ACCENTS.sub("", unicodedata.normalize("NFD", low))


def words_of(text: str) -> list[str]:
    """Return the words and marks of a sentence, folded; code is `code_span`, a known phrase is one word."""
    said = _WORD.findall(_SPAN.sub(CODE, fold(text)))
    phrases = vocabulary().phrases
    if phrases.keys().isdisjoint(said):
        return said
    found: list[str] = []
    place = 0
    while place < len(said):
        word = said[place]
        count = _phrase_length(said, place, phrases[word]) if word in phrases else 0
        found.append("_".join(said[place : place + 1 + count]))
        place += 1 + count
    return found


def _phrase_length(said: Sequence[str], place: int, phrases: tuple[tuple[str, ...], ...]) -> int:
    """Return how many words after the first one belong to the longest phrase here."""
    for *rest, end in phrases:
        count = len(rest)
        words = said[place + 1 : place + 1 + count]
        is_last = len(words) == count and words[:-1] == rest[:-1] and words[-1].startswith(rest[-1])
        if is_last and (end or words[-1] == rest[-1]):
            return count
    return 0


@cache
def _file_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Return the topics with the patterns of their files, which only a moment with a file needs."""
    return [
        # A pattern of a folder also holds at the top, where no folder is before it.
        (
            topic,
            re.compile(
                "|".join(translate(one) for each in patterns for one in {each, each.removeprefix("**/")})
            ),
        )
        for topic, patterns in vocabulary().files.items()
        if patterns
    ]


@lru_cache(maxsize=64)
def topics_of_path(path: str) -> frozenset[str]:
    """Return the topics of a file by its path: "src/a.test.ts" is of tests and of TypeScript."""
    plain = path.replace("\\", "/").strip("/")
    name = plain.rpartition("/")[2]
    return frozenset(
        topic for topic, pattern in _file_patterns() if pattern.match(name) or pattern.match(plain)
    )


def topics_of_command(words: Sequence[str]) -> frozenset[str]:
    """Return the topics of a command by its first words."""
    commands = vocabulary().commands
    found = [commands.get(" ".join(words[:count]), frozenset()) for count in (4, 3, 2, 1)]
    return next(filter(None, found), frozenset())


def topics_of_program(name: str) -> frozenset[str]:
    """Return the topics of a program: that of packages if it installs them, else those of its commands."""
    every = vocabulary().programs.get(name, frozenset())
    return frozenset({PACKAGES}) if PACKAGES in every else every
