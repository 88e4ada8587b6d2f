"""Read which documents replace each other from the status of a record of a decision, as its authors write it.

These forms are read: `Status: Superseded by [12](0012-name.md)` (MADR, log4brains), such a line below the
heading "Status" (adr-tools), `Superseded-By: 634` and `Replaces: 245` (Python's enhancement proposals), and
"This decision is superseded by ADR-0057".
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ragmem.patterns import lazy
from ragmem.readers.fields import as_text

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
_COLON = r"(?:[:|]|(?<=\*\*|__)(?=[ \t]))"
"""What ends a label: a colon, a bar of a table, or the end of bold type."""

_WORD = r"(?:[^\W\d_]{3,20}(?:[ \t]\([^()\n]{1,60}\))?[*_]{0,3}[,;.][ \t]{1,2})?"
"""A word of the status before: `Accepted (2026-03-01). Supersedes ...`."""

_STATUS_KEY = lazy(_STATUS)
_LINE = lazy(
    rf"{_BEGIN}(?:(?P<label>{_STATUS}\b{_MARKS}{_COLON}{_MARKS}{_WORD}"
    r"|(?:this|the) (?:adr|decision|record|document|proposal|pep|rfc) (?:is |has been |was )?[*_]{0,3})"
    rf"|{_WORD})"
    rf"(?:(?P<by>{_PASSIVE})|(?:{_ACTIVE}))\b(?:{_MARKS}(?P<colon>{_COLON}))?{_MARKS}(?P<rest>\S[^\n]{{0,1500}})$",
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
    rf"{_BEGIN}{_STATUS}\b{_MARKS}(?:\n|{_COLON})\s{{0,4}}[*_\"']{{0,4}}"
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

_LINK = lazy(r"\[[^\]\n]{0,200}\]\((?P<to>[^)\s#]{1,200})(?:\s[^)\n]{0,80})?\)(?![/\u00a7])")
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

_SENTENCE = lazy(
    r"(?:\[[^\]\n]{0,200}\]\([^)\n]{0,200}\)|\[\[[^\]\n]{0,200}\]\]|[^.\n]|\.(?![*_)\"']{0,3}(?:\s|$))){0,1500}"
)
"""The first sentence of the end of a line: the ones after it may name other files."""

_AND = lazy(r"(?:,|,? (?:and|und|et|y|e|en)\b|,? &)[ \t]*", re.IGNORECASE)
_STEM = lazy(rf"(?:{_RECORD}[-_ ]?)?0*(\d{{1,5}})(?!\d)", re.IGNORECASE)
_UNSPEAKABLE = lazy(r"[\s,;\[\]\"']")
"""Characters that end a reference: a file whose name has one cannot be told."""


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
        *(
            line
            for text in (fields, head)
            for line in _LINE.finditer(text)
            if line["label"] or line["colon"] is not None
        ),
        *(line for section in _SECTION.finditer(head) for line in _LINE.finditer(section["text"])),
    ]
    found: dict[str, dict[str, None]] = {}
    in_force = not (_NOT_IN_FORCE.search(fields) or _NOT_IN_FORCE.search(head))
    for line in lines:
        rest = line["rest"].rstrip(" \t|")
        is_whole = _WHOLE.match(rest) and not _PARTLY.search(_WIKI_LINK.sub("", _LINK.sub("", rest)))
        if is_whole and (line["by"] or in_force):
            names = found.setdefault("superseded_by" if line["by"] else "supersedes", {})
            names.update(dict.fromkeys(_files(path, _first_sentence(rest))))
    return {key: ", ".join(names) for key, names in found.items() if names}


def _first_sentence(rest: str) -> str:
    found = _SENTENCE.match(rest)
    return found[0] if found else rest


def _files(path: Path, rest: str) -> Iterator[str]:
    """Yield the files that the end of a line names: by links, else by names, else by numbers."""
    if "](" in rest:
        files = [path.parent / link["to"] for link in _LINK.finditer(rest) if "://" not in link["to"]]
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
