"""Answer errors over HTTP as {"detail", "hint"}: the status is for programs, the text for people."""

from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from ragmem.errors import (
    BackendError,
    ConflictError,
    ForbiddenError,
    LimitReachedError,
    NotFoundError,
    RagmemError,
    RejectionError,
    StorageError,
    StoreBusyError,
    UsageError,
)

_DESCRIBED = "GET /openapi.json describes each request"
_NOT_JSON = "send the body as UTF-8 JSON, with the header `Content-Type: application/json`"

_HINTS = {
    "Not Found": _DESCRIBED,
    "Method Not Allowed": _DESCRIBED,
    "There was an error parsing the body": _NOT_JSON,
}
"""Hints for the framework's own refusals."""

RETRY_AFTER = "2"
"""Seconds until a retry of a busy store or a full inbox: several times the longest write."""

_STATUS: tuple[tuple[type[RagmemError], int], ...] = (
    (NotFoundError, 404),
    (ConflictError, 409),
    (ForbiddenError, 403),
    (UsageError, 400),
    (BackendError, 503),
    (StoreBusyError, 503),
    (LimitReachedError, 429),
    (RejectionError, 500),
    (StorageError, 507),
    (RagmemError, 500),
)
"""The first matching class decides, so subclasses come first."""


def status_of(error: RagmemError) -> int:
    """Return the HTTP status of an error."""
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def _answer(
    status: int, detail: object, hint: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    return JSONResponse({"detail": detail, "hint": hint}, status_code=status, headers=headers)


async def _answer_ragmem_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RagmemError)
    is_temporary = isinstance(error, StoreBusyError | LimitReachedError)
    headers = {"Retry-After": RETRY_AFTER} if is_temporary else None
    return _answer(status_of(error), str(error), error.hint, headers)


async def _answer_validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    hint = _DESCRIBED
    problems = []
    for problem in error.errors():
        place, message = list(problem["loc"]), problem["msg"]
        if problem["type"] == "string_pattern_mismatch":
            # The message shows the pattern, which means nothing to a person who has edited a link.
            message, hint = "the value has a wrong form", _description(request, place[-1]) or hint
        # The input is omitted: it may be megabytes, and text that cannot be encoded.
        problems.append({"loc": place, "msg": message, "type": problem["type"]})
    # FastAPI keeps the bytes of a body that it did not parse, as of `curl -d` without a content type.
    return _answer(422, problems, _NOT_JSON if isinstance(error.body, bytes) else hint)


def _description(request: Request, name: str) -> str:
    """Return what a parameter of the link must be; "" for a field of the body."""
    operations = request.app.openapi()["paths"].get(request.scope["route"].path, {})
    parameters = operations.get(request.method.lower(), {}).get("parameters", ())
    return next((one.get("description", "") for one in parameters if one["name"] == name), "")


async def _answer_http_exception(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _answer(error.status_code, error.detail, _HINTS.get(error.detail, ""), error.headers)


async def _answer_bug(_: Request, __: Exception) -> JSONResponse:
    # The framework raises it again after this answer: the traceback goes to the log, never to the client.
    return _answer(
        500, "this is a bug in ragmem", "the traceback is in the log of the server; please report it"
    )


def install(app: FastAPI) -> None:
    """Install these error handlers in an application."""
    app.add_exception_handler(RagmemError, _answer_ragmem_error)
    app.add_exception_handler(RequestValidationError, _answer_validation_error)
    app.add_exception_handler(HTTPException, _answer_http_exception)
    app.add_exception_handler(Exception, _answer_bug)
