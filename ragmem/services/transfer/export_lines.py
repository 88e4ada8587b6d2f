"""The lines of an export: writing records as JSON, and reading them with strict checks.

An export is JSON Lines in UTF-8: a header, then projects and their former ids, memories, archive, what the
lifecycle knows of them (lives, recalls, supersessions, merges), moves to another project, forgotten texts,
and seen files, each type in its own order, then an end with the number of lines before it and their sha256
without the header, so that equal contents have equal hashes. A new field raises SCHEMA.
Paths in an export are never opened; they are names of memories.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import orjson

from ragmem.domain.model import Category, Chunk, Kind, Memory, Scope, State, Tier, content_hash
from ragmem.domain.text.chunking import chunk_id
from ragmem.services.transfer.line_fields import LARGEST, Fields, Line, LineError
from ragmem.storage.lifecycle.archive import ArchiveEntry
from ragmem.storage.maintenance.catalog_export import Alias, ForgottenText, Move, Project, Tie
from ragmem.storage.memories.files import SeenFile

FORMAT = "ragmem export"
SCHEMA = 3
READABLE = frozenset({1, 2, 3})
"""Schemas that can be read; the first one calls the archive trash, and the second has no ties."""

TRASH = "trash"
"""The type of a line of the archive in the first schema."""
ORDER = tuple(
    "header project alias memory archive life recall supersession merge move forgotten file end".split()
)
"""The types of lines, in order."""

_TIE_TYPES = {Alias: "alias", Move: "move", ForgottenText: "forgotten"}
_ID = re.compile("[a-z2-7]{26}")


def dump(line: Line) -> bytes:
    """Return a line as bytes, with its end."""
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def moment_text(moment: datetime) -> str:
    """Return a moment in UTC, exact to the microsecond."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def header_line(*, version: str, now: datetime, counts: Mapping[str, int]) -> Line:
    """Return the first line."""
    return {
        "type": "header",
        "format": FORMAT,
        "schema": SCHEMA,
        "ragmem": version,
        "exported_at": moment_text(now),
        "counts": dict(counts),
    }


def project_line(project: Project) -> Line:
    """Return the line of a project."""
    return {"type": "project", **asdict(project), "remotes": dict(project.remotes or {})}


def tie_line(tie: Tie) -> Line:
    """Return the line of a former project, a move or a forgotten text."""
    return {"type": _TIE_TYPES[type(tie)], **asdict(tie)}


def _memory_fields(memory: Memory) -> dict[str, Any]:
    # Whether vectors exist depends on the home and not on the memory.
    state = State.INDEXED if memory.state is State.PENDING else memory.state
    return {
        "id": memory.id,
        "source": memory.source,
        "uri": memory.uri,
        "project": memory.scope.project,
        "spec": memory.scope.spec,
        "title": memory.title,
        "text": memory.text,
        "summary": memory.summary,
        "kind": memory.kind.value,
        "category": memory.category.value,
        "tier": memory.tier.value,
        "state": state.value,
        "protected": memory.protected,
        "tags": list(memory.tags),
        "metadata": dict(memory.metadata),
        "content_hash": memory.content_hash,
        "recalls": memory.recalls,
        "event_at": moment_text(memory.event_time),
        "created_at": moment_text(memory.created_at),
        "updated_at": moment_text(memory.updated_at),
    }


def memory_line(memory: Memory, chunks: tuple[Chunk, ...]) -> Line:
    """Return the line of a memory; its chunks are spans of its text, from which their ids follow."""
    spans = [{"heading": part.heading, "start": part.start, "end": part.end} for part in chunks]
    return {"type": "memory", **_memory_fields(memory), "chunks": spans}


def archive_line(item: ArchiveEntry) -> Line:
    """Return the line of a memory in the archive."""
    return {
        "type": "archive",
        "run": item.run,
        "rule": item.rule,
        "reason": item.reason,
        "successor": item.successor,
        "archived_at": moment_text(item.at),
        "memory": _memory_fields(item.memory),
    }


def file_line(file: SeenFile) -> Line:
    """Return the line of a file that was seeded."""
    return {"type": "file", **asdict(file)}


def end_line(*, lines: int, sha256: str) -> Line:
    """Return the last line."""
    return {"type": "end", "lines": lines, "sha256": sha256}


def parse(raw: bytes) -> dict[str, Any]:
    """Return a line as an object with a known type; raises LineError."""
    try:
        line = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise LineError("not valid JSON") from error
    if not isinstance(line, dict):
        raise LineError("not a JSON object")
    kind = line.get("type")
    if kind not in ORDER and kind != TRASH:
        raise LineError(f'the type "{kind}" is unknown' if isinstance(kind, str) else "it has no type")
    return line


