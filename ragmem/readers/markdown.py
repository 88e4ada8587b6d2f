"""Read a Markdown file as one draft: frontmatter becomes title, time, kind, tags, metadata, supersessions."""

import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from textwrap import dedent
from typing import Any

from ragmem.config.settings import SourceSpec
from ragmem.domain.injection.memory_block import without_block
from ragmem.domain.model import Draft, Kind, Scope
from ragmem.domain.retrieval.whole_dates import date_of_title
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import BlockType, blocks
from ragmem.patterns import lazy
from ragmem.readers.dates import Changed, first_time, time_of_file
from ragmem.readers.fields import KINDS, TAG_KEYS, TITLE_KEYS, as_fields, as_tags, as_text, clean, time_values
from ragmem.readers.frontmatter_block import split

HEAD = 3_000
"""Characters of a text in which its status is looked for."""

_SIBLINGS = 5_000
"""Names of a folder that are looked at; a larger folder has no numbered records."""

_PASSIVE = (
    r"(?:superseded|superceded|replaced|obsoleted|deprecated)[ -]by"
    r"|(?:ersetzt|abgel\u00f6st) durch|remplac\u00e9e? par"
    r"|(?:reemplazad|sustituid|substitu\u00edd)[oa] por|sostituit[oa] da|vervangen door"
)
_ACTIVE = (
    r"supersedes|supercedes|replaces|obsoletes|ersetzt|remplace|reemplaza(?: a)?|sustituye(?: a)?"
    r"|substitui|sostituisce|vervangt"
)
_STATUS = r"(?:status|statut|estado|stato)"
_BEGIN, _MARKS = r"^[ \t>*_|:#-]{0,8}", r"[*_ \t\"']{0,4}"

