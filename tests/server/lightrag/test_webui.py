"""LightRAG's own web UI, from the installed package, in a headless browser against a running server."""

import os
import re
import shutil

import httpx
import pytest

from ragmem.server.lightrag.webui import Page, has_page

NAMES = ("chromium", "chromium-browser", "google-chrome")
SCRIPTED = (
    'We decided that Zebrafish is the gateway, because <img src=x onerror="window.ran=1"> and'
    ' <script>window.ran=2</script> <iframe srcdoc="<script>parent.ran=3</script>"></iframe> stood there.'
)


@pytest.fixture
def page():
    browser = os.environ.get("RAGMEM_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        pytest.skip("no Chromium: set RAGMEM_TEST_CHROMIUM to its path")
    if not has_page(Page.ADMIN):
        pytest.skip("the installed lightrag-hku has no web UI")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = started.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(90_000)
        yield page
        started.close()


def test_lightrags_web_ui_asks_for_the_key_and_shows_documents_graph_and_answers(page, own_server):
    server = own_server
    httpx.post(
        f"{server.url}/documents/text",
        headers=server.headers,
        json={"text": SCRIPTED, "file_source": "zebra.md"},
    ).raise_for_status()
    errors = []
    page.on("pageerror", lambda error: errors.append(error))  # noqa: PLW0108 - it marks what it is given
    page.goto(f"{server.url}/webui/")
    key = page.get_by_placeholder("Enter your API key")
    key.fill(server.token)
    page.get_by_role("button", name="Save").click()
    key.wait_for(state="hidden")
    page.reload()
    page.get_by_text("Completed (4)").wait_for()
    page.get_by_text("We decided to deploy PostgreSQL 16").wait_for()

    page.get_by_role("tab", name="Knowledge Graph").click()
    page.get_by_text(re.compile(r"node: [1-9]")).wait_for()

    page.get_by_role("tab", name="Retrieval").click()
    for question, said in (
        ("why PostgreSQL with Kubernetes", "never resized"),
        ("/naive Zebrafish", "is the gateway"),
    ):
        page.locator("#query-input").fill(question)
        page.keyboard.press("Enter")
        page.get_by_text(said).filter(visible=True).first.wait_for()
    assert page.evaluate("window.ran") is None
    assert page.locator("iframe").count() == 0
    assert not errors
