"""Send many prompts to a language model, and yield each answer as it arrives."""

import queue
import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragmem.errors import BackendError
from ragmem.ports import CompletesMany, LanguageModel
from ragmem.storage.sql.batches import batches

BATCH_SIZE = 8
"""Prompts per batch: the maximum loss if the process is killed."""


@dataclass(frozen=True, slots=True)
class Request:
    """The settings that all prompts share."""

    system: str
    max_tokens: int
    json_schema: Mapping[str, Any]


Outcome = str | BackendError
"""An answer, or the error."""


def complete_all(
    model: LanguageModel,
    prompts: Mapping[str, str],
    request: Request,
    *,
    concurrency: int,
    singly: bool = False,
    stop: threading.Event,
) -> Generator[dict[str, Outcome]]:
    """Yield the outcomes by the keys of their prompts, sent in order.

    After `stop` is set, no more prompts are sent, but the answers to pending ones are still yielded. A caller
    that does not want to wait for them closes the generator.

    A model that accepts batches gets several prompts at once, unless `singly`; other models are called from
    `concurrency` threads. The threads are daemons, so that an interrupted process does not wait for a server.
    At most one answer per thread is unprocessed, so a killed process loses no more than that.
    """
    if isinstance(model, CompletesMany) and not singly:
        yield from _complete_batch(model, prompts, request, stop)
    else:
        yield from _complete_parallel(model, prompts, request, concurrency, stop)


def _complete_batch(
    model: CompletesMany, prompts: Mapping[str, str], request: Request, stop: threading.Event
) -> Generator[dict[str, Outcome]]:
    for keys in batches(prompts, BATCH_SIZE):
        if stop.is_set():
            return
        try:
            answers: Sequence[Outcome] = model.complete_many(
                [prompts[key] for key in keys],
                system=request.system,
                max_tokens=request.max_tokens,
                json_schema=request.json_schema,
            )
        except BackendError as error:
            answers = [error] * len(keys)
        yield dict(zip(keys, answers, strict=True))


def _complete_parallel(
    model: LanguageModel,
    prompts: Mapping[str, str],
    request: Request,
    concurrency: int,
    stop: threading.Event,
) -> Generator[dict[str, Outcome]]:
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[str, Outcome | Exception] | None] = queue.SimpleQueue()
    free = threading.Semaphore(concurrency)
    for key in prompts:
        waiting.put(key)

    def work() -> None:
        while free.acquire() and not stop.is_set():
            try:
                key = waiting.get_nowait()
            except queue.Empty:
                break
            try:
                answer: Outcome | Exception = model.complete(
                    prompts[key],
                    system=request.system,
                    max_tokens=request.max_tokens,
                    json_schema=request.json_schema,
                )
            except Exception as error:  # noqa: BLE001 - raised again where the outcomes are taken
                answer = error
            done.put((key, answer))
        done.put(None)
        free.release()

    working = min(concurrency, len(prompts))
    for _ in range(working):
        threading.Thread(target=work, name="ragmem-extraction", daemon=True).start()
    try:
        while working:
            results = [done.get()]
            while not done.empty():
                results.append(done.get())
            outcomes = [one for one in results if one is not None]
            working -= len(results) - len(outcomes)
            if outcomes:
                yield dict(_check_answer(key, answer) for key, answer in outcomes)
            free.release(len(outcomes) or 1)
    finally:
        stop.set()
        free.release(concurrency)


def _check_answer(key: str, answer: Outcome | Exception) -> tuple[str, Outcome]:
    if isinstance(answer, str | BackendError):
        return key, answer
    raise answer
