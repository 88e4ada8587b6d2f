"""The tools that read typed records: knowledge and episodes by a question, and the latest episodes."""

from collections.abc import Mapping, Sequence

from ragmem.domain.model import Category
from ragmem.domain.secrets.redaction import Redactor
from ragmem.mcp.call import Call, Result
from ragmem.mcp.frame import add_notice, days_of, frame_lines, one_line
from ragmem.services.records.knowledge import content_of, episode_shape, knowledge_shape, recent_episodes
from ragmem.services.records.knowledge import search_episodes as episodes_for
from ragmem.services.records.knowledge import search_knowledge as knowledge_for
from ragmem.services.records.records import RecordMatch

CONTENT = 600
"""Characters of an episode's content in the text of an answer; the data has more."""


def search_knowledge(call: Call) -> Result:
    """Answer a question with knowledge; the records found count as recalled."""
    given = call.arguments
    category = Category(given["category"]) if "category" in given else None
    projects = call.projects()
    found = knowledge_for(
        call.memory.records.store, given["query"], category=category, projects=projects, limit=given["limit"]
    )
    call.count_recalls(item.id for item in found)
    nothing = f"No {category or 'knowledge'} found in {call.projects_label(projects)}."
    results = [knowledge_shape(item, redactor=call.redactor) for item in found]
    texts = [shape["content"].replace("\n", "\n  ") for shape in results]
    return _list_records(found, texts, nothing, {"results": results}, redactor=call.redactor)


def search_episodes(call: Call) -> Result:
    """Answer a question with episodes."""
    projects = call.projects()
    found = episodes_for(
        call.memory.records.store, call.arguments["query"], projects=projects, limit=call.arguments["limit"]
    )
    call.count_recalls(item.id for item in found)
    results = []
    for item in found:
        shape = episode_shape(item, redactor=call.redactor)
        results.append(
            {name: shape[name] for name in ("id", "title", "content", "session_id")}
            | {"relevance_score": round(item.score, 4)}
        )
    nothing = f"No episode found in {call.projects_label(projects)}."
    texts = [_content(item, redactor=call.redactor) for item in found]
    return _list_records(found, texts, nothing, {"results": results}, redactor=call.redactor)


def get_recent_episodes(call: Call) -> Result:
    """Return the latest episodes, newest first."""
    session: str = call.arguments.get("session_id", "")
    found = recent_episodes(
        call.memory.records.store,
        session=session,
        current=call.session,
        projects=call.projects(),
        limit=call.arguments["limit"],
    )
    shapes = [episode_shape(item, redactor=call.redactor) for item in found]
    names = ("id", "event_type", "title", "content", "created_at")
    nothing = f'No episode of the session "{session[:60]}".' if session else "No episodes yet."
    data = {"episodes": [{name: shape[name] for name in names} for shape in shapes]}
    texts = [_content(item, redactor=call.redactor) for item in found]
    return _list_records(found, texts, nothing, data, redactor=call.redactor)


def _list_records(
    found: Sequence[RecordMatch],
    texts: Sequence[str],
    nothing: str,
    data: Mapping[str, object],
    redactor: Redactor,
) -> Result:
    lines = []
    days = days_of([item.memory.event_time for item in found])
    for item, day, text in zip(found, days, texts, strict=True):
        memory = item.memory
        what = (
            memory.category.value
            if memory.category is not Category.NONE
            else item.fields.get("event_type", "")
        )
        score = f" ({item.score:.2f})" if item.score else ""
        title = one_line(memory.title, 120, redactor)
        head = f"[{memory.short_id}] {day} {what} | {title}{score}"
        lines += [head, f"  {text}"]
    return Result(frame_lines(lines or [nothing]), add_notice(data))


def _content(item: RecordMatch, redactor: Redactor) -> str:
    return one_line(content_of(item, redactor=redactor), CONTENT, redactor=redactor)
