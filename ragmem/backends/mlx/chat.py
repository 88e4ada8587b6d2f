"""Chat models on MLX, through mlx-lm."""

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
    DroppedError,
    Patience,
    Prefixes,
    answer_many,
    answer_one,
    can_batch,
)
from ragmem.backends.mlx.grammar import Grammars, Mask
from ragmem.backends.mlx.parts import Parts
from ragmem.backends.mlx.prompts import as_text, fit, read, render, strip_thoughts
from ragmem.backends.mlx.weights import weight_files
from ragmem.errors import BackendError, ConfigError
from ragmem.ports import Call, Meter, Purpose

BACKEND = "mlx"


@dataclass(slots=True)
class _Loaded:
    checkpoint: Checkpoint
    prefixes: Prefixes
    grammars: Grammars | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    system: str
    max_tokens: int
    schema: Mapping[str, Any] | None
    tell: Callable[[str], None] | None = None
    """Gets the parts of the answer to a lone prompt as they come."""


@dataclass(frozen=True, slots=True)
class _Reply:
    text: str
    tokens_in: int
    tokens_out: int
    cut: bool


class MlxLanguageModel:
    """A chat model that mlx-lm loads when it is first asked.

    Always the likeliest token: the same prompt gets the same answer. An answer of more than max_tokens is
    cut there, JSON too. Of a prompt that does not fit into the model's window the middle is left out, and a
    note stands in its place. With a schema, an answer that ends by itself satisfies it.
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
        """Return the completion, without what the model thought aloud."""
        return self._ask([prompt], _Request(as_text(system), max_tokens, json_schema))[0]

    def stream(self, prompt: str, *, system: str = "", max_tokens: int = 1024) -> Iterator[str]:
        """Yield the parts of the completion as they are generated; closing it ends the generation."""
        given: SimpleQueue[str | BaseException | None] = SimpleQueue()
        patience = Patience(self._seconds)
        request = _Request(as_text(system), max_tokens, None, given.put)

        def work() -> None:
            try:
                self._ask([prompt], request, patience)
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
            patience.drop()

    def complete_many(
        self,
        prompts: Sequence[str],
        *,
        system: str = "",
        max_tokens: int = 1024,
        json_schema: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Return the completions of all, several at a time (the option `concurrency`), like lengths together.

        They are those of `complete` up to the rounding of the device's arithmetic. Between two batches
        others have their turn on the device, and each batch has the time of one request.
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
        """Return what is wrong with the model's files, one line each; loads nothing."""
        return find_problems(self._folder)

    def unload(self) -> None:
        """Free the model; the next prompt loads it again."""
        self._resident.free()

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._resident.loaded

    def _ask(self, prompts: Sequence[str], request: _Request, patience: Patience | None = None) -> list[str]:
        """Return the answers to prompts that are generated side by side, each counted."""
        for _ in prompts:
            if self._meter is not None:
                self._meter.admit(self._purpose)
        patience = patience or Patience(self._seconds)
        began = time.monotonic()
        try:
            replies = self._resident.use(self._answer, prompts, request, patience)
        except TimeoutError as error:
            self._record([(0, 0, "timeout")] * len(prompts), time.monotonic() - began)
            raise BackendError(str(error), hint="raise timeout_s in [language_model]") from error
        except DroppedError:
            self._record([(0, 0, "dropped")] * len(prompts), time.monotonic() - began)
            raise
        except Exception as error:
            self._record([(0, 0, "failed")] * len(prompts), time.monotonic() - began)
            if isinstance(error, BackendError):
                raise
            # MLX says by RuntimeError, and mlx-lm by whatever it ran into, that a model does not work.
            raise BackendError(
                f'the model "{self.model_id}" cannot answer: {device.first_line(error)}',
                hint="use another model, or a smaller concurrency in [language_model]",
            ) from error
        except BaseException:
            patience.drop()
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
        self, loaded: _Loaded, prompts: Sequence[str], request: _Request, patience: Patience
    ) -> list[_Reply]:
        """Generate the answers; runs on the device's thread."""
        patience.start()
        patience.check()
        checkpoint = loaded.checkpoint
        tokenizer = checkpoint.tokenizer
        window = min(self._window or checkpoint.window, checkpoint.window)
        # Never the whole window for the answer: then there was no room for the question.
        longest = max(1, min(request.max_tokens, window // 2))
        room = window - longest
        asked = [fit(tokenizer, request.system, as_text(prompt), room=room) for prompt in prompts]
        largest = max(token for tokens in asked for token in tokens)
        # MLX does not look: it would read whatever lies behind the table, or end the process.
        if largest >= checkpoint.vocabulary:
            raise BackendError(
                f'the tokenizer of "{self.model_id}" has a token {largest}, the model has '
                f"{checkpoint.vocabulary}",
                hint="fetch the model again: `ragmem models pull`",
            )
        began = [self._begin(loaded, request.system, tokens, patience) for tokens in asked]
        caches = [cache for cache, _ in began]
        rest = [tokens[known:] for tokens, (_, known) in zip(asked, began, strict=True)]
        masks = [self._start_mask(loaded, request.schema) for _ in prompts]
        parts = (
            Parts(lambda so_far: self._text(tokenizer, so_far, request), request.tell)
            if request.tell
            else None
        )
        if len(prompts) > 1 and can_batch(caches):
            answers = answer_many(
                checkpoint, rest, caches, max_tokens=longest, masks=masks, patience=patience
            )
        else:
            answers = [
                answer_one(
                    checkpoint,
                    tokens,
                    cache,
                    max_tokens=longest,
                    mask=mask,
                    patience=patience,
                    more=parts.more if parts else lambda _: None,
                )
                for tokens, cache, mask in zip(rest, caches, masks, strict=True)
            ]
        replies = [
            _Reply(self._text(tokenizer, answer.tokens, request), len(tokens), len(answer.tokens), answer.cut)
            for tokens, answer in zip(asked, answers, strict=True)
        ]
        if parts:
            parts.end(replies[0].text)
        return replies

    def _begin(
        self, loaded: _Loaded, system: str, tokens: list[int], patience: Patience
    ) -> tuple[list[Any], int]:
        """Return a cache for the tokens, and how many of them it holds already."""
        if system and self._reuses:
            conversation = partial(render, loaded.checkpoint.tokenizer, system)
            return loaded.prefixes.begin(system, conversation, tokens, patience)
        from mlx_lm.models.cache import make_prompt_cache

        return make_prompt_cache(loaded.checkpoint.model), 0

    def _start_mask(self, loaded: _Loaded, schema: Mapping[str, Any] | None) -> Mask | None:
        if schema is None or not self._constrained:
            return None
        if loaded.grammars is None:
            loaded.grammars = Grammars(loaded.checkpoint.tokenizer)
        return loaded.grammars.start(schema)

    def _text(self, tokenizer: Any, tokens: list[int], request: _Request) -> str:
        text = read(tokenizer, tokens)
        return strip_thoughts(text) if request.schema is None or not self._constrained else text


def _load(folder: Path) -> _Loaded:
    checkpoint = load(folder)
    return _Loaded(checkpoint, Prefixes(checkpoint))


def _read_switch(options: Mapping[str, object], name: str) -> bool:
    value = options.get(name, True)
    if not isinstance(value, bool):
        raise ConfigError(f'{name} is "{value}"', hint=f"{name} is true or false, or left out")
    return value


def open_language_model(folder: Path, name: str, options: Mapping[str, object]) -> MlxLanguageModel:
    """Return the chat model in a folder, without loading it; raise ConfigError for a wrong option.

    Options besides those that ragmem.ports names: `concurrency` (prompts that are answered side by side),
    `window` (most tokens of prompt and answer together, where the model's own would take too much memory),
    `constrained` (false: a schema is not enforced), `prompt_cache` (false: no instructions are kept),
    `memory_limit_mb` (for all models together), `idle_s` (seconds until an unused one is freed).
    """
    return MlxLanguageModel(folder, name, options)
