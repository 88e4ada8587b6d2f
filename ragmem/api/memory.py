"""The composition root and public Python API: settings become one open memory.

>>> with Ragmem.open() as memory:
...     answer = memory.query("how do we deploy")
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import TYPE_CHECKING

from ragmem.api.home import Home, lazy, now
from ragmem.domain.injection.sanitization import sanitize_text
from ragmem.domain.model import Draft, Memory
from ragmem.inbox import Receipt, put
from ragmem.readers.roots import marked_root

__all__ = ["Ragmem", "now"]

if TYPE_CHECKING:
    from ragmem.api.answers import Answers
    from ragmem.api.approvals import Approvals
    from ragmem.api.code import Code
    from ragmem.api.doctor import Doctor
    from ragmem.api.gc import Gc
    from ragmem.api.inbox import Inbox
    from ragmem.api.ingestion import Ingestion
    from ragmem.api.injections import Injections
    from ragmem.api.lifecycle import Lifecycle
    from ragmem.api.memory_file import MemoryFile
    from ragmem.api.projects import Projects
    from ragmem.api.records import Records
    from ragmem.api.removal import Removal
    from ragmem.api.reports import Reports
    from ragmem.api.retrieval import Retrieval
    from ragmem.api.rules import Rules
    from ragmem.api.scrub import Scrub
    from ragmem.api.sharing import Sharing
    from ragmem.api.vectors import Vectors
    from ragmem.config.settings import SignalRule
    from ragmem.readers.scope import ProjectFinder
    from ragmem.services.context.context import Context
    from ragmem.services.graph.views import GraphViews
    from ragmem.services.ingestion.ingest import IngestResult
    from ragmem.services.processes.progress import Progress
    from ragmem.services.processes.refusals import Refusal
    from ragmem.services.retrieval.query import Answer, Question
    from ragmem.services.seeding.report import SeedReport

# Parts and services are imported inside functions: a question must not pay for the imports of a seed.


class Ragmem(Home):
    """One open memory: everyday verbs, and a part for each further capability; closed by `with`.

    May be used from several threads; each opens a connection of its own, which lives until `close`.
    """

    def query(self, text: str, *, question: "Question | None" = None, at: datetime | None = None) -> "Answer":
        """Return the memories that answer a question; without `question`, this project's and the user's."""
        return self.retrieval.ask(question or self._question(text, self.settings.query.limit), at)

    def _question(self, text: str, limit: int) -> "Question":
        from ragmem.services.retrieval.query import Question

        expand = self.settings.query.expand
        return Question(text, projects=self.projects.default(), limit=limit, expand=expand)

    def context(
        self,
        text: str,
        *,
        question: "Question | None" = None,
        tokens: int | None = None,
        max_chars: int | None = None,
        at: datetime | None = None,
    ) -> "Context":
        """Return the answer to a question as the block that an assistant reads.

        See `services.context.context`.
        """
        from ragmem.services.context.context import context, memories_for

        limit = memories_for(tokens, self.settings.query.limit)
        answer = self.retrieval.ask(question or self._question(text, limit), at)
        return context(
            answer, tokens=tokens, max_chars=max_chars, home=str(self.home), redactor=self.redactor
        )

    def session_context(
        self,
        task: str = "",
        *,
        projects: Sequence[str] = (),
        everywhere: bool = False,
        tokens: int | None = None,
        max_chars: int | None = None,
        at: datetime | None = None,
        folder: str | None = None,
    ) -> "Context":
        """Return what a new session should know, of this project and the user unless `projects` are given.

        What is checked out in `folder` comes first: None for the working folder unless `projects` are given.
        See `services.context.session_context` with a task, and `services.context.session_start` without.
        """
        from ragmem.services.context.context import SizeLimit
        from ragmem.services.context.session_context import session_context
        from ragmem.services.context.session_start import Place, session_start
        from ragmem.services.retrieval.branches import begin

        self.require()
        found = None if everywhere else tuple(projects) or self.projects.default()
        if not task.strip():
            if folder is None:
                folder = "" if projects or everywhere else str(self.cwd)
            return session_start(
                self.catalog,
                Place(found, head=begin(folder)),
                policy=self.settings.lifecycle.policy,
                limit=SizeLimit.of(tokens, max_chars),
            )
        return session_context(
            self.catalog,
            lambda question: self.retrieval.ask(question, at),
            task,
            projects=found,
            tokens=tokens,
            max_chars=max_chars,
            home=str(self.home),
        )

    def remember(
        self,
        text: str,
        *,
        type: str = "",  # noqa: A002 - the word that everybody uses for it
        title: str = "",
        project: str = "",
        spec: str = "",
        session: str = "",
        tags: Sequence[str] = (),
        metadata: Mapping[str, str] | None = None,
        event_time: datetime | None = None,
    ) -> Receipt:
        """Accept a text into the inbox in a millisecond: durable at once, found by the next question.

        It belongs to the project of `cwd` unless `project` is given. Raises the errors of
        `ragmem.inbox.put`.
        """
        named = {
            name: sanitize_text(value, redactor=self.redactor) for name, value in (metadata or {}).items()
        }
        return put(
            self.settings.places.data,
            sanitize_text(text, redactor=self.redactor),
            folder=self.cwd,
            root=marked_root(str(self.cwd), str(self.home)),
            at_ns=time.time_ns(),
            type=type,
            title=sanitize_text(title, redactor=self.redactor),
            project=project,
            spec=spec,
            session=session,
            tags=[sanitize_text(tag, redactor=self.redactor) for tag in tags],
            metadata=named if self.redactor.stored else self.redactor.redact_document(named),
            event_time=event_time,
        )

    def ingest(
        self,
        drafts: Sequence[Draft],
        *,
        projects: "ProjectFinder | None" = None,
        rule: "SignalRule" = "judge",
        progress: "Progress | None" = None,
        refusals: "list[Refusal] | None" = None,
        by_agent: bool = False,
    ) -> "list[IngestResult]":
        """Store drafts; each is durable once accepted, and indexed when this returns.

        With [approval] enabled, those `by_agent` wait until a person accepts them.

        A draft that a rule, the database or the model rejects does not stop the others; see
        `services.ingestion.ingest`.
        """
        from ragmem.services.ingestion.ingest import ingest
        from ragmem.services.ingestion.scope import remember_projects
        from ragmem.services.processes.progress import Silent

        self.prepare()
        self.inbox.drain()
        if projects is not None:
            remember_projects(self.catalog, projects)
        stored = ingest(
            self.catalog,
            lambda: self.store,
            drafts,
            now=now(),
            sizes=self.settings.chunking,
            progress=progress or Silent(),
            rule=rule,
            refusals=refusals,
            proposed=by_agent and self.settings.approval.enabled,
        )
        self.models.remember()
        return stored

    def seed(
        self,
        *,
        sources: Sequence[str] = (),
        dry_run: bool = False,
        explain: bool = False,
        rebuild: bool = False,
        llm: bool = True,
        wait: bool = True,
        progress: "Progress | None" = None,
        on_searchable: "Callable[[SeedReport], None] | None" = None,
        on_recent: "Callable[[], None] | None" = None,
    ) -> "SeedReport":
        """Index new and changed files of the configured sources.

        Full text finds everything once all texts are read; then `on_searchable` is called. Before that,
        `on_recent` is called when the latest of many transcripts are read. Then vectors and graph are made,
        unless `wait` is false: `inbox.index_pending`, the next seed or the warm process makes them. Finally
        the model of `extraction.ner` finds names, and the language model extracts entities, if [extraction]
        asks for it and `llm` is true. A `dry_run` stores nothing; `rebuild` reads all sources anew.
        """
        from ragmem.services.entities.extraction import ExtractionPorts, extract_by_model
        from ragmem.services.entities.recognition import recognize_entities
        from ragmem.services.processes.operation import SharedProgress
        from ragmem.services.processes.progress import Silent
        from ragmem.services.seeding.seed import seed

        if not dry_run or self.catalog.exists():
            self.prepare()
        if not dry_run:
            self.inbox.drain()
        started = time.perf_counter()
        if rebuild and not dry_run:
            # A model that fails must fail before the memories are removed.
            self.models.probe()
        told = progress or Silent()
        state = self.settings.places.state
        with nullcontext(told) if dry_run else SharedProgress(state, "seed", told) as told:
            report = seed(
                self.catalog,
                lambda: self.store,
                self.settings,
                home=self.home,
                cwd=self.cwd,
                sources=sources,
                dry_run=dry_run,
                explain=explain or rebuild,
                rebuild=rebuild and not dry_run,
                now=now(),
                progress=told,
                wait=wait,
                documents=self.ingestion.documents(dry_run=dry_run),
                on_searchable=on_searchable,
                on_recent=on_recent,
            )
            if not dry_run and wait:
                self.models.remember()
                if report.would_change and not report.note:
                    self.retrieval.calibrate()
            if (wait or dry_run) and not report.note and self.catalog.exists():
                tools = ExtractionPorts(
                    catalog=self.catalog,
                    open_store=lambda: self.store,
                    open_models=lambda: self.models,
                    settings=self.settings,
                    meter=self.meter,
                    now=now,
                    progress=told,
                )
                report.recognition = recognize_entities(tools, dry_run=dry_run)
                if llm:
                    report.extraction = extract_by_model(tools, dry_run=dry_run)
        report.seconds = time.perf_counter() - started
        return report

    def memory(self, prefix: str) -> Memory:
        """Return the memory whose id starts with the prefix; raises NotFoundError."""
        from ragmem.services.lifecycle.feedback import require_memory

        self.require()
        return require_memory(self.catalog, prefix)

    def forget(
        self,
        prefixes: Iterable[str] = (),
        *,
        sources: Sequence[str] = (),
        projects: Sequence[str] = (),
        run: str = "",
        allow_large: bool = False,
    ) -> str:
        """Move memories to the archive, all of them or none; return the run for `gc.undo`, "" for none.

        They are selected as for `removal.plan`. No seed and no hook stores them again. More than half of all
        memories may be moved only by their ids or with `allow_large`. Raises NotFoundError or UsageError
        before anything is done.
        """
        named = list(prefixes)
        only_ids = bool(named) and not (sources or projects or run)
        planned = self.removal.plan(named, sources=sources, projects=projects, run=run)
        return self.removal.archive(planned, allow_large=allow_large or only_ids).run

    def graph(self, projects: Sequence[str] | None = None) -> "GraphViews":
        """Return the views of the graphs of these projects (None: of all); each view is a method."""
        from ragmem.services.graph.views import GraphViews

        self.require()
        return GraphViews(self.catalog, self.store, projects)

    @lazy
    def answers(self) -> "Answers":
        """Answers in the words of a language model."""
        from ragmem.api.answers import Answers

        return Answers(self)

    @lazy
    def approvals(self) -> "Approvals":
        """What waits for review: proposed memories and drafted skills."""
        from ragmem.api.approvals import Approvals

        return Approvals(self)

    @lazy
    def code(self) -> "Code":
        """The code of a project as a graph: ingest it, map it, find what a change affects."""
        from ragmem.api.code import Code

        return Code(self, self.projects)

    @lazy
    def doctor(self) -> "Doctor":
        """Checks of the whole home, and their repair."""
        from ragmem.api.doctor import Doctor

        return Doctor(self, self.vectors.status)

    @lazy
    def gc(self) -> "Gc":
        """Garbage collection: plan, apply, undo, purge."""
        from ragmem.api.gc import Gc

        return Gc(self, self.inbox.drain)

    @lazy
    def inbox(self) -> "Inbox":
        """The queue of accepted texts and events that are not stored or indexed yet."""
        from ragmem.api.inbox import Inbox

        return Inbox(self)

    @lazy
    def ingestion(self) -> "Ingestion":
        """Drafts of files, folders and texts, for `ingest`."""
        from ragmem.api.ingestion import Ingestion

        return Ingestion(self)

    @lazy
    def injections(self) -> "Injections":
        """Memories injected into running sessions, and the injection log."""
        from ragmem.api.injections import Injections

        return Injections(self, self.retrieval, self.projects)

    @lazy
    def lifecycle(self) -> "Lifecycle":
        """The lifecycle of memories: recalls, feedback, pins."""
        from ragmem.api.lifecycle import Lifecycle

        return Lifecycle(self)

    @lazy
    def memory_file(self) -> "MemoryFile":
        """The file in which an assistant keeps its memory of a project."""
        from ragmem.api.memory_file import MemoryFile

        return MemoryFile(self)

    @lazy
    def projects(self) -> "Projects":
        """Projects: find them by path or name, join, split, rename and move them."""
        from ragmem.api.projects import Projects

        return Projects(self, lambda: self.inbox.drain())  # noqa: PLW0108 - a question needs no inbox

    @lazy
    def records(self) -> "Records":
        """Typed records: add one of each type, get them by type."""
        from ragmem.api.records import Records

        return Records(self, ask=self.retrieval.ask, ingest=self.ingest, projects=self.projects)

    @lazy
    def removal(self) -> "Removal":
        """Move memories to the archive, or delete them permanently."""
        from ragmem.api.removal import Removal

        return Removal(self, self.gc.undo)

    @lazy
    def reports(self) -> "Reports":
        """Statistics, plots, latency, and the report of a memory."""
        from ragmem.api.reports import Reports

        return Reports(self, self.retrieval.ask)

    @lazy
    def retrieval(self) -> "Retrieval":
        """Answers to questions: policy, calibration, expansion, routes."""
        from ragmem.api.retrieval import Retrieval

        return Retrieval(self)

    @lazy
    def rules(self) -> "Rules":
        """The rules of a person, and their violations by assistants."""
        from ragmem.api.rules import Rules

        return Rules(self)

    @lazy
    def scrub(self) -> "Scrub":
        """Remove a secret from everything that was stored."""
        from ragmem.api.scrub import Scrub

        return Scrub(self, self.inbox.index_pending)

    @lazy
    def sharing(self) -> "Sharing":
        """Sharing with a team over the git remote of a project."""
        from ragmem.api.sharing import Sharing

        return Sharing(self)

    @lazy
    def vectors(self) -> "Vectors":
        """The vectors: which model made them, and their replacement."""
        from ragmem.api.vectors import Vectors

        return Vectors(self)
