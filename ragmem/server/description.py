"""The OpenAPI description of the server; adds what all operations share."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from importlib.resources import files
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from ragmem.server.http.failure_models import EVERYWHERE, Failure, Invalid, Problem
from ragmem.server.http.workers import Workers
from ragmem.server.security.guard import LOGIN_PATHS, OPEN_PATHS, SAFE_METHODS
from ragmem.server.v1.memory_models import EXAMPLES

TAGS = {
    "questions": "Query memories, with all filters of `ragmem query` and explained scores.",
    "memories": "Single memories: list, get, store, rate, pin, forget.",
    "graph": "The entities in memories, and their relations.",
    "lifecycle": "The lifecycle of memories: states, decay, the next candidates of gc and why, the archive.",
    "sharing": "Memories shared by team members over git: review, mute, conflicts.",
    "gc": "Runs of gc: plan, apply, undo.",
    "overview": "Overview: counts, sources, time, health, injections.",
    "query": "Questions, in the format of LightRAG's server.",
    "documents": "Texts and files, in the format of LightRAG's server.",
    "server": "Server status and login.",
    "session": "Browser sessions: log in, check, log out.",
    "agents": "Concurrent agents: heartbeats, messages, signals, events.",
    "ollama": "A chat over the memory, in the format of Ollama.",
    "models": "The models, in the format of OpenAI's API.",
}
"""The description of each group of operations."""

SECURITY = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token of the server: `ragmem serve --print-token` prints it.",
    },
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The same token in a separate header.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "ragmem-session",
        "description": "The cookie that `POST /session` sets, whose name ends in 12 digits of the token's"
        " hash. Every method but GET then also needs the header `X-CSRF-Token`, see `GET /session`.",
    },
}

MAX_SUMMARY = 120
"""Maximum characters of a summary made from the first sentence of a description."""

MIN_CLAUSE = 20
"""Minimum characters of a clause that can stand alone."""

Schema = dict[str, Any]


def describe(app: FastAPI, workers: Workers) -> None:
    """Serve this description at /openapi.json; it is made once, on the first request."""
    lock = asyncio.Lock()
    body = b""

    def openapi() -> Schema:
        if app.openapi_schema is None:
            app.openapi_schema = complete_description(
                get_openapi(
                    title=app.title, version=app.version, description=app.description, routes=app.routes
                )
            )
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]

    @app.api_route("/openapi.json", methods=["GET", "HEAD"], include_in_schema=False)
    async def description() -> Response:
        nonlocal body
        async with lock:
            # It takes a second or more of processor time, in which other requests must be answered.
            body = body or await workers.run(lambda: orjson.dumps(app.openapi()))
        return Response(body, media_type="application/json")


def complete_description(schema: Schema) -> Schema:
    """Return a description with security, tags, shared answers, and names of operations."""
    components = schema.setdefault("components", {}).setdefault("schemas", {})
    for shared in (Failure, Invalid, Problem):
        made = shared.model_json_schema(ref_template="#/components/schemas/{model}")
        made.pop("$defs", None)
        components[shared.__name__] = made
    for unused in ("HTTPValidationError", "ValidationError"):
        components.pop(unused, None)
    schema["components"]["securitySchemes"] = SECURITY
    names = _names(schema["paths"])
    used: set[str] = set()
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            operation["operationId"] = names[path, method]
            _summarise(operation)
            _add_security(operation, path, method)
            _add_responses(operation)
            used.update(operation.get("tags", ()))
    schema["tags"] = [{"name": name, "description": text} for name, text in TAGS.items() if name in used]
    # FastAPI drops nulls, and names change: examples come last.
    return _with_examples(_shorter_names(schema))


def _with_examples(schema: Schema) -> Schema:
    """Add the examples of `examples.json`: of models by name, of other answers and forms by path."""
    given = orjson.loads((files("ragmem.server") / "examples.json").read_bytes())
    models: Schema = EXAMPLES | given["models"]

    def whole(example: Any) -> Any:
        """Return an example with the fields of the model's example that "..." names."""
        if isinstance(example, list):
            return [whole(item) for item in example]
        if not isinstance(example, dict):
            return example
        base = whole(models[example["..."]]) if "..." in example else {}
        return base | {name: whole(value) for name, value in example.items() if name != "..."}

    for name, component in schema["components"]["schemas"].items():
        if name in models:
            example = whole(models[name])
            component["examples"] = example if isinstance(example, list) else [example]
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            _add_examples(operation, given["answers"].get(f"{method} {path}"), given["forms"].get(path))
    return schema


