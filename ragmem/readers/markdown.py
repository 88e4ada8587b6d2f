"""A markdown file is one draft: frontmatter becomes title, time, kind, tags and metadata."""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from ragmem.config import SourceSpec
from ragmem.domain.memory_block import without_block
from ragmem.domain.model import Draft, Kind, Scope
from ragmem.domain.redaction import Redactor
from ragmem.readers.dates import first_time, time_in_path, time_in_text
from ragmem.readers.fields import as_fields, as_tags, as_text, clean
from ragmem.readers.frontmatter_block import split
from ragmem.readers.vocabulary import KINDS, TAG_KEYS, TIME_KEYS, TITLE_KEYS

MAX_TITLE_CHARS = 160

_HEADING = re.compile(r" {0,3}#{1,6}[ \t](.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING_LINES = 200
_NAMED_BY_FOLDER = frozenset({"skill", "prd", "claude", "agents", "readme", "index", "memory"})


def read(
    path: Path, text: str, spec: SourceSpec, *, modified: datetime, scope: Scope, redactor: Redactor
) -> tuple[list[Draft], list[str]]:
    """Return the one draft of a file, and warnings.

    The draft's text is the body below the frontmatter, verbatim but for a block that ragmem wrote; the
    frontmatter's plain values become metadata. The event time comes from the frontmatter, else from the
    file's name, a `Date:` line, the names of the folders above, or `modified`. Never raises for any text.
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
        event_time=_event_time(path, body, values, modified=modified),
        scope=scope,
        kind=_kind(values, inner) or spec.kind,
        tags=as_tags(*(values.get(key) for key in TAG_KEYS)),
        metadata=as_fields({**inner, **values}, leave_out=TAG_KEYS),
    )
    return [draft], [parts.warning] if parts.warning else []


def _title(path: Path, body: str, values: Mapping[str, Any], redactor: Redactor) -> str:
    title = next((text for key in TITLE_KEYS if (text := as_text(values.get(key)))), "")
    return redactor.beginning(title or first_heading(body) or _name(path), MAX_TITLE_CHARS)


def first_heading(body: str) -> str:
    """Return the first heading outside of code, or an empty text."""
    fence = ""
    for line in body.splitlines()[:_HEADING_LINES]:
        if found := _FENCE.match(line):
            fence = "" if fence == found[1] else fence or found[1]
        elif not fence and (found := _HEADING.match(line)):
            title = found[1].strip()
            bare = title.rstrip("#")
            # Closing marks stand after a blank; the one of "C#" does not.
            title = bare if bare != bare.rstrip() else title
            if clean(title):
                return clean(title)
    return ""


def _name(path: Path) -> str:
    """Return the file's name, with its folder where every such file has the same name."""
    if path.stem.lower() in _NAMED_BY_FOLDER:
        return clean(f"{path.parent.name}/{path.name}")
    return clean(path.stem.replace("_", " ").replace("-", " ")) or path.name


def _event_time(path: Path, body: str, values: Mapping[str, Any], *, modified: datetime) -> datetime:
    return (
        first_time(values.get(key) for key in TIME_KEYS)
        or time_in_path(Path(path.name), modified=modified)
        or time_in_text(body)
        or time_in_path(path, modified=modified)
        or modified
    )


def _kind(*levels: Mapping[str, Any]) -> Kind | None:
    for values in levels:
        for key in ("kind", "type"):
            word = values.get(key)
            if isinstance(word, str) and word.strip().lower() in KINDS:
                return KINDS[word.strip().lower()]
    return None
