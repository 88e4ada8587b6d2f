"""`/.well-known/oauth-protected-resource`: which issuer gives the tokens of this server (RFC 9728)."""

from typing import Any

from fastapi import APIRouter, HTTPException, Request

from ragmem.server.security.guard import RESOURCE_PATH, RESOURCE_PATHS, origin_of
from ragmem.server.security.oauth import ResourceServer


def routes(oauth: ResourceServer | None) -> APIRouter:
    """Return the routes; they answer 404 without an issuer."""
    router = APIRouter(include_in_schema=False)

    async def metadata(request: Request) -> dict[str, Any]:
        """Return the metadata of the resource that the path names."""
        if oauth is None:
            raise HTTPException(404, "no issuer is configured")
        # A proxy may answer under another address; then the audience names it.
        base = oauth.settings.audience.rstrip("/")
        if not base.startswith("https://"):
            base = origin_of(request.scope) + request.url.path.removeprefix(RESOURCE_PATH)
        return oauth.metadata(base)

    for path in sorted(RESOURCE_PATHS):
        router.add_api_route(path, metadata, methods=["GET"])
    return router
