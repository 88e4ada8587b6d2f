"""Separate what a mail says itself from its signature and from the mails that it quotes."""

import re
from collections.abc import Collection
from dataclasses import dataclass

_QUOTE = re.compile(r"\s?>(?!:\s*$)")
_ATTRIBUTION = re.compile(r"(?=.*[\d@]).{4,300}[:\uff1a]\s*")
"""A line such as "On Monday, Ann <ann@x.org> wrote:", in any language."""

_FIELD = re.compile(r"[*>\s]*[^\W\d_][^\n:\uff1a]{0,30}[:\uff1a].*")
_SEPARATOR = re.compile(r"\s*[-_]{3,}.{0,200}")
_DATED_AUTHOR = re.compile(
    r"(?=.*\S@\S)(?=.*(?:\b(?:19|20)\d\d\b|\d[:.]\d\d)).{10,300}(?:[:\uff1a]|>\s?\w{2,20})\s*"
)
"""The same with an address and a date or time, above a quotation that no sign marks."""

_ADDRESS = re.compile(r"\S+@\S+")
_ATTRIBUTION_MOST = 3
_FIELDS_LEAST, _FIELDS_MOST = 3, 12
_SIGNATURE = re.compile(r"-- ?|_{30,}")
_SIGNATURE_MOST = 15
"""Maximum lines of a signature or the footer of a mailing list."""


@dataclass(frozen=True, slots=True)
class Sections:
    """What a mail says, its signature, and the earlier mails below it; `lines` are those of the first two."""

    text: str
    signature: str = ""
    quoted: str = ""

    @property
    def lines(self) -> frozenset[str]:
        """The lines in a form that survives quotation."""
        return frozenset(map(_bare, f"{self.text}\n{self.signature}".split("\n")))

    def is_known(self, known: Collection[str]) -> bool:
        """Return whether each quoted line is among the known ones; the line that names the author is not."""
        lines = [line for line in self.quoted.split("\n") if _QUOTE.match(line)]
        others = [line for line in self.quoted.split("\n") if line.strip() and not _QUOTE.match(line)]
        return bool(lines) and len(others) <= 2 and all(_bare(line) in known for line in lines)


def split_sections(text: str) -> Sections:
    """Return the sections of a mail; quotations between its own lines stay where they are."""
    lines = text.strip("\n").split("\n")
    begin = next((at for at in range(len(lines)) if _begins_forwarded(lines, at)), len(lines))
    own, quoted = lines[:begin], lines[begin:]
    own, signature = _cut_signature(own)
    if not quoted:
        own, quoted = _cut_quotation(own)
    if not signature:
        # The signature may also be above the quotation.
        own, signature = _cut_signature(own)
    told = "\n".join(own).strip()
    if not told and quoted:
        # Nothing but a forwarded mail.
        return Sections("\n".join(quoted).strip(), "\n".join(signature).strip())
    return Sections(told, "\n".join(signature).strip(), "\n".join(quoted).strip())


def _bare(line: str) -> str:
    return " ".join(line.replace(">", " ").split())


def _cut_quotation(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines of a mail, and the quotation at its end with the line that names its author."""
    end = len(lines)
    while end and (not lines[end - 1].strip() or _QUOTE.match(lines[end - 1])):
        end -= 1
    if not any(_QUOTE.match(line) for line in lines[end:]):
        return lines, []
    begin = end - _count_attribution(lines[max(end - _ATTRIBUTION_MOST, 0) : end])
    return lines[:begin], lines[begin:]


def _count_attribution(above: list[str]) -> int:
    """Return how many lines above a quotation tell its author and date; a date has digits."""
    for count in range(1, len(above) + 1):
        told = " ".join(above[-count:]).strip()
        if _ATTRIBUTION.fullmatch(told) and re.search(r"\d", _ADDRESS.sub("", told)):
            return count
    return int(bool(above and _ATTRIBUTION.fullmatch(above[-1].strip())))


def _cut_signature(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines of a mail without its signature, and that."""
    for at in range(max(len(lines) - _SIGNATURE_MOST, 0), len(lines)):
        if _SIGNATURE.fullmatch(lines[at]) and not any(map(_QUOTE.match, lines[at:])):
            return lines[:at], lines[at + 1 :]
    return lines, []


def _begins_forwarded(lines: list[str], number: int) -> bool:
    """Return whether a copy of an earlier mail's header begins on a line, maybe after a line of dashes."""
    line = lines[number]
    if _SEPARATOR.fullmatch(line):
        return _count_fields(lines, number + 1) >= _FIELDS_LEAST
    if not line.strip() or (number > 0 and lines[number - 1].strip()):
        return False
    return _count_fields(lines, number) > _FIELDS_LEAST or _is_attribution(lines, number)


def _is_attribution(lines: list[str], number: int) -> bool:
    """Return whether a paragraph only tells the author and date of the unmarked text below it."""
    near = lines[number : number + _FIELDS_MOST]
    end = next((at for at, line in enumerate(near) if not line.strip()), len(near))
    below = next((line for line in near[end:] if line.strip()), "")
    if number == 0 or end > _ATTRIBUTION_MOST or not below or _QUOTE.match(below):
        return False
    return _DATED_AUTHOR.fullmatch(" ".join(near[:end])) is not None


def _count_fields(lines: list[str], start: int) -> int:
    """Return the number of lines that look like the header of a mail; 0 without an address."""
    while start < len(lines) and not lines[start].strip():
        start += 1
    found: list[str] = []
    for line in lines[start : start + _FIELDS_MOST]:
        if not _FIELD.fullmatch(line) and not (found and line.strip() and "@" in line):
            break
        found.append(line)
    return len(found) if any("@" in line for line in found) else 0
