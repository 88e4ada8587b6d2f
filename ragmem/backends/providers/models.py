"""The models of one provider, as its backend's `open_models` returns them."""

from collections.abc import Mapping
from typing import Any

from ragmem.backends.providers.completion import ProviderLanguageModel
from ragmem.backends.providers.embedding import ProviderEmbedder
from ragmem.backends.providers.keys import Key
from ragmem.backends.providers.pacing import Clock
from ragmem.backends.providers.provider import Provider
from ragmem.backends.providers.rerank import ProviderReranker
from ragmem.backends.providers.settings import Section, read_settings, section_of, url_problem
from ragmem.backends.providers.transport import Transport
from ragmem.errors import BackendError
from ragmem.ports import Embedder, LanguageModel, Reranker

_CLOCK = Clock()
_OFFERS: Mapping[Section, str] = {
    "models": "embeddings",
    "language_model": "language model",
    "reranker": "reranker",
}


class ProviderModels:
    """Embedder, language model or reranker of a provider; satisfies ports.Models and ports.HasReranker.

    No request before the first use.
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
        self._embedder: ProviderEmbedder | None = None
        self._language_model: ProviderLanguageModel | None = None
        self._reranker: ProviderReranker | None = None

    @property
    def embedder(self) -> Embedder:
        """The embedder; raises BackendError where the provider has none, or the other half was opened."""
        if self._settings.section != "models":
            raise BackendError(
                f"{self._provider.name} was opened for its {_OFFERS[self._settings.section]}",
                hint="name the model for vectors in config.toml, [models]",
            )
        if self._provider.embeddings is None:
            raise BackendError(self._lacks("embeddings"), hint="docs/providers.md says who offers what")
        if problem := self._nameless():
            raise BackendError(problem, hint=f"name it as model in {self._settings.place}")
        if self._embedder is None:
            self._embedder = ProviderEmbedder(
                self._provider, self._provider.embeddings, self._settings, self._transport
            )
        return self._embedder

    @property
    def language_model(self) -> LanguageModel | None:
        """The language model, or None where [language_model] is not what was opened.

        Raises BackendError where the provider has none, or none is named.
        """
        if self._settings.section != "language_model":
            return None
        if self._provider.chat is None:
            raise BackendError(self._lacks("language model"), hint="docs/providers.md says who offers what")
        if problem := self._nameless():
            raise BackendError(problem, hint=f"name it as model in {self._settings.place}")
        if self._language_model is None:
            self._language_model = ProviderLanguageModel(
                self._provider, self._provider.chat, self._settings, self._transport
            )
        return self._language_model

    @property
    def reranker(self) -> Reranker | None:
        """The reranker, or None where [reranker] is not what was opened.

        Raises BackendError where the provider has none, or none is named.
        """
        if self._settings.section != "reranker":
            return None
        if self._provider.rerank is None:
            raise BackendError(self._lacks("reranker"), hint="docs/providers.md says who offers what")
        if problem := self._nameless():
            raise BackendError(problem, hint=f"name it as model in {self._settings.place}")
        if self._reranker is None:
            self._reranker = ProviderReranker(
                self._provider, self._provider.rerank, self._settings, self._transport
            )
        return self._reranker

    def check(self) -> list[str]:
        """Return what the configuration lacks, one line each; asks nobody."""
        half = self._settings.section
        if self._offered(half) is None:
            return [self._lacks(_OFFERS[half])]
        name, place = self._provider.name, self._settings.place
        found = [f"{problem} ({place})" for problem in (self._nameless(),) if problem]
        if problem := self._address_problem():
            found.append(f"{problem} ({place})")
        if problem := self._key.problem():
            found.append(f"{problem} ({name})")
        return found

    def close(self) -> None:
        """Close the connections; closing twice is fine."""
        self._transport.close()

    def _offered(self, section: Section) -> object:
        by_section = {"models": "embeddings", "language_model": "chat", "reranker": "rerank"}
        return getattr(self._provider, by_section[section])

    def _lacks(self, what: str) -> str:
        return f"{self._provider.name} offers no {what}"

    def _nameless(self) -> str:
        """Return that no model is named, or nothing."""
        default = self._provider.model if self._settings.section == "models" else ""
        return "" if self._settings.model or default else f"no model of {self._provider.name} is named"

    def _address_problem(self) -> str:
        if not self._settings.url:
            example = self._provider.example
            return "" if self._provider.url else f'url is missing; it looks like "{example}"'
        return url_problem(self._provider.root(self._settings.url))
