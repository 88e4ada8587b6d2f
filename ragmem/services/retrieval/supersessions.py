"""Show superseded memories, and those that replaced them, to people and in JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ragmem.domain.model import SHORT_ID_LENGTH, Match, Memory, PreviousVersion, Supersession
from ragmem.domain.model.supersession import MARKS
from ragmem.domain.secrets.redaction import Redactor
from ragmem.frozen import dataclass
from ragmem.services.retrieval.output_fields import OutputField, output_values, rfc3339
from ragmem.storage.home.catalog import Catalog

LINE_CHARS = 200
"""Maximum characters of a superseded memory's text in a line."""


def add_previous_versions(catalog: Catalog, matches: Sequence[Match]) -> tuple[Match, ...]:
    """Return the matches with the versions that each of them replaced, latest first."""
    recorded = catalog.supersessions.replaced_by([match.memory.id for match in matches])
    if not recorded and not any(match.replaced for match in matches):
        return tuple(matches)
    told = {
        match.memory.id: _latest(
            [*recorded.get(match.memory.id, ()), *(one.supersession for one in match.replaced)]
        )
        for match in matches
    }
    said = _first_lines(catalog, [link for links in told.values() for link in links])
    return tuple(
        replace(
            match, replaced=tuple(PreviousVersion(link, said[link.older]) for link in told[match.memory.id])
        )
        for match in matches
    )


@dataclass(frozen=True, slots=True)
class SupersessionState:
    """What supersedes a memory, or perhaps does, and the versions that it replaced itself."""

    superseded: Supersession | None
    outdated: Supersession | None
    replaced: tuple[PreviousVersion, ...]

    @property
    def link(self) -> Supersession | None:
        """The supersession or the mark."""
        return self.superseded or self.outdated


def supersession_state(catalog: Catalog, memory: Memory) -> SupersessionState:
    """Return what replaces a memory, and what it replaced itself."""
    links = _latest(catalog.supersessions.replaced_by([memory.id]).get(memory.id, ()))
    said = _first_lines(catalog, links)
    replaced = tuple(PreviousVersion(link, said[link.older]) for link in links)
    return SupersessionState(
        catalog.supersessions.in_force([memory.id]).get(memory.id),
        catalog.supersessions.perhaps_outdated([memory.id]).get(memory.id),
        replaced,
    )


def _first_lines(catalog: Catalog, links: Sequence[Supersession]) -> dict[str, str]:
    """Return older memory -> its text in a line; "" if it does not exist."""
    texts = catalog.memories.get(link.older for link in links)
    return {
        link.older: first_line(texts[link.older].text, redactor=catalog.redactor)
        if link.older in texts
        else ""
        for link in links
    }


def _latest(links: Iterable[Supersession]) -> list[Supersession]:
    """Return the distinct links, latest first."""
    by_older = {link.older: link for link in links}
    return sorted(by_older.values(), key=lambda link: (link.older_at, link.older), reverse=True)


def first_line(text: str, redactor: Redactor) -> str:
    """Return the beginning of a text in one line, without secrets."""
    line = " ".join(redactor.redact(text)[0].split())
    return line if len(line) <= LINE_CHARS else line[: LINE_CHARS - 1].rstrip() + "\u2026"


def previous_version_line(former: PreviousVersion, redactor: Redactor) -> str:
    """Return a line about a replaced version, with both dates."""
    link = former.supersession
    said = former.text or redactor.redact(link.reason)[0]
    return f"since {link.newer_at:%Y-%m-%d}; before ({link.older_at:%Y-%m-%d}): {said}"


def superseded_line(link: Supersession) -> str:
    """Return a line about the successor of a memory, with the date; a mark only names it."""
    if link.rule in MARKS:
        return f"perhaps outdated, see {link.newer[:SHORT_ID_LENGTH]}"
    return f"superseded by {link.newer[:SHORT_ID_LENGTH]} on {link.newer_at:%Y-%m-%d}"


PREVIOUS_VERSION_FIELDS: tuple[OutputField[PreviousVersion], ...] = (
    OutputField("id", str, lambda one, _: one.supersession.older[:SHORT_ID_LENGTH], "7hn2zk5x4m3q"),
    OutputField("full_id", str, lambda one, _: one.supersession.older, "7hn2zk5x4m3qcd2p6qwr7s2t3u"),
    OutputField(
        "event_time", datetime, lambda one, _: rfc3339(one.supersession.older_at), "2025-11-02T09:00:00Z"
    ),
    OutputField("until", datetime, lambda one, _: rfc3339(one.supersession.newer_at), "2026-03-15T10:00:00Z"),
    OutputField("text", str, lambda one, _: one.text, "We deploy by hand."),
    OutputField("rule", str, lambda one, _: one.supersession.rule, "replaced"),
    OutputField(
        "reason",
        str,
        lambda one, redactor: redactor.redact(one.supersession.reason)[0],
        "the newer one says that it replaces this",
    ),
)
"""The JSON fields of a replaced version."""

SUPERSEDED_FIELDS: tuple[OutputField[Supersession], ...] = (
    OutputField("id", str, lambda link, _: link.newer[:SHORT_ID_LENGTH], "3q7hn2zk5x4m"),
    OutputField("full_id", str, lambda link, _: link.newer, "3q7hn2zk5x4mcd2p6qwr7s2t3u"),
    OutputField("since", datetime, lambda link, _: rfc3339(link.newer_at), "2026-03-15T10:00:00Z"),
    OutputField("rule", str, lambda link, _: link.rule, "replaced"),
    OutputField(
        "reason",
        str,
        lambda link, redactor: redactor.redact(link.reason)[0],
        "the newer one says that it replaces this",
    ),
)
"""The JSON fields of a supersession."""


def previous_version_shapes(formers: Iterable[PreviousVersion], redactor: Redactor) -> list[dict[str, Any]]:
    """Return replaced versions as JSON fields."""
    return [output_values(PREVIOUS_VERSION_FIELDS, former, redactor) for former in formers]


def superseded_shape(link: Supersession | None, redactor: Redactor) -> dict[str, Any] | None:
    """Return a supersession or a mark as JSON fields; None for a memory in force."""
    return output_values(SUPERSEDED_FIELDS, link, redactor) if link else None