def _shorter_names(schema: Schema) -> Schema:
    """Return the description with short names of models, instead of FastAPI's names with modules."""
    text = json.dumps(schema)
    for name in schema["components"]["schemas"]:
        if "__" in name:
            words = name.split("__")[2:]
            short = "".join(part[:1].upper() + part[1:] for word in words for part in word.split("_"))
            text = text.replace(f'/{name}"', f'/{short}"').replace(f'"{name}": ', f'"{short}": ')
    shorter: Schema = json.loads(text)
    return shorter


def _add_examples(operation: Schema, answer: Any, form: Any) -> None:
    for content in operation["responses"].get("200", {}).get("content", {}).values():
        # A route that may stream has a model for its complete answer.
        streams_or_not = isinstance(answer, str) and "$ref" in content.get("schema", {})
        if answer is not None and not streams_or_not:
            content["example"] = answer
    if form is not None:
        for content in operation.get("requestBody", {}).get("content", {}).values():
            content["example"] = form


def _names(paths: Mapping[str, Mapping[str, Schema]]) -> dict[tuple[str, str], str]:
    """Return (path, method) -> a unique name: that of its function, or one made from the path."""
    own = {
        (path, method): _own_name(path, method, operation["operationId"])
        for path, operations in paths.items()
        for method, operation in operations.items()
    }
    counts = Counter(own.values())
    return {
        # A single word, such as `tell`, is meaningless among a hundred operations.
        (path, method): name if counts[name] == 1 and "_" in name else _name_of_path(path, method)
        for (path, method), name in own.items()
    }


def _own_name(path: str, method: str, identifier: str) -> str:
    """Return the function name in an operation's name, to which FastAPI appends path and method."""
    return identifier.removesuffix(re.sub(r"\W", "_", path) + "_" + method)


def _name_of_path(path: str, method: str) -> str:
    words = [part for part in path.split("/") if part and "{" not in part]
    return re.sub(r"\W", "_", "_".join([method, *words]))


def _summarise(operation: Schema) -> None:
    """Use the first sentence of the description as the summary if that was made from a function's name."""
    text = operation.get("description", "")
    first = text.split("\n\n")[0].replace("\n", " ").rstrip(".")
    short = first.split("; ")[0].split(": ")[0]
    # A short clause says too little: "Do nothing", "Refuse".
    first = short if len(short) > MIN_CLAUSE else first
    made_of_name = operation.get("summary", "").istitle() or not operation.get("summary")
    if made_of_name and first and len(first) <= MAX_SUMMARY:
        operation["summary"] = first


def _add_security(operation: Schema, path: str, method: str) -> None:
    if "security" in operation:
        return
    schemes: list[dict[str, list[str]]] = [{name: []} for name in SECURITY]
    if path in OPEN_PATHS:
        schemes = [{}] if path in LOGIN_PATHS and method.upper() not in SAFE_METHODS else [{}, *schemes]
    operation["security"] = schemes


def _add_responses(operation: Schema) -> None:
    answers = operation["responses"]
    for status, known in EVERYWHERE.items():
        given = answers.get(str(status))
        if given is None or (status == 422 and "HTTPValidationError" in str(given)):
            answers[str(status)] = deepcopy(known)
    operation["responses"] = dict(sorted(answers.items()))
