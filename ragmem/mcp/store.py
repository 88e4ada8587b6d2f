"""The tools that store: a text of an agent, or knowledge, episodes and insights as typed records."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ragmem.api.home import now
from ragmem.domain.model import USER, Draft, Kind, Memory, Supersession
from ragmem.domain.model.supersession import DECLARED, REPLACES
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.records.records import record
from ragmem.errors import NotFoundError, UsageError
from ragmem.mcp.call import Call, Result
from ragmem.services.ingestion.drafts import text_draft
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.ingestion.scope import project_finder
from ragmem.services.lifecycle.feedback import require_memory

MOST_CHARS = 100_000
"""Maximum characters of a text or record to remember; one fact has far fewer."""

WAITS = "a person must accept it before it takes effect: ragmem approve"

_CHANGES = {
    "new": "remembered",
    "changed": "remembered anew",
    "unchanged": "known already",
    "archived": "remembered again",
}


def remember(call: Call) -> Result:
    """Store a text. It is durable when this returns, and indexed if a model is available."""
    memory, given = call.memory, call.arguments
    text: str = given["text"]
    _check_length(text)
    is_new = _names_new_project(call)
    projects = project_finder(memory.catalog, home=memory.home)
    wish = DraftOptions(
        kind=Kind(given["kind"]) if "kind" in given else None,
        tags=tuple(given.get("tags", ())),
        project=given.get("project", ""),
    )
    draft = text_draft(
        text.encode(),
        given.get("title", ""),
        wish,
        catalog=memory.catalog,
        settings=memory.settings,
        projects=projects,
        cwd=call.place,
    )
    replaced = _replaced(call, draft)
    if replaced:
        ids = " ".join(one.id for one in replaced)
        draft = replace(draft, metadata={**draft.metadata, REPLACES[0]: ids})
    [stored] = memory.ingest([draft], projects=projects, by_agent=True)
    kept = stored.memory
    if not memory.settings.approval.enabled:
        _record_replacement(call, replaced, kept)
    whose = call.project_label(kept.scope.project)
    told = f"{_CHANGES[stored.change]}: [{kept.short_id}] {kept.kind.value}, {whose}"
    notes = _project_notes(call, kept.scope.project, is_new=is_new)
    notes += [f"it replaces [{one.short_id}]" for one in replaced]
    notes += [f"stored, only in full text until it is indexed: {stored.note}"] if stored.note else []
    notes += [WAITS] if memory.settings.approval.enabled and stored.change != "unchanged" else []
    data = {
        "id": kept.short_id,
        "full_id": kept.id,
        "change": stored.change,
        "kind": kept.kind.value,
        "project": kept.scope.project,
        "state": kept.state.value,
        "notes": notes,
    }
    return Result("\n".join([told, *notes]), data)


def _replaced(call: Call, draft: Draft) -> list[Memory]:
    """Return the memories that a text replaces, other than itself.

    Raises UsageError for one of another project, and for one that a person has pinned.
    """
    wanted = call.arguments.get("replaces", ())
    if not wanted:
        return []
    call.memory.require()
    catalog, policy = call.memory.catalog, call.memory.settings.lifecycle.policy
    known = [require_memory(catalog, one.strip("[] ")) for one in wanted]
    found = [one for one in known if (one.source, one.uri) != (draft.source, draft.uri)]
    entries = catalog.lives.find_entries([one.id for one in found], policy=policy)
    for one in found:
        if one.scope.project != draft.scope.project:
            whose = call.project_label(one.scope.project)
            raise UsageError(f"[{one.short_id}] belongs to {whose}", hint="store its correction there")
        if one.id in entries and entries[one.id].pinned:
            raise UsageError(
                f"[{one.short_id}] is pinned, so only a person replaces it",
                hint="tell the user, and store the text without replaces",
            )
    return found


def _record_replacement(call: Call, replaced: Sequence[Memory], newer: Memory) -> None:
    """Record at once what gc would record later."""
    moment = now()
    call.memory.catalog.supersessions.put(
        Supersession(one.id, newer.id, one.event_time, newer.event_time, DECLARED, newer.title, moment)
        for one in replaced
    )


def store_knowledge(call: Call) -> Result:
    """Store knowledge."""
    given = call.arguments
    fields = {name: given[name] for name in ("category", "title", "content")}
    wish = DraftOptions(tags=tuple(given.get("tags", ())))
    return _add(call, RecordType.KNOWLEDGE, fields, wish, "knowledge_id")


def record_episode(call: Call) -> Result:
    """Store an episode."""
    given = call.arguments
    fields = {name: given[name] for name in ("event_type", "title", "content", "importance")}
    fields |= {"session": call.session, "agent": call.agent}
    return _add(
        call, RecordType.EPISODE, fields, DraftOptions(project=given.get("project", "")), "episode_id"
    )


def add_session_insight(call: Call) -> Result:
    """Store the insights of a session."""
    fields: dict[str, Any] = {"session": call.session, **call.arguments}
    wish = DraftOptions(project=fields.pop("project", ""), spec=fields.pop("spec", ""))
    return _add(call, RecordType.SESSION_INSIGHT, fields, wish, "id")


def _add(call: Call, kind: RecordType, fields: dict[str, Any], wish: DraftOptions, key: str) -> Result:
    """Store a record; return what changed, with its id under `key`."""
    is_new = _names_new_project(call)
    typed = record(kind, fields)
    _check_length(typed.text)
    [stored] = call.memory.records.store.add([typed], wish, now=now(), folder=call.place, by_agent=True)
    kept = stored.memory
    whose = call.project_label(kept.scope.project)
    text = f"{_CHANGES[stored.change]}: [{kept.short_id}] {stored.type.value}, {whose}"
    notes = _project_notes(call, kept.scope.project, is_new=is_new)
    return Result("\n".join(filter(None, [text, *notes, stored.note])), {key: kept.short_id})


def _names_new_project(call: Call) -> bool:
    """Return whether the call names a project that has no memories."""
    named = call.arguments.get("project", "").strip()
    if not named or not call.memory.is_stored():
        return bool(named)
    try:
        call.memory.projects.resolve([named])
    except NotFoundError:
        return True
    return False


def _project_notes(call: Call, project: str, *, is_new: bool) -> list[str]:
    """Return what a caller may not expect of the project of a text."""
    if project == USER:
        named = call.arguments.get("project")
        return [] if named else ["it applies everywhere: the caller's folder is in no project"]
    return ["the project is new"] if is_new else []


def _check_length(text: str) -> None:
    """Raise UsageError for a text that would keep the warm process busy for too long."""
    if len(text) > MOST_CHARS:
        raise UsageError(
            f"the text has {len(text):,} characters, at most {MOST_CHARS:,} are remembered",
            hint="remember only the essential part; `ragmem ingest FILE` stores whole files",
        )
