"""Read the answer of a language model as entities and relations, checked against the text."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from ragmem.domain.entities.entities import canonical_key
from ragmem.domain.entities.extraction import MAX_DESCRIPTION_CHARS
from ragmem.domain.entities.extraction_prompt import MAX_KEYWORDS_CHARS, MOST
from ragmem.domain.model import Entity, Extraction, Relation
from ragmem.domain.text.known_names import AMBIGUOUS_NAMES, COMMON_WORDS, KNOWN_NAMES
from ragmem.domain.text.loose_json import LooseJson, parse_loose_json
from ragmem.domain.text.token_types import ENTITY_TYPES, MAX_NAME_CHARS, MIN_NAME_CHARS
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

FALLBACK_TYPE = "concept"

MAX_ROWS = 10 * MOST
"""Rows of a list that are read; a model may repeat itself endlessly."""

MAX_EXCERPT_CHARS = 300
"""Characters of an invalid answer that are kept for debugging."""

_OTHER_TYPES = {
    name: kind
    for kind, names in {
        "config": "setting,variable",
        "file": "directory,path",
        "host": "operating system,server",
        "language": "programming language",
        "library": "framework,package",
        "organization": "company,organisation",
        "symbol": "class,function,method,table",
        "tool": "application,database,product,technology",
        "version": "branch",
    }.items()
    for name in names.split(",")
}
"""Types of models that the prompt does not list, and the listed types."""

_AROUND = lazy(
    r"^(?:[\s\"'`,;\u201c\u201d\u2018\u2019]|\*\*)+|(?:[\s\"'`,;:.\u201c\u201d\u2018\u2019]|\*\*)+$"
)
"""Characters around a name that do not belong to it; a leading dot may belong to it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a language model for one text.

    `problem` is the reason why the answer is unusable, and `excerpt` is its beginning; both are empty for a
    valid answer, which may have no entities. `invented` counts entities that the text does not contain.
    """

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    invented: int = 0
    problem: str = ""
    excerpt: str = ""

    @property
    def is_valid(self) -> bool:
        """Return whether the answer is usable."""
        return not self.problem


def read_answer(answer: str, text: str) -> Answer:
    """Return the part of a model's answer that the text supports; never raises.

    Complete items of a truncated answer, or of one with prose around its JSON, are used. An entity is kept if
    the text contains its name, in any case and with any blanks between its words; it gets the spelling of the
    text. A relation is kept if both ends are, one for each pair.
    """
    found = parse_loose_json(answer)
    rows = list(islice(_rows(found), MAX_ROWS))
    named = [row for row in rows if "source" not in row and "target" not in row]
    entities, invented = _entities(named, text)
    relations = _relations([row for row in rows if "source" in row or "target" in row], entities)
    if entities:
        return Answer(tuple(entities.values()), tuple(relations), invented)
    if named:
        problem = "names nothing that the text names" if invented else "no entity has a usable name"
        return Answer(invented=invented, problem=problem, excerpt=_excerpt(answer))
    if not _has_no_entities(found):
        return Answer(problem="is no JSON of the wanted form", excerpt=_excerpt(answer))
    return Answer()


def keep_named(rows: Sequence[dict[str, object]], text: str) -> tuple[Entity, ...]:
    """Return the first entities of rows with name and type that the text names, each in its spelling."""
    return tuple(_entities(rows, text)[0].values())


def no_answer(reason: str) -> Answer:
    """Return the result for a model that did not answer; `reason` may be any text."""
    return Answer(problem=_shorten(f"no answer: {_plain(reason)}", MAX_EXCERPT_CHARS))


def _rows(found: LooseJson) -> Iterator[dict[str, object]]:
    """Yield everything in the answer that looks like an entity or a relation, at any depth."""
    waiting: list[object] = list(reversed(found.values))
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if "name" in value or ("source" in value and "target" in value):
                yield value
            else:
                waiting.extend(reversed(list(value.values())))
        elif isinstance(value, list):
            waiting.extend(reversed(value))


def _has_no_entities(found: LooseJson) -> bool:
    """Return whether the answer is complete and its list of entities is empty."""
    return found.whole and any(
        isinstance(value, dict) and value.get("entities") == [] and not value.get("relationships")
        for value in found.values
    )


def _entities(rows: Sequence[dict[str, object]], text: str) -> tuple[dict[str, Entity], int]:
    """Return the entities by canonical key, in the answer's order, and the number of invented ones."""
    entities: dict[str, Entity] = {}
    invented = 0
    for row in rows:
        name, kind = _bare(row.get("name")), _type(row.get("type"))
        if not _nameable(name, kind):
            continue
        spelt = _find_spelling(text, name)
        if not spelt:
            invented += 1
            continue
        known = KNOWN_NAMES.get(spelt.lower()) if spelt.lower() not in AMBIGUOUS_NAMES else None
        entity = Entity(
            known[0] if known else spelt,
            kind,
            _shorten(_plain(row.get("description")), MAX_DESCRIPTION_CHARS) or _line_with(text, spelt),
        )
        if len(entities) < MOST:
            entities.setdefault(canonical_key(entity.name), entity)
    return entities, invented


