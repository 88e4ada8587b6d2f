"""Decide which newer memory supersedes an older one of its project, by their texts alone."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import PurePosixPath

from ragmem.domain.classification.judge import is_foreign_prose
from ragmem.domain.lifecycle.pair_model import relate, words_of
from ragmem.domain.model import State
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.model.lifecycle import Connection, Entry
from ragmem.domain.model.supersession import DECLARED, PERHAPS_OUTDATED, RESTATED, direct_successors
from ragmem.domain.retrieval.whole_dates import DAY
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import SOURCE as TRANSCRIPTS
from ragmem.domain.text.keywords import without_stop_words
from ragmem.domain.text.words import stem

MAX_CHARS = 1200
"""Characters of a memory that are read; later text is detail."""

MAX_WORDS = 90
"""A memory with more words says several things, and one change does not supersede it."""

MAX_STATEMENTS = 12

LEAST_WORDS = 3
"""A statement with fewer words is a heading or an answer, and depends on what stands around it."""

RARE = 40
"""A word in more memories yields no candidate."""

TELLING = 6
"""Number of rarest words of a statement that yield candidates."""

CANDIDATES = 5
"""Number of older memories compared with a statement, those with the most specific common words."""

ALIKE = 0.35
"""Least overlap of the words of two statements: the pairs of the training have at least as much."""

_ROUNDING = 1e-9
"""More than the rounding of a sum of weights."""

_ENOUGH_ROOM = 16
"""New memories of a project for which no closer look is taken at how many more there may be."""

LISTED = 3
"""A memory that probably supersedes, or is superseded by, so many others is an item of a list."""

_FENCED = re.compile(
    r"\A---\n.*?^---[ \t]*$|^:PROPERTIES:[ \t]*$.*?^:END:[ \t]*$|^#\+[A-Za-z_]+:[^\n]*"
    r"|^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_JOINTS = str.maketrans("", "", ".-+#")
_HEADING = re.compile(r"\s*#{1,6} +(.+)")
# The pattern begins with white space, so that the search skips letters quickly.
_SENTENCE = re.compile(
    r"\s(?:(?<=[\w)\]`\"'*>][.!?;]\s)(?<!e\.g\.\s)(?<!i\.e\.\s)(?<!\bvs\.\s)(?<!\bcf\.\s)\s*(?=\S)"
    r"|(?<=\n)\s*(?:\n|[-*+#>]|\d+[.)])\s*)"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or item, or a whole short memory, with its words of substance in lower case."""

    text: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Statements:
    """What a memory says: as a whole, if it is short, and in its first statements."""

    whole: Statement | None
    each: tuple[Statement, ...]

    @property
    def every(self) -> tuple[Statement, ...]:
        """The whole and its parts, each once."""
        if self.whole is None:
            return self.each
        return (self.whole, *self.each) if len(self.each) > 1 else (self.whole,)


Reading = Callable[[Callable[[str], Statements], Sequence[str]], Iterable[Statements]]


Links = Mapping[str, Sequence[str]]
"""Memory -> those that it is connected with, by their ids."""


@dataclass(frozen=True, slots=True)
class Change:
    """A newer memory supersedes an older one, by a rule; of several the more certain counts.

    With the rule PERHAPS_OUTDATED the older one is marked and not hidden. `statement` is the place of what
    the newer one says among `Statements.every`.
    """

    older: str
    newer: str
    rule: str
    certainty: float = math.inf
    statement: int = 0


Finding = Callable[[Sequence[Entry], Links, Reading], Iterable[Change]]
"""Finds the changes of one project that no memory declares, as `model_changes` does."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A pair of memories that the model would at least mark.

    `supersedes` and `hides` are of its verdict; `statement` is the place of the one of the newer memory.
    """

    older: str
    newer: str
    supersedes: float
    hides: bool
    statement: int

    @property
    def certainty(self) -> float:
        """The probability that the newer one supersedes the older one, and 1 more where it hides it."""
        return self.supersedes + self.hides


