"""The providers' protocols from the server's side, as their public documentation describes them.

They are strict where the providers are: an empty text, an unknown field or a wrong key is an error.
"""

import base64
import json
import struct
from dataclasses import dataclass, field

import numpy as np

from ragmem.backends.fake import FakeEmbedder

KEY = "sk-test-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
HTML = b"<!doctype html><html><body>Not what you wanted</body></html>"


@dataclass
class Reply:
    """An answer out of the ordinary: a status and a body, late, cut short, or none at all."""

    status: int = 200
    body: object = b""
    headers: dict = field(default_factory=dict)
    delay_s: float = 0.0
    missing: int = 0  # bytes that are announced and do not come
    reset: bool = False

    def content(self):
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Seen:
    """A request as the server saw it."""

    method: str
    path: str
    query: dict
    headers: dict
    body: dict


class RefusedError(Exception):
    def __init__(self, status, body):
        super().__init__(status)
        self.reply = Reply(status, body)


class Protocol:
    """What all the servers share: vectors that know words apart, and answers that satisfy a schema."""

    dimensions = 384
    window = 8192
    names = ("embedder", "chatter")
    lists_models = True
    tells_roles = False
    """Whether a question is embedded by another request than a text."""

    def __init__(self):
        self.embedder = FakeEmbedder()

    def vectors(self, texts, length=0):
        rows = self.embedder.embed(texts, role="document")
        # Not of unit length, so that it is the client who makes them so.
        return [3.0 * np.resize(row, length or self.dimensions) for row in rows]

    def words(self, text):
        return len(text) // 4 + 1

    def said(self, prompt, schema):
        if schema is not None:
            return json.dumps(
                {"colour": "red", "sure": True, "entities": []} if not schema else example(schema)
            )
        return f"{len(prompt.split())} words were said."

    def cut(self, text, most):
        """Return the text within so many tokens, and whether it was cut."""
        return (text[: most * 4], True) if len(text) > most * 4 else (text, False)

    def answer(self, seen):
        raise NotImplementedError


