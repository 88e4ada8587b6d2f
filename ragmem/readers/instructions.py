"""Read instruction files of assistants, such as CLAUDE.md, and find the files that they import by `@path`."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ragmem.config.places import expand_home
from ragmem.config.settings import SourceSpec
from ragmem.domain.model import Draft, Scope
from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers import markdown
from ragmem.readers.dates import Changed
from ragmem.readers.discover import Discovery, SkippedPath
from ragmem.readers.files import ReadError, read_text, show
from ragmem.readers.frontmatter_block import split
from ragmem.readers.links import Links
from ragmem.readers.roots import marked_root

MAX_HOPS = 5
"""Imports of imports that are followed, as by Claude Code."""

_SUFFIXES = frozenset(("", ".md", ".mdc", ".mdx", ".markdown", ".txt", ".rst", ".adoc"))
"""Prose; an imported package.json is no memory."""

_IMPORT = re.compile(r"(?<!\S)@((?:[^\s\\]|\\ )+)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile(r"(`+)")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_HEADING = re.compile(r"(?m)^ {0,3}#{1,6}(?:[ \t].*)?$")
# Patterns of files, which assistants write without the quotes that YAML asks for.
_PATTERNS = re.compile(r"(?m)^(globs|paths|applyTo|description):[ \t]+([^\"'\[{>|\s].*)$")


def read(
    path: Path, text: str, spec: SourceSpec, *, changed: Changed, scope: Scope, redactor: Redactor
) -> tuple[list[Draft], list[str]]:
    """Return the one draft of a file, as `markdown.read`; none for a file that only imports others.

    The patterns of files in the frontmatter of rules need no quotes.
    """
    text = _quote_patterns(text)
    if _only_imports(text):
        return [], []
    return markdown.read(path, text, spec, changed=changed, scope=scope, redactor=redactor)


def imports_of(text: str) -> list[str]:
    """Return the paths that a text imports, in order, each once; those in code and comments are none."""
    found = (match[1].replace("\\ ", " ").partition("#")[0] for match in _IMPORT.finditer(_prose(text)))
    return list(dict.fromkeys(path for path in found if path.strip("/.~ ")))


def add_imports(
    discovery: Discovery,
    spec: SourceSpec,
    *,
    home: Path,
    max_bytes: int,
    is_left_out: Callable[[Path], bool],
) -> Discovery:
    """Return the files of a source with those that they import, at most `MAX_HOPS` imports away.

    A path counts from the folder of the file that names it; `~` is the home. An import follows the rules of
    links: that of a project must not lead out of it, and one of the person's own files may lead elsewhere in
    the home. Where it leads out it is skipped with a reason. What is missing, is no prose or `is_left_out`
    is passed over in silence, because addresses and names of packages look the same.
    """
    files = dict.fromkeys(discovery.files)
    real = {os.path.realpath(path) for path in files}
    skipped: dict[Path, SkippedPath] = {}
    links: dict[Path, Links] = {}
    level = list(files)
    for _ in range(MAX_HOPS):
        following: list[Path] = []
        for file in level:
            for target in _targets(file, home=home, max_bytes=max_bytes):
                place = os.path.realpath(target)
                if place in real or is_left_out(target):
                    continue
                root = _bound(file, spec, home)
                rules = links.setdefault(root, Links(root, home=home, beyond=_beyond(spec, home)))
                if where := rules.leads_out(file, target):
                    skipped[target] = SkippedPath(target, f"{where}, in {show(file)}", leads_out=True)
                    continue
                real.add(place)
                files[target] = None
                following.append(target)
        level = following
    left = {one.path: one for one in discovery.skipped} | skipped
    return Discovery(tuple(sorted(files)), tuple(left[path] for path in sorted(left)), discovery.cut)


def _beyond(spec: SourceSpec, home: Path) -> Path | None:
    return home if spec.scope == "user" else None


def _bound(file: Path, spec: SourceSpec, home: Path) -> Path:
    """Return the folder that the imports of a file must stay in, unless they may leave it."""
    folder = Path(os.path.realpath(file.parent))
    return (
        folder if spec.scope == "user" else Path(marked_root(str(folder), os.path.realpath(home)) or folder)
    )


def _targets(file: Path, *, home: Path, max_bytes: int) -> Iterator[Path]:
    """Yield the existing files that a file imports, as absolute paths."""
    try:
        text = read_text(file, max_bytes=max_bytes)
    except ReadError:
        return  # Seed reports it when it reads the file.
    for named in imports_of(text):
        path = Path(os.path.normpath(file.parent / expand_home(named, home)))
        if path.suffix.lower() in _SUFFIXES and _is_file(path):
            yield path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _prose(text: str) -> str:
    """Return a text without comments and code."""
    lines: list[str] = []
    fence = ""
    for line in _without_comments(text).splitlines():
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence):
            fence = ""
        elif not fence:
            lines.append(line)
    return "\n\n".join(map(_without_code, _PARAGRAPH.split("\n".join(lines))))


def _without_comments(text: str) -> str:
    parts = []
    at = 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin)) >= 0:
        parts.append(text[at:begin])
        at = end + len("-->")
    return " ".join((*parts, text[at:]))


def _without_code(paragraph: str) -> str:
    """Return a paragraph without its code spans: from some backticks to the next that are as many."""
    pieces = _TICKS.split(paragraph)
    places: dict[str, list[int]] = {}
    for place in range(len(pieces) - 2, 0, -2):
        places.setdefault(pieces[place], []).append(place)
    kept = [pieces[0]]
    at = 1
    while at < len(pieces):
        same = places[pieces[at]]
        while same and same[-1] <= at:
            same.pop()
        kept.append(" " if same else pieces[at])
        at = same[-1] if same else at
        kept.append(pieces[at + 1])
        at += 2
    return "".join(kept)


def _only_imports(text: str) -> bool:
    """Return whether a text says nothing but what it imports, below headings or in a list."""
    body = _without_comments(split(text).body)
    rest = _HEADING.sub("", _IMPORT.sub("", body))
    return not re.sub(r"[\s*+-]", "", rest) and bool(imports_of(body))


def _quote_patterns(text: str) -> str:
    if not text.startswith("---"):
        return text
    block, mark, body = text[3:].partition("\n---")

    def quote(line: re.Match[str]) -> str:
        value = line[2].rstrip().replace("\\", "\\\\").replace('"', '\\"')
        return f'{line[1]}: "{value}"'

    return f"---{_PATTERNS.sub(quote, block)}{mark}{body}"
