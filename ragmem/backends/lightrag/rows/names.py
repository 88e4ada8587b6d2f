"""The ids and short texts by which entities and relations are found by vector."""

import hashlib
from collections.abc import Iterable

from ragmem.domain.entities.description import MAX_SENTENCES, summary

SEPARATOR = "<SEP>"
"""LightRAG's separator inside one field of a node or edge."""

CHUNKS, ENTITIES, RELATIONSHIPS = "chunks", "entities", "relationships"
"""LightRAG's namespaces of vectors."""

VECTOR_TEXT_LENGTH = 200
"""Characters of an entity's or relation's text that are embedded: one cheap call of a small embedder."""

NAME_LENGTH = 256
"""LightRAG cuts longer names."""


def hash_id(text: str, prefix: str) -> str:
    """Return LightRAG's id of a text (its compute_mdhash_id)."""
    return prefix + hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def entity_id(name: str) -> str:
    """Return the id of an entity's vector."""
    return hash_id(name, "ent-")


def relation_id(one: str, other: str) -> str:
    """Return the id of a relation's vector; the direction does not matter."""
    return hash_id("".join(sorted((one, other))), "rel-")


def relation_key(one: str, other: str) -> str:
    """Return the key of a relation's tracking row."""
    return SEPARATOR.join(sorted((one, other)))


def cache_id(chunk_id: str) -> str:
    """Return the key of the cached extraction of a chunk."""
    return f"default:extract:{hash_id(chunk_id, '')}"


def file_token(memory_id: str) -> str:
    """Return what LightRAG gets as file path: it keeps basenames only and refuses to take one twice."""
    return f"m-{memory_id}"


def memory_of(token: str) -> str:
    """Return the memory of a file token."""
    return token.removeprefix("m-")


def clean_name(name: str) -> str:
    """Return a name as it is stored: one line, bounded."""
    return " ".join(name.replace(SEPARATOR, " ").split())[:NAME_LENGTH].strip()


def summarised(descriptions: Iterable[str]) -> str:
    """Return the descriptions of a node or edge, separated; of too many the best. They come oldest first."""
    distinct = list(dict.fromkeys(descriptions))
    # As many as LightRAG leaves alone, too.
    return SEPARATOR.join(distinct if len(distinct) <= MAX_SENTENCES else summary(distinct))


# What is embedded of the graph is short: an entity's name, a relation's ends and keywords. Their descriptions
# are sentences of chunks, which have vectors of their own, and embedding each of them a second time made half
# of the cost of seeding. The text does not change when descriptions merge, so a vector once made is kept.


def entity_text(name: str) -> str:
    """Return what is embedded for an entity."""
    return name


def relation_text(source: str, target: str, keywords: str) -> str:
    """Return what is embedded for a relation; the same text for both directions."""
    one, other = sorted((source, target))
    return f"{one} {keywords} {other}"[:VECTOR_TEXT_LENGTH]
