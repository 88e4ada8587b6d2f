"""Typed records: add one of each type, get them by type."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack

from ragmem.api.home import Home, now
from ragmem.api.projects import Projects
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.records.records import record, record_type
from ragmem.services.ingestion.ingest import IngestResult
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.records.records import (
    MIN_SCORE,
    Ask,
    RecordContext,
    RecordFilters,
    RecordMatch,
    RecordStore,
    Where,
    discoveries,
)


class Records:
    """The typed records of a memory.

    Each `add_` method returns the id of the memory, or a list of ids. The record is durable even if no model
    is available, and the same record twice is one memory. An invalid field raises UsageError with its name.
    Each `get_` method returns the best answers first, or the newest without a question, and an empty list
    if nothing was ever stored. An unknown project raises NotFoundError. docs/records.md describes the fields.
    `store` does the same for records whose fields were checked before.
    """

    def __init__(
        self, home: Home, *, ask: Ask, ingest: Callable[..., list[IngestResult]], projects: Projects
    ) -> None:
        self._home = home
        self._projects = projects
        self.store = RecordStore(
            home.catalog,
            home.settings.chunking,
            home.home,
            home.cwd,
            ask=ask,
            ingest=ingest,
            select_projects=self._select_projects,
        )

    def _select_projects(self, where: Where) -> tuple[str, ...] | None:
        self._home.prepare()
        if where.everywhere:
            return None
        return self._projects.resolve(where.projects) or self._projects.default()

    def add(
        self,
        records: Iterable[tuple[RecordType | str, Mapping[str, object]]],
        *,
        project: str = "",
        spec: str = "",
        at: datetime | None = None,
        tags: Sequence[str] = (),
    ) -> list[str]:
        """Store records, each given as its type and fields, all or none of them; return their ids.

        `project` is by default that of the working folder, `at` is by default now.
        """
        checked = [record(kind, fields) for kind, fields in records]
        wish = DraftOptions(project=project, spec=spec, at=at, tags=tuple(tags))
        return [stored.id for stored in self.store.add(checked, wish, now=now())]

    def _add_one(self, kind: RecordType, belonging: RecordContext, **fields: Any) -> str:
        [identifier] = self.add([(kind, fields)], **belonging)
        return identifier

    def add_session_insight(
        self,
        summary: str = "",
        *,
        session: str = "",
        subtasks_completed: Sequence[str] = (),
        discoveries: Sequence[str] = (),
        files_understood: Mapping[str, str] | None = None,
        files_changed: Sequence[str] = (),
        patterns_found: Sequence[str] = (),
        gotchas_encountered: Sequence[str] = (),
        what_worked: Sequence[str] = (),
        what_failed: Sequence[str] = (),
        recommendations: Sequence[str] = (),
        **belonging: Unpack[RecordContext],
    ) -> str:
        """Store what a session did and learnt; any one field is enough."""
        return self._add_one(
            RecordType.SESSION_INSIGHT,
            belonging,
            summary=summary,
            session=session,
            subtasks_completed=subtasks_completed,
            discoveries=discoveries,
            files_understood=files_understood,
            files_changed=files_changed,
            patterns_found=patterns_found,
            gotchas_encountered=gotchas_encountered,
            what_worked=what_worked,
            what_failed=what_failed,
            recommendations=recommendations,
        )

    def add_codebase_discoveries(
        self, purposes: Mapping[str, str], **belonging: Unpack[RecordContext]
    ) -> list[str]:
        """Store a record with the purpose of each file, path -> purpose; return the ids in the same order.

        A later purpose of the same file in the same project and spec replaces the earlier one.
        """
        kind = RecordType.CODEBASE_DISCOVERY
        return self.add(
            [(kind, {"path": path, "purpose": purpose}) for path, purpose in purposes.items()], **belonging
        )

    def add_pattern(
        self,
        pattern: str,
        *,
        when: str = "",
        example: str = "",
        files: Sequence[str] = (),
        **belonging: Unpack[RecordContext],
    ) -> str:
        """Store a pattern that works in this project."""
        return self._add_one(
            RecordType.PATTERN, belonging, pattern=pattern, when=when, example=example, files=files
        )

    def add_gotcha(
        self,
        gotcha: str,
        *,
        trigger: str = "",
        solution: str = "",
        files: Sequence[str] = (),
        **belonging: Unpack[RecordContext],
    ) -> str:
        """Store a pitfall, with its trigger and its solution."""
        return self._add_one(
            RecordType.GOTCHA, belonging, gotcha=gotcha, trigger=trigger, solution=solution, files=files
        )

    def add_task_outcome(
        self,
        task: str,
        *,
        success: bool,
        outcome: str = "",
        metadata: Mapping[str, str | float] | None = None,
        **belonging: Unpack[RecordContext],
    ) -> str:
        """Store how a task went."""
        return self._add_one(
            RecordType.TASK_OUTCOME, belonging, task=task, success=success, outcome=outcome, metadata=metadata
        )

    def add_knowledge(
        self, category: str, title: str, content: str = "", **belonging: Unpack[RecordContext]
    ) -> str:
        """Store what was learnt; the category is error_solution, pattern, best_practice or gotcha."""
        return self._add_one(RecordType.KNOWLEDGE, belonging, category=category, title=title, content=content)

    def add_episode(
        self,
        event_type: str,
        title: str,
        content: str = "",
        *,
        session: str = "",
        agent: str = "",
        importance: float = 0.5,
        **belonging: Unpack[RecordContext],
    ) -> str:
        """Store what happened; the event is an action, error, decision or outcome."""
        return self._add_one(
            RecordType.EPISODE,
            belonging,
            event_type=event_type,
            title=title,
            content=content,
            session=session,
            agent=agent,
            importance=importance,
        )

    def add_root_cause(
        self,
        error: str,
        cause: str,
        *,
        fix: str = "",
        files: Sequence[str] = (),
        **belonging: Unpack[RecordContext],
    ) -> str:
        """Store the cause of an error; `files` are those that the fix changed."""
        return self._add_one(RecordType.ROOT_CAUSE, belonging, error=error, cause=cause, fix=fix, files=files)

    def add_user_correction(
        self, right: str, *, said: str = "", rule: str = "", **belonging: Unpack[RecordContext]
    ) -> str:
        """Store a correction by the user; it never ages."""
        return self._add_one(RecordType.USER_CORRECTION, belonging, right=right, said=said, rule=rule)

    def get(
        self,
        types: RecordType | str | Iterable[RecordType | str] = (),
        query: str = "",
        *,
        projects: Sequence[str] = (),
        everywhere: bool = False,
        spec: str = "",
        since: datetime | None = None,
        limit: int = 10,
        min_score: float = MIN_SCORE,
        at: datetime | None = None,
    ) -> list[RecordMatch]:
        """Return records of one type, of several, or of all: those that answer the query, else the newest.

        `projects` are names, ids or paths (default: this one and the user). `min_score` is the minimum score
        of an answer, `at` the moment from which ages count.
        """
        named = (types,) if isinstance(types, str) else types
        return self.store.read(
            [record_type(name) for name in named] or list(RecordType),
            query,
            where=Where(tuple(projects), everywhere, spec, since),
            limit=limit,
            min_score=min_score,
            at=at,
        )

    def get_patterns_and_gotchas(
        self, query: str, num_results: int = 5, **among: Unpack[RecordFilters]
    ) -> tuple[list[RecordMatch], list[RecordMatch]]:
        """Return the patterns and the gotchas for a task, at most `num_results` of each."""
        return (
            self.get(RecordType.PATTERN, query, limit=num_results, **among),
            self.get(RecordType.GOTCHA, query, limit=num_results, **among),
        )

    def get_similar_task_outcomes(
        self, task: str, limit: int = 5, **among: Unpack[RecordFilters]
    ) -> list[RecordMatch]:
        """Return the outcomes of similar tasks."""
        return self.get(RecordType.TASK_OUTCOME, task, limit=limit, **among)

    def get_session_history(
        self, limit: int = 5, *, spec_only: bool = True, **among: Unpack[RecordFilters]
    ) -> list[RecordMatch]:
        """Return the last session insights, newest first; of all specs unless `spec_only`."""
        if not spec_only:
            among["spec"] = ""
        return self.get(RecordType.SESSION_INSIGHT, limit=limit, **among)

    def get_codebase_discoveries(
        self, *, projects: Sequence[str] = (), spec: str = "", everywhere: bool = False
    ) -> dict[str, str]:
        """Return path -> purpose of the files that sessions recorded, the latest purpose of each."""
        catalog = self._home.catalog
        if not catalog.exists():
            return {}
        where = Where(tuple(projects), everywhere)
        return discoveries(catalog, projects=self._select_projects(where), spec=spec)
