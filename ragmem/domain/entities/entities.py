"""Find the entities in a statement: by code, by words with the form of a name, and by proper names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragmem.domain.entities.deployments import NO_NAMES, find_deployments, find_host_cells
from ragmem.domain.entities.people import find_people, find_responsibilities
from ragmem.domain.entities.proper_names import Named, Word, is_inside, names_of
from ragmem.domain.text.blocks import BlockType
from ragmem.domain.text.code_spans import classify_code
from ragmem.domain.text.known_names import (
    AMBIGUOUS_NAMES,
    COMMON_WORDS,
    KIND_NOUNS,
    KNOWN_NAMES,
    NAME_STARTERS,
)
from ragmem.domain.text.token_types import (
    IDENTIFIER_WEIGHT,
    KNOWN_WEIGHT,
    MAX_NAME_CHARS,
    MIN_NAME_CHARS,
    NAME_WEIGHT,
    WEAK_WEIGHT,
    classify_token,
)
from ragmem.domain.text.word_shapes import POSSESSIVE, Shape, shape_of
from ragmem.patterns import lazy

_UNSURE = frozenset({"concept", "symbol", "tool", "organization", "service", "config", "file"})
_NEXT = lazy(r"[`*_\"')]*\s+(?:[a-z]+-)?([A-Za-z]+)")
_HUMPS = lazy(r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*[A-Z]?){1}$|[a-z][A-Z][A-Za-z]+$")
_CLASSLIKE = lazy(
    r"(?:Factory|Config|Manager|Parser|Builder|Handler|Spec|Driver|Processor|Renderer|Provider|Adapter|Store|"
    r"Controller|Node|Schema|Service|Client|Server|Type|State|Model|View|Context|Component|Listener|Logger|"
    r"Selector|Request|Response|Result|Options|Params|Props|Info|Data|Item|List|Map|Set|Id|Name|Key|Error|"
    r"Mode|Router|Registry|Scheduler|Engine|Test|Tests|Loader|Writer|Reader|Table|Index|Cache|Queue)$"
)
_MOMENT = lazy(r"(?:Start|Stop|End|Submit|ToolUse|Compact|Created|Updated|Deleted|Changed|Notification)$")
_COLLECTION = lazy(r"_(?:\w*[A-RT-Z]S|MATRIX|MAP|LIST|SET|TABLE|REGISTRY|SCHEMA|PATTERN|REGEX|RE)$")
_DEFINED = lazy(
    r"[`*_\"')]*\s*(?:\u2014|\u2013|-|:|is|are)\s+(?:an?\s+|the\s+)?"
    r"((?:[A-Za-z][\w-]*[ /]){0,4}[A-Za-z][\w-]*)"
)

FENCE_FACTOR = 0.7
"""A line of code repeats its names more than prose does, so it weighs less."""

_MARKS = frozenset("_/.$:-")
_TOKEN = lazy(
    r"([a-z][a-z'\u2019-]*(?:\s[a-z][a-z'\u2019-]*)*(?=\s|[.,;:!?)]+(?:\s|$)|$))"  # a run of plain words
    r"|`([^`\n]{1,160})`"
    r"|\[([^\]\n]{1,80})\]\(([^)\s]{1,300})\)"
    r"|[^\s`]+"
)
_COMMIT = lazy(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}$")
_COMMIT_CHARS = 7
_BEFORE_COMMIT = lazy(r"(?i)\bcommits?[:*_( ]{1,5}$|[0-9a-f]{7}, (?:and )?$")
_KEYED = lazy(r"(?i)(?<![\w-])(PR|MR|issue|pull request|ticket|PEP|RFC|ISO|ADR|port)s? ?$")
_KEYED_KINDS = {
    "pr": "event",
    "mr": "event",
    "issue": "event",
    "pull request": "event",
    "ticket": "event",
    "adr": "concept",
    "port": "host",
}
_KEY_REACH = 16
_PORT = lazy(r"\d{2,5}$")
_RELEASE = lazy(r"\d+(?:\.\d+)+$")
_RELEASED = frozenset({"language", "tool", "library", "host"})
_LANGUAGE_GO = lazy(
    r"Go(?=\s+(?:\d|SDK|client|daemon|service|code|binary|server|program|module|package|project|version|tests?"
    r"|struct|interface|function|CLI|routine|API|implementation)|[,)]|\s+and\s+[A-Z]|\s*$|/)"
)

_PLAIN_WORD = lazy(r"(?<![\w./@:=-])[a-z][a-z0-9]+(?:-[a-z0-9]+)*(?![\w/(=@-]|[.:]\w)")

MIN_ARROWS = 2
MAX_STEP_WORDS = 3
_ARROW = lazy(r"\s(?:\u2192|->|=>|-->|\u21d2)\s")
_STEP = lazy(r"[*_`\"'(]*([A-Za-z][\w.-]*(?: [A-Za-z][\w.-]*)*)[*_`\"')]*[.,;]?$")
_BEFORE = lazy(r".*[:(|\u2014]\s*", re.DOTALL)
_AFTER = lazy(r"\s*[(|.;,)].*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention of an entity in a statement: its span, its canonical name, type and weight."""

    start: int
    end: int
    name: str
    type: str
    weight: float


