"""Import what another memory tool or chat program has stored, as a stream of durable batches."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePath

from ragmem.config.settings import Settings
from ragmem.domain.model import USER, Draft, Scope, memory_id
from ragmem.domain.model.lifecycle import proposes
from ragmem.errors import NotFoundError, SourceError, os_errors_as
from ragmem.ports import Store
from ragmem.readers.failures import check, isolate_failures
from ragmem.readers.fields import clean
from ragmem.readers.files import show
from ragmem.readers.foreign import Tool
from ragmem.readers.foreign.entries import MAX_FACT, Entry, Fact, Talk
from ragmem.readers.scope import ProjectFinder, new_id
from ragmem.readers.transcripts.drafts import drafts_of
from ragmem.services.ingestion.classify import ClassifiedMemory, classify_draft
from ragmem.services.ingestion.drafts import TITLE_LENGTH
from ragmem.services.ingestion.scope import remember_projects
from ragmem.services.processes.progress import Progress
from ragmem.services.processes.refusals import Refusal
from ragmem.services.transcripts.scopes import Scopes
from ragmem.services.transcripts.transcripts import BATCH, BATCH_CHARACTERS
from ragmem.services.transcripts.writer import ExchangeChanges, compare_exchanges
from ragmem.services.transfer.importer import index_waiting
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.batches import text_batches


@dataclass(frozen=True, slots=True)
class _Named:
    """A project that only a foreign tool knows."""

    id: str
    name: str
    place: str


class ForeignProjects:
    """Finds the scopes of foreign projects, each once, and keeps those that are new."""

    def __init__(self, catalog: Catalog, tool: str, *, home: Path) -> None:
        self._catalog = catalog
        self._tool = tool
        self._finder = ProjectFinder(home, catalog.projects if catalog.exists() else None)
        self._scopes = Scopes(catalog, self._finder, home=home)
        self._by_name: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        if catalog.exists():
            self._names.update(catalog.projects.names())
            for project, name in self._names.items():
                self._by_name.setdefault(name.casefold(), []).append(project)
        self._new: dict[str, _Named] = {}

    def scope_of(self, project: str) -> Scope:
        """Return the scope of a folder or a name; the user's for none.

        A name means the one project that is called so here. One that is unknown, or means several, becomes a
        project of its own.
        """
        if not project:
            return Scope(USER)
        if Path(project).is_absolute():
            return self._scopes.of(project)
        if project not in self._new:
            found = self._by_name.get(project.casefold(), [])
            if len(found) == 1:
                return Scope(found[0])
            name = clean(PurePath(project.replace("\\", "/")).name) or project
            parts = ("import", self._tool, project) if found else ("import", project)
            place = f"{self._tool}:{project}" if found else project
            self._new[project] = _Named(new_id(name, *parts), name, place)
        return Scope(self._new[project].id)

    def name_of(self, project: str) -> str:
        """Return the name of a project by its id."""
        for new in self._new.values():
            if new.id == project:
                return new.name
        for found in self._finder.seen_projects():
            if found.id == project:
                return self._names.get(project, found.name)
        return self._names.get(project, project)

    def remember(self) -> None:
        """Store the projects that were found, within the caller's transaction."""
        remember_projects(self._catalog, self._finder)
        for new in self._new.values():
            if new.id not in self._names:
                self._catalog.projects.remember(new.id, name=new.name, root=new.place)
                self._names[new.id] = new.name


SOURCE = "import"
"""The source of facts from other tools; exchanges have the source of transcripts."""

EXCHANGE = "exchange"
"""The kind under which exchanges are counted: each is classified by its text."""


@dataclass(slots=True)
class ImportGroup:
    """The memories of one project and kind, with the first and the last time of their events."""

    project: str
    name: str
    kind: str
    count: int = 0
    since: datetime | None = None
    until: datetime | None = None

    def add(self, at: datetime) -> None:
        """Count a memory of this time."""
        self.count += 1
        self.since = min(self.since or at, at)
        self.until = max(self.until or at, at)