@dataclass(frozen=True, slots=True)
class ReadMemory:
    """A memory with what it says, its file, and whether a user curates or protects it.

    Automatic memories cannot replace one that is kept `by_people`.
    """

    entry: Entry
    said: Statements
    file: str
    by_people: bool
    heading: frozenset[str]
    """Stems of the words, not of the numbers, of the heading that a text begins with."""

    @classmethod
    def of(cls, entry: Entry, said: Statements) -> "ReadMemory":
        """Return a memory with its statements."""
        heading = _HEADING.match(entry.text)
        words = without_stop_words(map(str.lower, words_of(heading[1]) if heading else ()))
        return cls(
            entry,
            said,
            entry.memory.uri.rpartition("#")[0],
            entry.curated or entry.is_protected,
            frozenset(stem(word) for word in words if word.translate(_JOINTS).isalpha()),
        )

    def may_replace(self, older: "ReadMemory") -> bool:
        """Return whether it is later, kept by people if the older one is, and of another file.

        Two headings with a word of their own each name two things: "size of a table", "size of a database".
        What a daily note or the minutes of a meeting say was so on that day, and stays so.
        """
        return (
            older.entry.memory.event_time < self.entry.memory.event_time
            and (self.by_people or not older.by_people)
            and not (self.file and self.file == older.file)
            and (self.heading <= older.heading or older.heading <= self.heading)
            and not _is_of_a_day(older.entry.memory.uri, self.entry.memory.uri)
        )


@dataclass(frozen=True, slots=True)
class RareWords:
    """The memories of a project that may be superseded, by their rare words.

    `holding` gives the places of those that have a word, none for a word that is not rare. The project has
    `memories`.
    """

    memories: int
    holding: Callable[[str], Sequence[int]]

    def candidates(self, said: Statement) -> tuple[list[int], float]:
        """Return the places of the memories that share the most specific words with a statement.

        The other value is how many memories the project may gain or lose until others could come first, as
        long as none of these words becomes more or less frequent.
        """
        found = [(len(held), word, held) for word in said.words if (held := self.holding(word))]
        telling = sorted(sorted(found, reverse=True), key=itemgetter(0))[:TELLING]
        shared: dict[int, float] = {}
        for count, _, held in telling:
            weight = math.log(1 + self.memories / count)
            for place in held:
                shared[place] = shared.get(place, 0.0) - weight
        order = sorted(zip(shared.values(), shared, strict=True))
        # One more, because a memory shares all words with itself.
        most = CANDIDATES + 1
        room = self._room(order, [held for _, _, held in telling]) if len(order) > most else math.inf
        return [place for _, place in order[:most]], room

    def _room(self, order: Sequence[tuple[float, int]], telling: Sequence[Sequence[int]]) -> float:
        """Return the room of `candidates`: the least gap of two sums, over how fast it can close.

        The derivative of log(1 + n / s) by n is 1 / (n + s), with s from 1 to RARE. It is bounded for n from
        half the memories on.
        """
        first, rest = dict(order[: CANDIDATES + 1]), dict(order[CANDIDATES + 1 :])
        half = self.memories / 2
        # Equal sums are of words that are equally frequent, and stay equal.
        gaps = [(other - total, total, other) for total in first for other in rest if total != other]
        least = (min(gaps)[0] - _ROUNDING) * half / TELLING if gaps else half
        if least >= _ENOUGH_ROOM:
            return min(half, least)
        sizes = {sum_: sum(place in held for held in telling) for sum_, place in {**first, **rest}.items()}
        rooms = [
            (gap - _ROUNDING) * half / TELLING
            if sizes[total] != sizes[other]
            # Sums of equally many weights grow nearly alike.
            else (gap - _ROUNDING) * half**2 / sizes[total] / (RARE - 1)
            for gap, total, other in gaps
        ]
        return max(0.0, min([half, *rooms]))