def canonical_key(name: str) -> str:
    """Return the common key of the spellings of an entity: only identifiers keep their case."""
    return name.casefold() if _MARKS.isdisjoint(name) else name


def find_mentions(
    text: str,
    form: BlockType,
    plain: Mapping[str, str] = NO_NAMES,
    people_cells: Sequence[tuple[int, int]] = (),
    host_cells: Sequence[tuple[int, int]] = (),
) -> list[Mention]:
    """Return the mentions of a statement in order, without overlap; each name has 2 to 80 characters.

    `plain` are the lower-case words that the text uses as names, and their types; the cells are the
    spans of a row that name people and hosts.
    """
    mentions = _MentionScanner(text, form).read()
    if found := list(_arrow_steps(text, [(one.start, one.end) for one in mentions])):
        mentions = sorted([*mentions, *(Mention(*step) for step in found)], key=lambda one: one.start)
    if form is not BlockType.FENCE:
        mentions = [
            replace(one, type=kind)
            if (kind := type_of(text, one.start, one.end, one.type)) != one.type
            else one
            for one in mentions
        ]
    people = list(find_people(text, form, people_cells))
    if found := [*find_deployments(text, form), *people]:
        mentions = _overlay(mentions, found)
    if people:
        mentions = _overlay(mentions, find_responsibilities(text))
    if host_cells:
        mentions = _overlay(mentions, find_host_cells(text, host_cells))
    if plain:
        mentions = _overlay(mentions, _plain_words(text, plain))
    if form is BlockType.FENCE:
        return [replace(one, weight=one.weight * FENCE_FACTOR) for one in mentions]
    return mentions


def _overlay(mentions: list[Mention], found: Iterable[Named]) -> list[Mention]:
    """Return the mentions in order, with what was found in place of those that it covers.

    What is part of a larger mention, or overlaps an earlier one of these, is left out; but a person is more
    than the proper name that it is part of.
    """
    added: list[Mention] = []
    for named in found:
        one = Mention(*named)
        near = [other for other in mentions if other.start < one.end and one.start < other.end]
        if len(near) == 1 and near[0].name == one.name:
            one = replace(near[0], type=one.type, weight=max(one.weight, near[0].weight))  # host `atlas`
        sure = NAME_WEIGHT if one.type == "person" else WEAK_WEIGHT
        larger = (other for other in near if other.weight > sure and len(other.name) >= len(one.name))
        if any(other.start < one.start or other.end > one.end for other in larger):
            continue
        if not any(other.start < one.end and one.start < other.end for other in added):
            mentions = [other for other in mentions if other not in near]
            added.append(one)
    return sorted([*mentions, *added], key=lambda one: one.start) if added else mentions


def _plain_words(text: str, plain: Mapping[str, str]) -> Iterator[Named]:
    for found in _PLAIN_WORD.finditer(text):
        if found.group() in plain:
            yield found.start(), found.end(), found.group(), plain[found.group()], KNOWN_WEIGHT


