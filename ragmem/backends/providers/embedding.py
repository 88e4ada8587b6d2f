"""The embedder of a provider: batches, several requests at a time, and a check of every vector."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.providers.failures import ProviderError
from ragmem.backends.providers.fallback import post_with_fallback
from ragmem.backends.providers.provider import EmbeddingProtocol, Provider, Request
from ragmem.backends.providers.rate_limit import RetryPolicy
from ragmem.backends.providers.settings import Settings
from ragmem.backends.providers.threads import map_in_threads
from ragmem.backends.providers.transport import Account, Transport, input_tokens
from ragmem.backends.providers.vectors import batches, clean_text, unit_rows
from ragmem.errors import BackendError, TextRejectionError
from ragmem.ports import Purpose, Role

QUERIES_KEPT = 256
SHORTEST_CUT = 200
"""Characters that fit into any model: a refusal of such a text means something else."""

WIDEST_WINDOW = 32_768
"""Tokens of a text that are sent to an unknown model."""

TRIAL_QUERIES = 4
"""The first request, which finds the number of dimensions, may take as long as this many questions."""

_TRIAL = "how long is a vector"


class ProviderEmbedder:
    """Vectors from a provider; satisfies ports.Embedder, and is safe to use from several threads."""

    def __init__(
        self, provider: Provider, protocol: EmbeddingProtocol, settings: Settings, transport: Transport
    ) -> None:
        self._provider = provider
        self._protocol = protocol
        self._settings = settings
        self._transport = transport
        self._model = settings.model or provider.model
        known = provider.known_models.get(self._model)
        self._window = settings.window or (known.window if known else WIDEST_WINDOW)
        self._dimensions = settings.dimensions or (known.dimensions if known else 0)
        self._refused: set[str] = set()
        self._queries: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def model_id(self) -> str:
        """Provider, model, configured length and document prefix: whatever changes a text's vector.

        The address of the server is not part of it: the same model may move.
        """
        given = self._settings
        length = f"@{given.dimensions}" if given.dimensions else ""
        prefix = f"~{_digest(given.document_prefix)}" if given.document_prefix else ""
        return f"{self._provider.name}/{self._model}{length}{prefix}"

    @property
    def dimensions(self) -> int:
        """Length of each vector; found by one request where it is neither configured nor well known."""
        if not self._dimensions:
            # A question may be what waits for this, or a server that loads its model first.
            given = self._settings
            once = RetryPolicy(min(given.timeout_s, TRIAL_QUERIES * given.query_timeout_s), None, 0)
            self._batch([_TRIAL], role="document", purpose="test", policy=once)
        return self._dimensions

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return an array (len(texts), dimensions) of unit length rows; an empty input gives (0, dimensions).

        A text that is longer than the window is cut; an empty one gets the vector of ".". Raises
        BackendError; nothing is half done then.
        """
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        given = self._settings
        prefix = given.query_prefix if role == "query" else given.document_prefix
        sent = [
            clean_text(self._settings.redactor.redact(text)[0], prefix=prefix, window=self._window)
            for text in texts
        ]
        # Each text once: repeated ones cost nothing, and all get the same vector.
        found = self._cached_vectors(sent) if role == "query" else {}
        wanted = [text for text in dict.fromkeys(sent) if text not in found]
        if wanted:
            rows = self._embed(wanted, role=role, purpose=role)
            found.update(zip(wanted, rows, strict=True))
            if role == "query":
                self._remember({text: found[text] for text in wanted})
        return np.stack([found[text] for text in sent])

    def _embed(self, texts: Sequence[str], *, role: Role, purpose: Purpose) -> NDArray[np.float32]:
        policy = self._transport.retry_policy(purpose)
        most = self._settings.batch or self._protocol.texts_per_request
        parts = list(batches(texts, most=most, tokens=self._protocol.tokens_per_request))

        def work(part: list[str]) -> NDArray[np.float32]:
            return self._batch(part, role=role, purpose=purpose, policy=policy)

        if len(parts) == 1:
            return work(parts[0])
        most = self._settings.concurrency
        return np.concatenate(map_in_threads(work, parts, most=most, stop=policy.cancelled))

    def _batch(
        self, texts: list[str], *, role: Role, purpose: Purpose, policy: RetryPolicy
    ) -> NDArray[np.float32]:
        """Return the rows of one request, which is split where the server finds it too long.

        A text is cut only if it alone is too long, so that no vector depends on the other texts.
        """

        def build(refused: frozenset[str]) -> Request:
            return self._protocol.request(
                self._model, texts, role=role, dimensions=self._settings.dimensions, refused=refused
            )

        estimate = sum(map(len, texts)) // 4 + len(texts)
        try:
            answer = post_with_fallback(
                self._transport,
                build,
                refused=self._refused,
                policy=policy,
                account=Account(self.model_id, purpose, estimate, input_tokens(self._protocol)),
            )
            return self._check_vectors(answer, len(texts))
        except ProviderError as error:
            if not error.too_long or (len(texts) == 1 and len(texts[0]) <= SHORTEST_CUT):
                raise self._blame(error, purpose, policy) from None
            middle = len(texts) // 2
            smaller = [texts[:middle], texts[middle:]] if middle else [[texts[0][: len(texts[0]) // 2]]]
            return np.concatenate(
                [self._batch(part, role=role, purpose=purpose, policy=policy) for part in smaller]
            )

    def _blame(self, error: ProviderError, purpose: Purpose, policy: RetryPolicy) -> BackendError:
        """Return the error as one of these texts where the server still embeds another one."""
        if purpose != "document" or not error.may_be_of_text:
            return error
        try:
            self._batch([_TRIAL], role="document", purpose="test", policy=replace(policy, retries=0))
        except BackendError:
            return error
        return TextRejectionError(str(error), hint=error.hint)

    def _check_vectors(self, answer: Any, count: int) -> NDArray[np.float32]:
        with self._transport.parsing():
            rows = unit_rows(self._protocol.rows(answer, count), count)
        with self._lock:
            expected = self._dimensions or rows.shape[1]
            if rows.shape[1] == expected:
                self._dimensions = expected
                return rows
        raise BackendError(
            f'"{self._model}" of {self._provider.name} gives {rows.shape[1]} dimensions, not {expected}',
            hint=f"is it another model under the same name? see dimensions in {self._settings.place}",
        )

    def _cached_vectors(self, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        with self._lock:
            found = {text: self._queries[text] for text in texts if text in self._queries}
            for text in found:
                self._queries.move_to_end(text)
        return found

    def _remember(self, rows: dict[str, NDArray[np.float32]]) -> None:
        with self._lock:
            self._queries.update(rows)
            while len(self._queries) > QUERIES_KEPT:
                self._queries.popitem(last=False)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()
