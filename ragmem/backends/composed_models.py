"""The models of a configuration: the embedder of one backend, the language model of another."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from ragmem import backends
from ragmem.config.models import LanguageModelSettings, ModelSettings, RerankerSettings
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import BackendError, ConfigError
from ragmem.ports import (
    Call,
    Embedder,
    EntityRecognizer,
    HasEntityRecognizer,
    HasReranker,
    LanguageModel,
    Meter,
    Models,
    Purpose,
    Reranker,
)


class LateMeter:
    """A meter that opens with the first request: most processes send none and need not load it."""

    def __init__(self, open_meter: Callable[[], Meter]) -> None:
        self._open = open_meter

    def admit(self, purpose: Purpose) -> None:
        """Raise BackendError where a daily cap is reached and the purpose is background work."""
        self._open().admit(purpose)

    def record(self, call: Call) -> None:
        """Count a request."""
        self._open().record(call)


class ComposedModels:
    """The models of [models], [language_model], [reranker] and [extraction]; each is opened on first use."""

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
        recognizer: str = "",
    ) -> None:
        """Compose models; nothing is opened yet.

        `recognizer` has the form BACKEND:MODEL. `cache` is a folder for files that a backend can make again,
        `purpose` that of the language model, `redactor` that of the home whose texts the models get.
        """
        self._redactor = redactor
        self._models = models
        self._cache = cache
        self._language_model = language_model
        self._meter = meter
        self._purpose = purpose
        self._reranker = reranker
        self._recognizer = recognizer
        self._opened: dict[str, Models] = {}
        self._opening = threading.Lock()

    @property
    def embedder(self) -> Embedder:
        """The embedder of [models]; raises BackendError where it cannot load."""
        return self._open_embedder().embedder

    @property
    def language_model(self) -> LanguageModel | None:
        """The language model of [language_model], or None where none is configured.

        Raises BackendError where it cannot load.
        """
        opened = self._open_language_model()
        return None if opened is None else opened.language_model

    @property
    def reranker(self) -> Reranker | None:
        """The reranker of [reranker], or None where none is configured.

        Raises BackendError where it cannot load.
        """
        wanted = self._reranker
        if wanted is None or not wanted.backend:
            return None
        build = partial(reranking_options, wanted, redactor=self._redactor, meter=self._meter)
        opened = self._open("reranker", wanted.backend, build)
        if not isinstance(opened, HasReranker):
            raise BackendError(
                f'the backend "{wanted.backend}" has no reranker',
                hint="docs/models.md lists the back ends with one",
            )
        return opened.reranker

    @property
    def recognizer(self) -> EntityRecognizer | None:
        """The model of extraction.ner, or None where none is configured.

        Raises BackendError where it cannot load.
        """
        if not self._recognizer:
            return None
        backend, _, model = self._recognizer.partition(":")
        if model:
            opened = self._open("recognizer", backend, lambda: {"recognizer": model})
            if isinstance(opened, HasEntityRecognizer):
                return opened.recognizer
        raise BackendError(
            f'extraction.ner is "{self._recognizer}", which is no model for named entities',
            hint="it has the form onnx:OWNER/NAME or onnx:FOLDER",
        )

    def check(self) -> list[str]:
        """Return the problems of the embedding model's files, one line each."""
        return self._open_embedder().check()

    def check_language_model(self) -> list[str]:
        """Return the problems of the language model's files or key, one line each; sends no request."""
        opened = self._open_language_model()
        return [] if opened is None else opened.check()

    def close(self) -> None:
        """Free all; closing twice is fine."""
        for models in self._opened.values():
            models.close()
        self._opened.clear()

    def _open_language_model(self) -> Models | None:
        wanted = self._language_model
        if wanted is None or not wanted.backend:
            return None

        def build() -> dict[str, Any]:
            options = completion_options(wanted, redactor=self._redactor, meter=self._meter)
            return options if self._purpose == "extraction" else {"purpose": self._purpose, **options}

        return self._open("language_model", wanted.backend, build)

    def _open_embedder(self) -> Models:
        build = partial(
            embedding_options, self._models, redactor=self._redactor, meter=self._meter, cache=self._cache
        )
        return self._open("models", self._models.backend, build)

    def _open(self, section: str, backend: str, build: Callable[[], Mapping[str, Any]]) -> Models:
        """Return the models of a section, opened once; raises BackendError for any fault of theirs."""
        with self._opening:
            if section not in self._opened:
                try:
                    self._opened[section] = backends.open_models(backend, build())
                except ConfigError as error:
                    # The memory works without a model: a wrong key of [models] must not stop the rest.
                    raise BackendError(str(error), hint=error.hint) from error
            return self._opened[section]


def embedding_options(
    settings: ModelSettings, *, redactor: Redactor, meter: Meter | None = None, cache: Path | None = None
) -> dict[str, Any]:
    """Return the options that a backend's `open_models` gets for its embedder."""
    given = {**_plain_options(settings), "threads": settings.threads or None, "cache": cache}
    if settings.backend == "onnx":
        given |= _known_options(settings)
    return {**given, **settings.options, "meter": meter, "redactor": redactor}


def _known_options(settings: ModelSettings) -> dict[str, Any]:
    """Return pooling and prefixes of a known model where its files are silent, as in conversions."""
    from ragmem.backends.model_folder import find_folder, read_prompts
    from ragmem.config.hub import without_file
    from ragmem.config.known_models import find_known

    name = without_file(settings.model)
    known = find_known(name)
    if known is None:
        return {}
    try:
        folder = find_folder(name, settings.options)
        told = read_prompts(folder)
    except BackendError:  # the backend reports it
        return {}
    query, document = settings.query_prefix, settings.document_prefix
    if not any(told.values()):
        query, document = query or known.query_prefix, document or known.document_prefix
    told_by_file = known.pooling == "graph" or (folder / "modules.json").is_file()
    pooling = {} if told_by_file else {"pooling": known.pooling}
    return {"query_prefix": query, "document_prefix": document, **pooling}


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
    for name in ("use", "candidates", "weight", "price"):
        del given[name]
    limits = {"query_timeout_s": given["timeout_s"], "retries": 0}
    named = {"reranker": given.pop("model"), **limits}
    return {**given, **named, **settings.options, "meter": meter, "redactor": redactor}


def _plain_options(settings: ModelSettings | LanguageModelSettings | RerankerSettings) -> dict[str, Any]:
    left_out = {"backend", "options"}
    values: Mapping[str, Any] = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {name: value for name, value in values.items() if name not in left_out}
