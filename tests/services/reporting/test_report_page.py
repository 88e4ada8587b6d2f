"""The report in a headless browser: nothing is fetched, nothing fails, and it fits a telephone."""

from pathlib import Path

import pytest

from ragmem.api.memory import Ragmem
from ragmem.charts.model import Row, Stacks
from ragmem.services.reporting.page import page
from ragmem.services.reporting.report import Report

from .conftest import NOW

CONTRAST = """
() => {
  const canvas = document.createElement('canvas').getContext('2d');
  const parse = colour => { canvas.fillStyle = colour; const [r, g, b] = [1, 3, 5].map(
    at => parseInt(canvas.fillStyle.slice(at, at + 2), 16) / 255).map(
    part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b };
  const ground = parse(getComputedStyle(document.body).backgroundColor);
  const texts = document.querySelectorAll('h1, h2, h3, p, li, a, figcaption, summary, svg text');
  return Math.min(...[...texts].map(
    one => { const style = getComputedStyle(one);
      const ink = parse(one.tagName === 'text' ? style.fill : style.color);
      return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05) }));
}
"""


@pytest.fixture(scope="module")
def file(known) -> Path:
    path = known.folder / "report.html"
    with Ragmem.open(environ=known.environ, home=known.folder, cwd=known.folder) as memory:
        found = memory.reports.latency(questions=4)
        path.write_text(page(memory.reports.build(where="<Reef> & all", at=NOW, latency=found)))
    return path


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 375), ("dark", 375)]
)
def test_it_opens_alone_reads_well_and_fits(browser, file, scheme, width):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    opened = context.new_page()
    told, asked = [], []
    opened.on("console", lambda said: told.append(said.text))
    opened.on("pageerror", lambda error: told.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(file.as_uri())
    assert opened.title() == "The memory of <Reef> & all"
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    ground = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(13, 17, 23)")
    assert opened.evaluate(CONTRAST) >= 3
    # Letters of plots in a telephone.
    assert opened.evaluate("document.querySelector('svg').getBoundingClientRect().width / 480 * 11") > 7
    assert told == []
    assert asked == [file.as_uri()]
    context.close()


def test_plots_have_names_and_their_numbers_are_reached_by_keyboard(browser, file):
    opened = browser.new_page()
    opened.goto(file.as_uri())
    assert opened.get_by_role("img").count() == opened.locator("figure").count() == 17
    opened.get_by_role("img", name="Ages of the memories").wait_for()
    assert opened.get_by_role("figure", name="Tiers per source").count() == 1
    assert opened.get_by_role("navigation", name="Contents").get_by_role("link").count() == 6
    summary = opened.locator("#ages summary")
    summary.focus()
    opened.keyboard.press("Enter")
    table = opened.get_by_role("table", name="Ages of the memories")
    assert table.is_visible()
    assert table.get_by_role("row").count() == 10
    assert table.get_by_role("columnheader").all_inner_texts()[0] == "age, by the time of the event"
    opened.keyboard.press("Tab")
    assert (
        opened.evaluate("document.activeElement.getAttribute('aria-label')")
        == "Ages of the memories: numbers"
    )
    for link in opened.locator("nav a").all():
        assert opened.locator(link.get_attribute("href")).count() == 1
    ids = opened.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))
    opened.close()


def test_no_number_is_broken_in_a_telephone_where_the_table_scrolls(browser, tmp_path):
    file = tmp_path / "wide.html"
    parts = [f"the part of number {number}" for number in range(6)]
    plot = Stacks("Wide", "memories", parts, [Row("a" * 60, [1_234_567] * 6)])
    file.write_text(page(Report("x" * 90, NOW, "0", False, 7_407_402, ["y" * 90], {"tiers": plot})))
    opened = browser.new_page(viewport={"width": 375, "height": 800})
    opened.goto(file.as_uri())
    opened.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert opened.evaluate("document.documentElement.scrollWidth") <= 375
    broken = opened.evaluate(
        "[...document.querySelectorAll('td')].filter(one => { const range = document.createRange();"
        " range.selectNodeContents(one); return range.getClientRects().length > 1 }).length"
    )
    assert broken == 0
    opened.close()


def test_on_paper_it_is_black_on_white_without_what_one_would_click(browser, file):
    context = browser.new_context(color_scheme="dark")
    opened = context.new_page()
    opened.goto(file.as_uri())
    opened.emulate_media(media="print", color_scheme="dark")
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not opened.locator("nav").is_visible()
    assert not opened.locator("#ages summary").is_visible()
    assert opened.locator("#ages svg").is_visible()
    assert opened.pdf().startswith(b"%PDF")
    context.close()
