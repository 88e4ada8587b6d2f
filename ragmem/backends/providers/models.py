"""The models of one provider, as its backend's `open_models` returns them."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeVar

from ragmem.backends.providers.completion import ProviderLanguageModel
from ragmem.backends.providers.embedding import ProviderEmbedder
from ragmem.backends.providers.keys import Key
from ragmem.backends.providers.provider import Provider
from ragmem.backends.providers.rate_limit import Clock
from ragmem.backends.providers.rerank import ProviderReranker
from ragmem.backends.providers.settings import Section, read_settings, section_of
from ragmem.backends.providers.transport import Transport
from ragmem.errors import BackendError
from ragmem.ports import Embedder, LanguageModel, Reranker

_Protocol = TypeVar("_Protocol")
_CLOCK = Clock()
_OFFERS: Mapping[Section, str] = {
    "models": "embeddings",
    "language_model": "language model",
    "reranker": "reranker",
}


class ProviderModels:
    """Embedder, language model or reranker of a provider; satisfies ports.Models and ports.HasReranker.

    It sends no request before the first use.
    """

    def __init__(self, provider: Provider, options: Mapping[str, Any], *, clock: Clock = _CLOCK) -> None:
        self._provider = provider
        section = section_of(options)
        self._settings = read_settings(options, section=section)
        variables = [self._settings.key_variable] if self._settings.key_variable else provider.key_variables
        needed = provider.needs_key or bool(self._settings.key_variable or self._settings.key_command)
        self._key = Key(
            variables=variables, command=self._settings.key_command, needed=needed, section=section
        )
        self._transport = Transport(provider, self._settings, key=self._key, clock=clock)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder; raises BackendError where the provider has none, or another section was opened."""
        if self._settings.section != "models":
            raise BackendError(
                f"{self._provider.name} was opened for its {_OFFERS[self._settings.section]}",
                hint="name the model for vectors in config.toml, [models]",
            )
        protocol = self._require(self._provider.embeddings)
        return ProviderEmbedder(self._provider, protocol, self._settings, self._transport)

    @cached_property
    def language_model(self) -> LanguageModel | None:
        """The language model, or None where another section than [language_model] was opened.

        Raises BackendError where the provider has none, or none is named.
        """
        if self._settings.section != "language_model":
            return None
        protocol = self._require(self._provider.chat)
        return ProviderLanguageModel(self._provider, protocol, self._settings, self._transport)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The reranker, or None where another section than [reranker] was opened.

        Raises BackendError where the provider has none, or none is named.
        """
        if self._settings.section != "reranker":
            return None
        protocol = self._require(self._provider.rerank)
        return ProviderReranker(self._provider, protocol, self._settings, self._transport)

    def check(self) -> list[str]:
        """Return what the configuration lacks, one line each; sends no request."""
        by_section = {"models": "embeddings", "language_model": "chat", "reranker": "rerank"}
        if getattr(self._provider, by_section[self._settings.section]) is None:
            return [self._missing_offer()]
        name, place = self._provider.name, self._settings.place
        problems = (
            (self._missing_name(), place),
            (self._provider.address_problem(self._settings.url), place),
            (self._key.problem(), name),
        )
        return [f"{problem} ({where})" for problem, where in problems if problem]

    def close(self) -> None:
        """Close the connections; closing twice is fine."""
        self._transport.close()

    def _require(self, protocol: _Protocol | None) -> _Protocol:
        """Return the protocol; raises BackendError where the provider has none, or no model is named."""
        if protocol is None:
            raise BackendError(self._missing_offer(), hint="docs/models.md lists what each provider offers")
        if problem := self._missing_name():
            raise BackendError(problem, hint=f"name it as model in {self._settings.place}")
        return protocol

    def _missing_offer(self) -> str:
        return f"{self._provider.name} offers no {_OFFERS[self._settings.section]}"

    def _missing_name(self) -> str:
        """Return a message where no model is named, else an empty one."""
        default = self._provider.model if self._settings.section == "models" else ""
        return "" if self._settings.model or default else f"no model of {self._provider.name} is named"