@dataclass(slots=True)
class _MentionScanner:
    """Scans one statement: the mentions so far, and the current run of capitalized words."""

    text: str
    form: BlockType
    mentions: list[Mention] = field(default_factory=list)
    run: list[Word] = field(default_factory=list)
    opening: bool = True
    common_end: int = -1

    def read(self) -> list[Mention]:
        for token in _TOKEN.finditer(self.text):
            plain, code, label, target = token.groups()
            if plain is not None:
                self.close()
                self.mentions.extend(self.plain(token.start(), plain))
                self.opening = False
            elif code is not None or label is not None:
                self.close()
                found = classify_code(code) if code is not None else _link_target(label, target)
                if found is not None:
                    self.mentions.append(Mention(token.start(), token.end(), *found))
                self.opening = False
            else:
                self.word(token.start(), shape_of(token.group()))
        self.close()
        return self.mentions

    def close(self) -> None:
        """Turn the run of capitalized words into mentions if it is surely a name, and clear it."""
        if self.run:
            self.mentions.extend(Mention(*named) for named in names_of(self.text, self.run, self.form))
            self.run.clear()

    def plain(self, start: int, words: str) -> Iterator[Mention]:
        """Yield the known names in a run of lower-case words, which may extend the name before them."""
        if "'" not in words and "\u2019" not in words and KNOWN_NAMES.keys().isdisjoint(words.split()):
            yield from self.extend(start, words)
            return
        for found in re.finditer(r"\S+", words):
            word = POSSESSIVE.sub("", found.group())
            known = KNOWN_NAMES.get(word)
            if known and word not in AMBIGUOUS_NAMES:
                at = start + found.start()
                yield Mention(at, at + len(word), *known, KNOWN_WEIGHT)

    def extend(self, start: int, words: str) -> Iterator[Mention]:
        """Yield the last mention again if it forms a known phrase with the next word."""
        last = self.mentions[-1] if self.mentions else None
        if last is None or last.end != start - 1:
            return
        word = words.split(" ", 1)[0]
        known = KNOWN_NAMES.get(f"{last.name} {word}".lower())
        if known is not None:
            self.mentions.pop()
            yield Mention(last.start, start + len(word), *known, KNOWN_WEIGHT)

    def word(self, start: int, shape: Shape) -> None:
        """Process a word that is not plain."""
        if shape.opens_bracket:
            self.close()
        numbered = self.numbered_name(start, shape.text)
        if numbered is not None:
            self.run.clear()
            self.mentions.append(numbered)
            self.opening = shape.ends_sentence
            return
        if shape.text:
            self.take(start, shape)
        if shape.ends_name or not shape.text:
            self.close()
        self.opening = shape.ends_sentence or (self.opening and not shape.text)

    def take(self, start: int, shape: Shape) -> None:
        """Process one word: append it to the run, make it a mention, or skip it."""
        at = start + shape.offset
        if shape.text == "Go" and _LANGUAGE_GO.match(self.text, at):
            self.close()
            self.mentions.append(Mention(at, at + 2, "Go", "language", KNOWN_WEIGHT))
            return
        opens = self.opening and shape.opens and not shape.labels and not self.run
        if shape.capital and (self.run or not (shape.common or (opens and shape.alone is None))):
            inside = self.run[0].inside if self.run else self.is_inside(start)
            bold = self.run[0].bold if self.run else shape.labels
            self.run.append(Word(at, shape.text, shape.alone, inside, opens, bold))
            return
        self.close()
        if shape.capital and not (opens and self.form is not BlockType.HEADING):
            self.common_end = at + len(shape.text)
        for part in shape.parts:
            self.run.append(Word(at, part, _part(part), is_inside(self.text, start)))
            self.close()
            at += len(part) + 1
        if shape.alone is not None and not opens:
            self.mentions.append(Mention(at, at + len(shape.text), *shape.alone))

    def is_inside(self, start: int) -> bool:
        """Return whether a capital means a name here, which it does not after a capitalized common word."""
        return start != self.common_end + 1 and is_inside(self.text, start)

    def numbered_name(self, start: int, word: str) -> Mention | None:
        """Return the name of a number with the word before it: a ticket, a commit, a port, a release."""
        is_commit = len(word) >= _COMMIT_CHARS and _COMMIT.match(word) is not None
        if is_commit and _BEFORE_COMMIT.search(self.text, max(0, start - _KEY_REACH), start):
            at = self.text.index(word, start)
            return Mention(at, at + len(word), word, "event", IDENTIFIER_WEIGHT)
        if not word or not (word[0].isdigit() or (word[0] == "#" and word[1:].isdigit())):
            return None
        before = _KEYED.search(self.text, max(0, start - _KEY_REACH), start)
        if before is None:
            return self.release(start, word)
        kind = _KEYED_KINDS.get(before.group(1).lower(), "protocol")
        if (kind == "event") != (word[0] == "#") or (kind == "host" and not _PORT.match(word)):
            return None
        end = self.text.index(word, start) + len(word)
        return Mention(before.start(1), end, self.text[before.start(1) : end], kind, IDENTIFIER_WEIGHT)

    def release(self, start: int, word: str) -> Mention | None:
        """Return the exact release of the known product or model just before a number."""
        last = self.run[-1] if self.run else None
        if last is None or last.alone is None or start != last.end + 1:
            return None
        kind = last.alone[1]
        if not _RELEASE.match(word):
            return None
        if kind == "model":
            name = " ".join([*(one.text for one in self.run), word])
            begin = self.run[0].start
            if not self.text.startswith(name, begin):
                begin, name = last.start, f"{last.text} {word}"
            return Mention(begin, start + len(word), name, kind, KNOWN_WEIGHT)
        if kind not in _RELEASED or len(self.run) > 1:
            return None
        return Mention(last.start, start + len(word), f"{last.text} {word}", "version", KNOWN_WEIGHT)


