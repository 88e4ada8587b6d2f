"""The context of a session over HTTP. These functions block, and run in worker threads."""

from pathlib import Path

from ragmem.api.memory import Ragmem
from ragmem.server.http.models import ContextRequest, ContextResponse
from ragmem.services.context.context import Context

_NOTHING = "nothing is stored yet"


def context(memory: Ragmem, request: ContextRequest) -> ContextResponse:
    """Answer POST /context; raises NotFoundError for an unknown project."""
    if not memory.is_stored():
        return _response(Context(), _NOTHING)
    memory.require()
    named = memory.projects.resolve(request.projects or ())
    # The working folder of the server is unrelated to the client.
    everywhere = not (named or request.cwd)
    # A folder in a request is only a name: it is not read, and git never runs in it.
    projects = named or memory.projects.at(Path(request.cwd), by_name=True)
    if not request.session:
        block = memory.session_context(
            request.prompt, projects=projects, everywhere=everywhere, tokens=request.max_total_tokens
        )
        return _response(block, "" if block.text else block.why_empty)
    told = memory.injections.anticipate(
        request.session,
        request.prompt,
        event=request.event,
        agent=request.agent,
        assistant=request.assistant,
        again=request.again,
        projects=projects,
        everywhere=everywhere,
        tokens=request.max_total_tokens,
    )
    return _response(told.context, told.reason, told.notes)


def _response(block: Context, reason: str, notes: tuple[str, ...] = ()) -> ContextResponse:
    return ContextResponse(
        context=block.text,
        tokens=block.tokens if block.text else 0,
        memory_ids=[memory.id for memory in block.memories],
        reason=reason,
        notes=list(notes),
    )
