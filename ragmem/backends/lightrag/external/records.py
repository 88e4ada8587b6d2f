"""Records in the form that external storages take: by project, cleaned, with all their texts."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from ragmem.backends.lightrag.rows import names, records
from ragmem.domain.model import Extraction, Record

_T = TypeVar("_T")

_NUL, _REPLACEMENT = "\x00", "\ufffd"

NAME_LENGTH = 250
"""LightRAG's tables in PostgreSQL have 512 characters for a relation's two names and a separator."""

TextKey = tuple[str, str]
"""Namespace and id of a vector."""


def group_by_project(group: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records by project."""
    found: dict[str, list[Record]] = {}
    for record in group:
        found.setdefault(record.memory.scope.project, []).append(record)
    return found


def clean_record(record: Record) -> Record:
    """Return the record in a form for PostgreSQL: without NUL characters, and with short names."""
    clean = _without_nul(record)
    extractions = tuple(_short(extraction) for extraction in clean.extractions)
    return clean if extractions == clean.extractions else replace(clean, extractions=extractions)


def _short(extraction: Extraction) -> Extraction:
    return replace(
        extraction,
        entities=tuple(replace(one, name=one.name[:NAME_LENGTH]) for one in extraction.entities),
        relations=tuple(
            replace(one, source=one.source[:NAME_LENGTH], target=one.target[:NAME_LENGTH])
            for one in extraction.relations
        ),
    )


def _without_nul(value: _T) -> _T:
    changed: Any = value
    if isinstance(value, str):
        changed = value.replace(_NUL, _REPLACEMENT) if _NUL in value else value
    elif isinstance(value, tuple):
        parts = [_without_nul(part) for part in value]
        changed = tuple(parts) if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    elif is_dataclass(value) and not isinstance(value, type):
        former: Mapping[str, Any] = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        found = {name: _without_nul(part) for name, part in former.items()}
        different = {name: part for name, part in found.items() if part is not former[name]}
        changed = replace(value, **different) if different else value
    return changed  # type: ignore[no-any-return]


def wanted_texts(group: Iterable[Record]) -> dict[TextKey, str]:
    """Return the texts to embed for records of one project, by namespace and id.

    Entities that only a relation names are included, because LightRAG's merge creates them too.
    """
    kept = list(group)
    texts = {(namespace, key): text for (_, namespace, key), text in records.vector_texts(kept).items()}
    for record in kept:
        for name in records.candidates(record)[0]:
            texts.setdefault((names.ENTITIES, names.entity_id(name)), names.entity_text(name))
    return texts
