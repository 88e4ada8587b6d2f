"""Merge the extraction by rule with that of a language model for the same chunk."""

from dataclasses import replace

from ragmem.domain.entities.entities import canonical_key
from ragmem.domain.entities.extraction_answer import FALLBACK_TYPE
from ragmem.domain.model import Entity, Extraction, Relation


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