def statements(text: str) -> Statements:
    """Return what a text says, without code and fields: the whole, if it is short enough, and its parts."""
    said = _FENCED.sub("\n\n", text[:MAX_CHARS])
    parts = [part for each in _SENTENCE.split(said) if (part := each.strip(" \t\n#>-*"))]
    found = [one for one in map(_statement, parts[:MAX_STATEMENTS]) if one]
    short = len(text) <= MAX_CHARS and text.count(" ") < MAX_WORDS
    return Statements(_statement(said.strip()) if short else None, tuple(found))


def _statement(text: str) -> Statement | None:
    words = words_of(text)
    if not LEAST_WORDS <= len(words) <= MAX_WORDS:
        return None
    return Statement(text, without_stop_words(map(str.lower, words)))


def changes(
    entries: Sequence[Entry],
    connections: Sequence[Connection] = (),
    *,
    reading: Reading = map,
    finding: Finding | None = None,
) -> list[Change]:
    """Return which memory supersedes which, at most one successor for each, without cycles.

    What memories declare of each other comes first. By the pair model only a later memory (by event time)
    replaces an earlier one of the same project, not one of the same file and no page of a document, and one
    that a person keeps (curated, protected) only one that is such as well. It knows English alone: what is
    in another language replaces nothing. Where the model is not certain enough to hide, the rule is
    PERHAPS_OUTDATED. Candidates are connected memories and those that share rare
    words, so that the time grows with the number of memories and not with that of their pairs. `reading`
    applies `statements` to many texts, in order; `finding` stands in for `model_changes`.
    """
    projects: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        projects[entry.scope.project].append(entry)
    linked: dict[str, list[str]] = defaultdict(list)
    for connection in connections:
        linked[connection.first].append(connection.second)
        linked[connection.second].append(connection.first)
    find = finding or model_changes
    found: dict[str, Change] = {}
    for group in projects.values():
        _choose(chain(_declared_changes(group), find(group, linked, reading)), found)
    return [found[key] for key in sorted(found)]


def reason_of(change: Change, older: Entry, newer: Entry, redactor: Redactor) -> str:
    """Return the reason of a change of these memories in one line, which quotes both without secrets."""
    if change.rule == DECLARED:
        return f"{newer.memory.uri} takes the place of {older.memory.uri}"
    before = statements(older.text).every[0]
    now = statements(newer.text).every[change.statement]
    return f"{_quote(before, redactor)} gave way to {_quote(now, redactor)}"


def _choose(proposed: Iterable[Change], found: dict[str, Change]) -> None:
    """Take the most certain proposals; by the model a memory replaces one other, and there are no circles."""
    used: set[str] = set()
    for change in sorted(proposed, key=lambda one: (-one.certainty, one.older, one.newer)):
        if change.older in found or (change.rule != DECLARED and change.newer in used):
            continue
        end = change.newer
        while end in found:
            end = found[end].newer
        if end != change.older:
            found[change.older] = change
            used.add(change.newer)


def _declared_changes(group: Sequence[Entry]) -> Iterator[Change]:
    """Yield the changes that memories declare in their metadata."""
    for older, newer in direct_successors([entry.memory for entry in group]).items():
        yield Change(older, newer, DECLARED)


def model_changes(group: Sequence[Entry], linked: Links, reading: Reading = map) -> Iterator[Change]:
    """Yield the changes that the pair model finds in one project; see `weigh`."""
    return weigh(_proposals(group, linked, reading))


