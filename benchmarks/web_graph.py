"""Measure how smoothly the graph of the page moves in a headless browser without a graphics card.

A running `ragmem serve` shows the page; the graph that it is given is made here, of groups as names form
them, with ends between the groups. While a hand pans, zooms, hovers and drags, the page counts its frames:
the time between two calls of requestAnimationFrame, which is 16.7 ms at best. At rest tells what the machine
itself allows: no gesture can be smoother than a page on which nothing happens.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import common

SEED = 11
GROUP = 60
TYPES = ("symbol", "file", "tool", "library", "service", "config", "concept", "project", "person", "error")
NAMES = ("chromium", "chromium-browser", "google-chrome")
GOAL = 30

COUNT_FRAMES = """() => {
    const counted = { frames: [], going: true };
    let last = 0;
    const step = now => {
        if (last) counted.frames.push(now - last);
        last = now;
        if (counted.going) requestAnimationFrame(step);
    };
    window.counted = counted;
    requestAnimationFrame(step);
}"""
FRAMES = "() => { window.counted.going = false; return window.counted.frames; }"


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=2_000, metavar="N", help="nodes of the graph")
    parser.add_argument("--edges", type=int, default=5_000, metavar="N", help="edges of the graph")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each gesture is made")
    options = parser.parse_args()
    if options.quick:
        options.nodes, options.edges, options.rounds = 300, 700, 1
    path = os.environ.get("RAGMEM_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise SystemExit("no Chromium: set RAGMEM_TEST_CHROMIUM to its path")
    document: dict[str, Any] = {
        "machine": common.machine(),
        "nodes": options.nodes,
        "edges": options.edges,
        "rounds": options.rounds,
        "gestures": {},
    }
    graph = made_graph(options.nodes, options.edges)
    with common.temporary_folder("web") as folder, serving(folder) as (url, token):
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            document["browser"] = browser.version
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(180_000)
            body = json.dumps(graph)
            page.route(
                re.compile(r"/v1/memory/graph\?"),
                lambda asked: asked.fulfill(body=body, content_type="application/json"),
            )
            page.goto(f"{url}/#token={token}")
            page.locator(".rail").wait_for()
            begun = time.perf_counter()
            page.evaluate("() => { location.hash = '#/graph?size=2000' }")
            page.locator(".graph-top[data-settled]").wait_for()
            document["settled_s"] = time.perf_counter() - begun
            common.tell(f"settled after {document['settled_s']:.1f} s")
            document["gestures"] = measured(page, options.rounds)
            browser.close()
    report(document, options)


def made_graph(count: int, edges: int) -> dict[str, Any]:
    """Return a graph of groups as the server would give it; half the ends go to the first of a group."""
    dice = random.Random(SEED)
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < edges:
        one = dice.randrange(count)
        start = one - one % GROUP
        near = dice.random() < 0.92
        other = (
            start + int(dice.random() ** 2.2 * min(GROUP, count - start)) if near else dice.randrange(count)
        )
        if one != other:
            pairs.add((min(one, other), max(one, other)))
    degrees = [0] * count
    for one, other in pairs:
        degrees[one] += 1
        degrees[other] += 1
    nodes = [
        {
            "name": f"{dice.choice(('wave', 'store', 'Queue', 'parse', 'Cache', 'tide'))}_{number}",
            "type": dice.choice(TYPES),
            "degree": degrees[number],
            "memories": 1 + degrees[number],
            "project": 0,
            "first": 1_740_000_000 + number * 3_600,
            "last": 1_770_000_000 + number * 3_600,
        }
        for number in range(count)
    ]
    return {
        "projects": ["user"],
        "types": {},
        "nodes": nodes,
        "edges": [[one, other, 1.0] for one, other in sorted(pairs)],
        "total_nodes": count,
        "total_edges": len(pairs),
        "is_truncated": False,
    }


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, str]]:
    """Give address and token of a server over an empty home."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ragmem", "serve", "--port", "0"],
        env=common.environment(folder) | {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"},
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        found = None
        while found is None:
            line = process.stderr.readline()
            if not line:
                raise SystemExit("the server did not start")
            found = re.match(r"listening on (http://\S+), token in (.+)\n", line)
        yield found[1], Path(found[2]).read_text().strip()
    finally:
        process.terminate()
        process.communicate()


def measured(page: Any, rounds: int) -> dict[str, dict[str, float]]:
    """Return the frames a second of each gesture: the median, and what 95 of 100 frames are faster than."""
    box = page.locator(".graph-top").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def along(steps: int, place: Callable[[float], tuple[float, float]]) -> None:
        for step in range(steps):
            page.mouse.move(*place(step / steps))

    def pan() -> None:
        corner = (box["x"] + box["width"] - 40, box["y"] + box["height"] - 40)
        page.mouse.move(*corner)
        page.mouse.down()
        along(150, lambda share: (corner[0] - 500 * share, corner[1] - 300 * share))
        along(150, lambda share: (corner[0] - 500 * (1 - share), corner[1] - 300 * (1 - share)))
        page.mouse.up()

    def zoom() -> None:
        page.mouse.move(*middle)
        for turn in [-40] * 60 + [40] * 60:
            page.mouse.wheel(0, turn)

    def hover() -> None:
        along(250, lambda share: (middle[0] - 400 + 800 * share, middle[1] - 250 + (share * 3_700) % 500))

    def drag() -> None:
        place = page.evaluate("() => window.ragmemGraph.placeOf(window.ragmemGraph.nodes[0].id)")
        start = (box["x"] + place["x"], box["y"] + place["y"])
        page.mouse.move(*start)
        page.mouse.down()
        along(250, lambda share: (start[0] + 250 * share, start[1] + 120 * share))
        page.mouse.up()

    def rest() -> None:
        page.wait_for_timeout(4_000)

    found = {}
    for name, gesture in (("at rest", rest), ("pan", pan), ("zoom", zoom), ("hover", hover), ("drag", drag)):
        frames: list[float] = []
        for _ in range(rounds):
            page.evaluate("() => window.ragmemGraph.fit()")
            page.wait_for_timeout(600)
            page.evaluate(COUNT_FRAMES)
            gesture()
            frames += page.evaluate(FRAMES)
        found[name] = {
            "p50": 1000 / common.percentile(frames, 0.5),
            "p5": 1000 / common.percentile(frames, 0.95),
            "frames": len(frames),
            "longest_ms": max(frames),
        }
        common.tell(f"{name}: {found[name]['p50']:.0f} frames a second")
    return found


def report(document: dict[str, Any], options: Any) -> None:
    rows = [
        [name, f"{one['p50']:.0f}", f"{one['p5']:.0f}", f"{one['longest_ms']:.0f}", f"{one['frames']:,}"]
        for name, one in document["gestures"].items()
    ]
    slow = [name for name, one in document["gestures"].items() if one["p5"] < GOAL and name != "at rest"]
    size = f"{document['nodes']:,} nodes and {document['edges']:,} edges, 1440x900"
    notes = [
        f"{size}, Chromium {document['browser']} headless, without a graphics card",
        f"the layout settled after {document['settled_s']:.1f} s; the graph can be moved from the start",
        f"above {GOAL} frames a second in 95 of 100 frames"
        + (f", but for {', '.join(slow)}" if slow else ", for all gestures"),
    ]
    common.report(
        "web_graph",
        document,
        ["gesture", "frames/s p50", "frames/s p5", "longest frame ms", "frames"],
        rows,
        options=options,
        notes=notes,
    )


if __name__ == "__main__":
    main()
