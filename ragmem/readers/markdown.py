"""Read a Markdown file as one draft: frontmatter becomes title, time, kind, tags and metadata."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from textwrap import dedent
from typing import Any

from ragmem.config.settings import SourceSpec
from ragmem.domain.injection.memory_block import without_block
from ragmem.domain.model import Draft, Kind, Scope
from ragmem.domain.retrieval.whole_dates import DAY, date_of_title
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import BlockType, blocks
from ragmem.readers.dates import Changed, first_time, time_of_file
from ragmem.readers.fields import (
    ALIAS_KEYS,
    KINDS,
    TAG_KEYS,
    TITLE_KEYS,
    as_fields,
    as_tags,
    as_text,
    clean,
    time_values,
)
from ragmem.readers.frontmatter_block import split
from ragmem.readers.supersession_fields import supersession_fields

MAX_TITLE_CHARS = 160

_LINK = re.compile(r"!?\[([^\]]{1,200})\]\([^)]{0,400}\)")
_STRONG = re.compile(r"(?<![A-Za-z0-9])\*\*([^*]+)\*\*")
_WORD = re.compile(r"[^\W\d_]{3}|[\u1100-\u11ff\u3040-\u9fff\uac00-\ud7af]")
"""A word; a letter of Chinese, Japanese or Korean may be one."""

_MARKS = re.compile(r"(?<!\d)[-_]|[-_](?!\d)")
_HEADING_LINES = 200
_HEADINGS = 20
_ALIASES = 5
"""More names would be a list of keywords."""

_HEADER_LINES = 40
_HEADER_FIELD = re.compile(r"(?::|#\+)?([^\W\d_][\w -]{0,40}?)[ \t]*:(?:[ \t]+(\S.*)|[ \t]*$)")
_HEADER_TITLES = frozenset(
    "title subject titel betreff titre objet t\u00edtulo asunto assunto titolo oggetto onderwerp".split()
)
_MOMENT = re.compile(r"^(?:19|20)\d\d[01]\d[0-3]\d[0-2]\d[0-5]\d(?:[0-5]\d)?\s+(?=\S)")
"""The moment before the title of a note in a Zettelkasten, which is its id."""

_BLOCKS = {"<pre>": "</pre>", "```": "```"}
"""First and last line of a block of fields, as above Bitcoin's improvement proposals."""
_OWN_TITLES = ("title", "name")
_NAMELESS = frozenset({"excalidraw data", "text elements"})
"""Headings that Excalidraw writes into each drawing."""

_PLACEHOLDERS = re.compile(r"(?>\{\{[^{}]*\}\}|<%[^%]*%>|\W)+")
"""What a template has in place of a title: `{{title}}` of Obsidian, `<% tp.file.title %>` of Templater."""

_NAMED_BY_FOLDER = frozenset({"skill", "prd", "claude", "agents", "gemini", "readme", "index", "memory"})


def read(
    path: Path, text: str, spec: SourceSpec, *, changed: Changed, scope: Scope, redactor: Redactor
) -> tuple[list[Draft], list[str]]:
    """Return the one draft of a file, and warnings.

    The draft's text is the body below the frontmatter, without a block that ragmem wrote; the plain values of
    the frontmatter become metadata. The event time comes from the frontmatter, else from `time_of_file`.
    Never raises for any text.
    """
    parts = split(text)
    values = {str(key).lower(): value for key, value in parts.values.items() if isinstance(key, str)}
    nested = values.get("metadata")
    # Newer memory files of Claude Code keep their type one level down.
    inner = nested if isinstance(nested, dict) else {}
    body = without_block(parts.body).strip("\n")
    draft = Draft(
        source=spec.name,
        uri=str(path),
        text=body,
        title=_title(path, body, values, redactor=redactor),
        event_time=time_of_file(
            path,
            changed,
            told=first_time(time_values(values)),
            text=body,
            title=_dated_title(body, values, path.suffix.lower()),
        ),
        scope=scope,
        kind=_kind(values, inner) or spec.kind,
        tags=as_tags(*(values.get(key) for key in TAG_KEYS)),
        metadata=as_fields(
            {**inner, **values, **supersession_fields(path, body, values)}, leave_out=TAG_KEYS
        ),
    )
    return [draft], [parts.warning] if parts.warning else []


