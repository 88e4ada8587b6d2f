"""The language model of a provider: a prompt in, text or JSON out."""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from ragmem.backends.providers.failures import ProviderError
from ragmem.backends.providers.fallback import post_with_fallback, send_with_fallback
from ragmem.backends.providers.provider import ChatProtocol, ChatRequest, Image, Part, Provider, Request
from ragmem.backends.providers.settings import Settings
from ragmem.backends.providers.streaming import Stream
from ragmem.backends.providers.transport import CHARACTERS_PER_TOKEN, Account, Transport
from ragmem.errors import BackendError

IMAGE_CHARACTERS = 6_000
"""The size of a picture where a provider reports no tokens: about 1,500 of them, a large picture."""

_THINKS, _THOUGHT_ENDS = "<think>", "</think>"
_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>\s*|\Z)", re.DOTALL)
_FENCED = re.compile(r"```\w*[ \t]*\n(.*?)\n[ \t]*```[ \t]*(?:\n|\Z)", re.DOTALL)
_REFUSALS = frozenset({400, 404, 415, 422, 500, 501})
_NO_PICTURES = re.compile(r"content type|images?\b|picture|vision|multi-?modal|mmproj", re.IGNORECASE)
"""What servers say that cannot take a picture: mlx_lm.server, llama.cpp, vLLM."""

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

        An answer that reaches max_tokens is returned cut off, JSON too. Raises BackendError where the cut
        answer has only thoughts or no JSON, and for a refusal, an empty answer and a failed request.
        """
        chat = self._chat(prompt, system, max_tokens, json_schema)
        return self._request_completion(chat, len(prompt) + len(system))

    def describe(
        self, prompt: str, *, image: bytes, media_type: str, system: str = "", max_tokens: int = 400
    ) -> str:
        """Return the completion of a prompt about a picture (PNG or JPEG); errors as in `complete`.

        Raises BackendError, too, where the model or server takes no pictures.
        """
        chat = replace(self._chat(prompt, system, max_tokens, None), image=Image(image, media_type))
        try:
            return self._request_completion(chat, len(prompt) + len(system) + IMAGE_CHARACTERS)
        except ProviderError as error:
            if error.status not in _REFUSALS or not _NO_PICTURES.search(error.detail):
                raise
            raise error.with_message(
                f'the server of "{self._settings.model}" accepts no pictures ({error.detail})',
                hint="docs/documents.md lists models that can read pictures",
            ) from error

    def _chat(
        self, prompt: str, system: str, max_tokens: int, schema: Mapping[str, Any] | None
    ) -> ChatRequest:
        prompt, system = (_valid(self._settings.redactor.redact(text)[0]) for text in (prompt, system))
        return ChatRequest(self._settings.model, prompt, system, max_tokens, schema)

    def _request_completion(self, chat: ChatRequest, characters: int) -> str:
        def build(refused: frozenset[str]) -> Request:
            return self._protocol.request(chat, refused=refused)

        answer = post_with_fallback(
            self._transport,
            build,
            refused=self._refused,
            policy=self._transport.retry_policy(self._settings.purpose),
            account=self._account(characters),
        )
        with self._transport.parsing():
            completion = self._protocol.read(answer)
            text = _THOUGHT.sub("", _valid(completion.text))
        if chat.schema is not None:
            text = without_fence(text)
        begun = text if chat.schema is None else _BRACKET.search(text)
        self._check(chat, text, refusal=completion.refusal, unbegun=completion.cut and not begun)
        return text

    def stream(self, prompt: str, *, system: str = "", max_tokens: int = 1024) -> Iterator[str]:
        """Yield the parts of the completion as the provider sends them; errors as in `complete`.

        A server that cannot stream yields one part. A broken connection raises an error after some parts.
        """
        chat = self._chat(prompt, system, max_tokens, None)

        def build(refused: frozenset[str]) -> Request:
            return self._protocol.stream_request(
                self._protocol.request(chat, refused=refused), refused=refused
            )

        policy = self._transport.retry_policy(self._settings.purpose)
        account = self._account(len(prompt) + len(system))
        with ExitStack() as opened:

            def begin(request: Request) -> Stream:
                context = self._transport.open_stream(
                    request.path, request.body, policy=policy, account=account
                )
                return opened.enter_context(context)

            stream = send_with_fallback(begin, build, refused=self._refused)
            yield from self._text_parts(stream, chat)

    def _text_parts(self, stream: Stream, chat: ChatRequest) -> Iterator[str]:
        """Yield the text of a stream without the model's thoughts."""
        thoughts, said, refusal, cut = ThoughtFilter(), False, "", False
        counted: list[int | None] = [None, None]
        for event in stream:
            with self._transport.parsing():
                part = self._whole(event) if stream.is_whole else self._protocol.read_event(event)
                text = _valid(part.text)
            refusal, cut = part.refusal or refusal, part.cut or cut
            stream.has_ended |= part.is_last or bool(part.refusal)
            for place, tokens in enumerate((part.tokens_in, part.tokens_out)):
                counted[place] = tokens if tokens is not None else counted[place]
            if counted[0] is not None and counted[1] is not None:
                stream.tokens = counted[0], counted[1]
            stream.characters += len(text)
            if shown := thoughts.without(text):
                said = True
                yield shown
        if rest := thoughts.rest():
            said = True
            yield rest
        self._check(chat, "said" if said else "", refusal=refusal, unbegun=cut and not said)

    def _whole(self, answer: Any) -> Part:
        completion = self._protocol.read(answer)
        sent, received = self._protocol.tokens(answer) or (None, None)
        return Part(
            completion.text,
            completion.cut,
            completion.refusal,
            is_last=True,
            tokens_in=sent,
            tokens_out=received,
        )

    def _account(self, characters: int) -> Account:
        estimate = characters // CHARACTERS_PER_TOKEN + 1
        return Account(self.model_id, self._settings.purpose, estimate, self._protocol.tokens)

    def _check(self, chat: ChatRequest, text: str, *, refusal: str, unbegun: bool) -> None:
        """Raise BackendError for a refusal, and for an empty or unfinished answer."""
        named = f'"{chat.model}" of {self._provider.name}'
        if refusal:
            raise BackendError(
                f"{named} refuses to answer ({refusal})",
                hint=f"rephrase the question, or use another model in {self._settings.place}",
            )
        if unbegun:
            raise BackendError(
                f"{named} did not finish within {chat.max_tokens} tokens",
                hint="if it reasons before it answers, turn that off: docs/models.md",
            )
        if not text:
            raise BackendError(
                f"{named} returned an empty answer", hint=f"use another model in {self._settings.place}"
            )


