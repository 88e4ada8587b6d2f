"""What the command line asks of a process that has the models loaded, and is answered as it would itself."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ragmem.client import MOST_BYTES
from ragmem.errors import RagmemError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem


def answer(memory: "Ragmem", request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain form of the answer as `answer`; what goes wrong is `error`, and the asker's to tell.

    Nothing is counted as recalled here. Never raises RagmemError.
    """
    from ragmem.services.context.dataclass_json import plain

    try:
        told = {"answer": plain(_answered(memory, request))}
        # Whoever asks finds it as well, however long it is.
        return told if len(json.dumps(told)) < MOST_BYTES else {"error": "the answer is too long"}
    except (RagmemError, KeyError, TypeError, ValueError) as error:
        return {"error": f"{type(error).__name__}: not answered here"}


def _answered(memory: "Ragmem", request: Mapping[str, Any]) -> Any:
    if request["op"] == "session_context":
        return memory.session_context(request["task"], **request["wanted"])
    from ragmem.services.context.dataclass_json import restored
    from ragmem.services.retrieval.query import Question
    from ragmem.services.retrieval.routes import ask_by_route

    question = restored(Question, request["question"])
    return ask_by_route(memory, question, request["route"], now=datetime.fromisoformat(request["now"]))