@dataclass(slots=True)
class ForeignImport:
    """The result of an import: counts by change, groups by project and kind, and what was left out.

    `doubled` have a text that another memory of the project has; `archived` were archived here before.
    `waiting` are stored and not indexed yet, and `note` says why.
    """

    tool: str
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    doubled: int = 0
    archived: int = 0
    waiting: int = 0
    note: str = ""
    groups: list[ImportGroup] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    refusals: list[Refusal] = field(default_factory=list)


def import_foreign(
    catalog: Catalog,
    open_store: Callable[[], Store],
    settings: Settings,
    tool: Tool,
    path: Path,
    *,
    home: Path,
    dry_run: bool = False,
    now: datetime,
    progress: Progress,
) -> ForeignImport:
    """Import a store of another tool; the operation is idempotent, and the store is only read.

    Ids follow from those of the tool, so a second import changes nothing, and one that was killed can be run
    again: each batch is durable. A memory keeps the project that it has here. Everything is sanitized as any
    other text. Memory does not grow with the store.

    Raises SourceError or NotFoundError for what is damaged, in use, or no store of the tool.
    """
    if not dry_run or catalog.exists():
        catalog.prepare()
    done = ForeignImport(tool.name)
    importer = _Importer(
        catalog, settings, ForeignProjects(catalog, tool.name, home=home), done, dry_run=dry_run, now=now
    )
    progress.begin("import", 0)
    with os_errors_as(SourceError, f'read "{show(path)}"', hint="check its permissions"):
        _require_regular(path)
        drafts = importer.drafts(tool.entries(path, catalog.redactor, done.left_out))
        for batch in text_batches(
            drafts, lambda draft: len(draft.text), most=BATCH, characters=BATCH_CHARACTERS
        ):
            importer.write(batch)
            progress.advance(len(batch))
    if (done.new or done.changed) and not dry_run:
        told: dict[str, object] = {"from": tool.name, "new": done.new, "changed": done.changed}
        catalog.log.write("import", told, now=now)
    done.groups.sort(key=lambda group: (group.name.casefold(), group.project, group.kind))
    if not dry_run:
        done.waiting, done.note = index_waiting(catalog, open_store, progress)
    return done


def _require_regular(path: Path) -> None:
    if not path.exists():
        raise NotFoundError(f'there is no file "{show(path)}"', hint="give the path of the tool's store")
    if not path.is_dir() and not path.is_file():
        raise SourceError(
            f'cannot import "{show(path)}": it is neither a file nor a folder',
            hint="give the path of the tool's store",
        )


