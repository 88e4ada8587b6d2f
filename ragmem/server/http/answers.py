"""Answers in LightRAG's JSON format, with the real source of a memory as its file path."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ragmem.domain.model import Match
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.excerpts import CHARACTERS_PER_TOKEN
from ragmem.domain.text.keywords import Levels
from ragmem.ports import Store
from ragmem.server.http.models import GraphResponse, QueryDataResponse, QueryRequest, Reference
from ragmem.services.context.context import context
from ragmem.services.retrieval.query import Answer
from ragmem.services.retrieval.shapes import best_chunk_text, match_shape

CONTEXT_CHARS = 9_000
"""Default characters of the context block without `max_total_tokens`, as in `query --context`."""

SMALLEST_CONTEXT = 600
"""Minimum characters of a context; a smaller one would consist of its frame only."""

TOP_K = 40
"""Default maximum of entities and of relations, as in LightRAG."""

NOTHING_FOUND = "Nothing in memory bears on this question."

NO_CONTEXT = "Sorry, I'm not able to provide an answer to that question.[no-context]"
"""LightRAG's answer without a context (lightrag.prompt, "fail_response"); clients look for its end."""

_SEPARATOR = "<SEP>"
_TOKEN = re.compile(r"m-([a-z2-7]{26})")
"""The file path that a store gives its engine: a unique token made of the memory's id."""

Uris = Callable[[Iterable[str]], Mapping[str, str]]
"""Looks the uris of memories up by id."""


def context_block(answer: Answer, request: QueryRequest, redactor: Redactor) -> tuple[str, tuple[Match, ...]]:
    """Return the context and the matches that fit into it; both are empty if nothing was found."""
    tokens = request.max_total_tokens
    room = CONTEXT_CHARS if tokens is None else max(SMALLEST_CONTEXT, tokens * CHARACTERS_PER_TOKEN)
    block = context(answer, max_chars=room, redactor=redactor)
    shown = {memory.id for memory in block.memories}
    return block.text, tuple(match for match in answer.matches if match.memory.id in shown)


def nothing_found(request: QueryRequest) -> str:
    """Return the answer if nothing was found, in LightRAG's modes that of LightRAG."""
    return NO_CONTEXT if request.engine_mode else NOTHING_FOUND


def references(matches: Sequence[Match], *, content: bool, redactor: Redactor) -> list[Reference]:
    """Return a numbered reference to each match."""
    listed = [
        Reference(
            reference_id=str(number),
            file_path=redactor.redact(match.memory.uri)[0],
            memory_id=match.memory.id,
        )
        for number, match in enumerate(matches, start=1)
    ]
    if content:
        for reference, match in zip(listed, matches, strict=True):
            reference.content = [best_chunk_text(match, redactor=redactor)]
    return listed


def query_data_response(
    answer: Answer, request: QueryRequest, *, keywords: Levels, uris: Uris, redactor: Redactor
) -> QueryDataResponse:
    """Return LightRAG's aquery_data document; chunks have our fields in addition."""
    found = answer.graph.get("entities", []), answer.graph.get("relationships", [])
    top_k = request.top_k or TOP_K
    entities = fit_into_tokens(found[0][:top_k], request.max_entity_tokens)
    relationships = fit_into_tokens(found[1][:top_k], request.max_relation_tokens)
    real = redactor.redact_document(real_paths([*entities, *relationships], uris))
    chunks = redactor.redact_document(
        [_chunk(number, match, redactor=redactor) for number, match in enumerate(answer.matches, start=1)]
    )
    nothing = not (entities or relationships or chunks)
    metadata: dict[str, Any] = {
        "query_mode": request.mode,
        "keywords": {
            "high_level": request.hl_keywords or list(keywords.high),
            "low_level": request.ll_keywords or list(keywords.low),
        },
        "processing_info": {
            "total_entities_found": len(found[0]),
            "total_relations_found": len(found[1]),
            "entities_after_truncation": len(entities),
            "relations_after_truncation": len(relationships),
            "final_chunks_count": len(chunks),
        },
        "rung": answer.rung,
        "notes": list(answer.notes),
    }
    if nothing:
        metadata["failure_reason"] = "no_results"
    return QueryDataResponse(
        status="failure" if nothing else "success",
        message=nothing_found(request) if nothing else "Query processed successfully",
        data={
            "entities": real[: len(entities)],
            "relationships": real[len(entities) :],
            "chunks": chunks,
            "references": [
                reference.model_dump(exclude_none=True)
                for reference in references(answer.matches, content=False, redactor=redactor)
            ],
        },
        metadata=metadata,
    )


