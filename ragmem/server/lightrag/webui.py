"""LightRAG's web UI, served from the installed package without an import of it."""

import json
from enum import Enum
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from ragmem.server.lightrag.server_models import TITLE

PLACEHOLDER = "<!-- __LIGHTRAG_RUNTIME_CONFIG__ -->"
"""The place for the configuration in LightRAG's page."""

CONFIGURATION = "config.js"
"""The name of the script with the configuration; the package has no such file."""

CACHED = "public, max-age=31536000, immutable"
"""For files whose names change with their content."""


class Page(Enum):
    """The two pages of the package: the one with all tabs, and the one for questions only."""

    ADMIN = ("/webui", "index.html")
    WORKSPACE = ("/workspace", "workspace.html")

    def __init__(self, path: str, file: str) -> None:
        self.path = path
        self.file = file


@lru_cache(maxsize=1)
def folder() -> Path | None:
    """Return the folder of the package's web UI; None if package or folder is missing."""
    found = find_spec("lightrag")
    for place in (found.submodule_search_locations if found else None) or ():
        built = Path(place, "api", "webui")
        if built.is_dir():
            return built
    return None


def has_page(page: Page) -> bool:
    """Return whether a page can be served."""
    built = folder()
    return built is not None and (built / page.file).is_file()


def configuration(page: Page) -> str:
    """Return the script with a page's configuration: all paths begin at the root of this server."""
    values = {"apiPrefix": "", "webuiPrefix": f"{page.path}/", "webuiTitle": TITLE}
    return f"window.__LIGHTRAG_CONFIG__ = {json.dumps(values)};\n"


def add_configuration(html: str, page: Page) -> str:
    """Return a page that loads its configuration.

    LightRAG's server writes it into the page itself. A policy that allows inline scripts would also run a
    script in a memory, because the page renders answers as Markdown with their HTML.
    """
    script = f'<script src="{page.path}/{CONFIGURATION}"></script>'
    return html.replace(PLACEHOLDER, script, 1).replace("<title>LightRAG</title>", f"<title>{TITLE}</title>")


class _Files(StaticFiles):
    """The assets of a page; the pages themselves are served only with their configuration."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if path.lower().endswith(".html") or path in {"", "."}:
            raise HTTPException(404)
        response = await super().get_response(path, scope)
        if path.startswith("assets/"):
            response.headers["Cache-Control"] = CACHED
        return response


def routes() -> APIRouter:
    """Return the routes of the installed pages; missing pages answer 404."""
    router = APIRouter(include_in_schema=False)
    for page in Page:
        _serve(router, page)
    return router


def _serve(router: APIRouter, page: Page) -> None:
    @router.get(page.path, name=f"{page.name} redirect")
    async def redirect() -> RedirectResponse:
        return RedirectResponse(f"{page.path}/")

    built = folder()
    if built is None or not has_page(page):

        @router.get(f"{page.path}/", name=f"{page.name} missing")
        async def missing() -> Response:
            raise HTTPException(404, "the installed lightrag-hku has no web UI")

        return
    html = add_configuration((built / page.file).read_text(encoding="utf-8"), page)

    @router.get(f"{page.path}/", name=page.name)
    @router.get(f"{page.path}/{page.file}", name=f"{page.name} by name")
    async def show() -> HTMLResponse:
        return HTMLResponse(html)

    @router.get(f"{page.path}/{CONFIGURATION}", name=f"{page.name} configuration")
    async def configure() -> Response:
        return Response(configuration(page), media_type="text/javascript")

    router.mount(page.path, _Files(directory=built), name=f"{page.name} files")
