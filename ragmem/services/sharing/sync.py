"""Share the memories of a project over its git remote, and fetch what others have shared."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from ragmem.config.offline import require_local
from ragmem.config.settings import Settings
from ragmem.domain.model import NO_PROJECTS, digest
from ragmem.domain.sharing.member import is_member, member_of
from ragmem.domain.sharing.policy import Wish
from ragmem.domain.sharing.record import record_id
from ragmem.domain.sharing.state import Verdict
from ragmem.errors import ConfigError, RagmemError, UsageError
from ragmem.ports import Store
from ragmem.readers.git import output_of
from ragmem.services.processes.progress import Progress
from ragmem.services.sharing.bare_repository import BareRepository
from ragmem.services.sharing.incoming import Arrival, Intake, IntakeReport, Rules
from ragmem.services.sharing.outgoing import (
    OutgoingPlan,
    OutgoingRecord,
    Sender,
    plan_outgoing,
    store_outgoing,
)
from ragmem.services.sharing.remote import remote_url
from ragmem.services.sharing.repository import SharedRepository
from ragmem.services.sharing.signatures import MAX_IDS, PersonalSettings, merge, sign, verify
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sharing.shared_records import ShareMember
from ragmem.storage.sql.batches import batches

FOLDER = "share"
"""The folder in a home's data with a bare repository for each project."""

_SCP = re.compile(r"(?:[^/@:]+@)?([^/:]+):")
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True, slots=True)
class Team:
    """What sharing a project needs: the home, the project, the folder of its repository, and who one is."""

    catalog: Catalog
    open_store: Callable[[], Store]
    settings: Settings
    project: str
    folder: Path
    member: str
    now: datetime
    progress: Progress
    workers: int = 1

    @property
    def sender(self) -> Sender:
        """The same for what leaves."""
        return Sender(self.member, self.project, self.folder, self.settings.redactor, self.now)

    def intake(self, report: IntakeReport | None = None) -> Intake:
        """Return what takes records into the project, and counts them in a report."""
        share, secrets = self.settings.share, self.settings.redactor
        return Intake(
            self.catalog,
            self.open_store,
            Rules(
                self.project,
                self.member,
                share.review,
                share.max_records_a_member,
                self.settings.chunking,
                # What others send is stored without secrets, whatever a home does with its own.
                type(secrets)(stored=False, allow=secrets.allow, extra=secrets.extra),
                self.now,
            ),
            report,
        )

    def repository(self) -> SharedRepository:
        """Return the repository of the project in the home; raises GitError without git."""
        name = self.project if _SAFE.fullmatch(self.project) else digest("share", self.project)
        return SharedRepository.open(self.settings.places.data / FOLDER / f"{name}.git")


@dataclass(slots=True)
class FetchReport(IntakeReport):
    """The result of a fetch: how many members have something new, and the keys that were seen first.

    `pinned` has member -> key: it counts as theirs from now on.
    """

    fetched: int = 0
    pinned: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PushReport:
    """The result of a push: its plan, how many records the remote got, and whether they are signed.

    `fetched` is the result of the fetch before a first push.
    """

    plan: OutgoingPlan
    pushed: int = 0
    signed: bool = False
    fetched: FetchReport | None = None


def member_id(settings: Settings, folder: Path) -> str:
    """Return one's own id: that of [share] member, else made of git's user.email.

    Raises ConfigError for an invalid id, UsageError where git knows no address.
    """
    configured = settings.share.member
    if configured:
        if not is_member(configured):
            raise ConfigError(
                f'share.member is "{configured}", which is not a valid member id',
                hint="use 1 to 64 lower-case letters, digits, -, . and _",
            )
        return configured
    email = (output_of(folder, "config", "user.email") or b"").decode("utf-8", "replace")
    if found := member_of(email):
        return found
    raise UsageError(
        "git does not know who you are",
        hint="git config --global user.email you@example.com, or set member below [share]",
    )


def is_private(settings: Settings, project: str, name: str) -> bool:
    """Return whether [share] private names a project, by its id or its name."""
    return bool({project, name} & set(settings.share.private))


def require_shareable(settings: Settings, project: str, name: str) -> None:
    """Raise UsageError for what is no project, and for a private one."""
    if project in NO_PROJECTS:
        raise UsageError(
            f'"{project}" is not a project that can be shared', hint="run it in a git repository"
        )
    if is_private(settings, project, name):
        raise UsageError(f'the project "{name}" is private', hint="[share] private in config.toml names it")


def push(team: Team, plan: OutgoingPlan, *, extra: Sequence[OutgoingRecord] = ()) -> PushReport:
    """Keep the planned records, then send all that the remote does not have; raises as a repository does.

    What could not be sent is sent by the next push, and so is what the remote has lost.
    """
    shared, project = team.catalog.shared, team.project
    records = [*plan.records, *extra]
    fetched = None
    if plan.is_first:
        # Another machine of this member may have shared the same.
        fetched = fetch(team)
        texts = {row.text_hash for row in shared.of_member(project, team.member) if not row.withdrawn}
        records = [one for one in records if one.row.text_hash not in texts]
    store_outgoing(team.catalog, records, project=project)
    if linked := shared.statements(project, [one.id for one in records]):
        team.intake().settle(linked)
    waiting = {row.id: row.body.encode() for row in shared.unpushed(project, team.member)}
    sent = {key: body for key, body in waiting.items() if record_id(body) == key}
    signed = False
    if sent or shared.of_member(project, team.member):
        url = _remote(team, push=True)
        signatures = [one for ids in batches(sorted(sent), MAX_IDS) if (one := sign(team.folder, ids))]
        with team.repository() as repository:
            repository.push(url, team.member, sent, signatures, merge=partial(merge, team.folder))
        signed = bool(signatures)
    with team.catalog.database.write():
        if signed:
            shared.set_verdicts(project, [(key, str(Verdict.VERIFIED)) for key in sent])
        # A text that was taken back or scrubbed before it left never leaves.
        shared.mark_pushed(project, waiting)
        if waiting:
            team.catalog.log.write("share", {"push": len(sent)}, now=team.now)
    return PushReport(plan, len(sent), signed, fetched)


