"""Decide which newer memory supersedes an older one of its project, by their texts alone."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ragmem.domain.lifecycle.pair_model import PairVerdict, relate, words_of
from ragmem.domain.model import State
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.model.lifecycle import Connection, Entry
from ragmem.domain.model.supersession import DECLARED, PERHAPS_OUTDATED, RESTATED, direct_successors
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import SOURCE as TRANSCRIPTS
from ragmem.domain.text.keywords import without_stop_words

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

LISTED = 3
"""A memory that probably supersedes, or is superseded by, so many others is an item of a list."""

_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
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
class _Said:
    """A memory with what it says, its file, and whether a user curates or protects it.

    Automatic memories cannot replace one that is kept `by_people`.
    """

    entry: Entry
    said: Statements
    file: str
    by_people: bool

    def may_replace(self, older: "_Said") -> bool:
        """Tell whether it is later, kept by people if the older one is, and of another file."""
        return (
            older.entry.memory.event_time < self.entry.memory.event_time
            and (self.by_people or not older.by_people)
            and not (self.file and self.file == older.file)
        )


@dataclass(frozen=True, slots=True)
class _RareWords:
    """The older memories of a project by their rare words, the most telling word first.

    `ranks` maps a word to its place in `holding` and `weights`; `holding` has the places of memories.
    """

    ranks: Mapping[str, int]
    holding: Sequence[Sequence[int]]
    weights: Sequence[float]

    def candidates(self, said: Statement) -> list[int]:
        """Return the places of the memories that share the most specific words with a statement."""
        shared: dict[int, float] = {}
        for rank in sorted([self.ranks[word] for word in self.ranks.keys() & said.words])[:TELLING]:
            weight = self.weights[rank]
            for place in self.holding[rank]:
                shared[place] = shared.get(place, 0.0) - weight
        # One more, because a memory shares all words with itself.
        return [place for _, place in sorted(zip(shared.values(), shared, strict=True))[: CANDIDATES + 1]]


def statements(text: str) -> Statements:
    """Return what a text says, without code: the whole if it has at most MAX_WORDS words, and its parts."""
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
    """Return which memories are made untrue by which, at most one successor for each, without circles.

    What memories declare of each other comes first. By the pair model only a later memory (by event time)
    replaces an earlier one of the same project, not one of the same file and no page of a document, and one
    that a person keeps (curated, protected) only one that is such as well. Where the model is not certain
    enough to hide, the rule is PERHAPS_OUTDATED. Candidates are connected memories and those that share rare
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
    """Yield the changes that the pair model finds in one project, with their certainty; above 1 it hides.

    What is alike to several others is an item of a list: it is only marked, or left alone if they are LISTED.
    """
    proposed = {
        (older, newer): (verdict, place)
        for older, newer, verdict, place in sorted(
            _proposals(group, linked, reading), key=lambda one: one[2].certainty
        )
    }
    near = Counter(chain.from_iterable(proposed))
    alike = Counter(chain.from_iterable(pair for pair, (verdict, _) in proposed.items() if verdict.hides))
    for (older, newer), (verdict, place) in proposed.items():
        if max(near[older], near[newer]) >= LISTED:
            continue
        hides = verdict.hides and alike[older] == alike[newer] == 1
        certainty = verdict.certainty if hides else verdict.supersedes
        yield Change(older, newer, RESTATED if hides else PERHAPS_OUTDATED, certainty, place)


def _proposals(
    group: Sequence[Entry], linked: Links, reading: Reading
) -> Iterator[tuple[str, str, PairVerdict, int]]:
    """Yield the older and the newer id of each pair that the model would at least mark.

    A pair comes once for each statement of the newer one, with the place of that.
    """
    read = reading(statements, [entry.text for entry in group])
    every = [
        _Said(entry, said, entry.memory.uri.rpartition("#")[0], entry.curated or entry.is_protected)
        for entry, said in zip(group, read, strict=True)
    ]
    older = [
        (one, one.said.whole)
        # In the order of ids, by which equally telling candidates are chosen.
        for one in sorted(every, key=lambda one: one.entry.id)
        # An exchange tells what was said and done then, and that stays so.
        if one.said.whole
        and one.entry.memory.source != TRANSCRIPTS
        and not (one.entry.superseded_by or is_of_document(one.entry.memory.metadata))
    ]
    places = {one.entry.id: place for place, (one, _) in enumerate(older)}
    rare = _rare_words([whole for _, whole in older], len(group))
    for one in every:
        key = one.entry.id
        if one.entry.memory.state is State.BUFFERED:
            # It is out of sight, and replaces nothing.
            continue
        fixed = [places[other] for other in linked.get(key, ()) if other in places]
        for number, said in enumerate(one.said.every):
            for place in {*fixed, *rare.candidates(said)}:
                other, before = older[place]
                if _are_alike(before.words, said.words) and one.may_replace(other):
                    verdict = relate(before.text, said.text)
                    if verdict.marks:
                        yield other.entry.id, key, verdict, number


def _rare_words(wholes: Sequence[Statement], memories: int) -> _RareWords:
    seen = Counter(chain.from_iterable(whole.words for whole in wholes))
    holding: dict[str, list[int]] = {word: [] for word, count in seen.items() if count <= RARE}
    for place, whole in enumerate(wholes):
        for word in whole.words & holding.keys():
            holding[word].append(place)
    weights = {word: math.log(1 + memories / seen[word]) for word in holding}
    order = sorted(holding, key=lambda word: (weights[word], word), reverse=True)
    return _RareWords(
        {word: rank for rank, word in enumerate(order)},
        [holding[word] for word in order],
        [weights[word] for word in order],
    )


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    common = len(one & other)
    return common > 0 and 2 * common >= ALIKE * (len(one) + len(other))


def _quote(said: Statement, redactor: Redactor, most: int = 100) -> str:
    """Return the beginning of a statement in quotes, without secrets: a reason is stored and shown."""
    text = " ".join(redactor.redact(said.text)[0].split())
    return f'"{text if len(text) <= most else text[: most - 1].rstrip() + "…"}"'
