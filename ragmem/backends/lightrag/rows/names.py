"""The ids of entities and relations, and the short texts that are embedded for them."""

import hashlib
from collections.abc import Iterable

from ragmem.domain.entities.description import MAX_SENTENCES, summary

SEPARATOR = "<SEP>"
"""LightRAG's separator inside one field of a node or edge."""

CHUNKS, ENTITIES, RELATIONSHIPS = "chunks", "entities", "relationships"
"""LightRAG's namespaces of vectors."""

VectorKey = tuple[str, str, str]
"""Workspace, namespace and id of a vector."""

VECTOR_TEXT_LENGTH = 200
"""Most characters of an embedded relation: a cheap call of a small embedder."""

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


_CACHED = "default:extract:"


def cache_id(chunk_id: str) -> str:
    """Return the key of the cached extraction of a chunk."""
    return _CACHED + chunk_id


def chunk_of_cache(key: str) -> str:
    """Return the chunk of a key that `cache_id` made; empty for a key of another kind."""
    return key.removeprefix(_CACHED) if key.startswith(_CACHED) else ""


def file_token(memory_id: str) -> str:
    """Return the file path for LightRAG, which keeps only basenames and refuses duplicates."""
    return f"m-{memory_id}"


def memory_of(token: str) -> str:
    """Return the memory of a file token."""
    return token.removeprefix("m-")


def clean_name(name: str) -> str:
    """Return a name as it is stored: one line, bounded."""
    return " ".join(name.replace(SEPARATOR, " ").split())[:NAME_LENGTH].strip()


def join_descriptions(descriptions: Iterable[str]) -> str:
    """Join the descriptions of a node or edge (oldest first), at most MAX_SENTENCES of the best."""
    distinct = list(dict.fromkeys(descriptions))
    return SEPARATOR.join(distinct if len(distinct) <= MAX_SENTENCES else summary(distinct))


# The embedded texts of the graph are short: an entity's name, a relation's ends and keywords. Descriptions
# are sentences of chunks, which have their own vectors; embedding them again was half of the cost of seeding.
# The text does not change when descriptions merge, so a vector is never outdated.


def entity_text(name: str) -> str:
    """Return the text to embed for an entity."""
    return name


def relation_text(source: str, target: str, keywords: str) -> str:
    """Return the text to embed for a relation; the same for both directions."""
    one, other = sorted((source, target))
    return f"{one} {keywords} {other}"[:VECTOR_TEXT_LENGTH]
