"""What people see on a terminal: it fits, its words are those of a pipe, and colour never stands alone."""

import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from quick_commands import COMMANDS as PROCESSES

CODE = re.compile(r"\x1b\[([0-9;]*)m")
LINES = str.maketrans(dict.fromkeys("─│•▌|#", " "))

TEXTS = {
    "deploys": "# Deploys\n\nThe deploys answered 502 because uvicorn never got SIGTERM.\n\n"
    "- see [the log](http://host.example/log?a=1&b=2) and <b>the tag</b>\n- `exec` is *the fix*\n\n"
    "| port | name |\n|------|------|\n| 8080 | api |\n\n```python\nx = 1\n```\n\n![chart](chart.png)\n[1]: http://a.example\n",
    "部署": "部署失败了、因为数据库的端口没有打开。部署前请检查端口、然后重新启动服务器并且查看日志文件。\n",
    "word": f"The longest word is {'long' * 60} and nothing else of the matter.\n",
}

VIEWS = [
    ("inspect", "memories", "--all"),
    ("inspect", "stats"),
    ("inspect", "sources"),
    ("gc", "--dry-run", "--all", "--quiet"),
    ("query", "--all", "why did the deploy answer 502"),
    ("query", "--all", "--explain", "部署 端口"),
    ("query", "--all", "the longest word"),
    ("context", "--all", "why did the deploy answer 502"),
    ("seed", "--dry-run"),
    ("doctor", "--read-only"),
]


def on_terminal(*arguments, columns=100, **environ):
    """Return the exit code and what a command writes to a terminal of some columns."""
    fake = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
    environ = {**os.environ, **fake, "TERM": "xterm", "COLUMNS": str(columns), **environ}
    code, written = PROCESSES.on_terminal(arguments, environ=environ, cwd=Path.cwd())
    # A bar, which writes over itself, and notes are no part of the answer.
    text = re.sub(r"[^\n]*\r(?!\n)", "", written.decode()).replace("\r\n", "\n")
    return code, re.sub(
        r"^(?:note|not read): .*", "", re.sub(r"\x1b\[\??\d*[A-Zhl]", "", text), flags=re.MULTILINE
    )


def plain(text):
    return CODE.sub("", text)


def width(line):
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)


@pytest.fixture
def ids(ragmem):
    """Return the ids of the stored texts by title."""
    return {
        title: ragmem("ingest", "-", "--project", "user", "--title", title, stdin=text).stdout.split()[0]
        for title, text in TEXTS.items()
    }


@pytest.mark.parametrize("columns", [60, 80, 140])
@pytest.mark.usefixtures("ids")
def test_nothing_is_wider_than_the_terminal(columns):
    for view in VIEWS:
        _, text = on_terminal(*view, columns=columns)

        assert max(map(width, plain(text).splitlines())) <= columns, (view, text)


@pytest.mark.parametrize("columns", [60, 400])
def test_a_terminal_is_told_the_words_of_a_pipe(ids, ragmem, columns):
    for view in [*VIEWS[:4], *VIEWS[4:6], ("inspect", "memory", ids["deploys"])]:
        _, text = on_terminal(*view, columns=columns)
        piped = ragmem(*view).stdout

        shown = "".join(plain(text).translate(LINES).split())
        words = re.findall(r"[^\s`*|#]+", piped)
        lost = [word for word in words if word not in shown and word.strip("-")]
        # The date of a measured age may change between two commands.
        assert not [word for word in lost if not re.search(r"\d\.\d|\d [kM]?B", word)], (view, text)


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_plain_terminal_is_told_what_a_pipe_is(ids, ragmem, environ):
    for view in [*VIEWS[:1], VIEWS[3], ("inspect", "memory", ids["deploys"]), ("help",)]:
        _, text = on_terminal(*view, **environ)

        assert text == ragmem(*view).stdout


@pytest.mark.usefixtures("ids")
def test_only_the_eight_basic_colours_are_used():
    for view in VIEWS:
        for found in CODE.finditer(on_terminal(*view, columns=80)[1]):
            codes = set(map(int, filter(None, found[1].split(";"))))
            assert codes <= {0, 1, 2, 3, 4, 9, 39, *range(30, 38)}, (view, found[0])


def test_the_words_of_the_question_are_marked_in_any_form(ids):
    _, text = on_terminal("query", "--all", "why did the deploy answer 502")

    marked = set(re.findall(r"\x1b\[1;35m(.*?)\x1b\[0m", text))
    assert {"deploys", "answered", "502"} <= marked
    assert not {"The", "the", "because"}.intersection(marked)
    _, text = on_terminal("query", "--all", "端口")
    assert "\x1b[1;35m端口\x1b[0m" in text
    assert "\x1b[1;35m部署" not in text


def test_markdown_of_a_memory_is_rendered_and_none_of_it_is_lost(ids):
    _, text = on_terminal("inspect", "memory", ids["deploys"])

    assert "\x1b[1mDeploys\x1b[0m" in text
    shown = plain(text)
    assert "• see [the log](http://host.example/log?a=1&b=2) and <b>the tag</b>" in shown
    assert "exec is the fix" in shown.replace("`", "").replace("*", "")
    assert "| 8080 | api |" in shown
    assert "    x = 1" in shown
    assert "![chart](chart.png)\n[1]: http://a.example" in shown


def test_stored_control_sequences_reach_no_terminal(ragmem):
    stored = ragmem(
        "ingest", "-", "--project", "user", stdin="# A \x1b]0;owned\x07 title\n\n- `\x1b[31mred`\n"
    )

    for view in (("inspect", "memory", stored.stdout.split()[0]), ("query", "--all", "title red"), VIEWS[0]):
        _, text = on_terminal(*view)
        assert "\x1b]" not in text
        assert "\x1b[31m" not in text
        assert "\x07" not in text


def test_a_name_with_a_line_end_adds_no_line(ragmem, tmp_path):
    name = tmp_path / "pier\n1. Invented.md"
    name.write_text("# Mooring\n\nThe narwhal moors at the northern pier.\n")
    ragmem("ingest", str(name))
    lines = ragmem("query", "narwhal", "--limit", "1").stdout.splitlines()
    assert [line for line in lines if line.startswith("1. ")] == [
        "1. Mooring  " + lines[0].rpartition(" ")[2]
    ]


@pytest.mark.usefixtures("ids")
def test_a_status_is_a_word_and_a_colour():
    _, text = on_terminal("doctor", "--read-only", columns=140)

    assert re.search(r"\x1b\[32mok *\x1b\[0m", text)
    assert re.search(r"\x1b\[1;33mwarning *\x1b\[0m", text)


def test_a_terminal_of_another_locale_gets_no_character_that_it_lacks(ids):
    code, text = on_terminal("inspect", "memory", ids["deploys"], PYTHONIOENCODING="ascii")
    assert code == 0
    assert text.isascii()
    code, text = on_terminal(*VIEWS[0], columns=140, LC_ALL="C")
    assert code == 0
    assert "─" not in text


@pytest.mark.usefixtures("ids")
def test_a_pipe_does_not_load_what_draws(monkeypatch):
    for name in ("MODELS", "STORE"):
        monkeypatch.setenv(f"RAGMEM_{name}_BACKEND", "fake")
    code = "import sys; from ragmem.__main__ import run; run(sys.argv[1:]); print('MODULES', *sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", code, "query", "--all", "why did the deploy answer 502"],
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(done.stdout.rpartition("MODULES ")[2].split())
    assert "ragmem.services.retrieval.query" in loaded
    assert not loaded.intersection({"rich", "markdown_it", "ragmem.cli.terminal"})
