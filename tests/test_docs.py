"""The documentation leads where it says: links, anchors, and commands that the command line takes."""

import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import pytest
import typer
from typer._click import exceptions

from ragmem.cli.app import build

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob(".github/**/*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ],
    key=str,
)
IDS = [str(page.relative_to(ROOT)) for page in PAGES]

FENCE = re.compile(r"^( *)(`{3,}|~{3,})[^\n]*\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(
    r"(?<!\\)!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^()\s<>]*(?:\([^()\s]*\)[^()\s]*)*)>?(?: +\"[^\"]*\")?\)"
)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
ANCHOR = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")


def prose(text):
    """Return a page without its blocks and spans of code."""
    return SPAN.sub(lambda match: " " * len(match[0]), FENCE.sub("", text))


@cache
def anchors(page):
    """Return the anchors that GitHub makes for a page's headings, and those that it names itself."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    found = set(ANCHOR.findall(text))
    for heading in HEADING.findall(text):
        told = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", told.lower()).replace(" ", "-")
        number = 0
        while (name := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(name)
    return found


def broken(page):
    """Yield the links of a page that lead nowhere."""
    for target in LINK.findall(prose(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists():
            yield f"{target}: there is no such file"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there):
            yield f"{target}: there is no such heading"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_link_leads_somewhere(page):
    assert list(broken(page)) == []


def test_the_map_has_every_page():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    linked = {target.partition("#")[0] for target in LINK.findall(prose(index))}
    assert {page.name for page in ROOT.glob("docs/*.md")} - linked == {"README.md"}


def test_a_link_that_leads_nowhere_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n[a](#a-page) [b](#b) [c](c.md) `[d](d.md)` [e](https://example.com)\n")
    assert [line.partition(":")[0] for line in broken(page)] == ["#b", "c.md"]


# These show what is wrong, or what was once.
UNCHECKED = {"CHANGELOG.md", "docs/errors.md"}


def test_every_dependency_has_its_line():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for name in extras if name != "all" for line in extras[name])]
    rows = [
        line for line in (ROOT / "docs" / "dependencies.md").read_text().splitlines() if line.startswith("|")
    ]
    names = {re.match(r"[\w-]+", line)[0] for line in lines}
    assert {name for name in names if not any(name in row for row in rows)} == set()


def test_the_transcript_tells_nothing_of_the_machine_and_is_short_enough():
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    transcript = page.partition("<!-- BEGIN transcript -->")[2].partition("<!-- END transcript -->")[0]
    assert not re.findall(r"://|/tmp/|/root|/home/|/Users/", transcript)
    assert int(re.search(r": (\d+) seconds in all", transcript)[1]) < 300
    typed = re.findall(r"^```console\n\$ (.+)$", transcript, re.MULTILINE)
    assert "make demo" in typed
    assert 'ragmem query "where do we store sessions"' in typed


# What stands for more words.
OPEN = {"...", "…", "[ARGS]..."}
ENDS = {"|", "||", "&&", ";", "<", ">", ">>", "2>", "&", ")", "<<<", "<<"}


def commands(text):
    """Yield the words of each `ragmem` command that a page's code shows, and whether it stands in a block."""
    blocks = [block.replace("\\\n", " ") for _, _, block in FENCE.findall(text)]
    lines = [(line, True) for block in blocks for line in block.splitlines()]
    lines += [(" ".join(span.split()), False) for _, span in SPAN.findall(FENCE.sub("", text))]
    for line, in_block in lines:
        shown = re.sub(r"^\s*(?:\$ |# )?(?:[A-Z_]+=\S+ +)*", "", line)
        # Lines of usage, as in docs/cli.md, are written from the command line itself.
        if re.match(r"ragmem [a-z_-]", shown) and not re.search(r"\[OPTIONS\]|\bCOMMAND\b", shown):
            yield shown.removeprefix("ragmem "), in_block


