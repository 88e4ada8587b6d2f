"""Answers of the process that has this home's models loaded, for a command that would load them itself.

None is started for it, and none is asked that has other settings or is another version. Where anything is
wrong there is no answer, and the command finds its own.
"""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from ragmem import client
from ragmem.services.context.context import Context
from ragmem.services.context.dataclass_json import plain, restored
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.routes import RoutedAnswer

STATUS_S, ANSWER_S = 0.2, 5.0
"""Seconds that the process has to tell of itself, and to answer."""

QUERY, SESSION_CONTEXT = "query", "session_context"
"""Names of the operations."""

_T = TypeVar("_T")


def routed_answer(data: str, question: Question, route: str | None, *, now: datetime) -> RoutedAnswer | None:
    """Return what `routes.ask_by_route` would; None where no process can be asked."""
    request = {"question": plain(question), "route": route, "now": now.isoformat()}
    return _asked(data, QUERY, request, RoutedAnswer)


def session_context(data: str, task: str, **wanted: Any) -> Context | None:
    """Return what `Ragmem.session_context` would with these arguments; None where no process can be asked."""
    return _asked(data, SESSION_CONTEXT, {"task": task, "wanted": plain(wanted)}, Context)


def _asked(data: str, operation: str, request: Mapping[str, Any], kind: type[_T]) -> _T | None:
    status = client.ask(data, {"op": "status"}, deadline=time.monotonic() + STATUS_S, start=False) or {}
    if not status.get("ready") or status.get("identity") != client.identity():
        return None
    whole = {"op": operation, **request}
    told = client.ask(data, whole, deadline=time.monotonic() + ANSWER_S, start=False)
    if told is None or "answer" not in told:
        return None
    try:
        return restored(kind, told["answer"])
    except (KeyError, TypeError, ValueError):
        # Of the same version it is the same form; of one that is being worked on it may not be.
        return None
