"""`ragmem help`: read the documentation offline."""

import re
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ragmem.cli.app import COMMANDS
from ragmem.cli.common import bold, say, say_json, table
from ragmem.cli.help import columns, on_terminal, read_help
from ragmem.cli.options import JsonOption
from ragmem.config.places import find_default
from ragmem.config.values import nearest
from ragmem.domain.text.blocks import BlockType, blocks
from ragmem.errors import EXIT_OK, UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem help
  ragmem help query
  ragmem help query ranking
  ragmem help "exit codes"
  ragmem help changelog

\b
Exit codes:
  0  done
  2  usage, or no such page or heading
"""

CHANGELOG = "changelog"
"""The topic that is the changelog of the installed version."""

_REMARK = re.compile(r"<!--.*?-->\n?", re.DOTALL)


class Section(NamedTuple):
    """A heading and its content, down to the next heading of its level or above.

    `own` ends at the next heading of any level.
    """

    page: str
    level: int
    heading: str
    text: str
    own: str


@app.command(name="help", epilog=EPILOG)
def manual(
    topic: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC", help="A page, then words from one of its headings.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Read the documentation offline."""
    pages = find_pages()
    words = " ".join(topic or ()).split()
    if not words:
        _list_pages(pages, as_json=as_json)
        return EXIT_OK
    if words[0].lower() == CHANGELOG:
        # No page of its own folder, and no place to look for words in.
        pages = {CHANGELOG: find_default("CHANGELOG.md")}
    text = read(pages, words)
    if as_json:
        say_json({"schema": 1, "topic": " ".join(words), "markdown": text})
    else:
        _show(text)
    return EXIT_OK


def find_pages() -> dict[str, Path]:
    """Return the pages by name; raises ConfigError if the installation lacks them."""
    folder = find_default("docs/README.md").parent
    paths = {path.stem: path for path in folder.glob("*.md") if path.stem != "README"}
    return dict(sorted(paths.items()))


def read(pages: dict[str, Path], words: list[str]) -> str:
    """Return the Markdown of a page, a command's help, sections by their headings, or a list of places.

    Raises UsageError if nothing says these words.
    """
    name = words[0].lower().removesuffix(".md")
    if name in pages and len(words) == 1:
        return _text(pages[name])
    if name not in pages and words[0] in COMMANDS and (text := read_help(words)) is not None:
        return "```\n" + text.rstrip("\n") + "\n```\n"
    within, words = ([name], words[1:]) if name in pages else (list(pages), words)
    sections = [one for page in within for one in _sections(page, _text(pages[page]))]
    found = _find(sections, words)
    if len(found) == 1 or (found and name in pages):
        return "\n".join(one.text for one in found)
    if not found:
        found = [one for one in sections if _has(one.own, words)]
    if not found:
        close = nearest(name, [*pages, *COMMANDS]) if name not in pages else ""
        raise UsageError(
            f'no page{"" if name not in pages else f" {name}"} says "{" ".join(words)}"',
            hint=close if close.startswith("did") else "`ragmem help` lists the pages",
        )
    lines = [f"- {one.heading}: `ragmem help {one.page} {_argument(one.heading)}`" for one in found]
    return f"# Where it says {' '.join(words)}\n\n" + "\n".join(lines) + "\n"


def _text(path: Path) -> str:
    """Return a page without its remarks, which mark what is generated."""
    return _REMARK.sub("", path.read_text(encoding="utf-8"))


def _argument(heading: str) -> str:
    return '"' + heading.replace("`", "").replace('"', "") + '"'


def _sections(page: str, text: str) -> list[Section]:
    """Return the sections of a page, those within others included; a `#` in a code block begins none."""
    heads = [block for block in blocks(text) if block.form is BlockType.HEADING]
    found = []
    for index, head in enumerate(heads, start=1):
        end = next((other.start for other in heads[index:] if other.level <= head.level), len(text))
        last = heads[index].start if index < len(heads) else len(text)
        whole, own = (text[head.start : stop].rstrip() + "\n" for stop in (end, last))
        found.append(Section(page, head.level, head.title, whole, own))
    return found


def _find(sections: list[Section], words: list[str]) -> list[Section]:
    """Return the sections whose headings have all of the words, without those within another such one."""
    found: list[Section] = []
    for one in sections:
        within = found and found[-1].page == one.page and one.text in found[-1].text
        if not within and _has(one.heading, words):
            found.append(one)
    return found


def _has(text: str, words: list[str]) -> bool:
    plain = _plain(text)
    return all(_plain(word) in plain for word in words)


def _plain(text: str) -> str:
    return text.replace("`", "").replace('"', "").casefold()


def _list_pages(pages: dict[str, Path], *, as_json: bool) -> None:
    titles = {name: _text(path).lstrip().splitlines()[0].lstrip("# ") for name, path in pages.items()}
    if as_json:
        say_json({"schema": 1, "pages": [{"name": name, "title": title} for name, title in titles.items()]})
        return
    table(("page", "about"), list(titles.items()))
    say()
    say(f"{bold('ragmem help PAGE')} shows one; {bold('ragmem COMMAND --help')} shows a command's options")
    say(f"{bold('ragmem help changelog')} shows what changed, up to this version")


def _show(text: str) -> None:
    """Write Markdown: as it is, or rendered in a pager on a terminal with colours."""
    if not on_terminal():
        for line in text.splitlines():
            say(line)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=columns() + 2)
    with console.pager(styles=True, links=False):
        console.print(Markdown(text, hyperlinks=False))