def words(command):
    """Return the words of a command as a shell would, up to a pipe; None where they are no command."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split, lexer.commenters = True, "#"
    try:
        given = list(lexer)
    except ValueError:
        return None
    end = next((n for n, word in enumerate(given) if word in ENDS), len(given))
    return [word for word in given[:end] if word not in OPEN]


TREE = build()


def refusal(given, *, whole=True):
    """Return why the command line does not take these words; empty where it does.

    What is not `whole` may lack arguments: the name of a command, or of an option.
    """
    if given[0] in {"hook", "__complete"}:
        return ""  # answered before the command line is made
    command, context, rest = TREE, None, list(given)
    try:
        while True:
            context = command.make_context(command.name or "ragmem", rest, parent=context)
            if not hasattr(command, "resolve_command"):
                return ""
            left = [*context._protected_args, *context.args]
            if not left:
                return ""
            _, command, rest = command.resolve_command(context, left)
    except (typer.Exit, exceptions.NoArgsIsHelpError):
        return ""
    except exceptions.UsageError as error:
        lacks = isinstance(error, exceptions.BadOptionUsage | exceptions.MissingParameter)
        # A value may be one that is not here, or stand for one.
        fine = not whole if lacks else isinstance(error, exceptions.BadParameter)
        return "" if fine else error.format_message()


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if str(page.relative_to(ROOT)) not in UNCHECKED],
    ids=lambda page: page.name,
)
def test_every_command_that_is_shown_is_one(page):
    told = []
    for command, in_block in commands(page.read_text(encoding="utf-8")):
        given = words(command)
        if given and (why := refusal(given, whole=in_block)):
            told.append(f"ragmem {command}: {why}")
    assert told == []


@pytest.mark.parametrize(
    ("command", "taken"),
    [
        ('query "why" --limit 2 | head', True),
        ("query why --limt 2", False),
        ("inspect nothing-of-the-kind", False),
        ("gc --dry-run  # a plan", True),
        ("models use --language anthropic:x", True),
        ("models use", False),
    ],
)
def test_a_command_that_is_none_is_seen(command, taken):
    assert (refusal(words(command)) == "") is taken


def test_the_site_leads_to_every_page_once():
    # The tag of the anchors' function is unknown to a safe loader; the list of pages is plain text.
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert sorted(re.findall(r"- ([\w-]+\.md)$", nav, re.MULTILINE)) == sorted(
        page.name for page in ROOT.glob("docs/*.md")
    )


GENERATED = re.compile(r"<!-- BEGIN ([\w -]+) -->.*?<!-- END \1 -->", re.DOTALL)
SENTENCE, CELL = 35, 20
"""Most words of a sentence, and of a cell of a table: CONTRIBUTING.md, Conventions."""


def long_ones(text):
    """Yield the sentences and the cells of a page that have too many words; code counts as one."""
    plain = re.sub(r"<!--.*?-->", "", FENCE.sub("", GENERATED.sub("", text)), flags=re.DOTALL)
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", SPAN.sub("CODE", plain))

    def count(said):
        return sum(bool(re.search(r"\w", word)) for word in said.split())

    for paragraph in re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.|\||>) )", plain):
        if paragraph.startswith("|"):
            yield from (cell for cell in re.split(r"(?<!\\)\|", paragraph) if count(cell) > CELL)
        else:
            said = " ".join(paragraph.split())
            yield from (
                one for one in re.split(r"(?<=[.!?:])[*)\"]*\s+(?=[A-Z*(\"])", said) if count(one) > SENTENCE
            )


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name in {"docs", "adr"}], ids=lambda page: page.name
)
def test_no_sentence_and_no_cell_of_a_page_is_long(page):
    assert list(long_ones(page.read_text(encoding="utf-8"))) == []


def test_a_long_sentence_and_a_long_cell_are_seen():
    words = "word " * 21
    assert len(list(long_ones(f"Short. {words}{words}.\n\n| a | {words} |\n|---|---|\n"))) == 2


def test_each_page_says_at_once_what_to_type():
    late = [
        page.name
        for page in ROOT.glob("docs/*.md")
        if not any(line.startswith("```") for line in page.read_text(encoding="utf-8").splitlines()[:20])
    ]
    assert late == []
