"""`ragmem help` lists the pages of the documentation, as they are or by their headings."""

import json
import os
import pty
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(path.stem for path in DOCS.glob("*.md") if path.stem != "README")


def test_all_pages_are_listed_with_their_titles(ragmem):
    done = ragmem("help")

    listed = dict(re.findall(r"^(\S+) {2,}(\S.*)$", done.stdout, re.MULTILINE))
    assert [name for name in listed if name != "page"] == PAGES
    assert listed["query"] == (DOCS / "query.md").read_text().splitlines()[0].removeprefix("# ")
    assert json.loads(ragmem("help", "--json").stdout)["pages"][0]["name"] == PAGES[0]


def test_a_page_is_shown_verbatim_but_for_the_marks_of_generated_parts(ragmem):
    written = (DOCS / "benchmarks.md").read_text()
    assert "<!--" in written

    shown = ragmem("help", "benchmarks").stdout

    assert "<!--" not in shown
    assert shown.splitlines() == re.sub(r"<!--.*?-->\n?", "", written, flags=re.DOTALL).splitlines()
    assert ragmem("help", "Benchmarks.md").stdout == shown


def test_words_behind_a_page_choose_sections_by_their_headings(ragmem):
    heading = re.findall(r"^## (\w.*)$", (DOCS / "query.md").read_text(), re.MULTILINE)[1]

    shown = ragmem("help", "query", heading.upper()).stdout

    assert shown.startswith(f"## {heading}\n")
    assert len(re.findall(r"^## ", shown, re.MULTILINE)) == 1


def test_a_comment_in_a_code_block_is_no_heading(ragmem):
    for page in PAGES:
        text = (DOCS / f"{page}.md").read_text()
        fences = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)
        comments = [line for fence in fences for line in fence.splitlines() if line.startswith("# ")]
        if comments and page != "cli":
            break
    assert not ragmem("help", page, comments[0][2:]).stdout.startswith(comments[0])


def test_words_of_no_page_name_the_places_where_they_stand(ragmem):
    headings = [
        {
            word
            for line in (DOCS / f"{page}.md").read_text().splitlines()
            if line.startswith("## ")
            for word in line.split()
        }
        for page in PAGES
    ]
    counts = Counter(word for words in headings for word in words if re.fullmatch("[a-z]{6,}", word))
    word = next(word for word, pages in counts.most_common() if pages > 1 and word not in PAGES)

    shown = ragmem("help", word).stdout

    places = re.findall(r'`ragmem help (\S+) "(.+)"`', shown)
    assert len(places) > 1
    page, heading = places[0]
    assert ragmem("help", page, heading).stdout.lstrip("# ").startswith(heading)


def test_a_command_without_a_page_shows_its_help(ragmem):
    assert "seed" not in PAGES
    assert ragmem("seed", "--help").stdout.strip() in ragmem("help", "seed").stdout
    assert ragmem("models", "use", "--help").stdout.strip() not in ragmem("help", "models").stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("warmm",), 'did you mean "warm"?' if "warm" in PAGES else "did you mean"),
        (("xyzzy", "plugh"), "`ragmem help` lists the pages"),
        (("query", "xyzzy"), "`ragmem help` lists the pages"),
    ],
)
def test_what_nothing_says_is_an_error_with_a_next_step(words, told, ragmem):
    done = ragmem("help", *words)

    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_on_a_terminal_a_page_is_rendered_in_a_pager():
    main, other = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "PAGER": "cat", "COLUMNS": "70"}
    environ.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-m", "ragmem", "help", "doctor"], stdout=other, stdin=other, env=environ
    ) as started:
        os.close(other)
        seen = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:
                break
            if not part:
                break
            seen += part
        assert started.wait(timeout=30) == 0
    os.close(main)
    text = seen.decode()
    assert "\x1b[" in text
    assert "## " not in text
    assert "ragmem doctor" in text
