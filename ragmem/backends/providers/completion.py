"""The language model of a provider: a prompt in, text or JSON out."""

import re
from collections.abc import Mapping
from typing import Any

from ragmem.backends.providers.exchange import exchange
from ragmem.backends.providers.provider import Ask, ChatProtocol, Provider, Request
from ragmem.backends.providers.settings import Settings
from ragmem.backends.providers.transport import Account, Transport
from ragmem.errors import BackendError

_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>\s*|\Z)", re.DOTALL)
_FENCED = re.compile(r"```\w*[ \t]*\n(.*?)\n[ \t]*```[ \t]*(?:\n|\Z)", re.DOTALL)
_BRACKET = re.compile(r"[{\[]")


class ProviderLanguageModel:
    """Completions from a provider; satisfies ports.LanguageModel, and is safe to use from several threads."""

    def __init__(
        self, provider: Provider, protocol: ChatProtocol, settings: Settings, transport: Transport
    ) -> None:
        self._provider = provider
        self._protocol = protocol
        self._settings = settings
        self._transport = transport
        self._refused: set[str] = set()

    @property
    def model_id(self) -> str:
        """Provider and model."""
        return f"{self._provider.name}/{self._settings.model}"

    def complete(
        self,
        prompt: str,
        *,
        system: str = "",
        max_tokens: int = 1024,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """Return the completion; with a schema, JSON text, as strictly as the provider can.

        What reached max_tokens is returned as far as it goes, JSON too. Where that is a thought alone, or no
        JSON had begun, it raises BackendError like a refusal, an empty answer, and a failed request.
        """
        ask = Ask(self._settings.model, _valid(prompt), _valid(system), max_tokens, json_schema)

        def build(refused: frozenset[str]) -> Request:
            return self._protocol.request(ask, refused=refused)

        purpose = self._settings.purpose
        answer = exchange(
            self._transport,
            build,
            refused=self._refused,
            patience=self._transport.patience(purpose),
            account=Account(
                self.model_id, purpose, (len(prompt) + len(system)) // 4 + 1, self._protocol.tokens
            ),
        )
        try:
            completion = self._protocol.read(answer)
        except (KeyError, IndexError, AttributeError) as error:
            raise self._transport.odd(f"no {error}") from None
        except (TypeError, ValueError) as error:
            raise self._transport.odd(str(error)) from None
        if completion.refusal:
            raise BackendError(
                f'"{ask.model}" of {self._provider.name} refuses to answer ({completion.refusal})',
                hint=f"ask in other words, or use another model in {self._settings.place}",
            )
        text = _THOUGHT.sub("", _valid(completion.text))
        if json_schema is not None:
            text = without_fence(text)
        begun = text if json_schema is None else _BRACKET.search(text)
        if completion.cut and not begun:
            raise BackendError(
                f'"{ask.model}" of {self._provider.name} did not finish within {max_tokens} tokens',
                hint="where it thinks aloud first, turn that off: docs/providers.md",
            )
        if not text:
            raise BackendError(
                f'"{ask.model}" of {self._provider.name} answered nothing',
                hint=f"use another model in {self._settings.place}",
            )
        return text


def without_fence(text: str) -> str:
    """Return the JSON of an answer that wraps it in a code fence; any other text as it is."""
    bare = text.strip()
    if bare.startswith(("{", "[")):
        return bare
    fenced = _FENCED.search(bare)
    return fenced.group(1).strip() if fenced else bare


def _valid(text: str) -> str:
    """Return the text without halves of surrogate pairs, which no request and no database can carry."""
    return text.encode("utf-8", "replace").decode()
