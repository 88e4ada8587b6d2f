"""Accept or reject what is proposed: memories that no person wrote, and skills drafted from sessions."""

import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from ragmem.domain.classification.one_line import line_of
from ragmem.domain.model import NO_PROJECTS, SHORT_ID_LENGTH, Memory, digest
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.domain.sessions.workflows import CommandLog, find_workflows, sequences, skill_text
from ragmem.errors import ConflictError, NotFoundError, StorageError, UsageError, os_errors_as
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.approvals import SkillDraft
from ragmem.storage.memories.memories import MIN_PREFIX

Sort = Literal["memory", "skill"]

SKILLS = Path(".claude/skills")
"""The folder of a project in which Claude Code looks for skills."""

FILE = "SKILL.md"

_UNTOLD = ("interrupted", "compaction")
"""Marks of exchanges whose commands are no example."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A memory or a drafted skill that was proposed, and whether it was accepted.

    `path` is the file of an accepted skill; `note` says what a decision has left undone.
    """

    item: Memory | SkillDraft
    approval: Approval
    note: str = ""

    @property
    def id(self) -> str:
        """The id of the memory or draft."""
        return self.item.id

    @property
    def sort(self) -> Sort:
        """Whether it is a memory or a skill."""
        return "memory" if isinstance(self.item, Memory) else "skill"

    @property
    def project(self) -> str:
        """The project that it belongs to."""
        return self.item.scope.project if isinstance(self.item, Memory) else self.item.project

    @property
    def title(self) -> str:
        """The title of the memory, or the name of the skill."""
        return self.item.title or self.item.uri if isinstance(self.item, Memory) else self.item.name

    def line(self, redactor: Redactor) -> str:
        """Return its content in a line without secrets: of a memory the sentence that would be injected."""
        if isinstance(self.item, Memory):
            return line_of(self.item, redactor=redactor)[0] or redactor.redact(self.title)[0]
        return f"skill {self.title}, from {len(self.item.sessions)} sessions"

    @property
    def at(self) -> datetime:
        """When it happened, or was drafted."""
        return self.item.event_time if isinstance(self.item, Memory) else self.item.made_at

    @property
    def text(self) -> str:
        """The whole text of the memory, or of the skill's file."""
        return self.item.text if isinstance(self.item, Memory) else self.item.content

    @property
    def sources(self) -> tuple[str, ...]:
        """Where it comes from: the source and the session of a memory, or the sessions of a skill."""
        if isinstance(self.item, SkillDraft):
            return self.item.sessions
        return tuple(filter(None, (self.item.source, self.item.metadata.get("session", ""))))

    @property
    def path(self) -> str:
        """The file of an accepted skill; "" for anything else."""
        return self.item.path if isinstance(self.item, SkillDraft) else ""


def list_proposals(
    catalog: Catalog, approval: Approval, projects: Sequence[str] | None, *, limit: int
) -> list[Proposal]:
    """Return what these projects (None: all) have with an approval: skills, then the latest memories."""
    skills = [Proposal(draft, draft.approval) for draft in catalog.approvals.skills(approval, projects)]
    memories = catalog.approvals.memories(approval, projects, limit=limit)
    return [*skills, *(Proposal(memory, approval) for memory in memories)][:limit]


def find_proposal(catalog: Catalog, prefix: str) -> Proposal:
    """Return what was proposed under the start of an id.

    Raises NotFoundError for none and for several, and for a memory that needs no approval.
    """
    wanted = prefix.strip().lower()
    if len(wanted) >= MIN_PREFIX:
        found = [draft for draft in catalog.approvals.skills() if draft.id.startswith(wanted)]
        if len(found) == 1:
            return Proposal(found[0], found[0].approval)
    memory = catalog.memories.resolve(prefix)
    row = catalog.lives.of([memory.id]).get(memory.id)
    if row is None or row.approval is Approval.NONE:
        raise NotFoundError(
            f'the memory "{memory.short_id}" needs no approval', hint="`ragmem approve` lists the proposals"
        )
    return Proposal(memory, row.approval)


