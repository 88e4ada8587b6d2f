"""The fields that several requests and answers of `/v1/memory` share."""

from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
)

from ragmem.server.http.failure_models import failure_responses

PREFIX = "/v1/memory"

ROUTER: dict[str, Any] = {"prefix": PREFIX, "responses": failure_responses(404)}
"""The options of a router of this interface."""

MOST = 200
"""Maximum items of a page."""

PAGE = 50
"""Default number of items of a page."""

_PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
_ID = r"^[A-Za-z0-9]{4,26}$"
_SINCE = (
    r"^(\d{1,5} ?[hdwmyHDWMY]|[12]\d{3}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?"
    r"(Z|[+-]\d{2}:\d{2})?)?|now|today|yesterday)$"
)


Label = Annotated[str, StringConstraints(max_length=1_024, pattern=_PRINTABLE)]
"""A name on one line."""

_ID_DESCRIPTION = "A memory's id, or a unique prefix of 4 characters or more."

Id = Annotated[str, StringConstraints(pattern=_ID), Field(description=_ID_DESCRIPTION)]

IdInPath = Annotated[str, Path(description=_ID_DESCRIPTION, pattern=_ID, examples=["3q7hn2zk5x4m"])]

Since = Annotated[
    str,
    Query(
        description="From this time on: a date, a timestamp, or a period before now (`7d`, `3w`, `6m`).",
        pattern=_SINCE,
        examples=["2026-03-15", "30d"],
    ),
]

Until = Annotated[
    str,
    Query(
        description="Before this time, in the format of `since`.",
        pattern=_SINCE,
        examples=["2026-06-01"],
    ),
]

When = Annotated[str, StringConstraints(pattern=_SINCE)]
"""A moment in the body of a request, in the format of `Since`."""

Projects = Annotated[
    list[Label] | None,
    Query(
        max_length=100,
        description="Only these projects: name, id, or `user`; repeatable. Without it all projects.",
    ),
]

Cursor = Annotated[
    str,
    Query(
        max_length=2_048,
        pattern=r"^[A-Za-z0-9_-]*$",
        description="`next` of the previous page; the other parameters stay the same.",
    ),
]

Limit = Annotated[int, Query(ge=1, le=MOST, description="Maximum items.")]


def _is_true(value: bool) -> bool:  # noqa: FBT001 - pydantic calls it so
    if not value:
        raise ValueError("it must be true")
    return value


def _refuse_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("it must be a number")  # noqa: TRY004 - pydantic takes no TypeError
    return value


NOT_BOOLEAN = BeforeValidator(_refuse_boolean)
"""For an integer in a body: as in JSON, 616.0 is an integer too, but true is not."""

Confirmed = Annotated[
    StrictBool,
    AfterValidator(_is_true),
    Field(description="Must be true, to prevent accidents.", json_schema_extra={"const": True}),
]
"""The confirmation of a request; 1 is not true."""

Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time in a response: RFC 3339 in UTC, to the second."""


class Shape(BaseModel):
    """A part of an answer; further fields may come with later releases."""

    model_config = ConfigDict(extra="allow")


class Request(BaseModel):
    """The body of a request; an unknown field is refused rather than ignored."""

    model_config = ConfigDict(extra="forbid")
