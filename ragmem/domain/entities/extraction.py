"""Extract the entities and relations of a chunk by rule, without a language model."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from ragmem.domain.entities.deployments import host_columns, plain_names
from ragmem.domain.entities.entities import Mention, canonical_key, find_mentions
from ragmem.domain.entities.people import people_columns
from ragmem.domain.entities.relations import Link, relate
from ragmem.domain.entities.statements import Statement, read_statements
from ragmem.domain.model import Chunk, Entity, Extraction, Relation
from ragmem.domain.text.blocks import MAX_HEADING_CHARS, BlockType
from ragmem.domain.text.code_spans import PLAIN_PROGRAMS, classify_code, command_name
from ragmem.domain.text.data_lines import without_keys
from ragmem.domain.text.keywords import keywords
from ragmem.domain.text.token_types import (
    CODE_WEIGHT,
    ENTITY_TYPES,
    IDENTIFIER_WEIGHT,
    NAME_WEIGHT,
    classify_token,
)
from ragmem.patterns import lazy

_REFERS_BACK = lazy(r"(?:This|It|That|These|They|Its|Must|Should|Can|Has|Uses?|The [a-z]+)\b")
_GENERAL = frozenset({"language", "protocol", "host", "organization"})
"""A heading may name these types without being about them: "Python setup" is not about Python."""

_LABELS = lazy(r"[*_`]*:")
_LEADING = lazy(
    r"(?:[-*+]|\d{1,4}[.)])?\s*(?:\[[ xX]\]\s*)?[*_`\"'(]*(?:(?:[Tt]he|[Aa]n?|[Oo]ur|[Nn]ew)\s+)?[*_`\"'(]*$"
)

__all__ = ["ENTITY_TYPES", "extract", "keywords"]

MIN_ENTITIES = 5
CHARS_PER_ENTITY = 30
MAX_ENTITIES = 40
"""Maximum entities in a chunk: five, plus one for each 30 characters; annotators find one in 60."""

RELATIONS_PER_ENTITY = 2

MAX_DESCRIPTION_CHARS = 300

MAX_MENTIONS = 24
"""Mentions of one statement that are related to each other; a longer list relates nothing."""

_PLAIN = lazy(r"(?<![\w./`'\"-])[a-z]{3,}(?![\w/`'\"-]|\.\w)")

_FUNCTION_WORD = lazy(
    r"\b(?:(der|die|das|den|dem|und|nicht|ist|sind|auf|mit|f\u00fcr|von|wird|ein|eine|einen|sich|bei|nach|aus|im|zum|"
    r"zur|wir|nur|noch|oder)|the|and|of|is|are|to|for|with|that|this|on|it|de|la|le|les|el|que|en|van|het|een)\b"
)
"""Frequent words of German as the group, and of languages that share some of them."""

MIN_GERMAN_WORDS = 3

HEADING_BONUS = 1.0
EARLY_BONUS = 0.5

LINE_FACTOR = 0.8
"""A line of an example says less about a text than its prose."""

MAX_COMMAND_WORDS = 4

_PROMPT = lazy(r"(?:\$|>|%|sudo|export|ENV)\s+")
_SET = lazy(r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)=(?:\"([^\"]*)\"|'([^']*)'|(\S*))(?:\s+|$)")
_ECHO = lazy(r"(?:echo|printf|if|then|else|elif|fi|for|done|do|case|esac)\b")
_VALUED = lazy(r"--[a-z][\w-]*[ =]['\"]?([A-Za-z~.@/][^\s'\"]{2,79})")
_SPECIFIC = lazy(r"\w[/:._*-]")
_EXAMPLE = lazy(r"/?(?:path/to|your|my|foo|some|example|<)")
_MESSAGE = lazy(r"\"[^\"]* [^\"]* [^\"]*\"|'[^']* [^']* [^']*'")


@dataclass(slots=True)
class _Candidate:
    """A candidate entity: all its mentions in one chunk."""

    name: str
    type: str
    weight: float
    first: int
    description: str
    count: int = 0
    bonus: float = 0.0
    names: dict[str, int] = field(default_factory=dict)

    @property
    def salience(self) -> float:
        return self.weight * (1.0 + math.log(self.count)) + self.bonus


def extract(chunk: Chunk, *, max_entities: int | None = None, max_relations: int | None = None) -> Extraction:
    """Return the most salient entities of a chunk and the relations between them, most salient first.

    Entities are code, paths, hosts, versions, variables, flags, errors and proper names, each under one
    canonical name of 2 to 80 characters; its first sentence is the description. Relations come from verbs,
    definitions, brackets, tables, arrows, and the heading, parent item or introduction above; with a lower
    weight from proximity in one sentence. Both ends are among the entities, and no entity relates to itself.
    The default limits depend on the length of the text. The result is deterministic, and empty for a text
    without names.
    """
    statements = list(read_statements(chunk.text))
    above = chunk.heading.rsplit(" > ", 1)[-1]
    if above and above not in chunk.text[: MAX_HEADING_CHARS + len(above)]:
        key = bool(statements) and statements[0].data and above.islower()
        statements.insert(0, Statement(BlockType.HEADING, " ".join(above.split()), data=key))
    plain = set(_PLAIN.findall(chunk.text))
    tools = plain_names(chunk.text)
    german = _is_german(chunk.text)
    found = [
        (one, [named for named in _mentions(one, tools) if not _is_plain(named, plain, german=german)])
        for one in statements
    ]
    candidates = _gather(found)
    _type_parts_of_people(candidates)
    ranked = sorted(candidates.items(), key=lambda item: (-item[1].salience, item[1].first, item[0]))
    if max_entities is None:
        max_entities = min(MAX_ENTITIES, MIN_ENTITIES + len(chunk.text) // CHARS_PER_ENTITY)
    kept = {key: candidate.name for key, candidate in ranked[: max(0, max_entities)]}
    entities = tuple(
        Entity(candidate.name, candidate.type, candidate.description)
        for key, candidate in ranked
        if key in kept
    )
    if max_relations is None:
        max_relations = RELATIONS_PER_ENTITY * len(entities)
    return Extraction(chunk.id, entities, _relations(found, kept, max_relations))


def _is_plain(mention: Mention, plain: AbstractSet[str], *, german: bool) -> bool:
    """Return whether a capital proves nothing: the text also writes the word without, or is in German."""
    if mention.weight > NAME_WEIGHT:
        return False
    if german:
        return not mention.name.isupper()
    return mention.name.istitle() and mention.name.lower() in plain


def _is_german(text: str) -> bool:
    """Return whether a text is in German, where each noun has a capital."""
    if " und " not in text and " der " not in text and " die " not in text and " ist " not in text:
        return False
    words = _FUNCTION_WORD.findall(text)
    return 2 * len([word for word in words if word]) > max(len(words), MIN_GERMAN_WORDS)


def _mentions(statement: Statement, tools: Mapping[str, str]) -> list[Mention]:
    """Return the mentions of a statement."""
    if statement.shell:
        return command_mentions(statement.text)
    if not statement.data:
        if not statement.header:
            return find_mentions(statement.text, statement.form, tools)
        header = statement.header[: len(statement.cells)]
        people, hosts = ([statement.cells[at] for at in of(header)] for of in (people_columns, host_columns))
        return find_mentions(statement.text, statement.form, tools, people, hosts)
    is_heading = statement.form is BlockType.HEADING
    return [] if is_heading else find_mentions(without_keys(statement.text), statement.form, tools)


def _gather(found: Sequence[tuple[Statement, list[Mention]]]) -> dict[str, _Candidate]:
    """Return the candidates by canonical key, from all mentions in the order of the text."""
    candidates: dict[str, _Candidate] = {}
    for at, (statement, mentions) in enumerate(found):
        for mention in mentions:
            key = canonical_key(mention.name)
            candidate = candidates.get(key)
            if candidate is None:
                description = statement.text[:MAX_DESCRIPTION_CHARS]
                candidate = _Candidate(
                    mention.name, mention.type, mention.weight, len(candidates), description
                )
                candidate.bonus = EARLY_BONUS if at < 2 else 0.0
                candidates[key] = candidate
            elif mention.weight > candidate.weight:
                candidate.type, candidate.weight = mention.type, mention.weight
            candidate.count += 1
            candidate.names[mention.name] = candidate.names.get(mention.name, 0) + 1
            if statement.form is BlockType.HEADING:
                candidate.bonus = max(candidate.bonus, HEADING_BONUS)
    for candidate in candidates.values():
        candidate.name = min(candidate.names, key=lambda name: (-candidate.names[name], name))
    return candidates


def _type_parts_of_people(candidates: Mapping[str, _Candidate]) -> None:
    """Make a person of each name that is a part of the full name of one: Ada Lovelace, Lovelace."""
    for one in list(candidates.values()):
        for part in one.name.split(" ") if one.type == "person" and " " in one.name else ():
            same = candidates.get(canonical_key(part))
            if same is not None and same.type in {"tool", "concept"} and same.weight <= NAME_WEIGHT:
                same.type = "person"


def _relations(
    found: Sequence[tuple[Statement, list[Mention]]], kept: Mapping[str, str], limit: int
) -> tuple[Relation, ...]:
    """Return the strongest relations between the kept entities; one per pair, its evidence summed."""
    pairs: dict[frozenset[str], tuple[Link, str, str, float, int]] = {}
    scope = Scope()
    for statement, mentions in found:
        known = [mention for mention in mentions if canonical_key(mention.name) in kept][:MAX_MENTIONS]
        above = scope.above(statement)
        scope.enter(statement, known)
        if statement.form is BlockType.HEADING:
            above = None
        has_subject = leader(statement, known) is not None
        for link in relate(statement, known, above=above, has_subject=has_subject):
            source, target = canonical_key(link.source.name), canonical_key(link.target.name)
            if source == target:
                continue
            pair = frozenset((source, target))
            before = pairs.get(pair)
            if before is None:
                pairs[pair] = (link, source, target, link.weight, len(pairs))
                continue
            best, old_source, old_target, weight, order = before
            if link.weight > best.weight:
                pairs[pair] = (link, source, target, weight + link.weight, order)
            else:
                pairs[pair] = (best, old_source, old_target, weight + link.weight, order)
    ranked = sorted(pairs.values(), key=lambda item: (-item[0].weight, -item[3], item[4]))
    return tuple(
        Relation(
            kept[source], kept[target], link.keywords, link.sentence[:MAX_DESCRIPTION_CHARS], round(weight, 3)
        )
        for link, source, target, weight, _ in ranked[: max(0, limit)]
    )


@dataclass(slots=True)
class Scope:
    """The position in a text: the mentions that the next statement belongs to."""

    heading: Mention | None = None
    subject: Mention | None = None
    lead: Mention | None = None
    items: list[tuple[int, Mention | None]] = field(default_factory=list)
    block: Mention | None = None

    def above(self, statement: Statement) -> Mention | None:
        """Return the mention that the statement belongs to, or None; call it before `enter`."""
        if statement.form is BlockType.ITEM:
            return self._above_item(statement)
        if statement.form is BlockType.FENCE:
            above, self.lead = self.lead or self.heading, None
            return above
        if statement.form is BlockType.TABLE:
            return self.lead
        refers_back = not statement.begins and _REFERS_BACK.match(statement.text) is not None
        return (self.block if refers_back else None) or self.heading or self.subject

    def _above_item(self, statement: Statement) -> Mention | None:
        """Return the mention of the parent item; for a further sentence of an item, that of the item."""
        if statement.begins:
            while self.items and self.items[-1][0] >= statement.depth:
                self.items.pop()
        return self.items[-1][1] if self.items else self.lead or self.heading

    def enter(self, statement: Statement, mentions: Sequence[Mention]) -> None:
        """Add a statement and its mentions, which the next statements may belong to."""
        first = leader(statement, mentions)
        if statement.form is BlockType.HEADING:
            named = mentions[0] if len(mentions) == 1 else first
            self.heading = None if named is not None and named.type in _GENERAL else named
            self.subject = self.lead = None
            self.items.clear()
        elif statement.form is BlockType.ITEM:
            if statement.begins:
                self.items.append((statement.depth, first))
        elif statement.form is BlockType.PARAGRAPH:
            self.items.clear()
            if statement.begins:
                self.block = first
            opens_list = statement.text.rstrip("*_ ").endswith(":")
            self.lead = (first or (mentions[0] if len(mentions) == 1 else None)) if opens_list else None
            if self.subject is None and first is not None and statement.begins:
                self.subject = None if _LABELS.match(statement.text, first.end) else first
        elif statement.form is BlockType.FENCE and statement.text.startswith("#"):
            self.lead = mentions[0] if len(mentions) == 1 else None


def leader(statement: Statement, mentions: Sequence[Mention]) -> Mention | None:
    """Return the mention at the beginning of a statement, or None."""
    if mentions and _LEADING.match(statement.text[: mentions[0].start]):
        return mentions[0]
    return None


def command_mentions(line: str) -> list[Mention]:
    """Return the names in a shell line, in order: the command first, if there is one.

    A line that only prints or branches has none; a comment is read as prose.
    """
    if line.startswith("#"):
        return _shift(line)
    if _ECHO.match(line):
        return find_mentions(line, BlockType.FENCE)
    at = 0
    mentions: list[Mention] = []
    if prompt := _PROMPT.match(line):
        at = prompt.end()
    while (assigned := _SET.match(line, at)) is not None:
        mentions.extend(_setting(assigned))
        at = assigned.end()
    words = command_name(line[at:]).split()[:MAX_COMMAND_WORDS]
    while len(words) > 1 and words[-1].startswith("-"):
        words.pop()
    name = " ".join(words)
    if name and line.startswith(name, at) and words[0] not in PLAIN_PROGRAMS:
        mentions.append(_command(name, at))
        at += len(name) if " " in name and mentions[-1].type == "command" else len(name.split()[0])
    rest = find_mentions(_MESSAGE.sub(lambda one: " " * len(one[0]), line[at:]), BlockType.FENCE)
    mentions.extend(Mention(m.start + at, m.end + at, m.name, m.type, m.weight) for m in rest)
    named = {one.start for one in mentions}
    values = [one for one in _values(line, at) if one.start not in named]
    return sorted([*mentions, *values], key=lambda one: one.start) if values else mentions


def _values(line: str, at: int) -> Iterator[Mention]:
    """Yield the values of flags that are more than a plain word or an example."""
    for found in _VALUED.finditer(line, at):
        value = found.group(1)
        named = classify_code(value) if _SPECIFIC.search(value) and not _EXAMPLE.match(value) else None
        if named is not None:
            name, kind, _ = named
            kind = "project" if line.startswith("--repo", found.start()) and "." not in name else kind
            yield Mention(found.start(1), found.end(1), name, kind, IDENTIFIER_WEIGHT * LINE_FACTOR)


def _shift(line: str) -> list[Mention]:
    """Return the mentions of a comment, with their positions in the line."""
    body = line.lstrip("# ")
    offset = len(line) - len(body)
    found = find_mentions(body, BlockType.PARAGRAPH)
    return [Mention(m.start + offset, m.end + offset, m.name, m.type, m.weight * LINE_FACTOR) for m in found]


def _setting(assigned: re.Match[str]) -> Iterator[Mention]:
    """Yield an assigned variable, and its value if that is a name."""
    yield Mention(
        assigned.start(1), assigned.end(1), assigned.group(1), "config", IDENTIFIER_WEIGHT * LINE_FACTOR
    )
    for group in (2, 3, 4):
        value = assigned.group(group)
        found = classify_token(value) if value else None
        if found is not None:
            name, kind, weight = found
            yield Mention(assigned.start(group), assigned.end(group), name, kind, weight * LINE_FACTOR)


def _command(name: str, at: int) -> Mention:
    """Return the command that begins here: a script by its path, a bare program as a tool."""
    words = name.split()
    found = classify_token(words[0])
    if found is not None and found[1] == "file":
        return Mention(at, at + len(words[0]), words[0], "file", CODE_WEIGHT * LINE_FACTOR)
    if len(words) == 1 or words[1].startswith("-"):
        return Mention(at, at + len(words[0]), words[0], "tool", IDENTIFIER_WEIGHT * LINE_FACTOR)
    return Mention(at, at + len(name), name, "command", CODE_WEIGHT * LINE_FACTOR)
