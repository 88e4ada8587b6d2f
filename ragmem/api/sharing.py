"""Sharing with a team over the git remote of a project."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.api.home import Home, now
from ragmem.domain.model import NO_PROJECTS, USER
from ragmem.domain.model.lifecycle import Approval
from ragmem.errors import BackendError, NotFoundError, UsageError

if TYPE_CHECKING:
    from ragmem.services.processes.progress import Progress
    from ragmem.services.sharing.outgoing import OutgoingPlan
    from ragmem.services.sharing.review import ConflictItem, ReviewItem, ShareStatus
    from ragmem.services.sharing.sync import FetchReport, PushReport, Team
    from ragmem.storage.sharing.shared_records import MemberCounts

# Services are imported inside functions: a question must not pay for them.

MAX_WORKERS = 4
"""Processes that read many records."""


class Sharing:
    """Shares memories of a project over its git remote; only `push`, `fetch` and `withdraw` contact it.

    `project` is a name, an id or a path; "" is the project of the working folder.
    """

    def __init__(self, home: Home) -> None:
        self._home = home

    def status(self, project: str = "") -> "ShareStatus":
        """Return the user's member id, what waits for review, and the counts of each member.

        Raises UsageError, NotFoundError.
        """
        from ragmem.services.sharing.remote import remote_url, shown_url
        from ragmem.services.sharing.review import share_status

        team = self._team(project)
        try:
            remote = shown_url(remote_url(team.folder, team.settings.share.remote))
        except UsageError:
            remote = ""
        return share_status(team, remote)

    def projects(self) -> list[str]:
        """Return the ids of the projects with shared records, without private ones."""
        from ragmem.services.sharing.sync import is_private

        home = self._home
        home.prepare()
        names = home.catalog.projects.names()
        return [
            key
            for key in home.catalog.shared.projects()
            if key not in NO_PROJECTS and not is_private(home.settings, key, names.get(key, key))
        ]

    def members(self, *, project: str = "") -> "list[MemberCounts]":
        """Return the counts of each member of a project; contacts neither git nor a remote."""
        return self._home.catalog.shared.counts(self._key(project))

    def count_waiting(self, *, project: str = "") -> int:
        """Return how many records wait for review."""
        return self._home.catalog.shared.count_waiting(self._key(project))

    def plan(
        self, ids: Sequence[str] = (), *, consent: Sequence[str] = (), project: str = ""
    ) -> "OutgoingPlan":
        """Return which memories `push` would send, and why it keeps others; changes nothing.

        With `ids` only these are sent, regardless of the rules of [share]. Those of `consent` are sent
        although a secret was removed from them. Raises NotFoundError, UsageError, ConfigError.
        """
        from ragmem.services.sharing.sync import plan_push

        return plan_push(self._team(project), ids=ids, consent=consent)

    def push(self, planned: "OutgoingPlan", *, project: str = "") -> "PushReport":
        """Carry out a plan. Raises UsageError without a remote, RemoteError if it does not answer."""
        from ragmem.services.sharing.sync import push

        return push(self._team(project), planned)

    def fetch(self, *, project: str = "", progress: "Progress | None" = None) -> "FetchReport":
        """Fetch and store the records of members. Raises UsageError, RemoteError, StoreBusyError."""
        from ragmem.services.sharing.sync import fetch

        return fetch(self._team(project, progress=progress))

    def withdraw(self, ids: Iterable[str], *, reason: str = "", project: str = "") -> list[str]:
        """Withdraw shared memories, all or none, and push; return the titles.

        Raises NotFoundError for memories that one has not shared. If the remote does not answer, the next
        `push`
        sends the withdrawal, and the error of `push` is raised.
        """
        from ragmem.services.sharing.outgoing import OutgoingPlan
        from ragmem.services.sharing.review import plan_withdrawal
        from ragmem.services.sharing.sync import push

        team = self._team(project)
        planned = plan_withdrawal(team, ids, reason=reason)
        push(team, OutgoingPlan(is_first=False), extra=planned)
        return [one.title or one.row.target for one in planned]

    def waiting(
        self,
        approval: Approval = Approval.PROPOSED,
        *,
        members: Sequence[str] = (),
        project: str = "",
        limit: int = 1_000,
    ) -> "list[ReviewItem]":
        """Return the records of these members (none: all except muted ones) by their approval."""
        from ragmem.services.sharing.review import list_review

        key = self._key(project)
        return list_review(self._home.catalog, key, approval, members=members, limit=limit)

    def get(self, prefix: str, *, project: str = "") -> "ReviewItem":
        """Return the shared record with this id prefix; raises NotFoundError."""
        from ragmem.services.sharing.review import find_record

        key = self._key(project)
        return find_record(self._home.catalog, key, prefix)

    def accept(
        self, items: "Sequence[ReviewItem]", *, project: str = "", progress: "Progress | None" = None
    ) -> None:
        """Accept records: their memories may be injected from now on."""
        from ragmem.services.sharing.review import decide

        decide(self._team(project, progress=progress), items, accept=True)

    def reject(
        self, items: "Sequence[ReviewItem]", *, project: str = "", progress: "Progress | None" = None
    ) -> None:
        """Reject records: their memories are hidden; `accept` takes that back."""
        from ragmem.services.sharing.review import decide

        decide(self._team(project, progress=progress), items, accept=False)

    def mute(self, member: str, *, muted: bool = True, project: str = "") -> int:
        """Mute or unmute a member; return how many memories that affects.

        Raises NotFoundError for an unknown member.
        """
        from ragmem.services.sharing.review import mute

        return mute(self._team(project), member, muted=muted)

    def conflicts(self, *, project: str = "") -> "list[ConflictItem]":
        """Return the memories of different members that contradict each other."""
        from ragmem.services.sharing.review import list_conflicts

        key = self._key(project)
        return list_conflicts(self._home.catalog, key)

    def index(self) -> str:
        """Make vectors and graph of pending memories, up to a few hundred; return why some still wait."""
        from ragmem.services.ingestion.index import index_pending
        from ragmem.storage.memories.memories import BACKLOG, DEFERRED_SOURCES

        home = self._home
        try:
            index_pending(home.catalog, home.store, most=BACKLOG, without=DEFERRED_SOURCES)
        except BackendError as error:
            return error.full_message
        home.models.remember()
        return ""

    def _team(self, project: str, *, progress: "Progress | None" = None) -> "Team":
        from ragmem.services.processes.progress import Silent
        from ragmem.services.sharing.sync import Team, member_id, require_shareable

        home = self._home
        home.prepare()
        key, folder = self._place(project)
        require_shareable(home.settings, key, home.catalog.projects.names().get(key, key))
        return Team(
            home.catalog,
            lambda: home.store,
            home.settings,
            key,
            folder,
            member_id(home.settings, folder),
            now(),
            progress or Silent(),
            min(MAX_WORKERS, os.cpu_count() or 1),
        )

    def _key(self, project: str) -> str:
        """Return the id of a project, whose folder may be gone."""
        from ragmem.services.ingestion.scope import resolve_project
        from ragmem.services.sharing.sync import require_shareable

        home = self._home
        home.prepare()
        key = resolve_project(home.catalog, project) if project else self._place("")[0]
        require_shareable(home.settings, key, home.catalog.projects.names().get(key, key))
        return key

    def _place(self, project: str) -> tuple[str, Path]:
        """Return the id and the folder of a project, which is known from then on."""
        from ragmem.services.ingestion.scope import project_finder, remember_projects, resolve_project

        home = self._home
        if not project:
            finder = project_finder(home.catalog, home=home.home)
            found = finder.find_known_project(home.cwd)
            if found is None or found.root is None:
                raise UsageError(
                    f'"{home.cwd}" belongs to no project',
                    hint="run the command in a project's git repository",
                )
            remember_projects(home.catalog, finder)
            return found.id, found.root
        key = resolve_project(home.catalog, project)
        if key == USER:
            return key, home.cwd
        for path in map(Path, home.catalog.projects.paths(key)):
            if path.is_dir():
                return key, path
        raise NotFoundError(
            f'no folder of the project "{project}" exists', hint="run the command in its folder"
        )
