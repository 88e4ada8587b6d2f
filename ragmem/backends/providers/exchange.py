"""Asks for what is best, and for less where a server refuses it: small and old servers lack fields."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ragmem.backends.providers.failures import ProviderError
from ragmem.backends.providers.pacing import Patience
from ragmem.backends.providers.provider import Request
from ragmem.backends.providers.transport import Account, Transport

Answer = TypeVar("Answer")

# How servers name what they refuse.
_NAMED: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "base64": r"encoding_format|base64",
        "dimensions": r"dimension|matryoshka",
        "temperature": r"temperature",
        "max_tokens": r"max_tokens",
        "max_completion_tokens": r"max_completion_tokens",
        "thinking": r"think",
        "tool": r"\btools?\b|tool_choice",
        "stream_options": r"stream_options|include_usage",
        "schema": r"response_?format|schema|grammar|strict|output_config|\bformat\b",
        "json": r"response_?format|json|mime",
    }.items()
}
# What a server may also refuse without naming it.
_UNNAMED = ("tool", "schema", "json")
_REFUSALS = {400, 404, 415, 422, 500, 501}
"""llama.cpp says 500 for a schema that it cannot make a grammar of."""


def exchange(
    transport: Transport,
    build: Callable[[frozenset[str]], Request],
    *,
    refused: set[str],
    patience: Patience,
    account: Account,
) -> Any:
    """Return the answer; `refused` keeps what this server is not to be asked again."""
    return concede(
        lambda request: transport.post(request.path, request.body, patience=patience, account=account),
        build,
        refused=refused,
    )


def concede(
    send: Callable[[Request], Answer], build: Callable[[frozenset[str]], Request], *, refused: set[str]
) -> Answer:
    """Return what sending gives, with less asked for each time that the server refuses something."""
    without = set(refused)
    while True:
        request = build(frozenset(without))
        try:
            answer = send(request)
        except ProviderError as error:
            less = _concession(error, request)
            if not less or less in without:
                raise
            without.add(less)
        else:
            refused |= without
            return answer


def _concession(error: ProviderError, request: Request) -> str:
    if error.status not in _REFUSALS or error.too_long:
        return ""
    for name in request.optional:
        if _NAMED[name].search(error.said):
            return name
    if error.status == 400:
        return next((name for name in _UNNAMED if name in request.optional), "")
    return ""
