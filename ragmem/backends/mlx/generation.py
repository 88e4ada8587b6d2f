"""Generate the tokens of answers: one, or several at once, with a cache for the prefixes of prompts."""

import copy
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ragmem.backends.mlx.checkpoint import Checkpoint
from ragmem.backends.mlx.grammar import Mask

STEP = 512
"""Tokens of a prompt that are computed at a time; in between, the answer may be cancelled."""

_MOST_PREFIXES = 2
"""Instructions in the cache: those for extraction and those for answers."""


class CancelledError(Exception):
    """The answer was cancelled: the caller no longer waits."""


class Deadline:
    """The time limit of an answer, counted from its start; it can also be cancelled."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends = float("inf")
        self._cancelled = threading.Event()

    def start(self) -> None:
        """Start the time."""
        self._ends = time.monotonic() + self._seconds

    def cancel(self) -> None:
        """Cancel the answer; safe to call from any thread."""
        self._cancelled.set()

    def check(self) -> None:
        """Raise CancelledError or TimeoutError when generation must stop."""
        if self._cancelled.is_set():
            raise CancelledError
        if time.monotonic() > self._ends:
            raise TimeoutError(f"the model did not answer within {self._seconds:g} seconds")


@dataclass(frozen=True, slots=True)
class Answer:
    """The tokens of an answer without the one that ends it; `cut` when there was no room for it."""

    tokens: list[int]
    cut: bool


class PrefixCache:
    """A cache of the keys and values of instructions that many prompts begin with."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._model = checkpoint.model
        self._kept: OrderedDict[str, tuple[list[int], list[Any]]] = OrderedDict()

    def cache_for(
        self, name: str, render: Callable[[str], list[int]], tokens: list[int], deadline: Deadline
    ) -> tuple[list[Any], int]:
        """Return a cache for these tokens and how many of them it holds already: 0 to all but the last.

        `name` is the instructions, `render` makes the tokens of a conversation from a prompt.
        """
        from mlx_lm.models.cache import can_trim_prompt_cache, make_prompt_cache, trim_prompt_cache

        if name not in self._kept:
            shared = _common_prefix(render("a"), render("0"))
            self._kept[name] = (shared, self._compute(shared, deadline))
            if len(self._kept) > _MOST_PREFIXES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(name)
        shared, cache = self._kept[name]
        # A prompt's first letters may share a token with the text before them.
        common = min(len(_common_prefix(shared, tokens)), len(tokens) - 1)
        superfluous = len(shared) - common
        if superfluous and not can_trim_prompt_cache(cache):
            return make_prompt_cache(self._model), 0
        cache = copy.deepcopy(cache)
        if superfluous:
            trim_prompt_cache(cache, superfluous)
        return cache, common

    def _compute(self, tokens: list[int], deadline: Deadline) -> list[Any]:
        import mlx.core as mx
        from mlx_lm.models.cache import make_prompt_cache

        cache: list[Any] = make_prompt_cache(self._model)
        for start in range(0, len(tokens), STEP):
            deadline.check()
            self._model(mx.array(tokens[start : start + STEP])[None], cache=cache)
            mx.eval([part.state for part in cache])
        return cache


def _common_prefix(one: list[int], other: list[int]) -> list[int]:
    """Return the tokens that both begin with."""
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return [token for token, _ in pairs]


def answer_one(
    checkpoint: Checkpoint,
    tokens: list[int],
    cache: list[Any],
    *,
    max_tokens: int,
    mask: Mask | None,
    deadline: Deadline,
    more: Callable[[list[int]], None] = lambda _: None,
) -> Answer:
    """Return the likeliest tokens after `tokens`, those that the cache lacks.

    `more` gets all new tokens so far after each one.
    """
    import mlx.core as mx
    from mlx_lm import stream_generate

    found: list[int] = []
    reason = None
    responses = stream_generate(
        checkpoint.model,
        checkpoint.tokenizer,
        mx.array(tokens),
        max_tokens=max_tokens,
        prompt_cache=cache,
        prefill_step_size=STEP,
        logits_processors=[mask] if mask else None,
        prompt_progress_callback=lambda _done, _total: deadline.check(),
    )
    # Closed at once when generation stops early: it holds Metal's wired memory.
    with closing(responses):
        for response in responses:
            deadline.check()
            found.append(response.token)
            reason = response.finish_reason
            more(found)
    return Answer(found if reason == "length" else found[:-1], reason == "length")


def can_batch(caches: Sequence[list[Any]]) -> bool:
    """Return whether mlx-lm can put these caches side by side."""
    return all(hasattr(part, "merge") for cache in caches for part in cache)


def answer_many(
    checkpoint: Checkpoint,
    prompts: Sequence[list[int]],
    caches: Sequence[list[Any]],
    *,
    max_tokens: int,
    masks: Sequence[Mask | None],
    deadline: Deadline,
) -> list[Answer]:
    """Return the answers of `answer_one` to each prompt, all generated side by side."""
    from mlx_lm.generate import BatchGenerator

    generator = BatchGenerator(
        checkpoint.model,
        stop_tokens=[[token] for token in checkpoint.tokenizer.eos_token_ids],
        completion_batch_size=len(prompts),
        prefill_batch_size=len(prompts),
        prefill_step_size=STEP,
    )
    try:
        numbers = generator.insert(
            list(prompts),
            [max_tokens] * len(prompts),
            caches=list(caches),
            logits_processors=[[mask] if mask else [] for mask in masks],
        )
        found: dict[int, list[int]] = {number: [] for number in numbers}
        reasons: dict[int, str] = {}
        while len(reasons) < len(numbers):
            deadline.check()
            for response in generator.next()[1]:
                if response.finish_reason != "stop":
                    found[response.uid].append(response.token)
                if response.finish_reason:
                    reasons[response.uid] = response.finish_reason
        return [Answer(found[number], reasons[number] == "length") for number in numbers]
    finally:
        generator.close()
