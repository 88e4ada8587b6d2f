"""LightRAG's own retrieval, in its modes."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ragmem.backends.lightrag.engine import Engine, Instance, run
from ragmem.backends.lightrag.storages import query_relations
from ragmem.ports import Mode

TOP_K = 40
"""Most entities and relations that a mode starts from, LightRAG's default."""


def native_query(
    engine: Engine,
    query: str,
    mode: Mode,
    *,
    keywords: Sequence[str],
    themes: Sequence[str],
    limit: int,
    project: str,
) -> Mapping[str, Any]:
    """Run LightRAG's aquery_data; with keywords given it needs no language model."""
    instance = engine.instance(project)
    with query_relations.limit_relations():
        return run(lambda: ask(instance, query, mode, keywords=keywords, themes=themes, limit=limit))


async def ask(
    instance: Instance,
    query: str,
    mode: Mode,
    *,
    keywords: Sequence[str],
    themes: Sequence[str] = (),
    limit: int,
) -> Mapping[str, Any]:
    """Return LightRAG's own answer; without keywords the query is one, so no language model is needed."""
    from lightrag import QueryParam

    words = [word for word in keywords if word.strip()] or [query]
    param = QueryParam(
        mode=mode,
        top_k=min(limit, TOP_K),
        chunk_top_k=limit,
        ll_keywords=words,
        hl_keywords=[word for word in themes if word.strip()] or words,
        enable_rerank=False,
        max_entity_tokens=6000,
        max_relation_tokens=8000,
        max_total_tokens=30000,
    )
    return cast("Mapping[str, Any]", await instance.rag.aquery_data(query, param))
