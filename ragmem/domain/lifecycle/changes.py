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
from ragmem.domain.text.keywords import is_stop_word

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


@dataclass(frozen=True, slots=True)
class Change:
    """A newer memory supersedes an older one, by a rule, with a one-line reason that quotes both.

    With the rule PERHAPS_OUTDATED the older one is marked and not hidden.
    """

    older: str
    newer: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Said:
    """A memory with what it says."""

    entry: Entry
    said: Statements

    @property
    def by_people(self) -> bool:
        """Tell whether a user curates or protects it; automatic memories cannot replace it."""
        return self.entry.curated or self.entry.is_protected

    def may_replace(self, older: "_Said") -> bool:
        """Tell whether it is later, in sight, kept by people if the older one is, and of another file."""
        mine, other = self.entry.memory, older.entry.memory
        file = mine.uri.rpartition("#")[0]
        return (
            other.event_time < mine.event_time
            and mine.state is not State.BUFFERED
            and (self.by_people or not older.by_people)
            and not (file and file == other.uri.rpartition("#")[0])
        )


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
    return Statement(text, frozenset(word for word in map(str.lower, words) if not is_stop_word(word)))


def changes(
    entries: Sequence[Entry],
    connections: Sequence[Connection] = (),
    *,
    reading: Reading = map,
    redactor: Redactor,
) -> list[Change]:
    """Return which memories are made untrue by which, at most one successor for each, without circles.

    What memories declare of each other comes first. By the pair model only a later memory (by event time)
    replaces an earlier one of the same project, not one of the same file and no page of a document, and one
    that a person keeps (curated, protected) only one that is such as well. Where the model is not certain
    enough to hide, the rule is PERHAPS_OUTDATED. Candidates are connected memories and those that share rare
    words, so that the time grows with the number of memories and not with that of their pairs. `reading`
    applies `statements` to many texts, in order.
    """
    projects: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        projects[entry.scope.project].append(entry)
    linked: dict[str, list[str]] = defaultdict(list)
    for connection in connections:
        linked[connection.first].append(connection.second)
        linked[connection.second].append(connection.first)
    found: dict[str, Change] = {}
    for group in projects.values():
        _choose(
            chain(_declared_changes(group), _model_changes(group, linked, reading, redactor=redactor)), found
        )
    return [found[key] for key in sorted(found)]


def _choose(proposed: Iterable[tuple[float, Change]], found: dict[str, Change]) -> None:
    """Take the most certain proposals; by the model a memory replaces one other, and there are no circles."""
    used: set[str] = set()
    for _, change in sorted(proposed, key=lambda one: (-one[0], one[1].older, one[1].newer)):
        if change.older in found or (change.rule != DECLARED and change.newer in used):
            continue
        end = change.newer
        while end in found:
            end = found[end].newer
        if end != change.older:
            found[change.older] = change
            used.add(change.newer)


def _declared_changes(group: Sequence[Entry]) -> Iterator[tuple[float, Change]]:
    """Yield the changes that memories declare in their metadata."""
    uris = {entry.id: entry.memory.uri for entry in group}
    for older, newer in direct_successors([entry.memory for entry in group]).items():
        yield math.inf, Change(older, newer, DECLARED, f"{uris[newer]} takes the place of {uris[older]}")


def _model_changes(
    group: Sequence[Entry], linked: Mapping[str, Sequence[str]], reading: Reading, redactor: Redactor
) -> Iterator[tuple[float, Change]]:
    """Yield the changes that the pair model finds in one project, with their certainty; above 1 it hides.

    What is alike to several others is an item of a list: it is only marked, or left alone if they are LISTED.
    """
    proposed = {
        (older.id, newer.id): (verdict, reason)
        for older, newer, verdict, reason in sorted(
            _proposals(group, linked, reading, redactor), key=lambda one: one[2].certainty
        )
    }
    near = Counter(chain.from_iterable(proposed))
    alike = Counter(chain.from_iterable(pair for pair, (verdict, _) in proposed.items() if verdict.hides))
    for (older_id, newer_id), (verdict, reason) in proposed.items():
        if max(near[older_id], near[newer_id]) >= LISTED:
            continue
        hides = verdict.hides and alike[older_id] == alike[newer_id] == 1
        certainty = verdict.certainty if hides else verdict.supersedes
        yield certainty, Change(older_id, newer_id, RESTATED if hides else PERHAPS_OUTDATED, reason)


def _proposals(
    group: Sequence[Entry], linked: Mapping[str, Sequence[str]], reading: Reading, redactor: Redactor
) -> Iterator[tuple[Entry, Entry, PairVerdict, str]]:
    """Yield the older and the newer memory of each pair that the model would at least mark, with a reason.

    A pair comes once for each statement of the newer one.
    """
    read = reading(statements, [entry.text for entry in group])
    every = {entry.id: _Said(entry, said) for entry, said in zip(group, read, strict=True)}
    older = {
        key: (one, one.said.whole)
        for key, one in every.items()
        # An exchange tells what was said and done then, and that stays so.
        if one.said.whole
        and one.entry.memory.source != TRANSCRIPTS
        and not (one.entry.superseded_by or is_of_document(one.entry.memory.metadata))
    }
    seen = Counter(chain.from_iterable(whole.words for _, whole in older.values()))
    holding: dict[str, list[str]] = defaultdict(list)
    for key, (_, whole) in older.items():
        for word in whole.words:
            if seen[word] <= RARE:
                holding[word].append(key)
    weight = {word: math.log(1 + len(group) / seen[word]) for word in holding}
    for key, one in every.items():
        for said in one.said.every:
            near = dict.fromkeys([*linked.get(key, ()), *_candidates(said, holding, weight)])
            for other, before in (older[each] for each in near if each in older and each != key):
                if not one.may_replace(other) or not _are_alike(before, said):
                    continue
                verdict = relate(before.text, said.text)
                if verdict.marks:
                    reason = f"{_quote(before, redactor)} gave way to {_quote(said, redactor)}"
                    yield other.entry, one.entry, verdict, reason


def _candidates(
    said: Statement, holding: Mapping[str, Sequence[str]], weight: Mapping[str, float]
) -> Sequence[str]:
    """Return the memories that share the most specific words with a statement.

    `holding` maps a rare word to the memories with it, `weight` to how telling it is.
    """
    telling = sorted(((weight[word], word) for word in said.words if word in holding), reverse=True)
    shared: dict[str, float] = defaultdict(float)
    for value, word in telling[:TELLING]:
        for key in holding[word]:
            shared[key] += value
    # One more, because a memory shares all words with itself.
    return sorted(shared, key=lambda key: (-shared[key], key))[: CANDIDATES + 1]


def _are_alike(one: Statement, other: Statement) -> bool:
    common = len(one.words & other.words)
    return 2 * common >= ALIKE * (len(one.words) + len(other.words)) and common > 0


def _quote(said: Statement, redactor: Redactor, most: int = 100) -> str:
    """Return the beginning of a statement in quotes, without secrets: a reason is stored and shown."""
    text = " ".join(redactor.redact(said.text)[0].split())
    return f'"{text if len(text) <= most else text[: most - 1].rstrip() + "…"}"'
