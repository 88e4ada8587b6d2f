"""Chat models on MLX, through mlx-lm: their prompts, and their answers without thoughts."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

from ragmem.backends.mlx import device
from ragmem.backends.mlx.checkpoint import Checkpoint, find_problems, load
from ragmem.backends.mlx.generation import (
    CancelledError,
    Deadline,
    PrefixCache,
    answer_many,
    answer_one,
    can_batch,
)
from ragmem.backends.mlx.grammar import Grammars, Mask
from ragmem.backends.mlx.weights import weight_files
from ragmem.errors import BackendError, ConfigError
from ragmem.ports import Call, Meter, Purpose

CUT = "\n[... the middle is omitted ...]\n"

_CHARACTERS_PER_TOKEN = 16
"""The middle of a longer text is left out before its tokens are counted."""

_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)

BACKEND = "mlx"


@dataclass(slots=True)
class _LoadedModel:
    checkpoint: Checkpoint
    prefixes: PrefixCache
    grammars: Grammars | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    system: str
    max_tokens: int
    schema: Mapping[str, Any] | None
    emit: Callable[[str], None] | None = None
    """Gets the parts of the answer to a single prompt as they come."""


@dataclass(frozen=True, slots=True)
class _Reply:
    text: str
    tokens_in: int
    tokens_out: int
    cut: bool


class MlxLanguageModel:
    """A chat model that mlx-lm loads on first use.

    Greedy decoding: the same prompt gets the same answer. An answer is cut at max_tokens, JSON too. A prompt
    that does not fit into the model's window loses its middle, where a note says so. With a schema, an answer
    that ends by itself satisfies it.
    """

    def __init__(self, folder: Path, name: str, options: Mapping[str, object]) -> None:
        self._folder = folder
        self._meter = cast("Meter | None", options.get("meter"))
        self._purpose = cast("Purpose", options.get("purpose", "extraction"))
        self._seconds = float(cast("float", options.get("timeout_s") or 120.0))
        self._at_once = max(1, int(cast("int", options.get("concurrency") or 4)))
        self._window = int(cast("int", options.get("window") or 0))
        self._constrained = _read_switch(options, "constrained")
        self._reuses = _read_switch(options, "prompt_cache")
        self.model_id = name
        self._resident = device.Resident(
            lambda: _load(folder),
            name=self.model_id,
            needs=lambda: sum(path.stat().st_size for path in weight_files(folder)),
            limit_mb=float(cast("float", options.get("memory_limit_mb") or 0)),
            idle_s=float(cast("float", options.get("idle_s") or 0)),
        )

    def complete(
        self,
        prompt: str,
        *,
        system: str = "",
        max_tokens: int = 1024,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """Return the completion without the model's thoughts."""
        return self._ask([prompt], _Request(as_text(system), max_tokens, json_schema))[0]

    def stream(self, prompt: str, *, system: str = "", max_tokens: int = 1024) -> Iterator[str]:
        """Yield the parts of the completion as they are generated; closing the iterator stops it."""
        given: SimpleQueue[str | BaseException | None] = SimpleQueue()
        deadline = Deadline(self._seconds)
        request = _Request(as_text(system), max_tokens, None, given.put)

        def work() -> None:
            try:
                self._ask([prompt], request, deadline)
            except BaseException as error:  # noqa: BLE001 - it is the reader's
                given.put(error)
            else:
                given.put(None)

        threading.Thread(target=work, name="mlx-stream", daemon=True).start()
        try:
            while (part := given.get()) is not None:
                if isinstance(part, BaseException):
                    raise part
                yield part
        finally:
            deadline.cancel()

    def complete_many(
        self,
        prompts: Sequence[str],
        *,
        system: str = "",
        max_tokens: int = 1024,
        json_schema: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Return all completions, in batches (the option `concurrency`) of prompts of similar length.

        They equal those of `complete` up to the rounding of the device's arithmetic. Between two batches
        other work may use the device, and each batch has the time limit of one request.
        """
        request = _Request(as_text(system), max_tokens, json_schema)
        order = sorted(range(len(prompts)), key=lambda number: len(prompts[number]))
        answers: dict[int, str] = {}
        for start in range(0, len(order), self._at_once):
            numbers = order[start : start + self._at_once]
            texts = self._ask([prompts[number] for number in numbers], request)
            answers.update(zip(numbers, texts, strict=True))
        return [answers[number] for number in range(len(prompts))]

    def check(self) -> list[str]:
        """Return the problems of the model's files, one line each; loads nothing."""
        return find_problems(self._folder)

    def unload(self) -> None:
        """Free the model; the next prompt loads it again."""
        self._resident.free()

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._resident.is_loaded

    def _ask(self, prompts: Sequence[str], request: _Request, deadline: Deadline | None = None) -> list[str]:
        """Return the answers to a batch of prompts; the meter counts each."""
        for _ in prompts:
            if self._meter is not None:
                self._meter.admit(self._purpose)
        deadline = deadline or Deadline(self._seconds)
        began = time.monotonic()
        try:
            replies = self._resident.use(self._answer, prompts, request, deadline)
        except Exception as error:
            kinds = {TimeoutError: "timeout", CancelledError: "dropped", Exception: "failed"}
            kind = next(kind for cause, kind in kinds.items() if isinstance(error, cause))
            self._record([(0, 0, kind)] * len(prompts), time.monotonic() - began)
            if isinstance(error, BackendError | CancelledError):
                raise
            if isinstance(error, TimeoutError):
                raise BackendError(str(error), hint="raise timeout_s in [language_model]") from error
            # MLX raises RuntimeError for a model that does not work, and mlx-lm any exception.
            raise BackendError(
                f'the model "{self.model_id}" cannot answer: {device.first_line(error)}',
                hint="use another model, or a smaller concurrency in [language_model]",
            ) from error
        except BaseException:
            deadline.cancel()
            raise
        self._record(
            [
                (reply.tokens_in, reply.tokens_out, "cut" if reply.cut and request.schema else "")
                for reply in replies
            ],
            time.monotonic() - began,
        )
        return [reply.text for reply in replies]

    def _record(self, counts: Sequence[tuple[int, int, str]], seconds: float) -> None:
        if self._meter is None:
            return
        for tokens_in, tokens_out, error in counts:
            self._meter.record(
                Call(
                    BACKEND,
                    self.model_id,
                    self._purpose,
                    tokens_in,
                    tokens_out,
                    seconds / len(counts),
                    error,
                )
            )

    def _answer(
        self, loaded: _LoadedModel, prompts: Sequence[str], request: _Request, deadline: Deadline
    ) -> list[_Reply]:
        """Generate the answers; runs on the device's thread."""
        deadline.start()
        deadline.check()
        checkpoint = loaded.checkpoint
        tokenizer = checkpoint.tokenizer
        window = min(self._window or checkpoint.window, checkpoint.window)
        # The answer gets half of the window at most, so that there is room for the question.
        longest = max(1, min(request.max_tokens, window // 2))
        room = window - longest
        asked = [fit(tokenizer, request.system, as_text(prompt), room=room) for prompt in prompts]
        largest = max(token for tokens in asked for token in tokens)
        # MLX does not check: it would read beyond the table, or end the process.
        if largest >= checkpoint.vocabulary:
            raise BackendError(
                f'the tokenizer of "{self.model_id}" has the token {largest}, the model only '
                f"{checkpoint.vocabulary}",
                hint="fetch the model again: `ragmem models pull`",
            )
        began = [self._begin(loaded, request.system, tokens, deadline) for tokens in asked]
        caches = [cache for cache, _ in began]
        rest = [tokens[known:] for tokens, (_, known) in zip(asked, began, strict=True)]
        masks = [self._start_mask(loaded, request.schema) for _ in prompts]
        streamer = (
            TextStreamer(lambda so_far: self._text(tokenizer, so_far, request), request.emit)
            if request.emit
            else None
        )
        if len(prompts) > 1 and can_batch(caches):
            answers = answer_many(
                checkpoint, rest, caches, max_tokens=longest, masks=masks, deadline=deadline
            )
        else:
            answers = [
                answer_one(
                    checkpoint,
                    tokens,
                    cache,
                    max_tokens=longest,
                    mask=mask,
                    deadline=deadline,
                    more=streamer.put if streamer else lambda _: None,
                )
                for tokens, cache, mask in zip(rest, caches, masks, strict=True)
            ]
        replies = [
            _Reply(self._text(tokenizer, answer.tokens, request), len(tokens), len(answer.tokens), answer.cut)
            for tokens, answer in zip(asked, answers, strict=True)
        ]
        if streamer:
            streamer.end(replies[0].text)
        return replies

    def _begin(
        self, loaded: _LoadedModel, system: str, tokens: list[int], deadline: Deadline
    ) -> tuple[list[Any], int]:
        """Return a cache for the tokens, and how many of them it already holds."""
        if system and self._reuses:
            conversation = partial(render, loaded.checkpoint.tokenizer, system)
            return loaded.prefixes.cache_for(system, conversation, tokens, deadline)
        from mlx_lm.models.cache import make_prompt_cache

        return make_prompt_cache(loaded.checkpoint.model), 0

    def _start_mask(self, loaded: _LoadedModel, schema: Mapping[str, Any] | None) -> Mask | None:
        if schema is None or not self._constrained:
            return None
        if loaded.grammars is None:
            loaded.grammars = Grammars(loaded.checkpoint.tokenizer)
        return loaded.grammars.start(schema)

    def _text(self, tokenizer: Any, tokens: list[int], request: _Request) -> str:
        text = read(tokenizer, tokens)
        return strip_thoughts(text) if request.schema is None or not self._constrained else text


def _load(folder: Path) -> _LoadedModel:
    checkpoint = load(folder)
    return _LoadedModel(checkpoint, PrefixCache(checkpoint))


def _read_switch(options: Mapping[str, object], name: str) -> bool:
    value = options.get(name, True)
    if not isinstance(value, bool):
        raise ConfigError(f'{name} is "{value}"', hint=f"{name} is true or false, or omitted")
    return value


def open_language_model(folder: Path, name: str, options: Mapping[str, object]) -> MlxLanguageModel:
    """Return the chat model in a folder, without loading it; raise ConfigError for a wrong option.

    Options besides those in ragmem.ports: `concurrency` (prompts in a batch), `window` (most tokens of prompt
    and answer together, where the model's own would take too much memory), `constrained` (false: a schema is
    not enforced), `prompt_cache` (false: instructions are not cached), `memory_limit_mb` (for all models
    together), `idle_s` (seconds until an unused one is freed).
    """
    return MlxLanguageModel(folder, name, options)


_THINKS = "<think>"
_HALF = "\ufffd"
"""The replacement for a character whose rest is in a later token."""


class TextStreamer:
    """Emits the new text of an answer each time there are more tokens.

    `decode` returns the text of all tokens so far, without thoughts; `emit` gets the parts.
    """

    def __init__(self, decode: Callable[[list[int]], str], emit: Callable[[str], None]) -> None:
        self._decode = decode
        self._emit = emit
        self._emitted = ""

    def put(self, tokens: list[int]) -> None:
        """Emit the certain text of these tokens."""
        text = self._decode(tokens)
        if not _THINKS.startswith(text[: len(_THINKS)]):
            self.end(text.rstrip(_HALF))

    def end(self, text: str) -> None:
        """Emit the rest of the final text."""
        if len(text) > len(self._emitted) and text.startswith(self._emitted):
            self._emit(text[len(self._emitted) :])
            self._emitted = text


def as_text(text: str) -> str:
    """Return the text with a question mark for each lone surrogate, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode()


def render(tokenizer: Any, system: str, prompt: str) -> list[int]:
    """Return the tokens of a conversation for the model to answer, with thinking turned off if possible.

    If the template takes no system message, the system prompt is put before the prompt.
    """
    instructions = [{"role": "system", "content": system}] if system else []
    try:
        tokens = _apply(tokenizer, [*instructions, {"role": "user", "content": prompt}])
    except Exception as error:
        # Templates are programs that raise any exception for an unsupported role.
        if not system:
            raise BackendError(
                f"the model's chat template does not work: {error}", hint="use another model"
            ) from error
        return render(tokenizer, "", f"{system}\n\n{prompt}")
    return tokens


def fit(tokenizer: Any, system: str, prompt: str, *, room: int) -> list[int]:
    """Return at most `room` tokens of a conversation; the middle of a longer prompt is left out.

    Raise BackendError when there is no room even for the system prompt.
    """
    widest = room * _CHARACTERS_PER_TOKEN
    if len(prompt) > widest:
        prompt = f"{prompt[: widest // 2]}{CUT}{prompt[-widest // 2 :]}"
    tokens = render(tokenizer, system, prompt)
    if len(tokens) <= room:
        return tokens
    around = len(render(tokenizer, system, CUT))
    words = tokenizer.encode(prompt, add_special_tokens=False)
    # Tokens at the two seams may split differently; each turn removes the remaining excess.
    kept = room - around
    while kept >= 0:
        head, tail = words[: (kept + 1) // 2], words[len(words) - kept // 2 :]
        tokens = render(tokenizer, system, tokenizer.decode(head) + CUT + tokenizer.decode(tail))
        if len(tokens) <= room:
            return tokens
        kept -= max(1, len(tokens) - room)
    raise BackendError(
        f"the instructions alone have {around} tokens, but there is room for only {room}",
        hint="use a model with a wider window, or request fewer tokens",
    )


def read(tokenizer: Any, tokens: list[int]) -> str:
    """Return the text of an answer without thoughts and special tokens."""
    if tokenizer.has_thinking:
        end = tokenizer.rfind_think_end(tokens)
        if end >= 0:
            tokens = tokens[end + len(tokenizer.think_end_tokens) :]
        elif (start := tokenizer.find_think_start(tokens)) >= 0:
            tokens = tokens[:start]
    text: str = tokenizer.decode(tokens, skip_special_tokens=True)
    return text


def strip_thoughts(text: str) -> str:
    """Return the text without <think> blocks, for models that write them as plain text."""
    return _THOUGHTS.sub("", text.rsplit("</think>", 1)[-1] if "<think>" not in text else text).strip()


def _apply(tokenizer: Any, messages: list[dict[str, str]]) -> list[int]:
    text: str = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, enable_thinking=False, tokenize=False
    )
    if tokenizer.has_thinking and text.rstrip().endswith(tokenizer.think_start):
        # Some templates always open the thoughts.
        text = f"{text.rstrip()}\n\n{tokenizer.think_end}\n\n"
    tokens: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return tokens
