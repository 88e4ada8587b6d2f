"""Entities, relations and merges that a user states, stored as memories.

The graph is derived from memories, so a user's statement is a memory as well. It is kept, exported and
archived like others, and whenever the graph is rebuilt it contributes exactly what it states.
"""

from collections.abc import Sequence

from ragmem.domain.entities.aliases import USER_CHOICE, Alias
from ragmem.domain.entities.resolution import WEAK
from ragmem.domain.model import Chunk, Draft, Entity, Extraction, Memory, Relation, Scope, memory_id
from ragmem.frozen import dataclass

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
    """A merge of `name` into `into`, which is the shown name; both have the type `type`."""

    name: str
    into: str
    type: str


UserStatement = UserEntity | UserRelation | UserMerge


def draft_of(statement: UserStatement, project: str) -> Draft:
    """Return the draft of a statement; it replaces an earlier one about the same thing."""
    match statement:
        case UserEntity():
            text = f"{statement.name} ({statement.type or statement.known_type}): {statement.description}"
            facts = {
                KIND: "entity",
                "name": statement.name,
                "type": statement.type,
                "known_type": statement.known_type,
            }
        case UserRelation():
            text = f"{statement.source} - {statement.target} ({statement.keywords}): {statement.description}"
            facts = {
                KIND: "relation",
                "from": statement.source,
                "to": statement.target,
                "keywords": statement.keywords,
                "weight": repr(statement.weight),
            }
        case UserMerge():
            text = f"{statement.name} is {statement.into}."
            facts = {KIND: "same", "name": statement.name, "into": statement.into, "type": statement.type}
    return Draft(
        source=SOURCE,
        uri=uri_of(statement),
        text=text,
        title=text[:80],
        scope=Scope(project),
        # It defines the graph and never expires.
        metadata={"protected": "true", **facts},
    )


def uri_of(statement: UserStatement) -> str:
    """Return the URI of a statement; a later statement with the same URI replaces it."""
    match statement:
        case UserEntity():
            return entity_uri(statement.name)
        case UserRelation():
            return relation_uri(statement.source, statement.target)
        case UserMerge():
            return f"graph:same/{statement.name}"


def entity_uri(name: str) -> str:
    """Return the uri of statements about an entity."""
    return f"graph:entity/{name}"


def relation_uri(one: str, other: str) -> str:
    """Return the uri of statements about a relation, in either direction."""
    return "graph:relation/" + " -- ".join(sorted((one, other)))


def id_of(uri: str, project: str) -> str:
    """Return the memory id of a statement of a project."""
    return memory_id(SOURCE, Scope(project), uri)


def user_statements_of(memory: Memory) -> UserStatement | None:
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


def extractions_of(statement: UserStatement, chunks: Sequence[Chunk]) -> tuple[Extraction, ...]:
    """Return the extraction of each chunk; the first one has the whole statement."""
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    match statement:
        case UserEntity():
            said = statement.description or f"{statement.name} is of the type {statement.type}."
            entities = (Entity(statement.name, statement.known_type, said),)
        case UserRelation():
            relations = (
                Relation(
                    statement.source,
                    statement.target,
                    statement.keywords,
                    statement.description,
                    statement.weight,
                ),
            )
        case UserMerge():
            said = f"{statement.name} is {statement.into}."
            entities = tuple(Entity(name, statement.type, said) for name in (statement.name, statement.into))
    return tuple(
        Extraction(chunk.id, entities, relations) if order == 0 else Extraction(chunk.id)
        for order, chunk in enumerate(chunks)
    )


def alias_of(statement: UserStatement) -> Alias | None:
    """Return the alias of a statement merge; None for other statements."""
    return Alias(statement.name, statement.into, USER_CHOICE) if isinstance(statement, UserMerge) else None