def _title(path: Path, body: str, values: Mapping[str, Any], redactor: Redactor) -> str:
    title = next((text for key in TITLE_KEYS if (text := as_text(values.get(key)))), "")
    title = title or _title_of_header(body) or first_heading(body, path) or as_text(values.get("description"))
    title = _MOMENT.sub("", title or _name(path))
    aliases = [name for name in _aliases(values) if name.casefold() not in title.casefold()]
    return redactor.truncate(f"{title} ({', '.join(aliases)})" if aliases else title, MAX_TITLE_CHARS)


def _aliases(values: Mapping[str, Any]) -> list[str]:
    """Return the other names of a note, by which people ask for it, each once."""
    given = [values.get(key) for key in ALIAS_KEYS]
    names = [name for value in given for name in (value if isinstance(value, list) else [value])]
    return list(dict.fromkeys(text for name in names[:_ALIASES] if (text := as_text(name))))


def _title_of_header(body: str) -> str:
    """Return the title among the fields above a text ("Title: ..."), as in mail; empty without one."""
    title, head = "", body.lstrip()
    first = head.partition("\n")[0]
    # The fields of Org have marks, and others have their own block.
    is_closed = head.startswith(("#+", ":PROPERTIES:")) or first in _BLOCKS
    if first in _BLOCKS:
        head = dedent(head[len(first) :].partition(_BLOCKS[first])[0]).strip("\n")
    for line in head.split("\n", _HEADER_LINES)[:_HEADER_LINES]:
        if not line.strip():
            return title
        field = _HEADER_FIELD.match(line)
        if not field and not line[0].isspace():
            return title if is_closed else ""
        if field and not title and field[1].lower() in _HEADER_TITLES:
            title = clean(field[2])
    return title if is_closed else ""


def _dated_title(body: str, values: Mapping[str, Any], suffix: str) -> str:
    """Return the title that may date the file; empty for a log, whose headings have several dates."""
    if title := next((text for key in _OWN_TITLES if (text := as_text(values.get(key)))), ""):
        return title
    now = datetime.now(UTC)
    headings = list(islice(_headings(body, suffix), _HEADINGS))
    beside = [heading for level, heading in headings if level <= headings[0][0]]
    dates = {found.stretch for heading in beside if (found := date_of_title(heading, now=now))}
    return beside[0] if len(dates) == 1 else ""


def first_heading(body: str, path: Path) -> str:
    """Return the heading that names a file, outside of code; empty without one.

    A heading below the first level that has others beside it names a section, in a file that is named by its
    day also one of the first level. One that repeats the name of the file names nothing: each project has
    such a file.
    """
    level, heading = next(found := _headings(body, path.suffix.lower()), (0, ""))
    if heading.lower() in {path.name.lower(), *_NAMELESS} or _PLACEHOLDERS.fullmatch(heading):
        return ""
    has_words, has_day = _WORD.search(path.stem), DAY.search(path.stem)
    is_section = (level > 1 or (has_day and not has_words)) and any(
        beside <= level for beside, _ in islice(found, _HEADINGS)
    )
    return "" if is_section and (has_words or has_day) else heading


def _headings(body: str, suffix: str = "") -> Iterator[tuple[int, str]]:
    """Yield the level and the text of the headings outside of code."""
    head = "\n".join(body.splitlines()[:_HEADING_LINES])
    for block in blocks(head):
        # In reStructuredText such a line is a comment in code.
        if block.form is BlockType.HEADING and not (suffix == ".rst" and head[block.start] in "# "):
            title = clean(_STRONG.sub(r"\1", _LINK.sub(r"\1", block.title)))
            if title:
                yield block.level, title


def _name(path: Path) -> str:
    """Return the name of a file, with its folder for names that every folder has."""
    if path.stem.lower() in _NAMED_BY_FOLDER:
        return clean(f"{path.parent.name}/{path.name}")
    # The marks of a date stay.
    return clean(_MARKS.sub(" ", path.stem.removesuffix(".excalidraw")).replace("_", "-")) or path.name


def _kind(*levels: Mapping[str, Any]) -> Kind | None:
    for values in levels:
        for key in ("kind", "type"):
            word = values.get(key)
            if isinstance(word, str) and word.strip().lower() in KINDS:
                return KINDS[word.strip().lower()]
    return None
