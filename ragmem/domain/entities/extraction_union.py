"""One extraction out of what rules and a language model found in the same chunk."""

from ragmem.domain.entities.entities import canonical_key
from ragmem.domain.entities.extraction_answer import FALLBACK_TYPE
from ragmem.domain.model import Entity, Extraction, Relation


def unite(ruled: Extraction, found: Extraction) -> Extraction:
    """Return the union: an entity that both have once, and one relation for each pair.

    What a word's form proves, the rules know best: of an entity that both have, the rules' spelling and type
    stay, unless theirs is the type of last resort; its description is the model's, which chose the sentence
    by its meaning. A relation that both have is the model's, with the greater weight of the two.
    """
    entities = {canonical_key(entity.name): entity for entity in ruled.entities}
    # Plain names differ by case only; an identifier that the rules have under another case is another one.
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
            relations[pair] = Relation(
                spelt[source], spelt[target], relation.keywords, relation.description, relation.weight
            )
        elif relation.weight > before_it.weight:
            relations[pair] = Relation(
                before_it.source,
                before_it.target,
                before_it.keywords,
                before_it.description,
                relation.weight,
            )
    return Extraction(ruled.chunk_id, tuple(entities.values()), tuple(relations.values()))