def decide(
    catalog: Catalog, proposals: Sequence[Proposal], targets: dict[str, Path], *, accept: bool, now: datetime
) -> list[Proposal]:
    """Accept or reject all of these in one transaction; each decision undoes the other one.

    `targets` has the folder of skills for each draft to accept, by id. Its file is written, but never over
    another one; when the draft is rejected, the file is removed unless it was changed since. Raises
    ConflictError for a file that is there, StorageError for one that cannot be written.
    """
    approval = Approval.ACCEPTED if accept else Approval.REJECTED
    done: list[Proposal] = []
    for one in proposals:
        if isinstance(one.item, SkillDraft) and accept and one.approval is not approval:
            _refuse_other(one.item, targets[one.id])
    with catalog.database.write():
        catalog.lives.set_approval(
            (one.id for one in proposals if one.sort == "memory" and one.approval is not approval),
            approval,
            now=now,
        )
        for one in proposals:
            item, note = one.item, ""
            if isinstance(item, SkillDraft) and one.approval is not approval:
                path = str(_write(item, targets[item.id])) if accept else ""
                note = "" if accept or _remove(item) else f'"{item.path}" was changed since and is kept'
                catalog.approvals.set_skill(item.id, approval, path=path)
                item = replace(item, approval=approval, path=path)
            done.append(Proposal(item, approval, note))
        catalog.log.write("approve", {approval.value: len(done)}, now=now)
    return done


def draft_skills(catalog: Catalog, projects: Sequence[str] | None, *, now: datetime) -> tuple[int, int]:
    """Draft a skill of each workflow in the sessions of these projects (None: all); return (new, found).

    A draft that was rejected is not made again.
    """
    logs: defaultdict[str, list[CommandLog]] = defaultdict(list)
    for memory in catalog.memories.each(source=SOURCE):
        project, session = memory.scope.project, memory.metadata.get("session", "")
        if project in NO_PROJECTS or not session or (projects is not None and project not in projects):
            continue
        if any(memory.metadata.get(mark) for mark in _UNTOLD):
            continue
        if found := sequences(memory.text, catalog.redactor):
            logs[project].append(CommandLog(session, memory.event_time, found))
    drafts = [
        SkillDraft(
            digest("skill", project, *(" ".join(shape) for shape in workflow.shapes)),
            project,
            workflow.name,
            skill_text(workflow),
            tuple(workflow.sessions),
            now,
        )
        for project, told in sorted(logs.items())
        for workflow in find_workflows(told)
    ]
    return catalog.approvals.add_skills(drafts), len(drafts)


def skills_folder(root: Path) -> Path:
    """Return the folder of a project's skills; raises UsageError if a link is outside of the project."""
    folder = root / SKILLS
    if not folder.resolve().is_relative_to(root.resolve()):
        raise UsageError(f'"{folder}" is outside of the project', hint="name a folder with --to")
    return folder


def proposal_shape(one: Proposal, *, redactor: Redactor, whole: bool = False) -> dict[str, Any]:
    """Return a proposal as JSON fields without secrets, with its text if it is to be `whole`."""
    shape = {
        "id": one.id[:SHORT_ID_LENGTH],
        "sort": one.sort,
        "approval": one.approval.value,
        "project": one.project,
        "title": redactor.redact(one.title)[0],
        "says": one.line(redactor),
        "at": one.at,
        "sources": list(one.sources),
        "path": one.path,
    }
    return shape | ({"text": redactor.redact(one.text)[0]} if whole else {})


def _refuse_other(draft: SkillDraft, folder: Path) -> None:
    """Raise ConflictError if another file has the place of the draft's."""
    path = folder / draft.name / FILE
    if os.path.lexists(path) and not _has_text(path, draft.content):
        raise ConflictError(f'"{path}" already exists', hint="move it aside, or name a folder with --to")


def _has_text(path: Path, text: str) -> bool:
    # Not through a link, which may lead anywhere.
    return (
        path.is_file()
        and not path.is_symlink()
        and path.read_text(encoding="utf-8", errors="replace") == text
    )


def _write(draft: SkillDraft, folder: Path) -> Path:
    """Write the file of a draft and return its path; one that a killed call has written stays."""
    path = folder / draft.name / FILE
    with os_errors_as(StorageError, f'write "{path}"', hint="name a folder with --to"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not _has_text(path, draft.content):
            with path.open("x", encoding="utf-8") as file:
                file.write(draft.content)
                file.flush()
                os.fsync(file.fileno())
    return path


def _remove(draft: SkillDraft) -> bool:
    """Remove the file of a draft if it is unchanged; return whether none is left."""
    path = Path(draft.path)
    if not draft.path or not os.path.lexists(path):
        return True
    if not _has_text(path, draft.content):
        return False
    path.unlink()
    with suppress(OSError):  # the folder has other files
        path.parent.rmdir()
    return True