class ThoughtFilter:
    """Removes the thoughts before the answer from a text that comes in parts."""

    def __init__(self) -> None:
        self._held = ""
        self._over = False
        self._thought = False

    def without(self, part: str) -> str:
        """Return the text that can be shown now; text that may still be a thought is held back."""
        if self._over:
            return part
        self._held += part
        begun = self._held.lstrip()
        if begun.startswith(_THINKS):
            self._thought = True
            _, ended, rest = begun.partition(_THOUGHT_ENDS)
            # Blank space after a thought belongs to it.
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
        """Return the held back text that is not a thought, at the end of the text."""
        return "" if self._over or self._thought else self._held


def without_fence(text: str) -> str:
    """Return the JSON of an answer that wraps it in a code fence; other text is unchanged.

    The templates of some models open a thought in the prompt, so that the answer only has its end.
    """
    bare = text.strip()
    if not bare.startswith(("{", "[")):
        bare = bare.rpartition(_THOUGHT_ENDS)[2].strip()
    if bare.startswith(("{", "[")):
        return bare
    fenced = _FENCED.search(bare)
    return fenced.group(1).strip() if fenced else bare


def _valid(text: str) -> str:
    """Return the text without halves of surrogate pairs, which no request and no database can carry."""
    return text.encode("utf-8", "replace").decode()
