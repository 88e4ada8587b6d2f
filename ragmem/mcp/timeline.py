"""The tools `timeline`, `impact` and `status`, and the briefing for a new session."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ragmem.api.home import now
from ragmem.domain.model import USER, Memory
from ragmem.domain.secrets.redaction import Redactor
from ragmem.mcp.call import Call, Result
from ragmem.mcp.definitions import MOST_LISTED
from ragmem.mcp.frame import clock, frame_lines, one_line
from ragmem.services.code.impact import impact as impact_of
from ragmem.services.code.shapes import impact_shape, unreached
from ragmem.services.code.targets import project_of_code
from ragmem.services.context.context import MORE
from ragmem.services.ingestion.inbox_status import inbox_status
from ragmem.services.lifecycle.feedback import require_memory
from ragmem.services.processes.dates import parse_span
from ragmem.services.retrieval.operational import current_state
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.storage.memories.memory_list import Filter, count_memories, list_page

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

TITLE = 100
REACHED, TESTS, MEMORIES = 15, 8, 6
"""Lines of each list of an impact."""

DATA = 200
"""Maximum length of each list in the data of an impact."""

WINDOWS = (timedelta(days=1), timedelta(days=10), timedelta(days=100), timedelta(days=9999 * 366))
"""Spans before and after a memory in which its neighbours are searched; a span is sorted as a whole."""

EMPTY = "Memory is empty: nothing is stored yet."


def timeline(call: Call) -> Result:
    """List memories in chronological order: of a span, or around one of them."""
    memory, given = call.memory, call.arguments
    first, end = parse_span(given.get("since"), given.get("until"), now=now())
    if not memory.is_stored():
        return Result(EMPTY, {"memories": []})
    projects = call.projects()
    wanted = Filter(
        projects=projects,
        since=first,
        until=end,
    )
    center = require_memory(memory.catalog, given["around"].strip("[] ")) if "around" in given else None
    newest = given["order"] == "newest"
    if center is None:
        found, more = list_page(
            memory.catalog.database, wanted, order="newest" if newest else "oldest", limit=given["limit"]
        )
        rest = more is not None
    else:
        found, rest = _around(call, center, wanted, given["limit"]), False
        found = found if newest else found[::-1]
    alone = projects is not None and len(set(projects) - {USER}) <= 1
    lines: list[str] = []
    day = ""
    for one in found:
        if (at := f"{one.event_time:%Y-%m-%d}") != day:
            lines.append(at)
            day = at
        where = "" if alone or one.scope.project == USER else f" {call.project_label(one.scope.project)}"
        mark = " <- this one" if center is not None and one.id == center.id else ""
        at = clock(one.event_time)
        lines.append(
            f"  {at + ' ' if at else ''}[{one.short_id}] {one.kind.value} {one.provenance}{where} | "
            f"{one_line(one.title or one.uri, TITLE, redactor=call.redactor)}{mark}"
        )
    asked = call.projects_label(projects)
    if not found:
        lines.append(f"No events at that time in {asked}.")
    elif rest:
        lines.append(f"(more in {asked}: {_next_arguments(memory, wanted, found, newest=newest)})")
    return Result(
        frame_lines(lines),
        {"asked": asked, "memories": [memory_shape(one, redactor=call.redactor) for one in found]},
    )


def _next_arguments(memory: "Ragmem", wanted: Filter, found: Sequence[Memory], *, newest: bool) -> str:
    """Return the arguments for the next page; memories of the last moment are repeated rather than lost.

    Where the whole page is of one moment, as for files that were read together, that moment is skipped.
    """
    last = found[-1].event_time
    behind = _shift(last, timedelta(microseconds=1)) or last
    name, with_it, without = ("until", behind, last) if newest else ("since", last, behind)
    if found[0].event_time != last:
        return f"{name}={_exact(with_it)}"
    together = count_memories(memory.catalog.database, replace(wanted, since=last, until=behind))
    more = f"{together} of this moment, limit={min(together, MOST_LISTED)}; " if together > len(found) else ""
    return f"{more}{name}={_exact(without)}"


def _exact(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}"


def _shift(moment: datetime, by: timedelta) -> datetime | None:
    """Return a moment shifted by a span; None outside the years of the calendar."""
    try:
        return moment + by
    except OverflowError:
        return None


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return one if other is None else other if one is None else max(one, other)


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return one if other is None else other if one is None else min(one, other)


def _around(call: Call, center: Memory, wanted: Filter, limit: int) -> list[Memory]:
    """Return a memory and those just before and after it, newest first."""
    database = call.memory.catalog.database
    # Its own project is added: a memory found elsewhere has its neighbours there.
    projects = None if wanted.projects is None else tuple({*wanted.projects, center.scope.project})
    # The last moment of the calendar has no successor.
    behind = _shift(center.event_time, timedelta(microseconds=1)) or center.event_time
    for window in WINDOWS:
        since, until = _shift(center.event_time, -window), _shift(center.event_time, window)
        before, _ = list_page(
            database,
            Filter(projects=projects, since=_later(since, wanted.since), until=behind),
            limit=limit,
        )
        after, _ = list_page(
            database,
            Filter(projects=projects, since=behind, until=_earlier(until, wanted.until)),
            order="oldest",
            limit=limit,
        )
        if len(before) >= limit and len(after) >= limit:
            break
    earlier = [one for one in before if one.id != center.id]
    half = (limit - 1) // 2
    later = [one for one in after if one.id != center.id][: max(half, limit - 1 - len(earlier))]
    return [*later[::-1], center, *earlier[: limit - 1 - len(later)]]


def impact(call: Call) -> Result:
    """Report what a change of a symbol or file affects, its tests, and the memories about it."""
    memory, given = call.memory, call.arguments
    if not memory.is_stored():
        return Result(EMPTY)
    projects = call.projects()
    project = project_of_code(memory.catalog, projects, named=projects is not None)
    found = impact_of(memory.catalog, project, given["symbol"], depth=given["depth"], memories=DATA)
    shape = impact_shape(found, limit=DATA, redactor=call.redactor)
    target = shape["target"]
    symbols = target["symbols"]
    place = (
        f"{target['files'][0]}:{symbols[0]['line']}"
        if target["kind"] != "file"
        else f"{len(symbols)} symbols"
    )
    lines = [f"{target['kind']} {target['name']} ({place})"]
    if target["former_path"]:
        lines.append(f"{target['former_path']} is now {target['name']}")
    if symbols and symbols[0]["doc"]:
        lines.append(one_line(symbols[0]["doc"].splitlines()[0], 160, redactor=call.redactor))
    if not shape["reached"]:
        lines.append(unreached(target["kind"]))
    lines += _rows("reached", shape["reached"], shape["reached_total"], REACHED)
    beyond = sum(count for depth, count in found.depths.items() if depth > found.depth)
    if beyond:
        lines.append(f"  and {beyond} deeper than {found.depth}")
    lines += _rows("tests", shape["tests"], shape["tests_total"], TESTS)
    if shape["memories"]:
        lines.append(f"memories about it, {_count_of(MEMORIES, shape['memories_total'])}:")
        lines += [_about(one, redactor=call.redactor) for one in shape["memories"][:MEMORIES]]
    if not shape["complete"]:
        lines.append("note: the code graph is incomplete: ragmem ingest --code .")
    return Result(frame_lines(lines), shape)


def _about(memory: dict[str, Any], redactor: Redactor) -> str:
    """Return a line for a memory about code, with the quote that mentions it if the title does not."""
    title = one_line(memory["title"], TITLE, redactor=redactor)
    told = f"  [{memory['id']}] {memory['event_time'][:10]} {memory['kind']} | {title}"
    quote = one_line(memory["places"][0]["quote"], 120, redactor=redactor) if memory["places"] else ""
    return f"{told}: {quote}" if quote and not quote.startswith(title.rstrip("…")) else told


def _rows(title: str, rows: Sequence[dict[str, Any]], total: int, most: int) -> list[str]:
    if not rows:
        return []
    lines = [f"{title}, {_count_of(most, total)}:"]
    for one in rows[:most]:
        how = ", ".join(dict.fromkeys(edge["kind"] for edge in one["references"]))
        lines.append(
            f"  {one['depth']} {one['symbol']} {one['file']}:{one['line']}" + (f" ({how})" if how else "")
        )
    return lines


def _count_of(most: int, total: int) -> str:
    return f"{most} of {total}" if total > most else str(total)


def status(call: Call) -> Result:
    """Report the contents of memory here, pending work, and problems."""
    memory = call.memory
    if not memory.is_stored():
        return Result(EMPTY, {"memories": 0})
    catalog = memory.catalog
    projects = call.projects()
    here = count_memories(catalog.database, Filter(projects=projects))
    total = count_memories(catalog.database, Filter())
    latest, _ = list_page(catalog.database, Filter(projects=projects), limit=1)
    facts = current_state(catalog, memory.ledger, home=catalog.database.home, now=now())
    told = {fact.name: fact.value for fact in facts}
    inbox = inbox_status(memory.settings.places.data)
    lines = [f"{_plural(here, 'memory', 'memories')} in {call.projects_label(projects)}"]
    if total > here:
        lines[0] += f", {total:,} in all projects"
    if latest:
        title = one_line(latest[0].title, TITLE, call.redactor)
        lines.append(f"latest: {latest[0].event_time:%Y-%m-%d} {title}")
    pending = told["pending"].partition(":")[0]
    waits = [f"{pending} to be indexed, found by full text until then"] if pending != "0" else []
    waits += [f"{inbox.writes:,} in the inbox"] if inbox.writes else []
    lines.append("waits: " + (", ".join(waits) if waits else "nothing"))
    lines.append(
        f"discarded, found by full text only: {told['buffered']}; in the archive: {told['in the archive']}"
    )
    lines.append(f"model: {told['embedding model']}")
    troubles = [f"{fact.name}: {fact.value}" for fact in facts if fact.attention]
    troubles += [f"rejected from the inbox: {len(inbox.aside):,}"] if inbox.aside else []
    troubles += [memory.inbox_note] if memory.inbox_note else []
    health = "; ".join(one_line(one, 200, redactor=call.redactor) for one in troubles)
    lines.append(f"health: {health or 'nothing to do'}")
    data = {
        "asked": call.projects_label(projects),
        "memories": here,
        "total": total,
        "inbox": {"waiting": inbox.writes, "aside": len(inbox.aside)},
        "facts": told,
        "troubles": troubles,
    }
    return Result(frame_lines(lines), data)


def _plural(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def session_briefing(call: Call) -> Result:
    """Return the briefing for a new session, about its task if one is given."""
    memory = call.memory
    if not memory.is_stored():
        return Result(EMPTY, {"ids": []})
    projects = call.projects()
    block = memory.session_context(
        call.arguments.get("task", ""),
        projects=projects or (),
        everywhere=projects is None,
        tokens=call.arguments.get("budget"),
        folder="" if call.arguments.get("project") else str(call.place),
    )
    if block.left_out:
        reason = f"{block.why_empty}: give a larger one"
    else:
        reason = (
            f"Nothing for a briefing in {call.projects_label(projects)}: search finds what else is stored"
        )
    text = block.text.replace(MORE, "get returns the full text; search finds more") or frame_lines([reason])
    return Result(text, {"ids": [one.short_id for one in block.memories]})
