"""What a chunk speaks of: its entities and relations by rule, without a language model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragmem.domain.blocks import MAX_HEADING_CHARS, Block, Form, units
from ragmem.domain.entities import Mention, canonical_key, find_mentions
from ragmem.domain.forms import ENTITY_TYPES
from ragmem.domain.keywords import keywords
from ragmem.domain.model import Chunk, Entity, Extraction, Relation
from ragmem.domain.relations import Link, relate

__all__ = ["ENTITY_TYPES", "extract", "keywords"]

MAX_ENTITIES = 10
"""Entities of one chunk: what a reader would look up, not each word; a graph of noise finds nothing."""

MAX_RELATIONS = 10

MAX_DESCRIPTION_CHARS = 300

MAX_LINE_CHARS = 2000
"""A longer statement is machine-made; only its beginning is read."""

MAX_MENTIONS = 24
"""Mentions of one statement that are related to each other; a list of a hundred names relates nothing."""

HEADING_BONUS = 1.0
EARLY_BONUS = 0.5


@dataclass(slots=True)
class _Candidate:
    """An entity in the making: all its mentions in one chunk."""

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


def extract(
    chunk: Chunk, *, max_entities: int = MAX_ENTITIES, max_relations: int = MAX_RELATIONS
) -> Extraction:
    """Return the most salient entities of a chunk and the relations between them, most salient first.

    Entities are what the text names: code, paths, hosts, versions, variables, flags, errors and proper names,
    each under one canonical name of 2 to 80 characters with the sentence that names it first as description.
    Relations come from verbs, definitions and links, and with a lower weight from a mention in one sentence;
    both ends are among the entities, and no entity relates to itself. A text that names nothing gives an
    empty extraction; the same chunk gives the same extraction, in the same order.
    """
    statements = [
        (block, " ".join(chunk.text[start : min(end, start + MAX_LINE_CHARS)].split()))
        for block, start, end in units(chunk.text)
    ]
    above = chunk.heading.rsplit(" > ", 1)[-1]
    if above and above not in chunk.text[: MAX_HEADING_CHARS + len(above)]:
        statements.insert(0, (Block(Form.HEADING, 0, 0), above))
    found = [(block, text, find_mentions(text, block.form)) for block, text in statements]
    candidates = _gather(found)
    ranked = sorted(candidates.items(), key=lambda item: (-item[1].salience, item[1].first, item[0]))
    kept = {key: candidate.name for key, candidate in ranked[: max(0, max_entities)]}
    entities = tuple(
        Entity(candidate.name, candidate.type, candidate.description)
        for key, candidate in ranked
        if key in kept
    )
    return Extraction(chunk.id, entities, _relations(found, kept, max_relations))


def _gather(found: Sequence[tuple[Block, str, list[Mention]]]) -> dict[str, _Candidate]:
    """Return the candidates by canonical key, from all mentions in the order of the text."""
    candidates: dict[str, _Candidate] = {}
    for at, (block, text, mentions) in enumerate(found):
        for mention in mentions:
            key = canonical_key(mention.name)
            candidate = candidates.get(key)
            if candidate is None:
                description = text[:MAX_DESCRIPTION_CHARS]
                candidate = _Candidate(
                    mention.name, mention.type, mention.weight, len(candidates), description
                )
                candidate.bonus = EARLY_BONUS if at < 2 else 0.0
                candidates[key] = candidate
            elif mention.weight > candidate.weight:
                candidate.type, candidate.weight = mention.type, mention.weight
            candidate.count += 1
            candidate.names[mention.name] = candidate.names.get(mention.name, 0) + 1
            if block.form is Form.HEADING:
                candidate.bonus = max(candidate.bonus, HEADING_BONUS)
    for candidate in candidates.values():
        candidate.name = min(candidate.names, key=lambda name: (-candidate.names[name], name))
    return candidates


def _relations(
    found: Sequence[tuple[Block, str, list[Mention]]], kept: Mapping[str, str], limit: int
) -> tuple[Relation, ...]:
    """Return the strongest relations between the kept entities; one per pair, its evidence summed."""
    pairs: dict[frozenset[str], tuple[Link, str, str, float, int]] = {}
    topic: Mention | None = None
    lead: Mention | None = None
    for block, text, mentions in found:
        known = [mention for mention in mentions if canonical_key(mention.name) in kept][:MAX_MENTIONS]
        if block.form is Form.HEADING:
            topic = lead = known[0] if len(known) == 1 else None
            continue
        above = lead if block.form is Form.ITEM else topic
        for link in relate(text, known, form=block.form, topic=above):
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
        if block.form is Form.PARAGRAPH:
            lead = known[0] if known and text.endswith(":") else topic
    ranked = sorted(pairs.values(), key=lambda item: (-item[0].weight, -item[3], item[4]))
    return tuple(
        Relation(
            kept[source], kept[target], link.keywords, link.sentence[:MAX_DESCRIPTION_CHARS], round(weight, 3)
        )
        for link, source, target, weight, _ in ranked[: max(0, limit)]
    )
