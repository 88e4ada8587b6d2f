"""The route for the events of hooks that an assistant posts; it replies as the command `ragmem hook` does."""

import time
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from ragmem import json_text
from ragmem.api.memory import Ragmem
from ragmem.assistants.assistant import HOOK_PATH
from ragmem.errors import ForbiddenError
from ragmem.hooks.entry import reply
from ragmem.ports.principal import current_principal
from ragmem.server.http.workers import OverloadedError, Workers

THREADS = 2
"""As many as the socket of a home has for hooks, to which the events go from here."""


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the route; each event waits in one of the workers for its reply."""
    router = APIRouter(include_in_schema=False)
    places = memory.settings.places
    folders = str(places.config), str(places.data), str(places.state)

    @router.post(HOOK_PATH + "/{assistant}/{event}")
    async def hook(request: Request, assistant: str, event: str) -> Response:
        """Return what to inject for an event, or nothing (204), also for an invalid body."""
        began = time.monotonic()
        if current_principal.get() is not None:
            # The socket, and the transcripts that an event names, are the owner's.
            raise ForbiddenError("hooks are for the owner of this machine")
        body = await request.body()

        def answer() -> dict[str, Any] | None:
            try:
                fields = json_text.read(body.decode("utf-8", "replace"))
            except ValueError:  # the log tells that the event lacks what is needed
                fields = None
            words = [event, "--for", assistant]
            return reply(words, fields if isinstance(fields, dict) else {}, began=began, folders=folders)

        try:
            document = await workers.run(answer)
        except OverloadedError:
            document = None
        if document is None:
            return Response(status_code=204)
        return Response(json_text.write(document).encode("utf-8", "replace"), media_type="application/json")

    return router
