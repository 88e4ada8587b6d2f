"""The models of error answers, and the statuses that any route may return."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Failure(BaseModel):
    """The reason of a failed request in a line, and the next step."""

    model_config = ConfigDict(extra="allow")

    detail: str = Field(description="One line that quotes what was sent.")
    hint: str = Field(default="", description="The next step; may be empty.")


class Problem(BaseModel):
    """The problem of one field of a request."""

    loc: list[str | int] = Field(description="Its location: body, query or path, then the names.")
    msg: str
    type: str


class Invalid(BaseModel):
    """An invalid request; the answer does not repeat its content."""

    detail: list[Problem]
    hint: str = ""


_FAILURE, _INVALID = (f"#/components/schemas/{model.__name__}" for model in (Failure, Invalid))

_WHY = {
    400: "The request cannot be carried out.",
    401: "The token is missing or wrong.",
    403: (
        "The request comes from another web page, has another host name, or needs a role that the member "
        "lacks."
    ),
    404: "The named resource does not exist.",
    409: "A conflict: another job runs, or the name has another text.",
    413: "The body is too large.",
    415: "The content type of the body is not supported.",
    429: "Too many requests; `Retry-After` says when to retry.",
    500: "A bug in ragmem, or a damaged store.",
    503: "A model is unavailable, or another process writes; `Retry-After` says when to retry.",
    507: "Nothing can be written: the disk is full, or the folder is read-only.",
}


def failure_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route for these statuses; `server.description` adds the models.

    The models are only referenced: FastAPI makes a validator of each given one, per status and route.
    """
    return {
        status: {
            "description": _WHY.get(status, "The request does not match the description."),
            "content": {"application/json": {"schema": {"$ref": _INVALID if status == 422 else _FAILURE}}},
        }
        for status in statuses
    }


EVERYWHERE = failure_responses(400, 401, 403, 413, 415, 422, 429, 500, 503, 507)
"""The statuses of any route; routes that look something up add 404, those with conflicts 409."""
