"""The views that are one list: sources, records, injections, approvals, transcripts, agents, queue, log."""

from typing import Any, ClassVar

from ragmem.api.memory import Ragmem
from ragmem.cli.common import local_minute, moment, plural, shorten_home, size
from ragmem.cli.explorer.filter_query import FilterQuery, filter_values
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.memories import excerpt
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.model import SHORT_ID_LENGTH, Tier
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.context.injection_list import ListedInjection
from ragmem.services.lifecycle.approval import Proposal
from ragmem.services.reporting.queue_list import queue
from ragmem.services.reporting.transcript_list import transcript_states
from ragmem.services.seeding.files import files_of
from ragmem.storage.memories.memory_list import Filter, cross_count

FILES = 200
"""Maximum number of files in the details of a source."""


class Sources(ListPane):
    """The configured sources and those that have memories; Enter shows the memories of one."""

    COLUMNS = (
        Column("source", 14),
        Column("memories", 8, right=True),
        Column("ingest", 7, least=50, right=True),
        Column("summarize", 9, least=60, right=True),
        Column("discard", 7, least=60, right=True),
        Column("files", 6, right=True),
        Column("newest", 10, least=80),
        Column("state", 10),
        Column("glob", least=100),
    )
    UNIT = ("source",)
    EMPTY = "No source is configured. Define sources in sources.toml: ragmem inspect config"
    NEEDS_MEMORIES = False

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return all sources."""
        catalog, specs = memory.catalog, memory.settings.sources
        stored: dict[str, dict[str, Any]] = {}
        tiers: dict[str, dict[str, int]] = {}
        if catalog.exists():
            stored = {str(row["source"]): row for row in catalog.overview.source_rows()}
            tiers = cross_count(catalog.database, "source", "tier", Filter())
        return Page(
            [
                _source_row(memory, name, stored.get(name, {}), tiers.get(name, {}))
                for name in (*specs, *(name for name in stored if name not in specs))
            ]
        )


def _source_row(memory: Ragmem, name: str, stored: dict[str, Any], tiers: dict[str, int]) -> Row:
    spec = memory.settings.sources.get(name)
    state = "not listed" if spec is None else "on" if spec.enabled else "off"
    globs = ", ".join(spec.globs) if spec else "stored by `ingest`, hooks or an assistant"
    files = files_of(memory.catalog, name)
    newest = stored.get("newest")
    lines = [f"{name}: {state}", globs]
    if spec:
        lines.append(f"reader {spec.reader}, scope {spec.scope}, signal {spec.signal}")
    if files.paths:
        counts = ", ".join(f"{count:,} {what}" for what, count in files.tally.items())
        lines.append(f"{len(files.paths):,} files when seed last looked: {counts or 'nothing in them'}")
    if not stored and spec and spec.enabled:
        lines.append(f"nothing stored yet: ragmem seed --source {name}")
    if files.without:
        lines.append(f"{len(files.without):,} files produced no memory:")
        lines += map(shorten_home, files.without[:FILES])
    lines += ["", *map(shorten_home, files.paths[:FILES])]
    if len(files.paths) > FILES:
        lines.append(f"and {len(files.paths) - FILES:,} more")
    return Row(
        (
            name,
            f"{stored.get('memories', 0):,}",
            *(f"{tiers.get(tier.value, 0):,}" for tier in Tier),
            f"{len(files.paths):,}",
            newest.strftime("%Y-%m-%d") if newest else "",
            state,
            globs,
        ),
        key=name,
        opens=("source", name),
        detail="\n".join(lines),
    )


MOST = 500
"""Maximum number of operations, proposals or records in a list."""


class Records(ListPane):
    """The records of sessions."""

    COLUMNS = (
        Column("date", 10),
        Column("type", 18),
        Column("record"),
        Column("project", 14, least=90),
        Column("id", 12, least=80),
    )
    KEYS: ClassVar[tuple[str, ...]] = ("type",)
    HINT = "words of the record, type:gotcha"
    UNIT = ("record",)
    EMPTY = "There are no typed records yet. `ragmem record --help` explains them."

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the newest records."""
        projects = self.app.reader.projects
        found = memory.records.get(
            filter_values(query, "type", RecordType),
            projects=projects or (),
            everywhere=projects is None,
            limit=MOST,
        )
        rows = []
        for one in found:
            stored, title = one.memory, memory.redactor.redact(one.record.title(memory.redactor))[0]
            date, short = stored.event_time.strftime("%Y-%m-%d"), stored.short_id
            cells = (date, one.type.value, title, stored.scope.project, short)
            detail = excerpt(stored, redactor=memory.redactor)
            rows.append(Row(cells, key=short, opens=("memory", stored.id), detail=detail))
        return Page(rows)