def _relations(rows: Sequence[dict[str, object]], entities: dict[str, Entity]) -> list[Relation]:
    names = {entity.name.casefold(): entity.name for entity in reversed(entities.values())}
    relations: dict[frozenset[str], Relation] = {}
    for row in rows:
        ends = [_end(row.get(end), entities, names) for end in ("source", "target")]
        pair = frozenset(ends)
        if "" in ends or len(pair) < len(ends) or pair in relations or len(relations) == MOST:
            continue
        keywords = _shorten(_plain(row.get("keywords")), MAX_KEYWORDS_CHARS) or "related to"
        description = _shorten(_plain(row.get("description")), MAX_DESCRIPTION_CHARS)
        relations[pair] = Relation(
            ends[0], ends[1], keywords, description or f"{ends[0]} {keywords} {ends[1]}"
        )
    return list(relations.values())


def _end(value: object, entities: dict[str, Entity], names: dict[str, str]) -> str:
    """Return the name of the entity at an end of a relation, or ""."""
    name = _bare(value)
    known = KNOWN_NAMES.get(name.lower())
    for tried in (name, known[0] if known else ""):
        if entity := entities.get(canonical_key(tried)):
            return entity.name
        if tried.casefold() in names:
            return names[tried.casefold()]
    return ""


def _nameable(name: str, kind: str) -> bool:
    """Return whether a name is worth indexing; a capitalized common word may be one (Go, Make)."""
    return (
        MIN_NAME_CHARS <= len(name) <= MAX_NAME_CHARS
        and name not in COMMON_WORDS
        and (any(letter.isalpha() for letter in name) or (kind == "version" and name[0].isdecimal()))
    )


def _find_spelling(text: str, name: str) -> str:
    """Return the name in the spelling of the text; "" if it is missing or only a part of other words."""
    words = r"\s+".join(re.escape(word) for word in name.split())
    before = r"(?<![A-Za-z0-9_])" if name[0].isascii() and name[0].isalnum() else ""
    after = r"(?![A-Za-z0-9_])" if name[-1].isascii() and name[-1].isalnum() else ""
    # Exact spelling first: a text may contain both `Store` and `store`.
    for flags in (re.NOFLAG, re.IGNORECASE):
        found = re.search(before + words + after, text, flags)
        if found:
            return " ".join(found.group().split())
    return ""


def _line_with(text: str, name: str) -> str:
    line = next((line for line in text.splitlines() if name in " ".join(line.split())), name)
    return _shorten(_plain(line), MAX_DESCRIPTION_CHARS)


def _type(value: object) -> str:
    given = _plain(value).lower()
    given = _OTHER_TYPES.get(given, given)
    return given if given in ENTITY_TYPES else FALLBACK_TYPE


def _plain(value: object) -> str:
    """Return a value as one line without control characters; lists are joined, other types give ""."""
    if isinstance(value, list):
        return ", ".join(part for part in map(_plain, value[:MOST]) if part) if _is_flat(value) else ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value)
    if not text.isprintable():
        # Control characters, surrogates and direction marks, which no name contains.
        text = "".join(" " if unicodedata.category(letter)[0] in "CZ" else letter for letter in text)
    return " ".join(text.split())


def _bare(value: object) -> str:
    # Cut first: a longer value is not a name, and stripping a long run of quotes would take too long.
    return _AROUND.sub("", _plain(value)[: 2 * MAX_NAME_CHARS])


def _is_flat(values: list[object]) -> bool:
    return not any(isinstance(value, list | dict) for value in values)


def _shorten(text: str, most: int) -> str:
    return text[:most].rstrip()


def _excerpt(answer: str) -> str:
    return _shorten(_plain(answer[: 4 * MAX_EXCERPT_CHARS]), MAX_EXCERPT_CHARS)


def unite(ruled: Extraction, found: Extraction) -> Extraction:
    """Return the union of two extractions: each entity once, and one relation for each pair.

    For an entity in both, the spelling and type of the rules win, except the fallback type; the description
    is the model's. A relation in both is the model's, with the larger weight.
    """
    entities = {canonical_key(entity.name): entity for entity in ruled.entities}
    # Plain names differ by case only; identifiers in another case are different.
    for entity in found.entities:
        key = canonical_key(entity.name)
        before = entities.get(key)
        if before is None:
            entities[key] = entity
            continue
        kind = entity.type if before.type == FALLBACK_TYPE else before.type
        entities[key] = Entity(before.name, kind, entity.description)
    spelt = {key: entity.name for key, entity in entities.items()}
    relations: dict[frozenset[str], Relation] = {}
    for relation in (*found.relations, *ruled.relations):
        source, target = canonical_key(relation.source), canonical_key(relation.target)
        pair = frozenset((source, target))
        before_it = relations.get(pair)
        if before_it is None:
            relations[pair] = replace(relation, source=spelt[source], target=spelt[target])
        elif relation.weight > before_it.weight:
            relations[pair] = replace(before_it, weight=relation.weight)
    return Extraction(ruled.chunk_id, tuple(entities.values()), tuple(relations.values()))
