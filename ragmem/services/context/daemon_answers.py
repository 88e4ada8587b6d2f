"""Ask the running daemon of this home, which has the models loaded.

No daemon is started for this, and one with other settings or another version is not asked. After any failure
there is no answer, and the command finds its own.
"""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from ragmem import client
from ragmem.client import runtime
from ragmem.services.context.dataclass_json import from_plain, plain
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.routes import RoutedAnswer

if TYPE_CHECKING:
    from ragmem.services.context.context import Context

STATUS_S, ANSWER_S = 0.2, 8.0
"""Seconds that the daemon has for its status, and for an answer: it may wait five for a provider."""

QUERY, SESSION_CONTEXT = "query", "session_context"
"""Names of the operations."""

_T = TypeVar("_T")


def answer_by_daemon(
    data: str, question: Question, route: str | None, *, now: datetime
) -> RoutedAnswer | None:
    """Return the result of `routes.ask_by_route` from the daemon; None if it cannot answer."""
    request = {"question": plain(question), "route": route, "now": now.isoformat()}
    return _ask(data, QUERY, request, RoutedAnswer)


def session_context(data: str, task: str, **wanted: Any) -> "Context | None":
    """Return the result of `Ragmem.session_context` from the daemon; None if it cannot answer."""
    from ragmem.services.context.context import Context  # noqa: PLC0415 - a question needs none of it

    return _ask(data, SESSION_CONTEXT, {"task": task, "wanted": plain(wanted)}, Context)


def _ask(data: str, operation: str, request: Mapping[str, Any], kind: type[_T]) -> _T | None:
    status = client.ask(data, {"op": "status"}, deadline=time.monotonic() + STATUS_S, start=False) or {}
    if not status.get("ready") or status.get("identity") != runtime.identity():
        return None
    whole = {"op": operation, **request}
    told = client.ask(data, whole, deadline=time.monotonic() + ANSWER_S, start=False)
    if told is None or "answer" not in told:
        return None
    try:
        return from_plain(kind, told["answer"])
    except (KeyError, TypeError, ValueError):
        # A development version may have another format under the same version number.
        return None
