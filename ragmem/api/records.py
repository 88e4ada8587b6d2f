"""The methods of an open memory for typed records: add one of each type, get them back by type."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ragmem.api.home import now
from ragmem.domain.records.record_types import RecordType

if TYPE_CHECKING:
    from ragmem.services.records.records import Among, Belonging, Recorded, Remembers, Wanted

# Services are imported where they are used: a question must not pay for what only records need.


class Recording:
    """What a memory can do with records.

    Each `add_` method returns the id of the memory, or ids, durable also where no model can be had; the same
    record twice is one memory. It raises UsageError that names a field which is wrong. Each `get_` method
    returns nothing where nothing was ever stored, the best answers first or else the newest, and raises
    NotFoundError for an unknown project. A keyword that no method has is a TypeError. docs/records.md tells
    of the fields.
    """

    def add_records(
        self: "Remembers",
        records: Iterable[tuple[RecordType | str, Mapping[str, object]]],
        **belonging: Unpack["Belonging"],
    ) -> list[str]:
        """Store records, each given as its type and fields, all or none of them; return their ids."""
        from ragmem.domain.records.records import record
        from ragmem.services.ingestion.drafts import HandIn
        from ragmem.services.records.records import Belonging, add

        _refuse_unknown(belonging, Belonging)
        checked = [record(kind, fields) for kind, fields in records]
        wish = HandIn(
            project=belonging.get("project", ""),
            spec=belonging.get("spec", ""),
            at=belonging.get("at"),
            tags=tuple(belonging.get("tags", ())),
        )
        return [stored.id for stored in add(self, checked, wish, now=now())]

    def add_session_insight(
        self: "Remembers",
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
        **belonging: Unpack["Belonging"],
    ) -> str:
        """Store what a session did and learnt; any one field is enough."""
        fields = {
            "summary": summary,
            "session": session,
            "subtasks_completed": subtasks_completed,
            "discoveries": discoveries,
            "files_understood": files_understood,
            "files_changed": files_changed,
            "patterns_found": patterns_found,
            "gotchas_encountered": gotchas_encountered,
            "what_worked": what_worked,
            "what_failed": what_failed,
            "recommendations": recommendations,
        }
        return _one(self, RecordType.SESSION_INSIGHT, fields, belonging)

    def add_codebase_discoveries(
        self: "Remembers", purposes: Mapping[str, str], **belonging: Unpack["Belonging"]
    ) -> list[str]:
        """Store what files are for, path -> purpose, a record each; return the ids in their order.

        What is said of a file of the same project and spec later takes the place of what was said.
        """
        return self.add_records(
            [
                (RecordType.CODEBASE_DISCOVERY, {"path": path, "purpose": purpose})
                for path, purpose in purposes.items()
            ],
            **belonging,
        )

    def add_pattern(
        self: "Remembers",
        pattern: str,
        *,
        when: str = "",
        example: str = "",
        files: Sequence[str] = (),
        **belonging: Unpack["Belonging"],
    ) -> str:
        """Store a way of building that works here."""
        fields = {"pattern": pattern, "when": when, "example": example, "files": files}
        return _one(self, RecordType.PATTERN, fields, belonging)

    def add_gotcha(
        self: "Remembers",
        gotcha: str,
        *,
        trigger: str = "",
        solution: str = "",
        files: Sequence[str] = (),
        **belonging: Unpack["Belonging"],
    ) -> str:
        """Store a trap, with what leads into it and around it."""
        fields = {"gotcha": gotcha, "trigger": trigger, "solution": solution, "files": files}
        return _one(self, RecordType.GOTCHA, fields, belonging)

    def add_task_outcome(
        self: "Remembers",
        task: str,
        *,
        success: bool,
        outcome: str = "",
        metadata: Mapping[str, str | float] | None = None,
        **belonging: Unpack["Belonging"],
    ) -> str:
        """Store how a task went."""
        fields = {"task": task, "success": success, "outcome": outcome, "metadata": metadata}
        return _one(self, RecordType.TASK_OUTCOME, fields, belonging)

    def add_knowledge(
        self: "Remembers", category: str, title: str, content: str = "", **belonging: Unpack["Belonging"]
    ) -> str:
        """Store what was learnt; the category is error_solution, pattern, best_practice or gotcha."""
        fields = {"category": category, "title": title, "content": content}
        return _one(self, RecordType.KNOWLEDGE, fields, belonging)

    def add_episode(
        self: "Remembers",
        event_type: str,
        title: str,
        content: str = "",
        *,
        session: str = "",
        agent: str = "",
        importance: float = 0.5,
        **belonging: Unpack["Belonging"],
    ) -> str:
        """Store what happened; the event is an action, error, decision or outcome."""
        fields = {
            "event_type": event_type,
            "title": title,
            "content": content,
            "session": session,
            "agent": agent,
            "importance": importance,
        }
        return _one(self, RecordType.EPISODE, fields, belonging)

    def add_root_cause(
        self: "Remembers",
        error: str,
        cause: str,
        *,
        fix: str = "",
        files: Sequence[str] = (),
        **belonging: Unpack["Belonging"],
    ) -> str:
        """Store what was behind an error; `files` are those that the fix changed."""
        fields = {"error": error, "cause": cause, "fix": fix, "files": files}
        return _one(self, RecordType.ROOT_CAUSE, fields, belonging)

    def add_user_correction(
        self: "Remembers", right: str, *, said: str = "", rule: str = "", **belonging: Unpack["Belonging"]
    ) -> str:
        """Store what a user put right; it is never aged away."""
        fields = {"right": right, "said": said, "rule": rule}
        return _one(self, RecordType.USER_CORRECTION, fields, belonging)

    def get_records(
        self: "Remembers",
        types: RecordType | str | Iterable[RecordType | str] = (),
        query: str = "",
        **wanted: Unpack["Wanted"],
    ) -> "list[Recorded]":
        """Return records of a type, of several, or of all: those that answer the query, else the newest."""
        from ragmem.domain.records.records import record_type
        from ragmem.services.records.records import MIN_SCORE, Wanted, Where, read

        _refuse_unknown(wanted, Wanted)
        named = (types,) if isinstance(types, str) else types
        return read(
            self,
            [record_type(name) for name in named] or list(RecordType),
            query,
            where=Where(
                tuple(wanted.get("projects", ())),
                wanted.get("everywhere", False),
                wanted.get("spec", ""),
                wanted.get("since"),
            ),
            limit=wanted.get("limit", 10),
            min_score=wanted.get("min_score", MIN_SCORE),
            at=wanted.get("at"),
        )

    def get_patterns_and_gotchas(
        self: "Remembers", query: str, num_results: int = 5, **among: Unpack["Among"]
    ) -> "tuple[list[Recorded], list[Recorded]]":
        """Return the patterns and the gotchas that bear on a task, at most so many of each."""
        return (
            self.get_records(RecordType.PATTERN, query, limit=num_results, **among),
            self.get_records(RecordType.GOTCHA, query, limit=num_results, **among),
        )

    def get_similar_task_outcomes(
        self: "Remembers", task: str, limit: int = 5, **among: Unpack["Among"]
    ) -> "list[Recorded]":
        """Return how tasks like this one went."""
        return self.get_records(RecordType.TASK_OUTCOME, task, limit=limit, **among)

    def get_session_history(
        self: "Remembers", limit: int = 5, *, spec_only: bool = True, **among: Unpack["Among"]
    ) -> "list[Recorded]":
        """Return the last session insights, newest first; of all specs unless `spec_only`."""
        if not spec_only:
            among["spec"] = ""
        return self.get_records(RecordType.SESSION_INSIGHT, limit=limit, **among)

    def get_codebase_discoveries(
        self: "Remembers", *, projects: Sequence[str] = (), spec: str = "", everywhere: bool = False
    ) -> dict[str, str]:
        """Return path -> purpose of the files that sessions recorded, the latest word on each."""
        from ragmem.services.records.records import Where, discoveries, projects_of

        if not self.catalog.exists():
            return {}
        where = Where(tuple(projects), everywhere)
        return discoveries(self.catalog, projects=projects_of(self, where), spec=spec)


def _refuse_unknown(given: Mapping[str, object], known: type) -> None:
    """Raise TypeError for a keyword that no one would read: a field with a slip would be lost."""
    for name in given:
        if name not in known.__annotations__:
            raise TypeError(f"got an unexpected keyword argument {name!r}")


def _one(memory: "Remembers", kind: RecordType, fields: Mapping[str, Any], belonging: "Belonging") -> str:
    [identifier] = memory.add_records([(kind, fields)], **belonging)
    return identifier
