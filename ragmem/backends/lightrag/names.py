"""The ids and short texts by which entities and relations are found by vector."""

import hashlib

SEPARATOR = "<SEP>"
"""LightRAG's separator inside one field of a node or edge."""

CHUNKS, ENTITIES, RELATIONSHIPS = "chunks", "entities", "relationships"
"""LightRAG's namespaces of vectors."""

VECTOR_TEXT_LENGTH = 200
"""Characters of an entity's or relation's text that are embedded: one cheap call of a small embedder."""

NAME_LENGTH = 256
"""LightRAG cuts longer names."""


def hashed(text: str, prefix: str) -> str:
    """Return LightRAG's id of a text (its compute_mdhash_id)."""
    return prefix + hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def entity_id(name: str) -> str:
    """Return the id of an entity's vector."""
    return hashed(name, "ent-")


def relation_id(one: str, other: str) -> str:
    """Return the id of a relation's vector; the direction does not matter."""
    return hashed("".join(sorted((one, other))), "rel-")


def relation_key(one: str, other: str) -> str:
    """Return the key of a relation's tracking row."""
    return SEPARATOR.join(sorted((one, other)))


def cache_id(chunk_id: str) -> str:
    """Return the key of the cached extraction of a chunk."""
    return f"default:extract:{hashed(chunk_id, '')}"


def file_token(memory_id: str) -> str:
    """Return what LightRAG gets as file path: it keeps basenames only and refuses to take one twice."""
    return f"m-{memory_id}"


def clean_name(name: str) -> str:
    """Return a name as it is stored: one line, bounded."""
    return " ".join(name.replace(SEPARATOR, " ").split())[:NAME_LENGTH].strip()


def first_sentence(text: str) -> str:
    """Return the first sentence of a (merged) description."""
    first = text.split(SEPARATOR, 1)[0].strip().split("\n", 1)[0]
    head, stop, _ = first.partition(". ")
    return head + stop.strip()


# An entity's vector is made from this short text when the entity first appears, and is then kept: its
# merged description changes with every memory that mentions it, and embedding a hub again at each insert
# would cost more than all else while moving the vector little.


def entity_text(name: str, description: str) -> str:
    """Return what is embedded for an entity."""
    return f"{name}: {first_sentence(description)}"[:VECTOR_TEXT_LENGTH]


def relation_text(source: str, target: str, keywords: str, description: str) -> str:
    """Return what is embedded for a relation; the same text for both directions."""
    one, other = sorted((source, target))
    return f"{one} {keywords} {other}: {first_sentence(description)}"[:VECTOR_TEXT_LENGTH]
