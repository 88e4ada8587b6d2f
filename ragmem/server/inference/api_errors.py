"""Errors in the shape of OpenAI's API, which its clients turn into their own exceptions."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from ragmem.errors import RagmemError
from ragmem.server.http.failure_models import failure_responses
from ragmem.server.http.failures import RETRY_AFTER, status_of

INVALID = "invalid_request_error"
_BUSY = frozenset({429, 503})


class RefusalDetail(BaseModel):
    """The error in the form that OpenAI's clients read."""

    message: str = Field(description="The error and the next step, in one line.")
    type: str = Field(description="`invalid_request_error`, `server_error` or `rate_limit_error`.")
    param: str | None = Field(default=None, description="The invalid field.")
    code: str | None = Field(default=None, description="`model_not_found`, `context_length_exceeded` ...")


class Refusal(BaseModel):
    """An error of the models' routes."""

    error: RefusalDetail


class ApiError(Exception):
    """A refused request, with the error fields of OpenAI's API."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.code = code


def error_response(
    status: int, message: str, *, param: str | None = None, code: str | None = None
) -> JSONResponse:
    """Return the answer for an error."""
    headers = {"Retry-After": RETRY_AFTER} if status in _BUSY else None
    detail = detail_of(status, message, param=param, code=code)
    return JSONResponse({"error": detail}, status_code=status, headers=headers)


def detail_of(
    status: int, message: str, *, param: str | None = None, code: str | None = None
) -> dict[str, Any]:
    """Return the fields of `error`."""
    kind = {429: "rate_limit_error"}.get(status, INVALID if status < 500 else "server_error")
    return RefusalDetail(message=message, type=kind, param=param, code=code).model_dump()


def error_text(error: RagmemError) -> str:
    """Return an error and its hint in one line."""
    return f"{error}; {error.hint}" if error.hint else str(error)


class ModelsRoute(APIRoute):
    """A route with errors in OpenAI's format."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with translated errors."""
        handle = super().get_route_handler()

        async def translate_errors(request: Request) -> Response:
            try:
                return await handle(request)
            except ApiError as error:
                return error_response(error.status, str(error), param=error.param, code=error.code)
            except RequestValidationError as error:
                first = error.errors()[0]
                place = ".".join(str(step) for step in first["loc"] if step != "body")
                return error_response(
                    400, f"{place}: {first['msg']}" if place else first["msg"], param=place or None
                )
            except RagmemError as error:
                return error_response(status_of(error), error_text(error))
            except HTTPException as error:
                return error_response(error.status_code, str(error.detail))

        return translate_errors


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error answers of a route: in OpenAI's format, and the guard's in both formats."""
    ours = {
        400: "The request is invalid, or the model does not support it.",
        404: "There is no such model.",
        413: "The body is too large.",
        429: "Too many requests; `Retry-After` says when to retry.",
        503: "The model is unavailable, or none is configured.",
    }
    shaped: dict[int | str, dict[str, Any]] = {
        status: {"model": Refusal, "description": ours[status]} for status in statuses
    }
    return {**failure_responses(401, 403), **shaped}
