"""The log of injections, with the titles and feedback of the memories."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragmem.errors import NotFoundError
from ragmem.storage.activity.injections import Injection
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memories import MIN_PREFIX

GONE = "gone"
ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class ListedInjection:
    """An injection, the title of its memory and its state ("", archived, gone), and its feedback.

    `others` are the other matches: id, title and score.
    """

    injection: Injection
    title: str
    state: str = ""
    feedback: int = 0
    others: tuple[tuple[str, str, float], ...] = ()


def find_injections(
    catalog: Catalog,
    *,
    session: str = "",
    memory: str = "",
    since: datetime | None = None,
    limit: int | None = None,
) -> list[ListedInjection]:
    """Return injections, latest first; see `Injections.list`."""
    found = catalog.injections.list(session=session, memory=memory, since=since, limit=limit)
    ids = {one.memory for one in found} | {other for one in found for other, _ in _others(one)}
    titles = _titles(catalog, ids - {""})
    lives = catalog.lives.of(one.memory for one in found)
    rows = []
    for one in found:
        title, state = titles.get(one.memory, ("", GONE)) if one.memory else (one.reason, "")
        row = lives.get(one.memory)
        others = tuple((other, titles.get(other, ("", GONE))[0], score) for other, score in _others(one))
        rows.append(ListedInjection(one, title, state, row.feedback if row else 0, others))
    return rows


def find_injected_memory(catalog: Catalog, prefix: str) -> str:
    """Return the full id of a stored, archived or once injected memory.

    Raises NotFoundError for any other.
    """
    try:
        return catalog.memories.resolve(prefix).id
    except NotFoundError:
        wanted = prefix.strip().lower()
        beyond = set[str]()
        if len(wanted) >= MIN_PREFIX and wanted.isalnum():
            beyond = set(catalog.archive.ids_with_prefix(wanted))
            beyond |= {one.memory for one in catalog.injections.list() if one.memory.startswith(wanted)}
        if len(beyond) == 1:
            return beyond.pop()
        raise


def injection_shape(item: ListedInjection) -> dict[str, Any]:
    """Return the JSON of an injection."""
    one = item.injection
    return {
        "at": one.injected_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "session": one.session,
        "agent": one.agent,
        "assistant": one.assistant,
        "project": one.project,
        "event": one.event,
        "reason": one.reason,
        "question": one.question,
        "memory": one.memory,
        "title": item.title,
        "state": item.state,
        "feedback": item.feedback,
        "score": one.score,
        "floor": one.detail.get("floor"),
        "tokens": one.tokens,
        "place": one.detail.get("place"),
        "of": one.detail.get("of"),
        "terms": dict(one.detail.get("terms", {})),
        "others": [{"id": other, "title": title, "score": score} for other, title, score in item.others],
    }


def _others(one: Injection) -> Iterator[tuple[str, float]]:
    for other in one.detail.get("others", ()):
        if isinstance(other, dict) and "id" in other:
            yield str(other["id"]), float(other.get("score", 0.0))


def _titles(catalog: Catalog, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return id -> (title, state), for stored and archived memories."""
    wanted = sorted(ids)
    memories = catalog.memories.get(wanted)
    archived = catalog.archive.latest(set(wanted) - set(memories))
    found = {key: (catalog.redactor.redact(one.title or one.uri)[0], "") for key, one in memories.items()}
    return found | {
        key: (catalog.redactor.redact(one.memory.title or one.memory.uri)[0], ARCHIVED)
        for key, one in archived.items()
    }
