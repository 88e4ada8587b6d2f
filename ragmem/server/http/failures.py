"""Every error as an HTTP answer {"detail", "hint"}: the status tells a program, the text a person."""

from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from ragmem.errors import (
    BackendError,
    ConflictError,
    LimitReachedError,
    NotFoundError,
    RagmemError,
    RejectionError,
    StorageError,
    StoreBusyError,
    UsageError,
)

RETRY_AFTER = "2"
"""Seconds after which a busy store, or a full inbox, is worth another try: several of the longest writes."""

_STATUS: tuple[tuple[type[RagmemError], int], ...] = (
    (NotFoundError, 404),
    (ConflictError, 409),
    (UsageError, 400),
    (BackendError, 503),
    (StoreBusyError, 503),
    (LimitReachedError, 429),
    (RejectionError, 500),
    (StorageError, 507),
    (RagmemError, 500),
)
"""The first class that fits decides, so the narrower ones come first."""


def status_of(error: RagmemError) -> int:
    """Return the HTTP status of an error."""
    return next(status for kind, status in _STATUS if isinstance(error, kind))


def _answer(
    status: int, detail: object, hint: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    return JSONResponse({"detail": detail, "hint": hint}, status_code=status, headers=headers)


async def _known(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RagmemError)
    passing = isinstance(error, StoreBusyError | LimitReachedError)
    headers = {"Retry-After": RETRY_AFTER} if passing else None
    return _answer(status_of(error), str(error), error.hint, headers)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # What was sent is left out: it may be megabytes, and text that cannot be encoded.
    problems = [
        {"loc": list(problem["loc"]), "msg": problem["msg"], "type": problem["type"]}
        for problem in error.errors()
    ]
    return _answer(422, problems, "GET /openapi.json describes each request")


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _answer(error.status_code, error.detail, "", error.headers)


async def _bug(_: Request, __: Exception) -> JSONResponse:
    # The framework raises it again behind this answer: the log gets the traceback, the client never does.
    return _answer(
        500, "this is a bug in ragmem", "the traceback is in the log of the server; please report it"
    )


def install(app: FastAPI) -> None:
    """Let the application answer errors this way."""
    app.add_exception_handler(RagmemError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _bug)
