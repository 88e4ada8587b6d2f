"""Examples of requests and answers that no model gives itself: LightRAG's, lines of streams, forms."""

MODELS: dict[str, dict[str, object]] = {
    "ContextRequest": {
        "session": "5f2c",
        "prompt": "speed up the departures query",
        "cwd": "/home/ada/departures",
        "assistant": "claude-code",
    },
    "ContextResponse": {
        "context": "<ragmem-memory>...</ragmem-memory>",
        "tokens": 180,
        "memory_ids": ["3q7hn2zk5x4mcd2p6qwr7s2t3u"],
        "reason": "the prompt begins a topic",
        "notes": [],
    },
    "QueryResponse": {
        "response": "<ragmem-memory>...</ragmem-memory>",
        "references": [
            {
                "reference_id": "1",
                "file_path": "/home/ada/notes/deploy.md",
                "memory_id": "3q7hn2zk5x4mcd2p6qwr7s2t3u",
            }
        ],
        "response_time": 0.021,
        "llm_generated": False,
        "notes": [],
    },
    "QueryDataResponse": {
        "status": "success",
        "message": "Query processed successfully",
        "data": {
            "entities": [],
            "relationships": [],
            "chunks": [
                {
                    "reference_id": "1",
                    "content": "We decided to deploy PostgreSQL 16.",
                    "file_path": "/home/ada/notes/deploy.md",
                    "score": 0.67,
                }
            ],
            "references": [],
        },
        "metadata": {"query_mode": "mix"},
    },
    "TextRequest": {
        "text": "We pin psycopg 3.2 because 3.1 resets connections.",
        "file_source": "notes/driver.md",
    },
    "TextsRequest": {
        "texts": ["Redis keeps the sessions.", "Celery works off the queue."],
        "file_sources": ["notes/cache.md", "notes/queue.md"],
    },
    "TextResponse": {
        "status": "success",
        "message": "1 stored, 0 there already",
        "track_id": "insert_k2m4p6q8",
        "memory_ids": ["3q7hn2zk5x4mcd2p6qwr7s2t3u"],
    },
    "GraphResponse": {
        "nodes": [
            {"id": "PostgreSQL", "labels": ["PostgreSQL"], "properties": {"entity_type": "tool"}},
            {"id": "Kubernetes", "labels": ["Kubernetes"], "properties": {"entity_type": "tool"}},
        ],
        "edges": [
            {
                "id": "PostgreSQL-Kubernetes",
                "type": "DIRECTED",
                "source": "PostgreSQL",
                "target": "Kubernetes",
                "properties": {"weight": 1.0},
            }
        ],
        "is_truncated": False,
    },
}
"""By the name of the model."""

ANSWERS: dict[tuple[str, str], object] = {
    ("get", "/graph/entity/exists"): {"exists": True},
    ("get", "/graph/label/list"): ["Kubernetes", "PostgreSQL"],
    ("get", "/graph/label/popular"): ["PostgreSQL", "Kubernetes"],
    ("get", "/graph/label/search"): ["PostgreSQL"],
    ("get", "/api/ps"): {"models": [{"name": "ragmem:latest"}]},
    ("get", "/api/tags"): {"models": [{"name": "ragmem:latest"}]},
    ("get", "/agents/events"): 'id: 7\nevent: status\ndata: {"agent_id": "builder"}\n\n',
    ("get", "/messages"): 'id: 3\nevent: message\ndata: {"id": 3, "body": "stop"}\n\n',
    ("get", "/metrics"): "ragmem_memories 120.0\n",
    ("get", "/ui/customization/assets/{asset_hash}/{asset_id}"): {},
    ("post", "/api/chat"): '{"message": {"role": "assistant", "content": "..."}, "done": false}\n',
    ("post", "/api/generate"): '{"response": "...", "done": false}\n',
    ("post", "/query/stream"): '{"references": []}\n{"response": "..."}\n',
    ("post", "/v1/chat/completions"): 'data: {"choices": [{"delta": {"content": "..."}}]}\n\n',
}
"""By method and path: answers that have no model of their own, or are lines of a stream."""

FORMS: dict[str, dict[str, object]] = {
    "/documents/upload": {"file": "(the bytes of notes.md)"},
    "/login": {"username": "ada", "password": "what-ragmem-serve---print-token-says"},
}
"""By path: bodies that are no JSON."""