def read_header(line: Line) -> dict[str, int]:
    """Return the counts of a header; raises LineError, also for an export of a newer ragmem."""
    if line["type"] != "header" or line.get("format") != FORMAT:
        raise LineError("it does not begin an export of ragmem")
    schema = line.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise LineError(f"a newer ragmem wrote it: its schema is {schema}, this one knows {SCHEMA}")
    if schema not in READABLE:
        raise LineError(f'the schema "{schema}" is unknown')
    with Fields(line, "type", "format", "schema") as fields:
        fields.text("ragmem")
        fields.moment("exported_at")
        return fields.numbers("counts")


def read_project(line: Line) -> Project:
    """Return the project of a line; raises LineError."""
    with Fields(line, "type") as fields:
        project = Project(
            fields.name("id"),
            fields.text("name"),
            fields.text("root"),
            fields.text("root_commit"),
            fields.text("remote"),
            fields.texts("paths"),
        )
        if "named" not in line:
            return project
        return replace(
            project,
            named=fields.take("named", bool, "true or false"),
            remotes=fields.mapping("remotes", bool, "true or false"),
            commits=fields.texts("commits"),
        )


def read_tie(line: Line) -> Tie:
    """Return the former project, move or forgotten text of a line; raises LineError."""
    with Fields(line, "type") as fields:
        if line["type"] == "alias":
            return Alias(
                fields.name("id"), fields.name("project"), fields.text("name"), fields.text("detail")
            )
        if line["type"] == "move":
            return Move(fields.name("place"), fields.name("memory"), fields.text("former"))
        return ForgottenText(fields.name("id"), fields.text("run"))


def read_memory(line: Line) -> tuple[Memory, tuple[Chunk, ...]]:
    """Return the memory of a line with its chunks; raises LineError."""
    with Fields(line, "type") as fields:
        memory = _memory(fields)
        spans = fields.take("chunks", list, "a list")
    text = memory.indexed_text
    chunks = []
    for order, span in enumerate(spans):
        if not isinstance(span, dict):
            raise LineError(f"chunk {order} is not an object")
        with Fields(span) as part:
            heading, start, end = part.text("heading"), part.number("start"), part.number("end")
        if not start <= end <= len(text):
            raise LineError(f"chunk {order} lies outside of the text")
        content = text[start:end]
        chunks.append(
            Chunk(chunk_id(memory.id, order, content), memory.id, order, content, heading, start, end)
        )
    return memory, tuple(chunks)


def read_archive(line: Line) -> ArchiveEntry:
    """Return the archived memory of a line; raises LineError."""
    with Fields(line, "type") as fields:
        run, rule = fields.name("run"), fields.text("rule")
        reason = successor = ""
        if line["type"] == TRASH:
            at = fields.moment("trashed_at")
        else:
            at, reason = fields.moment("archived_at"), fields.text("reason")
            successor = fields.text("successor")
        with Fields(fields.take("memory", dict, "an object")) as inner:
            return ArchiveEntry(run, rule, at, _memory(inner), reason, successor)


def read_file(line: Line) -> SeenFile:
    """Return the seen file of a line; raises LineError."""
    with Fields(line, "type") as fields:
        return SeenFile(
            fields.name("source"),
            fields.name("path"),
            fields.number("size"),
            fields.number("modified_ns", lowest=-LARGEST),
            fields.text("rules"),
            fields.numbers("tally"),
        )


def read_end(line: Line) -> tuple[int, str]:
    """Return (number of lines, sha256) of the lines before the end; raises LineError."""
    with Fields(line, "type") as fields:
        return fields.number("lines"), fields.text("sha256")


def _memory(fields: Fields) -> Memory:
    memory = Memory(
        id=fields.text("id"),
        source=fields.name("source"),
        uri=fields.text("uri"),
        scope=Scope(fields.name("project"), fields.text("spec")),
        title=fields.text("title"),
        text=fields.text("text"),
        summary=fields.text("summary"),
        kind=fields.choice("kind", Kind),
        category=fields.choice("category", Category),
        tier=fields.choice("tier", Tier),
        state=fields.choice("state", State),
        protected=fields.take("protected", bool, "true or false"),
        tags=fields.texts("tags"),
        metadata=fields.mapping("metadata", str, "text"),
        content_hash=fields.text("content_hash"),
        recalls=fields.number("recalls"),
        event_time=fields.moment("event_at"),
        created_at=fields.moment("created_at"),
        updated_at=fields.moment("updated_at"),
    )
    if not _ID.fullmatch(memory.id):
        raise LineError('"id" is not the id of a memory')
    if memory.content_hash != content_hash(memory.text):
        # A wrong hash could make the memory look like a duplicate of another, and it would be dropped.
        raise LineError('"content_hash" is not that of the text')
    return memory