_STATUS_KEY = lazy(_STATUS)
_LINE = lazy(
    rf"{_BEGIN}(?P<label>{_STATUS}\b{_MARKS}[:|]{_MARKS}(?:[^\W\d_]{{3,20}}[,;.][ \t]{{1,2}})?"
    r"|(?:this|the) (?:adr|decision|record|document|proposal|pep|rfc) (?:is |has been |was )?[*_]{0,3})?"
    rf"(?:(?P<by>{_PASSIVE})|(?:{_ACTIVE}))\b{_MARKS}(?P<colon>[:|])?{_MARKS}(?P<rest>\S[^\n]{{0,300}})$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that tells a supersession: with a label or a colon, or in the section of the status."""

_SECTION = lazy(
    rf"^(?:#{{1,6}}[ \t]+(?:[\d.]+[ \t]+)?{_STATUS}\b[^\n]{{0,40}}|{_STATUS}[ \t]*\n[=~^\"-]{{3,}}[ \t]*)\n"
    r"(?P<text>(?:(?!#|[=~^\"-]{3})[^\n]*(?:\n|\Z)){1,12})",
    re.IGNORECASE | re.MULTILINE,
)
"""The first lines of the section that tells the status."""

_NOT_IN_FORCE = lazy(
    rf"{_BEGIN}{_STATUS}\b{_MARKS}[:|\n]\s{{0,4}}[*_\"']{{0,4}}"
    r"(?:rejected|withdrawn|abandoned|closed|draft|propos(?:ed|al|t|\u00e9)|pending|deferred|open\b|in review"
    r"|under review|abgelehnt|entwurf|vorgeschlagen|rejet\u00e9|brouillon|rechazad|propuest|borrador|rejeitad"
    r"|rascunho|concept|voorgesteld|afgewezen)",
    re.IGNORECASE | re.MULTILINE,
)
"""The status of a document that supersedes none, whatever it says."""

_PARTLY = lazy(
    r"\bpart(?:s|ly|ially)?\b|\bsections?\b|\bsome\b|\bteil|\bpartiel|\bparcial|\bparzial|\bdeels\b"
    r"|[{}|]|X{2,}|N{3,}|\bN/?A\b",
    re.IGNORECASE,
)
"""What is replaced in part still holds, and what has braces, bars or placeholders is a template."""

_LINK_TO = lazy(r"\[[^\]\n]{0,200}\]\((?P<to>[^)\s#]{1,200})(?:\s[^)\n]{0,80})?\)(?![/\u00a7])")
"""A link to a file as a whole, not to a section of it."""

_WIKI_LINK = lazy(r"\[\[([^\[\]|#]{1,150})(?:\|[^\[\]]{0,200})?\]\]")
_FILE = lazy(r"[\w./-]{1,150}\.(?:md|rst|adoc|txt|mediawiki)\b(?![/#\u00a7])")
_RECORD = r"(?:adr|madr|ad|pep|rfc|dep|[bcegnst]ip|kep|jep|otep|decision|record|proposal)"
_NUMBERED = rf"{_RECORD}[ _#-]{{0,2}}0*(\d{{1,5}})(?![\w])"
_NUMBERS = lazy(
    rf"(?:{_NUMBERED}|#?0*(\d{{1,5}})(?=(?:,[ \t]*\d+)*[\s.)*_]*$))(?=[\s.,;:)*_-]|$)", re.IGNORECASE
)
"""A number of a record; without the word for it only where nothing else stands behind."""

_WHOLE = lazy(rf"[*_`\"'<(]{{0,3}}(?:{_RECORD}s?[ _:#-]{{0,2}})?(?:\[|{_FILE.pattern}|#?\d)", re.IGNORECASE)
"""The name of a document at once: words before it name a part of it."""

_AND = lazy(r"(?:,|,? (?:and|und|et|y|e|en)\b|,? &)[ \t]*", re.IGNORECASE)
_STEM = lazy(rf"(?:{_RECORD}[-_ ]?)?0*(\d{{1,5}})(?!\d)", re.IGNORECASE)
_UNSPEAKABLE = lazy(r"[\s,;\[\]\"']")
"""Characters that end a reference: a file whose name has one cannot be told."""

MAX_TITLE_CHARS = 160

_LINK = re.compile(r"!?\[([^\]]{1,200})\]\([^)]{0,400}\)")
_STRONG = re.compile(r"(?<![A-Za-z0-9])\*\*([^*]+)\*\*")
_WORD = re.compile(r"[^\W\d_]{3}")
_HEADING_LINES = 200
_HEADINGS = 20
_HEADER_LINES = 40
_HEADER_FIELD = re.compile(r"(?::|#\+)?([^\W\d_][\w -]{0,40}?)[ \t]*:(?:[ \t]+(\S.*)|[ \t]*$)")
_HEADER_TITLES = frozenset(
    "title subject titel betreff titre objet t\u00edtulo asunto assunto titolo oggetto onderwerp".split()
)
_BLOCKS = {"<pre>": "</pre>", "```": "```"}
"""First and last line of a block of fields, as above Bitcoin's improvement proposals."""
_OWN_TITLES = ("title", "name")
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
    return redactor.truncate(title or _name(path), MAX_TITLE_CHARS)


def _title_of_header(body: str) -> str:
    """Return the title among the fields above a text ("Title: ..."), as in mail; empty without one."""
    title, head = "", body.lstrip()
    first = head.partition("\n")[0]
    # The fields of Org have marks, and others stand in a block of their own.
    is_closed = head.startswith("#+") or first in _BLOCKS
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

    A heading below the first level that has others beside it names a section, and one that repeats the name
    of the file names nothing: each project has such a file.
    """
    level, heading = next(found := _headings(body, path.suffix.lower()), (0, ""))
    if heading.lower() == path.name.lower():
        return ""
    is_section = level > 1 and any(beside <= level for beside, _ in islice(found, _HEADINGS))
    return "" if is_section and _WORD.search(path.stem) else heading


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
    return clean(path.stem.replace("_", " ").replace("-", " ")) or path.name


def _kind(*levels: Mapping[str, Any]) -> Kind | None:
    for values in levels:
        for key in ("kind", "type"):
            word = values.get(key)
            if isinstance(word, str) and word.strip().lower() in KINDS:
                return KINDS[word.strip().lower()]
    return None


def supersession_fields(path: Path, body: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Return "supersedes" and "superseded_by" with the files that a text declares, by folder and name.

    `values` are those of the frontmatter, by lower-case keys; a file that one names there is not repeated. A
    number stands for the one file of the same folder whose name begins with it. What names no file or several
    is left out, and so is what a document that is not in force supersedes.
    """
    fields = "\n".join(
        f"{key.replace('_', '-')}: {told}"
        for key, value in values.items()
        if _NUMBERS.match(told := as_text(value)) or _STATUS_KEY.fullmatch(key)
    )
    head = body[:HEAD]
    lines = [
        *(line for text in (fields, head) for line in _LINE.finditer(text) if line["label"] or line["colon"]),
        *(line for section in _SECTION.finditer(head) for line in _LINE.finditer(section["text"])),
    ]
    found: dict[str, dict[str, None]] = {}
    in_force = not (_NOT_IN_FORCE.search(fields) or _NOT_IN_FORCE.search(head))
    for line in lines:
        rest = line["rest"].rstrip(" \t|")
        is_whole = _WHOLE.match(rest) and not _PARTLY.search(_WIKI_LINK.sub("", _LINK_TO.sub("", rest)))
        if is_whole and (line["by"] or in_force):
            names = found.setdefault("superseded_by" if line["by"] else "supersedes", {})
            names.update(dict.fromkeys(_files(path, rest)))
    return {key: ", ".join(names) for key, names in found.items() if names}


def _files(path: Path, rest: str) -> Iterator[str]:
    """Yield the files that the end of a line names: by links, else by names, else by numbers."""
    if "](" in rest:
        files = [path.parent / link["to"] for link in _LINK_TO.finditer(rest) if "://" not in link["to"]]
    elif "[[" in rest:
        names = [name.strip() for name in _WIKI_LINK.findall(rest)]
        files = [path.parent / (name if _FILE.fullmatch(name) else f"{name}.md") for name in names]
    else:
        files = [path.parent / name for name in _FILE.findall(rest)] or [*_by_number(path.parent, rest)]
    for file in files:
        name = f"{Path(os.path.normpath(file)).parent.name}/{file.name}"
        if file.name != path.name and _FILE.fullmatch(file.name) and not _UNSPEAKABLE.search(name):
            yield name


def _by_number(folder: Path, rest: str) -> Iterator[Path]:
    place = 0
    while number := _NUMBERS.match(rest, place):
        try:
            names = _numbered(folder, folder.stat().st_mtime_ns).get(int(number[1] or number[2]), [])
        except OSError:  # a text that was handed in may come from no folder of this machine
            return
        if len(names) == 1:
            yield folder / names[0]
        following = _AND.match(rest, number.end())
        if not following:
            return
        place = following.end()


@lru_cache(maxsize=8)
def _numbered(folder: Path, _changed: int) -> Mapping[int, list[str]]:
    """Return the names in a folder, at a time of its change, by the number that they begin with."""
    found: dict[int, list[str]] = {}
    for name in sorted(entry.name for entry in folder.iterdir())[:_SIBLINGS]:
        if (number := _STEM.match(name)) and _FILE.fullmatch(name):
            found.setdefault(int(number[1]), []).append(name)
    return found