def _part(part: str) -> tuple[str, str, float] | None:
    """Return the entity of one of several names joined by slashes; a plain word is a tool."""
    return classify_token(part) or ((part, "tool", KNOWN_WEIGHT) if part.islower() else None)


def _link_target(label: str, target: str) -> tuple[str, str, float] | None:
    """Return the target of a Markdown link if it is a file, else its label if that is a name."""
    named = classify_code(label.strip("*`_ "))
    path = target.split("#", 1)[0].lstrip("./")
    if "://" not in path and (named is None or named[1] != "file"):
        found = classify_token(path)
        if found is not None and found[1] == "file":
            return found
    return named


def _arrow_steps(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[Named]:
    """Yield the steps of a chain of two or more arrows outside of these spans.

    A step is one to three capitalized words, or one lower-case word. If fewer than half of the steps are
    known names, the chain describes a process and has none.
    """
    arrows = [found.span() for found in _ARROW.finditer(text)]
    if len(arrows) < MIN_ARROWS:
        return
    starts = [0, *(end for _, end in arrows)]
    ends = [*(start for start, _ in arrows), len(text)]
    found = []
    named = 0
    for start, end in zip(starts, ends, strict=True):
        if any(start <= at < end for at, _ in spans):
            named += 1
        elif (step := _step(text, start, end)) is not None:
            found.append(step)
    if 2 * named >= len(starts):
        for start, end in found:
            yield start, end, text[start:end], "concept" if " " in text[start:end] else "tool", WEAK_WEIGHT


def _step(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of the name in a step, or None."""
    if start == 0 and (before := _BEFORE.match(text, start, end)) is not None:
        start = before.end()
    if end == len(text) and (after := _AFTER.search(text, start, end)) is not None:
        end = after.start()
    found = _STEP.match(text, start, end) if end - start <= MAX_NAME_CHARS else None
    if found is None:
        return None
    words = found.group(1).split()
    lowered = {word.lower() for word in words}
    capital = all(word[0].isupper() for word in words)
    if len(words) > MAX_STEP_WORDS or not (capital or len(words) == 1) or lowered <= COMMON_WORDS:
        return None
    if len(found.group(1)) <= MIN_NAME_CHARS or not lowered.isdisjoint(NAME_STARTERS):
        return None
    return found.span(1)


def type_of(text: str, start: int, end: int, kind: str) -> str:
    """Return the type of the mention: by its form, unless the words around it are more specific."""
    if kind not in _UNSURE:
        return kind
    name = text[start:end]
    code = name.startswith("`")
    bare = name.strip("`")
    follows = _NEXT.match(text, end)
    noun = KIND_NOUNS.get(follows.group(1).lower()) if follows else None
    if kind == "symbol":
        return _symbol(bare, noun, code=code)
    if kind == "config":
        return "symbol" if _COLLECTION.search(bare) else kind
    if kind == "file":
        return _folder(text, end, bare) or kind
    if kind == "concept":
        return _concept(bare, noun)
    return _compound(bare) or kind


def _symbol(bare: str, noun: str | None, *, code: bool) -> str:
    """Return the type of an identifier."""
    if bare.isupper() or "_" in bare:
        return noun if noun in {"config", "library"} else "symbol"
    if _MOMENT.search(bare) and bare[0].isupper():
        return "event"
    if noun in {"tool", "library", "service", "config", "model", "event", "protocol", "dataset", "project"}:
        return noun
    if not code and _HUMPS.match(bare) and not _CLASSLIKE.search(bare):
        return "tool"
    return "symbol"


def _folder(text: str, end: int, bare: str) -> str | None:
    """Return the type of a folder that is defined as a program: "sync/ - daemon that ..."."""
    if not bare.endswith("/"):
        return None
    defined = _DEFINED.match(text, end)
    if defined is None:
        return None
    for word in re.split(r"[ /]", defined.group(1)):
        kind = KIND_NOUNS.get(word.lower())
        if kind in {"library", "service", "tool"}:
            return kind
    return None


def _concept(bare: str, noun: str | None) -> str:
    """Return the type of a proper name."""
    kind = _compound(bare) or noun
    if kind is not None:
        return kind
    single = " " not in bare and not bare.isupper()
    return "tool" if single else "concept"


def _compound(bare: str) -> str | None:
    """Return the type that the last word of a compound name implies."""
    words = bare.split()
    return KIND_NOUNS.get(words[-1].lower()) if len(words) > 1 else None