def fetch(team: Team) -> FetchReport:
    """Fetch the records of members and ingest them; ingested ones are not read again.

    Raises as `fetch` of a repository.
    """
    url = _remote(team)
    catalog, project = team.catalog, team.project
    report = FetchReport()
    with team.repository() as repository:
        repository.fetch(url)
        known = catalog.shared.heads(project)
        heads = dict(repository.heads())
        changed = {name: head for name, head in sorted(heads.items()) if known.get(name) != head}
        report.fetched = len(changed)
        intake = team.intake(report)
        keys = _Keys(team, report)
        arrivals = _arrivals(repository, changed, known, keys, most=team.settings.share.max_records_a_member)
        intake.take_in(arrivals, progress=team.progress, workers=team.workers)
        for counts in repository.rejections.values():
            report.left_out.update(counts)
    with catalog.database.write():
        for name, head in changed.items():
            catalog.shared.set_head(project, name, head, now=team.now)
        if report.new:
            catalog.log.write("share", {"fetch": report.new.total()}, now=team.now)
    return report


def _remote(team: Team, *, push: bool = False) -> str:
    """Return the URL of the remote; raises UsageError without one, BackendError for a host while offline."""
    url = remote_url(team.folder, team.settings.share.remote, push=push)
    require_local([urlsplit(url).hostname or "" if "://" in url else _host_of_scp(url)])
    return url


def _host_of_scp(url: str) -> str:
    """Return the host of `user@host:path`, "" for a path."""
    found = _SCP.match(url)
    return found[1] if found else ""


class _Keys:
    """The keys of members; the first that is seen of a member counts as theirs from then on."""

    def __init__(self, team: Team, report: FetchReport) -> None:
        self._team = team
        self._report = report
        self._personal = PersonalSettings(team.folder)
        self._members = team.catalog.shared.members(team.project)

    def verdicts(self, member: str, attestation: bytes) -> dict[str, Verdict]:
        """Return the verdicts of the records that an attestation is about."""
        known = self._members.get(member, ShareMember(member))
        seen = verify(attestation, member, known.keys, personal=self._personal)
        if seen.pin:
            pinned = ShareMember(member, (*known.keys, seen.pin), known.muted)
            self._members[member] = pinned
            self._team.catalog.shared.put_member(self._team.project, pinned)
            self._report.pinned[member] = seen.pin
        return dict.fromkeys(seen.ids, seen.verdict)


def _arrivals(
    repository: SharedRepository,
    changed: Mapping[str, str],
    known: Mapping[str, str],
    keys: _Keys,
    *,
    most: int,
) -> Iterator[Arrival]:
    """Yield the new records of these members with their verdicts; attestations come before records."""
    for member in changed:
        verdicts: dict[str, Verdict] = {}
        for path, blob in repository.new_blobs(member, known.get(member, ""), limit=2 * most):
            if path.startswith("attestations/"):
                for key, verdict in keys.verdicts(member, blob).items():
                    # One good signature is enough; a stranger's does not spoil it.
                    if verdicts.get(key) is not Verdict.VERIFIED:
                        verdicts[key] = verdict
            elif path.startswith("records/"):
                key = path.rpartition("/")[2]
                yield Arrival(key, member, blob, verdicts.get(key, Verdict.UNSIGNED))


def plan_push(team: Team, *, ids: Iterable[str], consent: Iterable[str]) -> OutgoingPlan:
    """Return what a push would send; changes nothing. Raises NotFoundError for an unknown memory."""
    share = team.settings.share
    words = [team.catalog.memories.resolve(one).id for one in ids]
    allowed = [team.catalog.memories.resolve(one).id for one in consent]
    for memory in team.catalog.memories.get([*words, *allowed]).values():
        if memory.scope.project not in {team.project, *NO_PROJECTS}:
            raise UsageError(
                f'the memory "{memory.short_id}" belongs to the project "{memory.scope.project}"',
                hint="run it in the folder of that project",
            )
    # Consent to one memory is a word for it.
    wish = Wish(share.kinds, share.tags, tuple(dict.fromkeys([*words, *allowed])), frozenset(allowed))
    return plan_outgoing(team.catalog, team.sender, wish)


def prune(data: Path) -> list[str]:
    """Drop from the repositories in a home's data what members have rewritten away; return what went wrong.

    Takes at most two minutes for each that has such a history, and no time where none was rewritten.
    """
    problems = []
    for folder in sorted((data / FOLDER).glob("*.git")):
        try:
            BareRepository(folder).prune()
        except RagmemError as error:
            problems.append(error.full_message)
    return problems