def bypass_response() -> QueryDataResponse:
    """Return the document of a mode that retrieves nothing."""
    return QueryDataResponse(
        status="success",
        message="the mode bypass retrieves nothing",
        data={"entities": [], "relationships": [], "chunks": [], "references": []},
        metadata={"query_mode": "bypass"},
    )


_OF_MATCH = (
    "score", "event_time", "source", "title", "heading", "kind", "project", "elsewhere", "replaced",
    "superseded_by", "perhaps_outdated",
)  # fmt: skip
"""Our fields of a chunk, in addition to those of LightRAG."""


def _chunk(number: int, match: Match, redactor: Redactor) -> dict[str, Any]:
    shape = match_shape(match, redactor=redactor)
    return {
        "reference_id": str(number),
        "content": best_chunk_text(match, redactor=redactor),
        "file_path": match.memory.uri,
        "chunk_id": match.chunk.id,
        "memory_id": match.memory.id,
        **{name: shape[name] for name in _OF_MATCH},
    }


def fit_into_tokens(items: Sequence[Mapping[str, Any]], tokens: int | None) -> list[Mapping[str, Any]]:
    """Return the first items whose texts fit into `tokens`; all of them for None."""
    if tokens is None:
        return list(items)
    kept: list[Mapping[str, Any]] = []
    room = tokens * CHARACTERS_PER_TOKEN
    for item in items:
        room -= sum(len(value) for value in item.values() if isinstance(value, str))
        if room < 0:
            break
        kept.append(item)
    return kept


def real_paths(items: Sequence[Mapping[str, Any]], uris: Uris) -> list[dict[str, Any]]:
    """Return copies with the real sources in `file_path`, each once.

    Deleted memories are omitted, and so is the engine's remark on how many paths it does not list.
    """
    tokens = [_TOKEN.findall(str(item.get("file_path", ""))) for item in items]
    known = uris({token for listed in tokens for token in listed})
    return [
        {
            **item,
            "file_path": _SEPARATOR.join(dict.fromkeys(known[token] for token in listed if token in known)),
        }
        if "file_path" in item
        else dict(item)
        for item, listed in zip(items, tokens, strict=True)
    ]


def memory_ids_in(file_path: str) -> list[str]:
    """Return the ids of the memories in an engine's file path, each once."""
    return list(dict.fromkeys(_TOKEN.findall(file_path)))


def graph(document: Mapping[str, Any], uris: Uris, redactor: Redactor) -> GraphResponse:
    """Return a store's graph document with real paths, and without secrets."""
    nodes, edges = document["nodes"], document["edges"]
    properties = real_paths([part["properties"] for part in (*nodes, *edges)], uris)
    whole = [{**part, "properties": real} for part, real in zip((*nodes, *edges), properties, strict=True)]
    shown = redactor.redact_document(whole)
    return GraphResponse(
        nodes=shown[: len(nodes)], edges=shown[len(nodes) :], is_truncated=bool(document["is_truncated"])
    )


def find_labels(store: Store, text: str, *, limit: int, project: str | None, redactor: Redactor) -> list[str]:
    """Return names of entities that contain a text, in any case: equal ones, then prefixes, then the rest.

    Prefixes are searched in all entities, the rest in the 20,000 most connected ones.
    """
    wanted = text.strip().lower()
    if not wanted:
        return []
    names = dict.fromkeys(_most_connected(store, wanted, limit=limit, project=project))
    if len(names) < limit:
        for entity, _ in store.entities("", limit=_MAX_SEARCHED, project=project, described=False):
            if wanted in entity.name.lower():
                names.setdefault(entity.name)
    return _redact_names(sorted(names, key=lambda name: name.lower() != wanted)[:limit], redactor=redactor)


def popular_labels(store: Store, *, limit: int, project: str | None, redactor: Redactor) -> list[str]:
    """Return names of entities, most connected first, each once even if several projects have it."""
    return _redact_names(_most_connected(store, "", limit=limit, project=project), redactor=redactor)


def _most_connected(store: Store, prefix: str, *, limit: int, project: str | None) -> list[str]:
    found = store.entities(prefix, limit=limit * _REPEATS, project=project, described=False)
    return list(dict.fromkeys(entity.name for entity, _ in found))[:limit]


def _redact_names(names: list[str], redactor: Redactor) -> list[str]:
    redacted: list[str] = redactor.redact_document(names)
    return redacted


_MAX_SEARCHED = 20_000
_REPEATS = 4
"""Expected maximum of projects with the same name."""
