"""What a person states of the graph itself, as memories: an entity, a relation, that two names are one.

The graph follows from what memories say, so what is stated is a memory as well: it is kept, exported and
archived like others, and names what it states, and nothing else, whenever the graph is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.domain.entities.aliases import ASKED, Alias
from ragmem.domain.entities.resolution import WEAK
from ragmem.domain.model import Chunk, Draft, Entity, Extraction, Memory, Relation, Scope, memory_id

SOURCE = "graph"
"""The source of such memories."""

KIND = "states"
"""The key of their metadata that says what they state."""

LONGEST = 2_000
"""Characters of a description."""


@dataclass(frozen=True, slots=True)
class StatedEntity:
    """An entity; an empty `type` or `description` leaves what texts say of it.

    `known_type` is the one by which its names are compared with others, of those in
    domain/text/token_types.py: what it is called else is the person's affair.
    """

    name: str
    type: str = ""
    description: str = ""
    known_type: str = WEAK


@dataclass(frozen=True, slots=True)
class StatedRelation:
    """A relation between two entities, which has no direction."""

    source: str
    target: str
    keywords: str
    description: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class StatedMerge:
    """That what has one name is what has another, by which it shall go; both with the type of the first."""

    name: str
    into: str
    type: str


Stated = StatedEntity | StatedRelation | StatedMerge


def draft_of(stated: Stated, project: str) -> Draft:
    """Return what states something, to be stored; what is stated of the same again takes its place."""
    match stated:
        case StatedEntity():
            text = f"{stated.name} ({stated.type or stated.known_type}): {stated.description}"
            facts = {"name": stated.name, "type": stated.type, "known_type": stated.known_type}
        case StatedRelation():
            text = f"{stated.source} - {stated.target} ({stated.keywords}): {stated.description}"
            facts = {
                "from": stated.source,
                "to": stated.target,
                "keywords": stated.keywords,
                "weight": repr(stated.weight),
            }
        case StatedMerge():
            text = f"{stated.name} is {stated.into}."
            facts = {"name": stated.name, "into": stated.into, "type": stated.type}
    return Draft(
        source=SOURCE,
        uri=uri_of(stated),
        text=text,
        title=text[:80],
        scope=Scope(project),
        # It says how the graph is to be, and nothing that grows old.
        metadata={KIND: _kind(stated), "protected": "true", **facts},
    )


def uri_of(stated: Stated) -> str:
    """Return the identity of what is stated: of one thing the latest statement holds."""
    match stated:
        case StatedEntity():
            return entity_uri(stated.name)
        case StatedRelation():
            return relation_uri(stated.source, stated.target)
        case StatedMerge():
            return f"graph:same/{stated.name}"


def entity_uri(name: str) -> str:
    """Return the uri of what is stated of an entity."""
    return f"graph:entity/{name}"


def relation_uri(one: str, other: str) -> str:
    """Return the uri of what is stated of a relation, whichever end is named first."""
    return "graph:relation/" + " -- ".join(sorted((one, other)))


def id_of(uri: str, project: str) -> str:
    """Return the id of the memory that states something of a project."""
    return memory_id(SOURCE, Scope(project), uri)


def stated_in(memory: Memory) -> Stated | None:
    """Return what a memory states of the graph; None for every other memory."""
    facts = memory.metadata
    if memory.source != SOURCE or KIND not in facts:
        return None
    # What was redacted in it is redacted here.
    description = memory.text.partition("): ")[2]
    try:
        match facts[KIND]:
            case "entity":
                return StatedEntity(facts["name"], facts["type"], description, facts["known_type"])
            case "relation":
                weight = float(facts["weight"])
                ends = facts["from"], facts["to"]
                return StatedRelation(*ends, facts["keywords"], description, weight)
            case "same":
                return StatedMerge(facts["name"], facts["into"], facts["type"])
            case _:
                return None
    except (KeyError, ValueError):
        # Somebody imported what only looks like it.
        return None


def extractions_of(stated: Stated, chunks: Sequence[Chunk]) -> tuple[Extraction, ...]:
    """Return the extraction of each chunk: the first has all that is stated."""
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    match stated:
        case StatedEntity():
            said = stated.description or f"{stated.name} is of the type {stated.type}."
            entities = (Entity(stated.name, stated.known_type, said),)
        case StatedRelation():
            relations = (
                Relation(stated.source, stated.target, stated.keywords, stated.description, stated.weight),
            )
        case StatedMerge():
            said = f"{stated.name} is {stated.into}."
            entities = tuple(Entity(name, stated.type, said) for name in (stated.name, stated.into))
    return tuple(
        Extraction(chunk.id, entities, relations) if order == 0 else Extraction(chunk.id)
        for order, chunk in enumerate(chunks)
    )


def alias_of(stated: Stated) -> Alias | None:
    """Return that two names are one, where that is what is stated."""
    return Alias(stated.name, stated.into, ASKED) if isinstance(stated, StatedMerge) else None


def _kind(stated: Stated) -> str:
    match stated:
        case StatedEntity():
            return "entity"
        case StatedRelation():
            return "relation"
        case StatedMerge():
            return "same"