MOST_INJECTIONS = 1_000
"""Maximum number of injections in the list."""


class Injections(ListPane):
    """The log of injections, latest first."""

    COLUMNS = (
        Column("at", 16),
        Column("session", 9),
        Column("event", 8, least=80),
        Column("score", 5, least=70, right=True),
        Column("use", 5),
        Column("memory"),
        Column("question", least=110),
    )
    HINT = "words of the session, memory or question"
    UNIT = ("injection",)
    EMPTY = "Nothing was injected yet. `ragmem connect` connects an assistant."

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the latest injections."""
        found = memory.injections.log(limit=MOST_INJECTIONS)
        status = "use: what `ragmem feedback` said" + (
            f"; the latest {MOST_INJECTIONS:,}" if len(found) == MOST_INJECTIONS else ""
        )
        return Page([_injection_row(one) for one in found], status=status)


def _injection_row(item: ListedInjection) -> Row:
    one = item.injection
    use = "good" if item.feedback > 0 else "bad" if item.feedback < 0 else ""
    title = f"{item.title} ({item.state})" if item.state else item.title
    terms = "\n".join(f"  {name} {value:.2f}" for name, value in one.detail.get("terms", {}).items())
    others = "\n".join(f"  {score:.2f}  {other}" for _, other, score in item.others)
    into = f"session {one.session}" + (f", agent {one.agent}" if one.agent else "")
    lines = [
        title,
        f"{moment(one.injected_at)} into {into}" + (f" of {one.assistant}" if one.assistant else ""),
        f"because: {one.event}: {one.reason}",
        f"question: {one.question or 'none: the session started'}",
        f"{one.tokens} tokens" + (f", score {one.score:.2f}" if one.score is not None else ""),
        f"of use: {use or 'not rated'}",
    ]
    lines += ["", "terms", terms] if terms else []
    lines += ["", "also found", others] if others else []
    return Row(
        (
            local_minute(one.injected_at),
            one.session[:9],
            one.event,
            "" if one.score is None else f"{one.score:.2f}",
            use,
            title,
            one.question,
        ),
        key=one.memory[:SHORT_ID_LENGTH],
        opens=("memory", one.memory) if one.memory and not item.state else None,
        detail="\n".join(lines),
    )


class Approvals(ListPane):
    """The proposals, skills first; the explorer decides nothing."""

    COLUMNS = (
        Column("date", 10),
        Column("what", 6),
        Column("says"),
        Column("project", 14, least=90),
        Column("id", 12),
    )
    HINT = "words of the proposal"
    UNIT = ("proposal",)
    EMPTY = "Nothing waits for your review. [approval] turns this on, `ragmem approve draft` drafts skills."

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return what waits."""
        projects = self.app.reader.projects
        found = memory.approvals.proposals(Approval.PROPOSED, projects=projects, limit=MOST)
        waiting = sum(memory.approvals.count(projects))
        status = "c copies the id for `ragmem approve accept ID` or `reject ID`"
        return Page([_proposal_row(one, memory.redactor) for one in found], waiting, status=status)


def _proposal_row(one: Proposal, redactor: Redactor) -> Row:
    short = one.id[:SHORT_ID_LENGTH]
    lines = [
        redactor.redact(one.title)[0],
        f"from {', '.join(one.sources)}",
        "",
        redactor.redact(one.text)[0],
    ]
    return Row(
        (one.at.strftime("%Y-%m-%d"), one.sort, one.line(redactor), one.project, short),
        key=short,
        opens=("memory", one.id) if one.sort == "memory" else None,
        detail="\n".join(lines),
    )


