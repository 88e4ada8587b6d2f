"""A language model on loopback that answers by a script, in the protocols of the assistants.

It speaks Anthropic messages, OpenAI responses and chat completions, and Gemini's generateContent, streamed or
not. It calls the tools of its script, one after the other, says one sentence, and keeps all that it was sent.
"""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Call = tuple[str, dict[str, Any]]
"""The name of a tool as the assistant offers it, and its arguments."""

_USAGE = {"input_tokens": 10, "output_tokens": 10}


@dataclass
class Script:
    """What the model says, the tools that it calls before, and the requests that it was sent."""

    says: str = "Done."
    calls: Sequence[Call] = ()
    requests: list[tuple[str, str]] = field(default_factory=list)
    """The path and the body of each request."""


class Model(ThreadingHTTPServer):
    """The server; use it as a context manager. `address` is its URL."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.address = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Model
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # the name is that of http.server
        self._send(b'{"data": [], "models": []}', "application/json")

    def do_HEAD(self) -> None:
        self._send(b"", "application/json")

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
        script, path = self.server.script, self.path.partition("?")[0]
        script.requests.append((path, text))
        try:
            body = json.loads(text)
        except ValueError:
            body = {}
        if path.endswith("/messages"):
            answer, streamed = _messages(body, script), bool(body.get("stream"))
        elif path.endswith("/responses"):
            answer, streamed = _responses(body, script), True
        elif path.endswith("/chat/completions"):
            answer, streamed = _completions(body, script), bool(body.get("stream"))
        elif path.endswith(":streamGenerateContent"):
            answer, streamed = _contents(body, script), True
        elif path.endswith(":generateContent"):
            answer, streamed = _contents(body, script), False
        else:
            self._send(b"{}", "application/json")
            return
        events = list(answer)
        if not streamed:
            self._send(json.dumps(_whole(path, events)).encode(), "application/json")
            return
        lines = []
        for event in events:
            named = f"event: {event['type']}\n" if "type" in event else ""
            lines.append(f"{named}data: {json.dumps(event)}\n\n")
        if path.endswith("/chat/completions"):
            lines.append("data: [DONE]\n\n")
        self._send("".join(lines).encode(), "text/event-stream")

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""


def _next_call(offered: Iterable[str], results: int, script: Script) -> Call | None:
    """Return the call after so many results; None if there is none, or its tool is not offered."""
    if results >= len(script.calls) or script.calls[results][0] not in offered:
        return None
    return script.calls[results]


def _messages(body: Mapping[str, Any], script: Script) -> Iterator[dict[str, Any]]:
    contents = [message["content"] for message in body.get("messages", ())]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    results = sum(block.get("type") == "tool_result" for block in blocks)
    call = _next_call([str(tool.get("name")) for tool in body.get("tools", ())], results, script)
    head = {
        "id": f"msg_{results}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
    }
    yield {"type": "message_start", "message": {**head, "usage": _USAGE}}
    if call:
        block: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{results}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": script.says}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": reason, "usage": _USAGE}
    yield {"type": "message_stop"}


def _responses(body: Mapping[str, Any], script: Script) -> Iterator[dict[str, Any]]:
    results = sum("call_output" in str(item.get("type")) for item in body.get("input", ()))
    # The tools of a server may stand in a namespace.
    spaces = {
        f"{tool['name']}__{inner['name']}": (tool["name"], inner["name"])
        for tool in body.get("tools", ())
        for inner in tool.get("tools", ())
    }
    kinds = {str(tool.get("name")): tool.get("type") for tool in body.get("tools", ())}
    if any(tool.get("type") == "tool_search" for tool in body.get("tools", ())):
        # It has the tools of servers, which are not listed.
        called = [name.rpartition("__") for name, _ in script.calls if name.startswith("mcp__")]
        spaces |= {f"{space}__{name}": (space, name) for space, _, name in called}
    call = _next_call([*spaces, *kinds], results, script)
    if call:
        space, name = spaces.get(call[0], ("", call[0]))
        item: dict[str, Any] = {"type": "function_call", "id": f"fc_{results}", "call_id": f"call_{results}"}
        item |= {"name": name, "arguments": json.dumps(call[1]), **({"namespace": space} if space else {})}
        if kinds.get(name) == "custom":  # it takes text in place of JSON
            item |= {"type": "custom_tool_call", **call[1]}
    else:
        content = [{"type": "output_text", "text": script.says, "annotations": []}]
        item = {"type": "message", "role": "assistant", "id": f"msg_{results}", "content": content}
    usage = {**_USAGE, "total_tokens": 20}
    yield {"type": "response.created", "response": {"id": f"resp_{results}"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {
        "type": "response.completed",
        "response": {"id": f"resp_{results}", "output": [item], "usage": usage},
    }


def _completions(body: Mapping[str, Any], script: Script) -> Iterator[dict[str, Any]]:
    results = sum(message.get("role") == "tool" for message in body.get("messages", ()))
    call = _next_call([str(tool["function"]["name"]) for tool in body.get("tools", ())], results, script)
    delta: dict[str, Any] = {"role": "assistant", "content": script.says}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        called = {"index": 0, "id": f"call_{results}", "type": "function", "function": function}
        delta = {"role": "assistant", "tool_calls": [called]}
    head = {"id": f"chat_{results}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    yield {**head, "choices": [end], "usage": usage}


def _contents(body: Mapping[str, Any], script: Script) -> Iterator[dict[str, Any]]:
    parts = [part for content in body.get("contents", ()) for part in content.get("parts", ())]
    results = sum("functionResponse" in part for part in parts)
    offered = [one for tool in body.get("tools", ()) for one in tool.get("functionDeclarations", ())]
    call = _next_call([str(one.get("name")) for one in offered], results, script)
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": script.says}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    yield {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


def _whole(path: str, events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return streamed events as one answer."""
    if path.endswith("/messages"):
        block = dict(events[1]["content_block"])
        delta = events[2]["delta"]
        block |= {"text": delta["text"]} if "text" in delta else {"input": json.loads(delta["partial_json"])}
        return {**events[0]["message"], **events[-2]["delta"], "content": [block]}
    if path.endswith("/chat/completions"):
        choice = events[0]["choices"][0]
        reason = events[-1]["choices"][0]["finish_reason"]
        whole = {"index": 0, "message": choice["delta"], "finish_reason": reason}
        return {**events[-1], "object": "chat.completion", "choices": [whole]}
    return events[-1]
