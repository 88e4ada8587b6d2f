"""Fall back to a simpler request where a server refuses a field: small and old servers lack some."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ragmem.backends.providers.failures import ProviderError
from ragmem.backends.providers.provider import Request
from ragmem.backends.providers.rate_limit import RetryPolicy
from ragmem.backends.providers.transport import Account, Transport

Answer = TypeVar("Answer")

# How servers name a refused field.
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
# Fields that a server may also refuse without naming them.
_UNNAMED = ("tool", "schema", "json")
_REFUSALS = {400, 404, 415, 422, 500, 501}
"""llama.cpp answers 500 to a schema that it cannot turn into a grammar."""


def post_with_fallback(
    transport: Transport,
    build: Callable[[frozenset[str]], Request],
    *,
    refused: set[str],
    policy: RetryPolicy,
    account: Account,
) -> Any:
    """Return the answer; `refused` collects the fields that this server does not take."""
    return send_with_fallback(
        lambda request: transport.post(request.path, request.body, policy=policy, account=account),
        build,
        refused=refused,
    )


def send_with_fallback(
    send: Callable[[Request], Answer], build: Callable[[frozenset[str]], Request], *, refused: set[str]
) -> Answer:
    """Return the answer to the request; each refusal removes an optional field, then it is sent again."""
    without = set(refused)
    while True:
        request = build(frozenset(without))
        try:
            answer = send(request)
        except ProviderError as error:
            less = _next_fallback(error, request)
            if not less or less in without:
                raise
            without.add(less)
        else:
            refused |= without
            return answer


def _next_fallback(error: ProviderError, request: Request) -> str:
    if error.status not in _REFUSALS or error.too_long:
        return ""
    for name in request.optional:
        if _NAMED[name].search(error.detail):
            return name
    if error.status == 400:
        return next((name for name in _UNNAMED if name in request.optional), "")
    return ""
