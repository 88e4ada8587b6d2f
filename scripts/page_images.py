"""Draw docs/images/web-*.png, the page of `ragmem serve` on a copy of the example home.

A Chromium is needed; the variable RAGMEM_TEST_CHROMIUM names it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from explorer_images import IMAGES, ROOT, fill

# Name of the picture -> the place in the page, and what is waited for.
PICTURES = {
    "search": ("search?q=why+did+the+deploy+answer+502", ".answers:not(.waiting) .result"),
    "graph": ("graph", "canvas"),
    "graph-name": ("graph?entity=PostgreSQL", "[aria-label=Name] h2"),
    "timeline": ("timeline", ".days"),
    "lifecycle": ("lifecycle", ".card"),
    "agents": ("agents", ".card, .empty"),
    "health": ("health", ".health:not(:has(.skeleton))"),
}
SIZES = {"": (1440, 900), "phone-": (390, 844)}
COLOURS = 256
"""Colours of a picture, chosen so that rare ones stay: half of the bytes."""


def main() -> int:
    """Make the home, serve it, and write the pictures."""
    browser = (
        os.environ.get("RAGMEM_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    if browser is None:
        sys.stderr.write("no Chromium: set RAGMEM_TEST_CHROMIUM to its path\n")
        return 2
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent).resolve() / "tideline"
        shutil.copytree(ROOT / "examples" / "home", folder)
        os.environ["HOME"], os.environ["RAGMEM_HOME"] = str(folder), str(folder / ".ragmem")
        os.chdir(folder)
        fill(folder)
        _run("agents", "heartbeat", "builder", "--task", "moves the importer")
        _run("agents", "signal", "message", "builder", "the migration is done", "--from", "reviewer")
        with subprocess.Popen(
            [sys.executable, "-m", "ragmem", "serve", "--port", "0"], stderr=subprocess.PIPE, text=True
        ) as served:
            try:
                _draw(browser, _address(served))
            finally:
                served.terminate()
        os.chdir(ROOT)
    return 0


def _run(*arguments: str) -> str:
    command = [sys.executable, "-m", "ragmem", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _address(served: "subprocess.Popen[str]") -> str:
    assert served.stderr is not None
    for line in served.stderr:
        if found := re.search(r"http://[\d.:]+", line):
            return found[0]
    raise SystemExit("the server did not start")


def _draw(browser: str, address: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                context = chromium.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme=scheme,
                    reduced_motion="reduce",
                )
                page = context.new_page()
                page.goto(f"{address}/#token={_run('serve', '--print-token')}")
                page.get_by_role("button", name="Close").click()
                for name, (place, awaited) in PICTURES.items():
                    if not size or (name, scheme) == ("search", "light"):
                        _keep(page, place, awaited, IMAGES / f"web-{size}{name}-{scheme}.png")
                context.close()
        chromium.close()


def _keep(page: Any, place: str, awaited: str, path: Path) -> None:
    from PIL import Image

    page.evaluate("place => { location.hash = place }", f"#/{place}")
    page.locator(awaited).first.wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(800)  # the graph comes to rest
    Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(
        path, optimize=True
    )


if __name__ == "__main__":
    sys.exit(main())
