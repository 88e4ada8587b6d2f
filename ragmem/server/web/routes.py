"""The routes of the page: its files are read once at the start, and no path of a request is ever opened."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated

import orjson
from fastapi import APIRouter, Path
from fastapi.responses import Response
from starlette.exceptions import HTTPException

INDEX = "index.html"
MANIFEST = "manifest.json"

FOREVER = "public, max-age=31536000, immutable"
"""A name has the digest of what is in the file: another content has another name."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A built file with its media type."""

    content: bytes
    media_type: str


def assets() -> dict[str, Asset]:
    """Return the built files by name, as the manifest beside them lists them."""
    folder = files("ragmem.server.web") / "static"
    listed = orjson.loads((folder / MANIFEST).read_bytes())["files"]
    return {name: Asset((folder / name).read_bytes(), about["type"]) for name, about in listed.items()}


def routes() -> APIRouter:
    """Return the routes of the page; they hold nothing private and need no token."""
    router = APIRouter(include_in_schema=False)
    table = assets()
    index = table.pop(INDEX)

    @router.api_route("/", methods=["GET", "HEAD"])
    async def page() -> Response:
        """Return the page, built each time: it names the files of this release."""
        return Response(
            index.content, headers={"Content-Type": index.media_type, "Cache-Control": "no-store"}
        )

    @router.api_route("/assets/{name}", methods=["GET", "HEAD"])
    async def asset(name: Annotated[str, Path()]) -> Response:
        """Return a file of the page by its name."""
        found = table.get(name)
        if found is None:
            raise HTTPException(404, "no such file of the page")
        return Response(found.content, headers={"Content-Type": found.media_type, "Cache-Control": FOREVER})

    return router
