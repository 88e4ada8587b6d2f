"""Entities, relations and merges that a user states, stored as memories.

The graph is derived from memories, so a user's statement is a memory as well. It is kept, exported and
archived like others, and whenever the graph is rebuilt it contributes exactly what it states.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.domain.entities.aliases import ASKED, Alias
from ragmem.domain.entities.resolution import WEAK
from ragmem.domain.model import Chunk, Draft, Entity, Extraction, Memory, Relation, Scope, memory_id

SOURCE = "graph"
"""The source of these memories."""

KIND = "states"
"""The metadata key with the statement."""

LONGEST = 2_000
"""Maximum characters of a description."""


@dataclass(frozen=True, slots=True)
class UserEntity:
    """An entity; an empty `type` or `description` keeps those from texts.

    `known_type` is the type by which its names are compared with others, one of domain/text/token_types.py;
    `type` is free.
    """

    name: str
    type: str = ""
    description: str = ""
    known_type: str = WEAK


@dataclass(frozen=True, slots=True)
class UserRelation:
    """An undirected relation between two entities."""

    source: str
    target: str
    keywords: str
    description: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class UserMerge:
    """A merge of `name` into `into`, which is the name to show; both get the type of the first."""

    name: str
    into: str
    type: str


Stated = UserEntity | UserRelation | UserMerge


def draft_of(stated: Stated, project: str) -> Draft:
    """Return the draft of a statement; it replaces an earlier one about the same thing."""
    match stated:
        case UserEntity():
            text = f"{stated.name} ({stated.type or stated.known_type}): {stated.description}"
            facts = {"name": stated.name, "type": stated.type, "known_type": stated.known_type}
        case UserRelation():
            text = f"{stated.source} - {stated.target} ({stated.keywords}): {stated.description}"
            facts = {
                "from": stated.source,
                "to": stated.target,
                "keywords": stated.keywords,
                "weight": repr(stated.weight),
            }
        case UserMerge():
            text = f"{stated.name} is {stated.into}."
            facts = {"name": stated.name, "into": stated.into, "type": stated.type}
    return Draft(
        source=SOURCE,
        uri=uri_of(stated),
        text=text,
        title=text[:80],
        scope=Scope(project),
        # It defines the graph and never expires.
        metadata={KIND: _kind(stated), "protected": "true", **facts},
    )


def uri_of(stated: Stated) -> str:
    """Return the identity of a statement; of one thing the latest statement holds."""
    match stated:
        case UserEntity():
            return entity_uri(stated.name)
        case UserRelation():
            return relation_uri(stated.source, stated.target)
        case UserMerge():
            return f"graph:same/{stated.name}"


def entity_uri(name: str) -> str:
    """Return the uri of statements about an entity."""
    return f"graph:entity/{name}"


def relation_uri(one: str, other: str) -> str:
    """Return the uri of statements about a relation, in either direction."""
    return "graph:relation/" + " -- ".join(sorted((one, other)))


def id_of(uri: str, project: str) -> str:
    """Return the memory id of a statement of a project."""
    return memory_id(SOURCE, Scope(project), uri)


def user_statements_of(memory: Memory) -> Stated | None:
    """Return the statement in a memory; None for every other memory."""
    facts = memory.metadata
    if memory.source != SOURCE or KIND not in facts:
        return None
    # Secrets were redacted in the text; redact them here, too.
    description = memory.text.partition("): ")[2]
    try:
        match facts[KIND]:
            case "entity":
                return UserEntity(facts["name"], facts["type"], description, facts["known_type"])
            case "relation":
                weight = float(facts["weight"])
                ends = facts["from"], facts["to"]
                return UserRelation(*ends, facts["keywords"], description, weight)
            case "same":
                return UserMerge(facts["name"], facts["into"], facts["type"])
            case _:
                return None
    except (KeyError, ValueError):
        # An imported memory with invalid data
        return None


def extractions_of(stated: Stated, chunks: Sequence[Chunk]) -> tuple[Extraction, ...]:
    """Return the extraction of each chunk; the first one has the whole statement."""
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    match stated:
        case UserEntity():
            said = stated.description or f"{stated.name} is of the type {stated.type}."
            entities = (Entity(stated.name, stated.known_type, said),)
        case UserRelation():
            relations = (
                Relation(stated.source, stated.target, stated.keywords, stated.description, stated.weight),
            )
        case UserMerge():
            said = f"{stated.name} is {stated.into}."
            entities = tuple(Entity(name, stated.type, said) for name in (stated.name, stated.into))
    return tuple(
        Extraction(chunk.id, entities, relations) if order == 0 else Extraction(chunk.id)
        for order, chunk in enumerate(chunks)
    )


def alias_of(stated: Stated) -> Alias | None:
    """Return the alias of a stated merge; None for other statements."""
    return Alias(stated.name, stated.into, ASKED) if isinstance(stated, UserMerge) else None


def _kind(stated: Stated) -> str:
    match stated:
        case UserEntity():
            return "entity"
        case UserRelation():
            return "relation"
        case UserMerge():
            return "same"