def example(schema):
    if "enum" in schema:
        return schema["enum"][0]
    kind = str(schema.get("type", "object")).lower()
    if kind == "object":
        return {name: example(part) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return []
    return {"string": "text", "boolean": True, "number": 0.5, "integer": 1}[kind]


class OpenAI(Protocol):
    """/v1 of OpenAI, and of the many servers that copy it."""

    dimensions = 1536
    prefix = "/v1"
    key = KEY
    usage = True
    understands = frozenset(
        {
            "base64",
            "dimensions",
            "schema",
            "json",
            "temperature",
            "max_completion_tokens",
            "stream_options",
        }
    )
    maximum = 2048
    reranks = ""

    def reranked(self, body):
        """Score by common words, the best text first, as Cohere, Jina and Voyage list them."""
        if set(body) != {"model", "query", "documents"} or not all(body["documents"]):
            self.refuse(422, "Request body is not valid.")
        words = set(body["query"].lower().split())
        rows = [
            {"index": place, "relevance_score": len(words & set(text.lower().split())) / len(words)}
            for place, text in enumerate(body["documents"])
        ]
        rows.sort(key=lambda row: -row["relevance_score"])
        return {self.reranks: rows, "usage": {"total_tokens": sum(map(self.words, body["documents"]))}}

    def refuse(self, status, message, kind="invalid_request_error", code=None):
        raise RefusedError(status, {"error": {"message": message, "type": kind, "param": None, "code": code}})

    def authorised(self, seen):
        return seen.headers.get("authorization") == f"Bearer {self.key}"

    def answer(self, seen):
        if not seen.path.startswith(self.prefix):
            raise RefusedError(404, b"Not Found")
        if self.key and not self.authorised(seen):
            self.refuse(401, "Incorrect API key provided: sk-te***6b5c.", code="invalid_api_key")
        path = seen.path.removeprefix(self.prefix)
        if path == "/models":
            return {"object": "list", "data": [{"id": name, "object": "model"} for name in self.names]}
        if path == "/rerank" and self.reranks:
            return self.reranked(seen.body)
        if path not in {"/embeddings", "/chat/completions"}:
            self.refuse(404, f"Invalid URL ({seen.method} {seen.path})")
        if seen.body["model"] not in self.names:
            name = seen.body["model"]
            self.refuse(404, f"The model `{name}` does not exist.", code="model_not_found")
        return self.embeddings(seen.body) if path == "/embeddings" else self.chat(seen.body)

    def embeddings(self, body):
        texts = body["input"]
        unknown = set(body) - {"model", "input", "encoding_format", "dimensions"}
        if unknown:
            self.refuse(400, f"Unrecognized request argument supplied: {unknown}")
        if len(texts) > self.maximum or any(not text.strip() for text in texts):
            self.refuse(400, "'$.input' is invalid.")
        if any(self.words(text) > self.window for text in texts):
            self.refuse(
                400,
                f"This model's maximum context length is {self.window} tokens, however you requested more.",
            )
        for name, feature in (("encoding_format", "base64"), ("dimensions", "dimensions")):
            if name in body and feature not in self.understands:
                self.refuse(400, f"{name} is not supported by this model")
        rows = self.vectors(texts, body.get("dimensions", 0))
        if body.get("encoding_format") == "base64":
            rows = [base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode() for row in rows]
        else:
            rows = [row.tolist() for row in rows]
        data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
        total = sum(map(self.words, texts))
        usage = {"prompt_tokens": total, "total_tokens": total}
        # The order of the rows is not promised, their index is.
        answer = {"object": "list", "data": data[::-1], "model": body["model"]}
        return {**answer, "usage": usage} if self.usage else answer

    def chat(self, body):
        if "stream_options" in body and "stream_options" not in self.understands:
            self.refuse(400, "Unrecognized request argument supplied: stream_options")
        if "max_tokens" in body and "max_completion_tokens" in body:
            self.refuse(400, "Setting 'max_tokens' and 'max_completion_tokens' at once is not supported.")
        limit = "max_tokens" if "max_tokens" in body else "max_completion_tokens"
        if limit not in self.understands:
            self.refuse(400, f"Unsupported parameter: '{limit}' is not supported with this model.")
        if "temperature" in body and "temperature" not in self.understands:
            self.refuse(400, "Unsupported value: 'temperature' does not support 0 with this model.")
        wanted = body.get("response_format") or {"type": "text"}
        feature = {"json_schema": "schema", "json_object": "json", "text": "text"}[wanted["type"]]
        if feature != "text" and feature not in self.understands:
            self.refuse(400, f"'response_format.type' must not be '{wanted['type']}'")
        schema = None
        told = " ".join(message["content"] for message in body["messages"])
        if feature == "schema":
            schema = wanted["json_schema"]["schema"]
            assert wanted["json_schema"]["name"]
            self.strictly(schema)
        elif feature == "json" and "json" not in told.lower():
            self.refuse(400, "'messages' must contain the word 'json' to use 'json_object'.")
        if schema is None and "JSON schema: " in told:
            schema = json.JSONDecoder().raw_decode(told.partition("JSON schema: ")[2])[0]
        prompt = body["messages"][-1]["content"]
        text, cut = self.cut(self.said(prompt, schema), body[limit])
        if feature == "text" and schema is not None:
            text = f"Here you are:\n```json\n{text}\n```\n"
        ending = "length" if cut else "stop"
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": ending}
        usage = {"prompt_tokens": self.words(told), "completion_tokens": min(body[limit], self.words(text))}
        return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": usage}

    def strictly(self, schema):
        if schema.get("type") == "object":
            closed = schema.get("additionalProperties") is False
            if not closed or set(schema.get("required", ())) != set(schema["properties"]):
                self.refuse(400, "Invalid schema for response_format 'answer'")
            for part in schema["properties"].values():
                self.strictly(part)
        elif schema.get("type") == "array":
            self.strictly(schema["items"])


class Azure(OpenAI):
    """A deployment at its dated address, or at the newer one without a date."""

    deployment = "my-embedder"
    lists_models = False
    names = ("my-embedder", "my-chatter")

    def authorised(self, seen):
        return seen.headers.get("api-key") == self.key and "authorization" not in seen.headers

    def answer(self, seen):
        if not self.authorised(seen):
            raise RefusedError(
                401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key."}}
            )
        _, found, rest = seen.path.partition("/openai/deployments/")
        if found:
            deployment, _, path = rest.partition("/")
            if seen.query.get("api-version") != ["2024-10-21"]:
                raise RefusedError(404, {"error": {"code": "404", "message": "Resource not found"}})
            if deployment not in self.names:
                message = "The API deployment for this resource does not exist."
                raise RefusedError(404, {"error": {"code": "DeploymentNotFound", "message": message}})
            return self.embeddings(seen.body) if path == "embeddings" else self.chat(seen.body)
        self.prefix = "/openai/v1"
        if not seen.path.startswith(self.prefix):
            raise RefusedError(404, {"error": {"code": "404", "message": "Resource not found"}})
        path = seen.path.removeprefix(self.prefix)
        return self.embeddings(seen.body) if path == "/embeddings" else self.chat(seen.body)


class Anthropic(Protocol):
    """Messages, with tools and output_config."""

    understands = frozenset({"temperature", "tool", "schema"})
    names = ("chatter",)

    def refuse(self, status, kind, message):
        raise RefusedError(status, {"type": "error", "error": {"type": kind, "message": message}})

    def answer(self, seen):
        if seen.headers.get("x-api-key") != KEY:
            self.refuse(401, "authentication_error", "invalid x-api-key")
        if seen.headers.get("anthropic-version") != "2023-06-01":
            self.refuse(400, "invalid_request_error", "anthropic-version: header is required")
        if seen.path == "/v1/models":
            return {"data": [{"type": "model", "id": name} for name in self.names], "has_more": False}
        if seen.path != "/v1/messages":
            self.refuse(404, "not_found_error", "Not Found")
        if seen.body["model"] not in self.names:
            self.refuse(404, "not_found_error", f"model: {seen.body['model']}")
        return self.message(seen.body)

    def message(self, body):
        if any(not message["content"] for message in body["messages"]):
            self.refuse(400, "invalid_request_error", "messages.0: user messages must have non-empty content")
        if "temperature" in body and "temperature" not in self.understands:
            self.refuse(400, "invalid_request_error", "`temperature` is deprecated for this model.")
        if "tools" in body and "tool" not in self.understands:
            self.refuse(400, "invalid_request_error", "tool_choice: forced tool use is not supported.")
        if "output_config" in body and "schema" not in self.understands:
            self.refuse(400, "invalid_request_error", "output_config: Extra inputs are not permitted")
        prompt = body["messages"][0]["content"]
        usage = {"input_tokens": self.words(prompt), "output_tokens": min(4, body["max_tokens"])}
        if "tools" in body:
            name = body["tool_choice"]["name"]
            schema = next(tool["input_schema"] for tool in body["tools"] if tool["name"] == name)
            content = {"type": "tool_use", "id": "toolu_1", "name": name, "input": example(schema)}
            return {"content": [content], "stop_reason": "tool_use", "usage": usage}
        schema = body.get("output_config", {}).get("format", {}).get("schema")
        if schema is None and "JSON schema: " in body.get("system", ""):
            schema = json.JSONDecoder().raw_decode(body["system"].partition("JSON schema: ")[2])[0]
        text, cut = self.cut(self.said(prompt, schema), body["max_tokens"])
        content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
        return {"content": content, "stop_reason": "max_tokens" if cut else "end_turn", "usage": usage}


class Ollama(Protocol):
    """Its own protocol; it cuts long texts itself."""

    names = ("embedder:latest", "chatter:latest")

    def answer(self, seen):
        if seen.path == "/api/tags":
            return {"models": [{"name": name, "model": name} for name in self.names]}
        if seen.path not in {"/api/embed", "/api/chat"}:
            raise RefusedError(404, b"404 page not found")
        body = seen.body
        if f"{body['model'].removesuffix(':latest')}:latest" not in self.names:
            message = f'model "{body["model"]}" not found, try pulling it first'
            raise RefusedError(404, {"error": message})
        if seen.path == "/api/embed":
            assert body["truncate"] is True
            rows = [row.tolist() for row in self.vectors(body["input"], body.get("dimensions", 0))]
            total = sum(map(self.words, body["input"]))
            return {"model": body["model"], "embeddings": rows, "prompt_eval_count": total}
        prompt, options = body["messages"][-1]["content"], body["options"]
        assert options["num_ctx"] >= self.words(prompt) + options["num_predict"]
        text, cut = self.cut(self.said(prompt, body.get("format")), options["num_predict"])
        return {
            "message": {"role": "assistant", "content": text},
            "done": True,
            "done_reason": "length" if cut else "stop",
            "prompt_eval_count": self.words(prompt),
            "eval_count": min(self.words(text), options["num_predict"]),
        }


class Gemini(Protocol):
    """v1beta: embeddings by task, and generated content."""

    dimensions = 3072
    tells_roles = True
    names = ("gemini-embedding-001", "gemini-embedding-2", "chatter")
    understands = frozenset({"thinking", "schema", "json"})

    def refuse(self, status, kind, message, **details):
        told = {"code": status, "message": message, "status": kind, **details}
        raise RefusedError(status, {"error": told})

    def answer(self, seen):
        if seen.headers.get("x-goog-api-key") != KEY or "key" in seen.query:
            self.refuse(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                details=[{"reason": "API_KEY_INVALID"}],
            )
        if seen.path == "/v1beta/models":
            return {"models": [{"name": f"models/{name}"} for name in self.names]}
        model, colon, method = seen.path.removeprefix("/v1beta/models/").partition(":")
        if method == "streamGenerateContent":
            assert seen.query == {"alt": ["sse"]}
        if not colon or model not in self.names:
            self.refuse(404, "NOT_FOUND", f"models/{model} is not found for API version v1beta")
        return (
            self.embeddings(seen.body, model) if method == "batchEmbedContents" else self.generate(seen.body)
        )

    def embeddings(self, body, model):
        texts = []
        for request in body["requests"]:
            assert request["model"] == f"models/{model}"
            [part] = request["content"]["parts"]
            if not part["text"].strip():
                self.refuse(400, "INVALID_ARGUMENT", "content is empty")
            if model == "gemini-embedding-2":
                assert "taskType" not in request
                assert part["text"].startswith(("task: search result | query: ", "title: none | text: "))
            else:
                assert request["taskType"] in {"RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"}
            texts.append(part["text"])
        if len(texts) > 100:
            self.refuse(400, "INVALID_ARGUMENT", "at most 100 requests can be in one batch")
        length = body["requests"][0].get("outputDimensionality", 0)
        return {"embeddings": [{"values": row.tolist()} for row in self.vectors(texts, length)]}

    def generate(self, body):
        generation = body["generationConfig"]
        if "thinkingConfig" in generation and "thinking" not in self.understands:
            self.refuse(
                400, "INVALID_ARGUMENT", "Budget 0 is invalid. This model only works in thinking mode."
            )
        schema = generation.get("responseSchema")
        if schema is not None and ("additionalProperties" in schema or "schema" not in self.understands):
            self.refuse(
                400,
                "INVALID_ARGUMENT",
                'Unknown name "additionalProperties" at generation_config.response_schema',
            )
        prompt = body["contents"][0]["parts"][0]["text"]
        system = "".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", []))
        if schema is None and "JSON schema: " in system:
            schema = json.JSONDecoder().raw_decode(system.partition("JSON schema: ")[2])[0]
        most = generation["maxOutputTokens"]
        text, cut = self.cut(self.said(prompt, schema), most)
        usage = {"promptTokenCount": self.words(prompt), "candidatesTokenCount": min(most, self.words(text))}
        content = {"role": "model", "parts": [{"text": text}]}
        candidate = {"content": content, "finishReason": "MAX_TOKENS" if cut else "STOP", "index": 0}
        return {"candidates": [candidate], "usageMetadata": usage}


class Voyage(OpenAI):
    """OpenAI's answer to a request of its own form."""

    dimensions = 1024
    lists_models = False
    tells_roles = True
    names = ("voyage-3.5",)
    maximum = 1000
    reranks = "data"

    def refuse(self, status, message, kind="", code=None):
        raise RefusedError(status, {"detail": message})

    def answer(self, seen):
        if not self.authorised(seen):
            self.refuse(401, "Provided API key is invalid.")
        if seen.path == "/v1/rerank":
            return self.reranked(seen.body)
        if seen.path != "/v1/embeddings":
            self.refuse(404, "Not Found")
        if seen.body["model"] not in self.names:
            self.refuse(
                400, f"Model {seen.body['model']} is not supported. Supported models are ['voyage-3.5']."
            )
        body = dict(seen.body)
        if body.pop("input_type") not in {"query", "document"} or body.pop("truncation") is not True:
            self.refuse(400, "Request body is not valid.")
        if "output_dimension" in body:
            body["dimensions"] = body.pop("output_dimension")
        answer = self.embeddings(body)
        return {**answer, "usage": {"total_tokens": answer["usage"]["total_tokens"]}}


@dataclass(frozen=True)
class Service:
    """A backend with its protocol, the path of its address, its key and a model for each half it offers."""

    backend: str
    protocol: type[Protocol]
    path: str
    variable: str
    model: str = ""
    chatter: str = ""


SERVICES = (
    Service("openai", OpenAI, "/v1", "OPENAI_API_KEY", "text-embedding-3-small", "chatter"),
    Service("azure", Azure, "", "AZURE_OPENAI_API_KEY", "my-embedder", "my-chatter"),
    Service("anthropic", Anthropic, "", "ANTHROPIC_API_KEY", "", "chatter"),
    Service("ollama", Ollama, "", "OLLAMA_API_KEY", "embedder", "chatter:latest"),
    Service("gemini", Gemini, "/v1beta", "GEMINI_API_KEY", "gemini-embedding-001", "chatter"),
    Service("voyage", Voyage, "/v1", "VOYAGE_API_KEY", "voyage-3.5"),
)
"""The providers that the shared tests run against; `compatible` has servers of its own in each of them."""
