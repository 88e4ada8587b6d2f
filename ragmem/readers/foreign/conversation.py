"""Build the exchanges of a conversation whose messages are known."""

from collections.abc import Iterable, Iterator
from typing import Any

from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import Exchange
from ragmem.frozen import dataclass
from ragmem.readers.transcripts.exchange_builder import ExchangeBuilder
from ragmem.readers.transcripts.tools import Call


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation; `calls` are (name, call, result, failed) of tools."""

    by_user: bool
    text: str
    key: str = ""
    at: Any = None
    model: str = ""
    calls: tuple[tuple[str, Call, str, bool], ...] = ()


def exchanges_of(
    messages: Iterable[Message], *, assistant: str, session: str, folder: str = "", redactor: Redactor
) -> Iterator[Exchange]:
    """Yield the exchanges of a conversation, in order, without what precedes the first question."""
    builder = ExchangeBuilder(assistant, redactor=redactor)
    builder.session, builder.cwd = session, folder
    for position, message in enumerate(messages, start=1):
        if message.by_user:
            builder.ask(message.text, key=message.key, at=message.at)
        else:
            builder.model = message.model or builder.model
            builder.say(message.text, message=message.key)
            for name, call, result, failed in message.calls:
                builder.call(call, name, message=message.key)
                builder.result(name, result, failed=failed, message=message.key)
            builder.touch(message.at)
        if closed := builder.take_closed():
            yield closed
        builder.close_part(position)
        if closed := builder.take_closed():
            yield closed
    if rest := builder.rest(ended=True):
        yield rest