class Transcripts(ListPane):
    """Transcripts that were read, latest first, then those that were never read."""

    COLUMNS = (
        Column("last read", 16),
        Column("assistant", 12),
        Column("exchanges", 9, right=True),
        Column("size", 9, least=70, right=True),
        Column("file"),
    )
    UNIT = ("transcript",)
    EMPTY = "No transcripts were found. Enable the source `transcripts` in sources.toml."
    NEEDS_MEMORIES = False

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return all known transcripts."""
        found = transcript_states(memory.catalog, memory.settings, home=memory.home)
        rows = []
        for one in found.read:
            read = (local_minute(one.read_at), one.assistant, f"{one.exchanges:,}")
            about = f"session {one.session}\nproject {one.project or 'none'}\nread to byte {one.position:,}"
            detail = f"{one.path}\n{about} of {one.size:,}"
            cells = (*read, size(one.size), shorten_home(one.path))
            rows.append(Row(cells, key=one.session, path=one.path, detail=detail))
        for other in found.unread:
            cells = ("never", "", "", size(other.size), shorten_home(other.path))
            detail = f"{other.path}\nnever read: ragmem seed --source transcripts"
            rows.append(Row(cells, path=other.path, detail=detail))
        waits = plural(found.waiting, "exchange waits", "exchanges wait")
        return Page(rows, status=f"{waits} for vectors" if found.waiting else "")


class Agents(ListPane):
    """The agents, the most recently seen first."""

    COLUMNS = (
        Column("agent", 14),
        Column("status", 10),
        Column("heard of", 16),
        Column("task"),
    )
    UNIT = ("agent",)
    EMPTY = "No agents are known. `ragmem agents heartbeat NAME` registers one."
    NEEDS_MEMORIES = False

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return all agents."""
        rows = []
        for one in memory.agents.agents():
            task = memory.redactor.redact(one.current_task)[0]
            status = f"{one.status} (stale)" if one.stale else one.status
            cells = (one.id, status, local_minute(one.last_seen), task)
            rows.append(Row(cells, key=one.id, detail=f"{one.id}\n{status}\n\n{task}"))
        return Page(rows)


class Queue(ListPane):
    """Waiting texts and events, oldest first, and unreadable files."""

    COLUMNS = (Column("since", 16), Column("what", 9), Column("it contains, or why it was rejected"))
    UNIT = ("entry", "entries")
    EMPTY = "Nothing is queued, and nothing was rejected."
    NEEDS_MEMORIES = False

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the queue."""
        found = queue(memory.catalog, memory.settings)
        rows = [
            Row(("", "rejected", one.problem), path=str(one.path), detail=f"{one.path}\n\n{one.problem}")
            for one in found.aside
        ]
        rows += [
            Row(
                (local_minute(one.since) if one.since else "", one.what, one.text),
                detail=one.text,
            )
            for one in found.oldest
        ]
        status = (
            f"{found.texts:,} texts and {found.events:,} events wait; {found.vectors:,} memories for vectors"
        )
        return Page(rows, len(found.aside) + found.texts + found.events, status=status)


class Log(ListPane):
    """The writing operations."""

    COLUMNS = (Column("at", 16), Column("operation", 14), Column("detail"), Column("undo", 4, least=60))
    UNIT = ("operation",)
    EMPTY = "The log is empty."

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the latest operations."""
        runs = {run.run for run in memory.catalog.archive.runs()}
        rows = []
        for entry in memory.catalog.log.entries(limit=MOST):
            parts = [
                f"{name} {memory.redactor.redact(str(value))[0]}" for name, value in entry["detail"].items()
            ]
            undo = entry["detail"].get("run") in runs
            at = local_minute(entry["at"])
            how = f"\n\nragmem gc --undo --run {entry['detail']['run']}" if undo else ""
            rows.append(
                Row(
                    (at, entry["operation"], ", ".join(parts), "yes" if undo else ""),
                    key=str(entry["detail"].get("run", "")),
                    detail=f"{at}  {entry['operation']}\n\n" + "\n".join(parts) + how,
                )
            )
        return Page(rows)
