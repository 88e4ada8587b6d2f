"""Approval: proposed memories and drafted skills."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.api.home import Home, now
from ragmem.domain.model.lifecycle import Approval
from ragmem.errors import UsageError

if TYPE_CHECKING:
    from ragmem.services.lifecycle.approval import Proposal

# Services are imported inside functions: a question must not pay for them.


class Approvals:
    """Lists, accepts and rejects proposals, and drafts skills."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def proposals(
        self,
        approval: Approval = Approval.PROPOSED,
        *,
        projects: Sequence[str] | None = None,
        limit: int = 1_000,
    ) -> "list[Proposal]":
        """Return the proposals of these projects (None: all): skills, then the latest memories."""
        from ragmem.services.lifecycle.approval import list_proposals

        self._home.require()
        return list_proposals(self._home.catalog, approval, projects, limit=limit)

    def count(self, projects: Sequence[str] | None = None) -> tuple[int, int]:
        """Return how many memories and how many skills wait."""
        self._home.require()
        return self._home.catalog.approvals.count_waiting(projects)

    def get(self, prefix: str) -> "Proposal":
        """Return the proposal with this id prefix; raises NotFoundError."""
        from ragmem.services.lifecycle.approval import find_proposal

        self._home.require()
        return find_proposal(self._home.catalog, prefix)

    def accept(self, prefixes: Iterable[str], *, to: Path | None = None) -> "list[Proposal]":
        """Accept all of these or none: a memory takes effect, a skill is written to the folder `to`.

        By default that is `.claude/skills` in the folder of its project. Raises NotFoundError, UsageError
        without such a folder, ConflictError for an existing file.
        """
        from ragmem.services.lifecycle.approval import decide

        found = [self.get(prefix) for prefix in dict.fromkeys(prefixes)]
        targets = {one.id: to or self._folder(one) for one in found if one.sort == "skill"}
        return decide(self._home.catalog, found, targets, accept=True, now=now())

    def reject(self, prefixes: Iterable[str]) -> "list[Proposal]":
        """Reject all of these or none; the file of an accepted skill is removed if it is unchanged."""
        from ragmem.services.lifecycle.approval import decide

        found = [self.get(prefix) for prefix in dict.fromkeys(prefixes)]
        return decide(self._home.catalog, found, {}, accept=False, now=now())

    def draft(self, projects: Sequence[str] | None = None) -> tuple[int, int]:
        """Draft a skill of each workflow in stored sessions; return how many are new, and how many in all."""
        from ragmem.services.lifecycle.approval import draft_skills

        self._home.require()
        return draft_skills(self._home.catalog, projects, now=now())

    def _folder(self, proposal: "Proposal") -> Path:
        from ragmem.services.lifecycle.approval import skills_folder

        home = self._home
        known = [Path(path) for path in home.catalog.projects.paths(proposal.project)]
        roots = sorted(
            (root for root in known if root.is_dir()), key=lambda one: (not home.cwd.is_relative_to(one), one)
        )
        if not roots:
            raise UsageError(
                f'no folder of the project "{proposal.project}" exists', hint="name a folder with --to"
            )
        return skills_folder(roots[0])