@dataclass(slots=True)
class _Importer:
    """Turns entries into drafts, and writes them batch by batch."""

    catalog: Catalog
    settings: Settings
    projects: ForeignProjects
    done: ForeignImport
    _: KW_ONLY
    dry_run: bool
    now: datetime
    _groups: dict[tuple[str, str], ImportGroup] = field(default_factory=dict)
    _seen: set[tuple[str, Scope]] = field(default_factory=set)
    """Hashes of new texts in a dry run, which writes none that a later batch could be compared with."""

    def drafts(self, entries: Iterator[Entry]) -> Iterator[Draft]:
        """Yield the drafts of entries; their ids do not depend on the project."""
        for entry in entries:
            for draft in self._of_fact(entry) if isinstance(entry, Fact) else self._of_talk(entry):
                own = draft.id or memory_id(draft.source, Scope(USER), draft.uri)
                yield replace(draft, id=own, scope=self.projects.scope_of(entry.project))

    def _of_fact(self, fact: Fact) -> Iterator[Draft]:
        if not fact.text.strip():
            self.done.left_out["fact without a text"] += 1
        elif len(fact.text) > MAX_FACT:
            self.done.left_out[f"fact of more than {MAX_FACT:,} characters"] += 1
        else:
            yield Draft(
                SOURCE,
                f"{self.done.tool}:{fact.key}",
                fact.text,
                fact.title or fact.text.lstrip("# \t\n").partition("\n")[0][:TITLE_LENGTH],
                event_time=fact.at,
                kind=fact.kind,
                category=fact.category,
                tags=fact.tags,
                metadata={**fact.metadata, "imported from": self.done.tool},
            )

    def _of_talk(self, talk: Talk) -> Iterator[Draft]:
        more = {"conversation": talk.title} if talk.title else {}
        found = drafts_of(
            talk.exchange,
            path=self.done.tool,
            scope=Scope(USER),
            modified=talk.at,
            redactor=self.catalog.redactor,
        )
        if not found:
            self.done.left_out["exchange without an answer"] += 1
        for draft in found:
            yield replace(draft, metadata={**draft.metadata, **more, "imported from": self.done.tool})

    def write(self, drafts: Sequence[Draft]) -> None:
        """Write a batch in one transaction, and count it; a text that a rule rejects stops no other."""
        judged: list[ClassifiedMemory] = []
        rejected = isolate_failures(
            self._in_known_projects(drafts), lambda some: judged.extend([self._classify(one) for one in some])
        )
        self.done.refusals += [Refusal.of(one, reason) for one, reason in rejected]
        judged = [item for item in judged if item.memory.text.strip()]
        if self.dry_run:
            self._count(judged, compare_exchanges(self.catalog, judged))
            return
        try:
            found = self._accept(judged)
        except Exception as error:  # noqa: BLE001 - one text never stops the others
            check(error)
        else:
            self._count(judged, found)
            return
        for item, reason in isolate_failures(judged, lambda some: self._count(some, self._accept(some))):
            self.done.refusals.append(Refusal.of(item.memory, reason))

    def _in_known_projects(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Return drafts in the projects that their memories have here: a person may have moved them."""
        if not self.catalog.exists():
            return list(drafts)
        known = self.catalog.memories.outlines(draft.id for draft in drafts)
        return [
            replace(draft, scope=Scope(one.project, draft.scope.spec))
            if (one := known.get(draft.id))
            else draft
            for draft in drafts
        ]

    def _classify(self, draft: Draft) -> ClassifiedMemory:
        return classify_draft(
            draft,
            now=self.now,
            sizes=self.settings.chunking,
            # The other tool has judged a fact already.
            rule="off" if draft.source == SOURCE else "judge",
            redactor=self.catalog.redactor,
        )

    def _accept(self, judged: Sequence[ClassifiedMemory]) -> ExchangeChanges:
        catalog = self.catalog
        with catalog.database.write():
            found = compare_exchanges(catalog, judged)
            if found.fresh:
                self.projects.remember()
                if self.settings.approval.enabled:
                    catalog.approvals.propose(filter(proposes, (item.memory for item in found.fresh)))
                catalog.memories.accept([(item.memory, item.chunks) for item in found.fresh])
        return found

    def _count(self, judged: Sequence[ClassifiedMemory], found: ExchangeChanges) -> None:
        done = self.done
        counts = Counter(found.counts)
        if self.dry_run:
            for item in found.fresh:
                place = (item.memory.content_hash, item.memory.scope)
                if place in self._seen:
                    counts += Counter(doubled=1)
                    counts -= Counter(new=1)
                self._seen.add(place)
        for name, count in counts.items():
            setattr(done, name, getattr(done, name) + count)
        for item in judged:
            memory = item.memory
            kind = memory.kind.value if memory.source == SOURCE else EXCHANGE
            key = (memory.scope.project, kind)
            if key not in self._groups:
                name = self.projects.name_of(memory.scope.project)
                self._groups[key] = ImportGroup(memory.scope.project, name, kind)
                done.groups.append(self._groups[key])
            self._groups[key].add(memory.event_time)
