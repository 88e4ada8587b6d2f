"""Answer questions of the command line in the process that has the models loaded."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ragmem.client.connection import MOST_BYTES
from ragmem.errors import RagmemError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem


def answer(memory: "Ragmem", request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer as JSON in `answer`, or in `error` why the command line has to answer itself.

    Memories do not count as recalled here. Never raises RagmemError.
    """
    from ragmem.services.context.dataclass_json import plain

    try:
        found = {"answer": plain(_ask(memory, request))}
        # The command line can answer itself, whatever the length.
        return found if len(json.dumps(found)) < MOST_BYTES else {"error": "the answer is too long"}
    except (RagmemError, KeyError, TypeError, ValueError) as error:
        return {"error": f"{type(error).__name__}: not answered here"}


def _ask(memory: "Ragmem", request: Mapping[str, Any]) -> Any:
    if request["op"] == "session_context":
        return memory.session_context(request["task"], **request["wanted"])
    from ragmem.services.context.dataclass_json import from_plain
    from ragmem.services.retrieval.query import Question

    question = from_plain(Question, request["question"])
    moment = datetime.fromisoformat(request["now"])
    return memory.retrieval.ask_by_route(question, request["route"], now=moment)
