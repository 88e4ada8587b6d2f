"""Turn the spans of a model for named entities into entities, beside those of the rules."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragmem.domain.entities.entities import canonical_key
from ragmem.domain.entities.extraction_answer import FALLBACK_TYPE, Answer, keep_named
from ragmem.domain.model import Entity, Extraction
from ragmem.domain.text.known_names import KNOWN_NAMES
from ragmem.patterns import lazy

VERSION = 1
"""Raise it when spans become entities in another way: then each text is read again."""

LABELS: Mapping[str, str] = {
    "person": "person",
    "organization": "organization",
    "location": FALLBACK_TYPE,
    "event": "event",
    "project": "project",
    "product": "tool",
    "software": "tool",
    "server": "host",
}
"""The labels that the model gets, and our types; a place has no type of its own."""

_GUESSES = frozenset({"tool", FALLBACK_TYPE})
"""Types that the rules give to names without any cue."""

_PIECES = lazy(r"```.*?(?:```|\Z)|`[^`\n]+`|[^\s`()\[\]<>\"']+", re.DOTALL)
_CODE = lazy(r"`|\w\w[./\\@:=#]\w|[/\\@#]")
"""What is in pieces of code, in paths, addresses and settings; the rules know what these are."""


def recognition_key(model_id: str, threshold: float) -> str:
    """Return the key of what a model finds in texts above a threshold."""
    return f"{model_id} names {VERSION} {threshold:g}"


def read_spans(spans: Sequence[tuple[int, int, str, float]], text: str) -> Answer:
    """Return the entities of spans (start, end, label, score), those with the best score first.

    A name inside code, in lower case, or over the end of a line is left out: the rules know code, a word is
    no name, and the model does not see line ends.
    """
    code = [piece.span() for piece in _PIECES.finditer(text) if _CODE.search(piece.group())]
    named: list[dict[str, object]] = [
        {"name": text[start:end], "type": LABELS[label]}
        for start, end, label, _ in sorted(spans, key=lambda span: (-span[3], span[0]))
        if text[start].isalnum()
        and not text[start].islower()
        and "\n" not in text[start:end]
        and all(end <= first or last <= start for first, last in code)
    ]
    return Answer(keep_named(named, text))


def add_recognized(ruled: Extraction, recognized: Sequence[Entity]) -> Extraction:
    """Return an extraction by rule with the entities of a model.

    The model adds names, and types those whose type the rules only guess.
    """
    entities = {canonical_key(entity.name): entity for entity in ruled.entities}
    for entity in recognized:
        before = entities.setdefault(canonical_key(entity.name), entity)
        if _is_guess(before):
            entities[canonical_key(entity.name)] = replace(before, type=entity.type)
    return replace(ruled, entities=tuple(entities.values()))


def _is_guess(entity: Entity) -> bool:
    name = entity.name
    plain = name[:1].isupper() and name.replace(" ", "").isalpha()
    return plain and entity.type in _GUESSES and name.lower() not in KNOWN_NAMES
