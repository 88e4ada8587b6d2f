"""Continue a conversation with the configured language model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragmem.domain.text.excerpts import CHARACTERS_PER_TOKEN
from ragmem.ports import LanguageModel
from ragmem.server.inference.api_errors import ApiError
from ragmem.server.inference.models import ChatRequest, ChatUsage
from ragmem.services.retrieval.answerer import completion_parts, format_history

MOST_STOPS = 4
DEEPEST_SCHEMA = 32
MOST_ITEMS = 10_000

_SPOKEN = "\n\nThe conversation so far stands before the last message. Answer the last message alone."
_JSON = "\n\nAnswer with one JSON object and nothing else."
_SYSTEM_ROLES = ("system", "developer")
_KINDS = ("object", "array", "string", "number", "integer", "boolean", "null")


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """The arguments of a call of a language model."""

    prompt: str
    system: str
    max_tokens: int
    schema: Mapping[str, Any] | None
    stops: tuple[str, ...]

    @property
    def tokens(self) -> int:
        """The estimated size of the prompt."""
        return _estimate(len(self.prompt) + len(self.system))


def chat_prompt(request: ChatRequest) -> ChatPrompt:
    """Return the prompt for a request; raises ApiError for unsupported features."""
    for name in ("tools", "functions"):
        if getattr(request, name):
            raise ApiError(400, f"{name} are not supported by this server", param=name)
    if request.n not in {None, 1}:
        raise ApiError(400, f"n is {request.n}: only one answer is returned", param="n")
    if len(request.stops) > MOST_STOPS:
        raise ApiError(
            400, f"there are {len(request.stops)} stops; at most {MOST_STOPS} are allowed", param="stop"
        )
    if any(
        part.type != "text"
        for one in request.messages
        for part in one.content or ()
        if not isinstance(part, str)
    ):
        raise ApiError(400, "a part of a message is not text", param="messages")
    instructions = [one.text for one in request.messages if one.role in _SYSTEM_ROLES]
    turns = [one for one in request.messages if one.role not in _SYSTEM_ROLES and one.text.strip()]
    if not turns:
        raise ApiError(400, "there is no message to answer", param="messages")
    *earlier, last = turns
    system = "\n\n".join(instructions)
    prompt = last.text
    if earlier:
        before = format_history([(one.role, one.text) for one in earlier], room=None)
        prompt = f"{before}\n\nThe last message:\n\n{last.text}"
        system += _SPOKEN
    form = request.response_format
    if form is not None and form.type == "json_object":
        system += _JSON
    return ChatPrompt(
        _valid(prompt), _valid(system.strip()), request.most_tokens, _schema(request), tuple(request.stops)
    )


def _schema(request: ChatRequest) -> Mapping[str, Any] | None:
    form = request.response_format
    if form is None or form.type != "json_schema":
        return None
    schema = form.json_schema.given if form.json_schema else None
    if schema is None:
        raise ApiError(400, "the schema is missing", param="response_format.json_schema.schema")
    if problem := schema_problem(schema):
        raise ApiError(400, f"the schema is invalid: {problem}", param="response_format.json_schema.schema")
    return schema


def schema_problem(schema: object, depth: int = 0) -> str:
    """Return the problem of a JSON schema, "" for a valid one; only what backends use is checked."""
    if not isinstance(schema, Mapping) or depth > DEEPEST_SCHEMA:
        return "a part of it is not an object, or it is nested too deeply"
    kinds, properties = schema.get("type", "object"), schema.get("properties", {})
    required, least = schema.get("required", []), schema.get("minItems", 0)
    listed = kinds if isinstance(kinds, list) else [kinds]
    sound = {
        f"type is one of {', '.join(sorted(_KINDS))}": bool(listed)
        and all(kind in _KINDS for kind in listed),
        "enum is a list of values": "enum" not in schema
        or bool(isinstance(schema["enum"], list) and schema["enum"]),
        "required is a list of names": isinstance(required, list)
        and all(isinstance(name, str) for name in required),
        "properties is an object": isinstance(properties, Mapping),
        f"minItems is a number up to {MOST_ITEMS:,}": type(least) is int and 0 <= least <= MOST_ITEMS,
    }
    if problem := next((rule for rule, holds in sound.items() if not holds), ""):
        return problem
    inner = [*properties.values(), *([schema["items"]] if "items" in schema else [])]
    return next((found for part in inner if (found := schema_problem(part, depth + 1))), "")


def completion(model: LanguageModel, asked: ChatPrompt, *, whole: bool) -> Iterator[str]:
    """Yield the parts of the answer; a single part if `whole` or with a schema."""
    if asked.schema is not None:
        yield model.complete(
            asked.prompt, system=asked.system, max_tokens=asked.max_tokens, json_schema=asked.schema
        )
        return
    yield from completion_parts(
        model, asked.prompt, system=asked.system, max_tokens=asked.max_tokens, whole=whole
    )


class StopSequences:
    """Ends an answer before the first stop text; a possible beginning of one is held back."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = stops
        self._held = ""
        self.reached = False
        """Whether the answer has ended."""

    def before(self, part: str) -> str:
        """Return the text that is safe to send."""
        if self.reached or not self._stops:
            return "" if self.reached else part
        text = self._held + part
        at = min((place for stop in self._stops if (place := text.find(stop)) >= 0), default=-1)
        if at >= 0:
            self.reached, self._held = True, ""
            return text[:at]
        kept = max(
            (
                length
                for stop in self._stops
                for length in range(1, len(stop))
                if text.endswith(stop[:length])
            ),
            default=0,
        )
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]

    def rest(self) -> str:
        """Return the text held back at the end of the answer."""
        held, self._held = self._held, ""
        return held


def usage(asked: ChatPrompt, text: str) -> ChatUsage:
    """Return the estimated tokens."""
    tokens = _estimate(len(text))
    return ChatUsage(prompt_tokens=asked.tokens, completion_tokens=tokens, total_tokens=asked.tokens + tokens)


def _estimate(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def _valid(text: str) -> str:
    """Return the text with a question mark for half a surrogate pair."""
    return text.encode("utf-8", "replace").decode()
