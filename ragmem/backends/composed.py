"""The models of a configuration: the embedder of one backend, the language model of another."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ragmem import backends
from ragmem.config import LanguageModelSettings, ModelSettings
from ragmem.config.models import RerankerSettings
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import BackendError, ConfigError
from ragmem.ports import Call, Embedder, HasReranker, LanguageModel, Meter, Models, Purpose, Reranker


class LateMeter:
    """A meter that is opened for the first request: most processes send none, and need not load it."""

    def __init__(self, open_meter: Callable[[], Meter]) -> None:
        self._open = open_meter

    def admit(self, purpose: Purpose) -> None:
        """Raise BackendError where a daily cap is reached and the purpose is background work."""
        self._open().admit(purpose)

    def record(self, call: Call) -> None:
        """Count a request."""
        self._open().record(call)


class ComposedModels:
    """The models of [models], [language_model] and [reranker]; each is opened when it is first asked for."""

    def __init__(
        self,
        models: ModelSettings,
        language_model: LanguageModelSettings | None = None,
        *,
        redactor: Redactor,
        meter: Meter | None = None,
        cache: Path | None = None,
        purpose: Purpose = "extraction",
        reranker: RerankerSettings | None = None,
    ) -> None:
        """Compose; `cache` is a folder for what a backend can make again, `purpose` the language model's.

        `redactor` is that of the home whose texts the models are shown.
        """
        self._redactor = redactor
        self._models = models
        self._cache = cache
        self._language_model = language_model
        self._meter = meter
        self._purpose = purpose
        self._reranker = reranker
        self._scoring: Models | None = None
        self._embedding: Models | None = None
        self._completing: Models | None = None
        self._opening = threading.Lock()

    @property
    def embedder(self) -> Embedder:
        """The embedder of [models]; raises BackendError where it cannot be had."""
        return self._open_embedding().embedder

    @property
    def language_model(self) -> LanguageModel | None:
        """The language model of [language_model], or None where none is configured.

        Raises BackendError where it cannot be had.
        """
        opened = self._open_completing()
        return None if opened is None else opened.language_model

    @property
    def reranker(self) -> Reranker | None:
        """The reranker of [reranker], or None where none is configured.

        Raises BackendError where it cannot be had.
        """
        wanted = self._reranker
        if wanted is None or not wanted.backend:
            return None
        with self._opening:
            if self._scoring is None:
                self._scoring = _open(
                    wanted.backend, reranking_options(wanted, redactor=self._redactor, meter=self._meter)
                )
            opened = self._scoring
        if not isinstance(opened, HasReranker):
            raise BackendError(
                f'the backend "{wanted.backend}" has no reranker', hint="docs/providers.md says who has one"
            )
        return opened.reranker

    def check(self) -> list[str]:
        """Return what is wrong with the embedding model's files, one line each."""
        return self._open_embedding().check()

    def check_language_model(self) -> list[str]:
        """Return what is wrong with the language model's files or key, one line each; asks nobody."""
        opened = self._open_completing()
        return [] if opened is None else opened.check()

    def close(self) -> None:
        """Free all; closing twice is fine."""
        for part in (self._embedding, self._completing, self._scoring):
            if part is not None:
                part.close()
        self._embedding = self._completing = self._scoring = None

    def _open_completing(self) -> Models | None:
        wanted = self._language_model
        if wanted is None or not wanted.backend:
            return None
        with self._opening:
            if self._completing is None:
                options = completion_options(wanted, redactor=self._redactor, meter=self._meter)
                if self._purpose != "extraction":
                    options = {"purpose": self._purpose, **options}
                self._completing = _open(wanted.backend, options)
            return self._completing

    def _open_embedding(self) -> Models:
        with self._opening:
            if self._embedding is None:
                self._embedding = _open(
                    self._models.backend,
                    embedding_options(
                        self._models, redactor=self._redactor, meter=self._meter, cache=self._cache
                    ),
                )
            return self._embedding


def _open(name: str, options: Mapping[str, Any]) -> Models:
    """Return a backend's models; raises BackendError, whatever is wrong with them."""
    try:
        return backends.open_models(name, options)
    except ConfigError as error:
        # The memory works without a model: a wrong key of [models] must not end what could go on without.
        raise BackendError(str(error), hint=error.hint) from error


def embedding_options(
    settings: ModelSettings, *, redactor: Redactor, meter: Meter | None = None, cache: Path | None = None
) -> dict[str, Any]:
    """Return the options that a backend's `open_models` gets for its embedder."""
    given = {**_plain_options(settings), "threads": settings.threads or None, "cache": cache}
    return {**given, **settings.options, "meter": meter, "redactor": redactor}


def completion_options(
    settings: LanguageModelSettings, *, redactor: Redactor, meter: Meter | None = None
) -> dict[str, Any]:
    """Return the options that a backend's `open_models` gets for its language model."""
    given = _plain_options(settings)
    named = {"language_model": given.pop("model")}
    return {**given, **named, **settings.options, "meter": meter, "redactor": redactor}


def reranking_options(
    settings: RerankerSettings, *, redactor: Redactor, meter: Meter | None = None
) -> dict[str, Any]:
    """Return the options that a backend's `open_models` gets for its reranker."""
    given = _plain_options(settings)
    for name in ("candidates", "weight", "price"):
        del given[name]
    limits = {"query_timeout_s": given["timeout_s"], "retries": 0}
    named = {"reranker": given.pop("model"), **limits}
    return {**given, **named, **settings.options, "meter": meter, "redactor": redactor}


def _plain_options(settings: ModelSettings | LanguageModelSettings | RerankerSettings) -> dict[str, Any]:
    left_out = {"backend", "options"}
    values: Mapping[str, Any] = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {name: value for name, value in values.items() if name not in left_out}