def weigh(proposals: Iterable[Proposal]) -> Iterator[Change]:
    """Yield the changes of a project of all its proposals, with their certainty; above 1 it hides.

    What is alike to several others is an item of a list: it is only marked, or left alone if they are LISTED.
    """
    proposed = {(one.older, one.newer): one for one in sorted(proposals, key=lambda one: one.certainty)}
    near = Counter(chain.from_iterable(proposed))
    alike = Counter(chain.from_iterable(pair for pair, one in proposed.items() if one.hides))
    for (older, newer), one in proposed.items():
        if max(near[older], near[newer]) >= LISTED:
            continue
        hides = one.hides and alike[older] == alike[newer] == 1
        certainty = one.certainty if hides else one.supersedes
        yield Change(older, newer, RESTATED if hides else PERHAPS_OUTDATED, certainty, one.statement)


def may_be_replaced(entry: Entry) -> bool:
    """Return whether a memory may be superseded if it is short."""
    # An exchange records what was said and done then, which stays true.
    transcript = entry.memory.source == TRANSCRIPTS
    return not (transcript or entry.superseded_by or is_of_document(entry.memory.metadata))


def _proposals(group: Sequence[Entry], linked: Links, reading: Reading) -> Iterator[Proposal]:
    read = reading(statements, [entry.text for entry in group])
    every = [ReadMemory.of(entry, said) for entry, said in zip(group, read, strict=True)]
    # In the order of ids, by which equally telling candidates are chosen.
    older = [
        one
        for one in sorted(every, key=lambda one: one.entry.id)
        if one.said.whole and may_be_replaced(one.entry)
    ]
    places = {one.entry.id: place for place, one in enumerate(older)}
    holding: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(older):
        for word in one.said.whole.words if one.said.whole else ():
            holding[word].append(place)
    rare = {word: those for word, those in holding.items() if len(those) <= RARE}
    words = RareWords(len(group), lambda word: rare.get(word, ()))
    for one in every:
        fixed = [places[other] for other in linked.get(one.entry.id, ()) if other in places]
        yield from propose(one, fixed, words, older.__getitem__)[0]


def propose(
    one: ReadMemory, fixed: Sequence[int], rare: RareWords, older: Callable[[int], ReadMemory]
) -> tuple[list[Proposal], float]:
    """Return the pairs of a memory and those it would at least mark, and the room of its candidates.

    A pair comes once for each statement of the newer one. `fixed` are the places of connected memories, and
    `older` gives the memory at a place. The room is that of `RareWords.candidates`.
    """
    found: list[Proposal] = []
    room = math.inf
    if one.entry.memory.state is State.BUFFERED:
        # It is out of sight, and replaces nothing.
        return found, room
    for number, said in enumerate(one.said.every):
        near, left = rare.candidates(said)
        room = min(room, left)
        for place in {*fixed, *near}:
            other = older(place)
            before = other.said.whole
            if before and _are_alike(before.words, said.words) and one.may_replace(other):
                verdict = relate(before.text, said.text)
                # The model was trained on English; the whole note shows the language of a short line in it.
                if verdict.marks and not (
                    is_foreign_prose(f"{before.text}\n{said.text}")
                    or is_foreign_prose(one.entry.text[:MAX_CHARS])
                ):
                    key = (other.entry.id, one.entry.id)
                    found.append(Proposal(*key, verdict.supersedes, verdict.hides, number))
    return found, room


def _is_of_a_day(uri: str, other: str) -> bool:
    """Return whether the name of a file is a day, or is that of another file but for the day."""
    name, other_name = (PurePosixPath(one.partition("#")[0]).stem for one in (uri, other))
    rest = DAY.sub("", name)
    return rest != name and (not any(map(str.isalpha, rest)) or rest == DAY.sub("", other_name))


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    common = len(one & other)
    return common > 0 and 2 * common >= ALIKE * (len(one) + len(other))


def _quote(said: Statement, redactor: Redactor, most: int = 100) -> str:
    """Return the beginning of a statement in quotes, without secrets: a reason is stored and shown."""
    text = " ".join(redactor.redact(said.text)[0].split())
    return f'"{text if len(text) <= most else text[: most - 1].rstrip() + "…"}"'
