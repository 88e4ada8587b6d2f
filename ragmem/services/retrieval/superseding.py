"""What a person is told of memories that were superseded, and of those that replaced them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ragmem.domain.model import SHORT_ID_LENGTH, Former, Match, Memory, Supersession
from ragmem.domain.secrets.redaction import Redactor
from ragmem.storage.home.catalog import Catalog

SAID = 200
"""Characters of what a superseded memory says."""


def with_former(catalog: Catalog, matches: Sequence[Match]) -> tuple[Match, ...]:
    """Return the matches with all that each of them replaced, latest first, and what that says."""
    recorded = catalog.supersessions.replaced_by([match.memory.id for match in matches])
    if not recorded and not any(match.replaced for match in matches):
        return tuple(matches)
    told = {
        match.memory.id: _latest(
            [*recorded.get(match.memory.id, ()), *(one.supersession for one in match.replaced)]
        )
        for match in matches
    }
    said = _said(catalog, [link for links in told.values() for link in links])
    return tuple(
        replace(match, replaced=tuple(Former(link, said[link.older]) for link in told[match.memory.id]))
        for match in matches
    )


def standing(catalog: Catalog, memory: Memory) -> tuple[Supersession | None, tuple[Former, ...]]:
    """Return by what a memory is superseded now, None where it holds, and what it replaced itself."""
    links = _latest(catalog.supersessions.replaced_by([memory.id]).get(memory.id, ()))
    said = _said(catalog, links)
    replaced = tuple(Former(link, said[link.older]) for link in links)
    return catalog.supersessions.in_force([memory.id]).get(memory.id), replaced


def _said(catalog: Catalog, links: Sequence[Supersession]) -> dict[str, str]:
    """Return older memory -> what it says in a line; "" for one that is not there."""
    texts = catalog.memories.get(link.older for link in links)
    return {
        link.older: first_line(texts[link.older].text, redactor=catalog.redactor)
        if link.older in texts
        else ""
        for link in links
    }


def _latest(links: Iterable[Supersession]) -> list[Supersession]:
    """Return each of them once, latest first."""
    by_older = {link.older: link for link in links}
    return sorted(by_older.values(), key=lambda link: (link.older_at, link.older), reverse=True)


def first_line(text: str, redactor: Redactor) -> str:
    """Return the beginning of a text in one line, without secrets."""
    line = " ".join(redactor.redact(text)[0].split())
    return line if len(line) <= SAID else line[: SAID - 1].rstrip() + "\u2026"


def told_former(former: Former, redactor: Redactor) -> str:
    """Return what a memory replaced, with both dates."""
    link = former.supersession
    said = former.text or redactor.redact(link.reason)[0]
    return f"since {link.newer_at:%Y-%m-%d}; before ({link.older_at:%Y-%m-%d}): {said}"


def told_superseded(link: Supersession) -> str:
    """Return by what a memory was superseded, and when."""
    return f"superseded by {link.newer[:SHORT_ID_LENGTH]} on {link.newer_at:%Y-%m-%d}"


def former_shape(former: Former, redactor: Redactor) -> dict[str, Any]:
    """Return what a memory replaced as JSON fields."""
    link = former.supersession
    return {
        "id": link.older[:SHORT_ID_LENGTH],
        "full_id": link.older,
        "event_time": f"{link.older_at:%Y-%m-%dT%H:%M:%SZ}",
        "until": f"{link.newer_at:%Y-%m-%dT%H:%M:%SZ}",
        "text": former.text,
        "rule": link.rule,
        "reason": redactor.redact(link.reason)[0],
    }


def superseded_shape(link: Supersession, redactor: Redactor) -> dict[str, Any]:
    """Return by what a memory was superseded as JSON fields."""
    return {
        "id": link.newer[:SHORT_ID_LENGTH],
        "full_id": link.newer,
        "since": f"{link.newer_at:%Y-%m-%dT%H:%M:%SZ}",
        "rule": link.rule,
        "reason": redactor.redact(link.reason)[0],
    }
