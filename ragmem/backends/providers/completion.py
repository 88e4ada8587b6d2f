"""The language model of a provider: a prompt in, text or JSON out."""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from ragmem.backends.providers.exchange import concede, exchange
from ragmem.backends.providers.provider import Ask, ChatProtocol, Image, Part, Provider, Request
from ragmem.backends.providers.settings import Settings
from ragmem.backends.providers.streaming import Stream
from ragmem.backends.providers.transport import CHARACTERS_PER_TOKEN, Account, Transport
from ragmem.errors import BackendError

IMAGE_CHARACTERS = 6_000
"""What a picture counts as where a provider tells no tokens: some 1,500 of them, which is a large one."""

_THINKS, _THOUGHT_ENDS = "<think>", "</think>"
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
        return self._completed(self._ask(prompt, system, max_tokens, json_schema), len(prompt) + len(system))

    def describe(
        self, prompt: str, *, image: bytes, media_type: str, system: str = "", max_tokens: int = 400
    ) -> str:
        """Return the completion of a prompt about a picture (PNG or JPEG); errors as of `complete`.

        A model or server without eyes refuses the request, which is a BackendError as well.
        """
        ask = replace(self._ask(prompt, system, max_tokens, None), image=Image(image, media_type))
        return self._completed(ask, len(prompt) + len(system) + IMAGE_CHARACTERS)

    def _ask(self, prompt: str, system: str, max_tokens: int, schema: Mapping[str, Any] | None) -> Ask:
        asked, told = (_valid(self._settings.redactor.redact(text)[0]) for text in (prompt, system))
        return Ask(self._settings.model, asked, told, max_tokens, schema)

    def _completed(self, ask: Ask, characters: int) -> str:
        def build(refused: frozenset[str]) -> Request:
            return self._protocol.request(ask, refused=refused)

        answer = exchange(
            self._transport,
            build,
            refused=self._refused,
            patience=self._transport.patience(self._settings.purpose),
            account=self._account(characters),
        )
        with self._reading():
            completion = self._protocol.read(answer)
        text = _THOUGHT.sub("", _valid(completion.text))
        if ask.schema is not None:
            text = without_fence(text)
        begun = text if ask.schema is None else _BRACKET.search(text)
        self._check(ask, text, refusal=completion.refusal, unbegun=completion.cut and not begun)
        return text

    def stream(self, prompt: str, *, system: str = "", max_tokens: int = 1024) -> Iterator[str]:
        """Yield the parts of the completion as the provider sends them; errors as of `complete`.

        A server that knows of no parts gives one. What breaks off is an error after some parts.
        """
        ask = self._ask(prompt, system, max_tokens, None)

        def build(refused: frozenset[str]) -> Request:
            return self._protocol.in_parts(self._protocol.request(ask, refused=refused), refused=refused)

        patience = self._transport.patience(self._settings.purpose)
        account = self._account(len(prompt) + len(system))
        with ExitStack() as opened:

            def begin(request: Request) -> Stream:
                context = self._transport.streaming(
                    request.path, request.body, patience=patience, account=account
                )
                return opened.enter_context(context)

            stream = concede(begin, build, refused=self._refused)
            yield from self._text_parts(stream, ask)

    def _text_parts(self, stream: Stream, ask: Ask) -> Iterator[str]:
        """Yield the text of a stream, without what the model thought aloud before."""
        thoughts, said, refusal, cut = Thoughts(), False, "", False
        counted: list[int | None] = [None, None]
        for event in stream:
            with self._reading():
                part = self._whole(event) if stream.is_whole else self._protocol.part(event)
            refusal, cut = part.refusal or refusal, part.cut or cut
            for place, tokens in enumerate((part.tokens_in, part.tokens_out)):
                counted[place] = tokens if tokens is not None else counted[place]
            if counted[0] is not None and counted[1] is not None:
                stream.tokens = counted[0], counted[1]
            stream.characters += len(part.text)
            if text := thoughts.without(_valid(part.text)):
                said = True
                yield text
        if rest := thoughts.rest():
            said = True
            yield rest
        self._check(ask, "said" if said else "", refusal=refusal, unbegun=cut and not said)

    def _whole(self, answer: Any) -> Part:
        completion = self._protocol.read(answer)
        counted = self._protocol.tokens(answer) or (None, None)
        return Part(completion.text, completion.cut, completion.refusal, *counted)

    def _account(self, characters: int) -> Account:
        estimate = characters // CHARACTERS_PER_TOKEN + 1
        return Account(self.model_id, self._settings.purpose, estimate, self._protocol.tokens)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn what reading an answer raises that is not as its protocol says into an error."""
        try:
            yield
        except (KeyError, IndexError, AttributeError) as error:
            raise self._transport.odd(f"no {error}") from None
        except (TypeError, ValueError) as error:
            raise self._transport.odd(str(error)) from None

    def _check(self, ask: Ask, text: str, *, refusal: str, unbegun: bool) -> None:
        """Raise BackendError for an answer that is none."""
        named = f'"{ask.model}" of {self._provider.name}'
        if refusal:
            raise BackendError(
                f"{named} refuses to answer ({refusal})",
                hint=f"ask in other words, or use another model in {self._settings.place}",
            )
        if unbegun:
            raise BackendError(
                f"{named} did not finish within {ask.max_tokens} tokens",
                hint="where it thinks aloud first, turn that off: docs/providers.md",
            )
        if not text:
            raise BackendError(
                f"{named} answered nothing", hint=f"use another model in {self._settings.place}"
            )


class Thoughts:
    """Leaves out of a text in parts what a model thought aloud before its answer."""

    def __init__(self) -> None:
        self._held = ""
        self._over = False
        self._thought = False

    def without(self, part: str) -> str:
        """Return what of the text so far is told now; what may be a thought yet is held back."""
        if self._over:
            return part
        self._held += part
        begun = self._held.lstrip()
        if begun.startswith(_THINKS):
            self._thought = True
            _, ended, rest = begun.partition(_THOUGHT_ENDS)
            # What is blank after a thought belongs to it.
            if not ended or not rest.lstrip():
                return ""
            begun = rest.lstrip()
        elif _THINKS.startswith(begun):
            return ""
        else:
            begun = self._held
        self._over = True
        return begun

    def rest(self) -> str:
        """Return what was held back and is no thought, at the end of the text."""
        return "" if self._over or self._thought else self._held


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
