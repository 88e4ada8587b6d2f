"""What every refused request is answered with, and the statuses that any route may answer."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Failure(BaseModel):
    """Why a request was not carried out, in a line, and the next step."""

    model_config = ConfigDict(extra="allow")

    detail: str = Field(description="One line that quotes what was sent.")
    hint: str = Field(default="", description="What to do next; may be empty.")


class Problem(BaseModel):
    """What is wrong with one field of a request."""

    loc: list[str | int] = Field(description="Where it stands: body, query or path, then the names.")
    msg: str
    type: str


class Invalid(BaseModel):
    """A request that is not as the description says; what was sent is not repeated."""

    detail: list[Problem]
    hint: str = ""


_FAILURE, _INVALID = (f"#/components/schemas/{model.__name__}" for model in (Failure, Invalid))

_WHY = {
    400: "It cannot be carried out as it was sent.",
    401: "The token is missing or wrong.",
    403: "It comes from another web page or names another machine.",
    404: "What is named does not exist.",
    409: "Something else stands in the way: other work that runs, or another text in its place.",
    413: "The body is too large.",
    415: "The body is of another type than the description says.",
    429: "Too many requests; `Retry-After` says when to come again.",
    500: "A bug in ragmem, or a store that is damaged.",
    503: "A model cannot be had, or another process writes; `Retry-After` says when to come again.",
    507: "Nothing can be written: the disk is full, or the folder read-only.",
}


def failure_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the statuses of a route as `responses` has them; the models are `description`'s to add.

    They are named, not given: of each that is given FastAPI makes a validator, for each status of each route.
    """
    return {
        status: {
            "description": _WHY.get(status, "The request is not as the description says."),
            "content": {"application/json": {"schema": {"$ref": _INVALID if status == 422 else _FAILURE}}},
        }
        for status in statuses
    }


EVERYWHERE = failure_responses(400, 401, 403, 413, 415, 422, 429, 500, 503, 507)
"""What any route may answer; those that look something up add 404, those that may be in the way 409."""
