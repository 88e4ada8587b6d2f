"""The providers' answers in parts, as their public documentation describes them."""

import json
import re

from provider_protocols import Anthropic, Gemini, Ollama, OpenAI

WORD = re.compile(r"\s*\S+|\s+\Z")


def events_of(protocol, seen, answer):
    """Return the content type and the bytes of an answer in parts; None where a request wants it whole."""
    if isinstance(protocol, Gemini):
        return _gemini(answer) if seen.path.endswith(":streamGenerateContent") else None
    if not seen.body.get("stream"):
        return None
    ways = {OpenAI: _openai, Anthropic: _anthropic, Ollama: _ollama}
    return next(way for kind, way in ways.items() if isinstance(protocol, kind))(answer)


def _sse(events, end=b""):
    lines = [f"event: {name}\n" * bool(name) + f"data: {json.dumps(event)}\n\n" for name, event in events]
    return "text/event-stream", b": hello\n\n" + "".join(lines).encode() + end


def _openai(answer):
    [choice] = answer["choices"]
    base = {"id": answer["id"], "object": "chat.completion.chunk"}

    def chunk(delta, ending=None):
        return "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": ending}]}

    parts = [chunk({"content": word}) for word in WORD.findall(choice["message"]["content"])]
    events = [chunk({"role": "assistant", "content": ""}), *parts, chunk({}, choice["finish_reason"])]
    return _sse([*events, ("", {**base, "choices": [], "usage": answer["usage"]})], b"data: [DONE]\n\n")


def _anthropic(answer):
    usage = answer["usage"]
    text = "".join(part.get("text", "") for part in answer["content"])
    deltas = [{"type": "thinking_delta", "thinking": "hm"}]
    deltas += [{"type": "text_delta", "text": word} for word in WORD.findall(text)]
    events = [
        {"type": "message_start", "message": {"usage": {**usage, "output_tokens": 1}}},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "message_delta", "delta": {"stop_reason": answer["stop_reason"]}, "usage": usage},
        {"type": "message_stop"},
    ]
    return _sse([(event["type"], event) for event in events])


def _ollama(answer):
    words = WORD.findall(answer["message"]["content"])
    events = [{"message": {"role": "assistant", "content": word}, "done": False} for word in words]
    events.append({**answer, "message": {"role": "assistant", "content": ""}})
    return "application/x-ndjson", "".join(json.dumps(event) + "\n" for event in events).encode()


def _gemini(answer):
    [candidate] = answer["candidates"]
    words = WORD.findall(candidate["content"]["parts"][0]["text"])
    events = [
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": word}]}, "index": 0}],
            "usageMetadata": {"promptTokenCount": answer["usageMetadata"]["promptTokenCount"]},
        }
        for word in words
    ]
    ending = {"content": {"parts": []}, "finishReason": candidate["finishReason"], "index": 0}
    events.append({"candidates": [ending], "usageMetadata": answer["usageMetadata"]})
    return _sse([("", event) for event in events])
