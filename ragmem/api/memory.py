"""The composition root and public Python API: settings become one open memory.

>>> with Ragmem.open() as memory:
...     answer = memory.query("how do we deploy")
"""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.api.agents import Conversing
from ragmem.api.answers import Answering
from ragmem.api.gc import Tending
from ragmem.api.home import Opened, now
from ragmem.api.injections import Telling
from ragmem.api.lifecycle import Living
from ragmem.api.records import Recording
from ragmem.api.rules import Checking
from ragmem.api.scrub import Scrubbing
from ragmem.backends.composed import ComposedModels
from ragmem.config import Settings
from ragmem.domain.model import USER, Draft, Memory
from ragmem.errors import BackendError
from ragmem.ports import Models
from ragmem.storage.sql.sqlite import SQLiteDatabase

__all__ = ["Ragmem", "now"]

if TYPE_CHECKING:
    from ragmem.config.settings import SignalRule
    from ragmem.readers.scope import ProjectFinder
    from ragmem.services.code.impact import Impact
    from ragmem.services.code.report import CodeReport
    from ragmem.services.context.anticipation import Anticipated, Event
    from ragmem.services.context.context import Context
    from ragmem.services.doctor.repair import Step
    from ragmem.services.doctor.report import Patient, Report
    from ragmem.services.graph.views import GraphViews
    from ragmem.services.ingestion.drafts import Handed, HandIn
    from ragmem.services.ingestion.folder_survey import Survey
    from ragmem.services.ingestion.ingest import Ingested
    from ragmem.services.models.reembed import ModelStanding, Reembedded
    from ragmem.services.processes.progress import Progress
    from ragmem.services.processes.refusals import Refusal
    from ragmem.services.reporting.latency import Latency
    from ragmem.services.retrieval.calibration import Calibration
    from ragmem.services.retrieval.circuit_breaker import Respite
    from ragmem.services.retrieval.expansion import Expansions
    from ragmem.services.retrieval.helpers import Assistance
    from ragmem.services.retrieval.query import Answer, Policy, Question
    from ragmem.services.seeding.report import SeedReport

# Services are imported where they are used: a question must not pay for what only seeding needs.


class Ragmem(Living, Tending, Recording, Scrubbing, Telling, Checking, Answering, Conversing, Opened):
    """One open memory: the catalog, the models and the store of a home; opened lazily, closed by `with`.

    May be used from several threads; each opens a connection of its own, which lives until `close`.
    """

    def __init__(self, settings: Settings, *, home: Path, cwd: Path, models: Models | None = None) -> None:
        super().__init__(settings, home=home, cwd=cwd, models=models)
        self._resting: Respite | None = None
        self._expansions: Expansions | None = None
        self._reranking_respite: Respite | None = None

    def policy(self) -> "Policy":
        """Return how answers are found and ranked, from the settings."""
        from ragmem.services.retrieval.query import Policy

        query = self.settings.query
        return Policy(
            decay=self.settings.decay,
            candidates=query.candidates,
            lexical_weight=query.lexical_weight,
            vector_weight=query.vector_weight,
            min_similarity=query.min_similarity,
            min_coverage=query.min_coverage,
            earned_recency=query.earned_recency,
            graph_weight=query.graph_weight,
            time_weight=query.time_weight,
            abstain=query.abstain,
        )

    def default_projects(self) -> tuple[str, ...] | None:
        """Return the projects a question is asked of: this one and the user's; None (all) outside of any."""
        found = self.projects_at(self.cwd)
        return found if len(found) > 1 else None

    def projects_at(self, path: Path) -> tuple[str, ...]:
        """Return the project that holds a path and the user's; outside of any the user's alone."""
        from ragmem.services.ingestion.scope import project_at

        project = project_at(self.catalog, path, home=self.home)
        return (USER,) if project is None else (project, USER)

    def projects_named_by(self, path: Path) -> tuple[str, ...]:
        """Return as `projects_at`, by the name of the path alone: nothing on disk is looked at."""
        from ragmem.services.ingestion.scope import project_named_by

        project = project_named_by(self.catalog, path, home=self.home)
        return (USER,) if project is None else (project, USER)

    def named_projects(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of projects given by name, id or path; raises NotFoundError."""
        from ragmem.services.ingestion.scope import named_project

        return tuple(named_project(self.catalog, name) for name in names)

    def query(self, text: str, *, question: "Question | None" = None, at: datetime | None = None) -> "Answer":
        """Return the memories that answer a question; without `question`, this project's and the user's."""
        from ragmem.services.retrieval.query import Question, ask

        self.require()
        asked = question or Question(
            text,
            projects=self.default_projects(),
            limit=self.settings.query.limit,
            expand=self.settings.query.expand,
        )
        answer = ask(
            self.catalog,
            lambda: self.store,
            asked,
            policy=self.policy(),
            now=at or now(),
            respite=self._respite(),
            assistance=self._assistance(),
        )
        return replace(answer, notes=(*answer.notes, self.inbox_note)) if self.inbox_note else answer

    def _assistance(self) -> "Assistance":
        from ragmem.services.retrieval.circuit_breaker import Respite
        from ragmem.services.retrieval.helpers import Assistance, reranking

        calibration = None
        # A model that cannot be had is told of by the search itself.
        with suppress(BackendError):
            calibration = self.calibration()
        with self._opening:
            self._reranking_respite = self._reranking_respite or Respite()
        reranker = self.settings.reranker
        rerank = reranking(lambda: self.models.reranker, reranker, self._reranking_respite)
        return Assistance(calibration, self.expand, rerank, reranker.candidates)

    def latency(self, *, projects: Sequence[str] | None = None, questions: int = 100) -> "Latency":
        """Ask so many questions made of stored titles, and return how long they took; counts no recall."""
        from ragmem.services.reporting.latency import measured
        from ragmem.services.retrieval.query import Question
        from ragmem.storage.memories.report_queries import Figures

        self.require()
        titles = Figures(self.catalog.database, projects).titles(questions + 1)
        named = None if projects is None else tuple(projects)

        def ask(title: str) -> "Answer":
            asked = Question(title, projects=named, limit=self.settings.query.limit)
            return self.query(title, question=asked)

        return measured(ask, titles)

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
        from ragmem.services.context.context import context

        answer = self.query(text, question=question, at=at)
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
    ) -> "Context":
        """Return what a new session should know, of this project and the user unless others are named.

        See `services.context.session_context`.
        """
        from ragmem.services.context.session_context import session_context

        self.require()
        return session_context(
            self.catalog,
            lambda question: self.query(question.text, question=question, at=at),
            task,
            projects=None if everywhere else tuple(projects) or self.default_projects(),
            tokens=tokens,
            max_chars=max_chars,
            home=str(self.home),
        )

    def anticipate(
        self,
        session: str,
        prompt: str = "",
        *,
        event: "Event" = "",
        agent: str = "",
        assistant: str = "",
        again: bool = False,
        projects: Sequence[str] = (),
        everywhere: bool = False,
        cwd: Path | None = None,
        tokens: int | None = None,
        max_chars: int | None = None,
        at: datetime | None = None,
        until: float = math.inf,
    ) -> "Anticipated":
        """Return what a running session should know now and was not shown yet; mostly nothing.

        `event` is start, prompt or research ("": prompt where there is one, else start); `agent` is one
        within the session, `again` says that the session lost sight of all that it was shown. Of the project
        that holds `cwd` (None: where this process is) and of the user, unless others are named; outside of
        any project of the user alone. `until` is the moment of `time.monotonic` from which nobody waits. See
        `services.context.anticipation`.
        """
        from ragmem.services.context.anticipation import Occasion, Tools, Wanted, anticipate
        from ragmem.storage.activity.injections import Kept

        self.require()
        told = anticipate(
            Tools(
                catalog=self.catalog,
                open_store=lambda: self.store,
                open_embedder=lambda: self.models.embedder,
                ask=lambda question: self.query(question.text, question=question, at=at),
                curated=self.lifecycle().curated,
                now=at or now(),
                respite=self._respite(),
                home=str(self.home),
                kept=Kept(timedelta(days=self.settings.injection.keep_days), self.settings.injection.keep),
                until=until,
            ),
            session,
            prompt,
            wanted=Wanted(
                None if everywhere else tuple(projects) or self.projects_at(cwd or self.cwd),
                tokens,
                max_chars,
            ),
            occasion=Occasion(event, agent, assistant, again),
        )
        if event in {"", "prompt"} and prompt.strip() and not agent:
            from ragmem.services.context.reminders import with_reminder

            told = with_reminder(
                told, self.catalog, session=session, max_chars=max_chars, now=at or now(), until=until
            )
        if event != "start" and prompt.strip():
            # What a session is told when it begins, it is told unasked.
            self.recalled_ids((memory.id for memory in told.context.memories), session=session)
        return told

    def expand(self, text: str) -> tuple[tuple[str, ...], str]:
        """Return other words of a question from the language model, or none and a note that says why.

        Raises BackendError where no language model is configured.
        """
        from ragmem.services.retrieval.expansion import Expansions, needed

        with self._opening:
            if self._asking is None:
                self._asking = ComposedModels(
                    self.settings.models,
                    self.settings.language_model,
                    meter=self._meter,
                    purpose="query",
                    redactor=self.redactor,
                )
            self._expansions = self._expansions or Expansions()
        given = self._given_models or self._asking
        return self._expansions.of(needed(given.language_model), text)

    def calibration(self) -> "Calibration | None":
        """Return what questions without an answer find in this store; None where it was not measured."""
        from ragmem.services.retrieval.calibration import known

        return known(self.catalog.database, self.models.embedder.model_id)

    def calibrate(self) -> None:
        """Measure that where it is due, as `seed` does; not beyond a daily cap, nor where a model fails."""
        from ragmem.services.retrieval.calibration import keep_current

        with suppress(BackendError):
            # It asks questions, which no cap stops, but nobody waits for the answers.
            self._meter.admit("document")
            keep_current(self.catalog, self.store, model=self.models.embedder.model_id)

    def _respite(self) -> "Respite":
        with self._opening:
            if self._resting is None:
                from ragmem.services.retrieval.circuit_breaker import Respite

                self._resting = Respite()
            return self._resting

    def survey(self, paths: Sequence[Path]) -> "list[Survey]":
        """Return how much the folders among these paths would give, without reading anything of it."""
        from ragmem.services.ingestion.folder_survey import survey

        return survey(paths, settings=self.settings, home=self.home, cwd=self.cwd)

    def hand_in(
        self,
        paths: Sequence[Path],
        wish: "HandIn",
        *,
        text: bytes | None = None,
        title: str = "",
        dry_run: bool = False,
        progress: "Progress | None" = None,
    ) -> "Handed":
        """Return the drafts of files, folders and a text, without storing them; see `ingest`.

        With `dry_run` no model is shown pictures that none has described yet.
        """
        from ragmem.services.ingestion.drafts import draft_of_text, drafts_of_paths

        handed = drafts_of_paths(
            paths,
            wish,
            catalog=self.catalog,
            settings=self.settings,
            home=self.home,
            cwd=self.cwd,
            # A text has no part in how documents are read, nor in what is wrong with that.
            documents=self.documents(dry_run=dry_run) if paths else None,
            progress=progress,
        )
        if text is not None:
            handed.drafts.append(
                draft_of_text(
                    text,
                    title,
                    wish,
                    catalog=self.catalog,
                    settings=self.settings,
                    projects=handed.projects,
                    cwd=self.cwd,
                )
            )
        return handed

    def ingest(
        self,
        drafts: Sequence[Draft],
        *,
        projects: "ProjectFinder | None" = None,
        rule: "SignalRule" = "graded",
        progress: "Progress | None" = None,
        refusals: "list[Refusal] | None" = None,
    ) -> "list[Ingested]":
        """Store drafts; each is durable once accepted, and indexed when this returns.

        One that a rule, the database or the model rejects stops no other; see `services.ingestion.ingest`.
        """
        from ragmem.services.ingestion.ingest import ingest
        from ragmem.services.ingestion.scope import remember_projects
        from ragmem.services.processes.progress import Silent

        self.prepare()
        self.take_in()
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
        )
        self.models.remember()
        return stored

    def archive_gone_parts(self, drafts: Sequence[Draft], unread: Sequence[str] = ()) -> list[str]:
        """Archive the pages that documents no longer have; `drafts` are all parts of those just stored.

        `unread` are the uris of parts that they have and that were not read, as `hand_in` tells. Return a
        line for each such document; `undo` brings the pages back.
        """
        from ragmem.services.ingestion.documents import archive_gone_parts, held_by

        held = held_by(drafts, unread)
        gone = archive_gone_parts(self.catalog, lambda: self.store, held, now=now())
        return [f"{path}: {told}" for (_, path), told in gone.items()]

    def ingest_code(
        self,
        path: Path,
        *,
        rebuild: bool = False,
        dry_run: bool = False,
        progress: "Progress | None" = None,
    ) -> "CodeReport":
        """Store the code of a repository or folder as a graph; see `services.code.ingest_code`."""
        from ragmem.services.code.ingest_code import ingest_code
        from ragmem.services.processes.progress import Silent

        return ingest_code(
            self.catalog,
            self.settings,
            path,
            home=self.home,
            cwd=self.cwd,
            rebuild=rebuild,
            dry_run=dry_run,
            progress=progress or Silent(),
        )

    def model_standing(self) -> "ModelStanding":
        """Return whose vectors answer questions and how far the configured model's are; contacts nothing."""
        from ragmem.services.models.reembed import standing

        return standing(
            self.models,
            self._open_store(),
            home=self.catalog.database.home,
            wanted_dimensions=self.settings.models.dimensions,
        )

    def reembed(self, *, progress: "Progress | None" = None) -> "Reembedded":
        """Make the vectors of the configured model beside those that answer, then let them answer.

        May be interrupted and run again, and everything else goes on meanwhile. See
        `services.models.reembed` for what it raises.
        """
        from ragmem.services.models.reembed import reembed
        from ragmem.services.processes.progress import Silent

        self.require()
        return reembed(
            self.catalog,
            self.store,
            self.models,
            home=self.catalog.database.home,
            now=now(),
            progress=progress or Silent(),
        )

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
    ) -> "SeedReport":
        """Bring the memory up to date with the sources on disk.

        Then the language model is asked, where [extraction] wants it and `llm` does not say otherwise.
        """
        from ragmem.services.entities.extraction import Tools, extract_by_model
        from ragmem.services.processes.progress import Silent
        from ragmem.services.seeding.seed import seed

        if not dry_run or self.catalog.exists():
            self.prepare()
        if not dry_run:
            self.take_in()
        started = time.perf_counter()
        if rebuild and not dry_run:
            # Before everything is taken out.
            self.models.probe()
        report = seed(
            self.catalog,
            lambda: self.store,
            self.settings,
            home=self.home,
            sources=sources,
            dry_run=dry_run,
            explain=explain or rebuild,
            rebuild=rebuild and not dry_run,
            now=now(),
            progress=progress or Silent(),
            wait=wait,
            documents=self.documents(dry_run=dry_run),
        )
        if not dry_run:
            self.models.remember()
            if report.would_change and not report.note:
                self.calibrate()
        if llm and not report.note and self.catalog.exists():
            tools = Tools(
                catalog=self.catalog,
                open_store=lambda: self.store,
                open_models=lambda: self.models,
                settings=self.settings,
                meter=self._meter,
                now=now,
                progress=progress or Silent(),
            )
            report.extraction = extract_by_model(tools, dry_run=dry_run)
        report.seconds = time.perf_counter() - started
        return report

    def examine(self, *, deep: bool = False, read_only: bool = False) -> "Report":
        """Check everything that can go wrong; `read_only` writes nothing, not even a canary."""
        from ragmem.services.doctor.doctor import examine

        database = self.catalog.database
        with database.reading_only() if read_only and isinstance(database, SQLiteDatabase) else nullcontext():
            return examine(self._patient(deep=deep, read_only=read_only))

    def repair(self, steps: "Iterable[Step]") -> "Iterator[Step]":
        """Carry out what `ragmem.services.doctor.repair.plan` found; yield each step with its outcome."""
        from ragmem.services.doctor.repair import repair

        return repair(self._patient(), list(steps), sizes=self.settings.chunking)

    def _patient(self, *, deep: bool = False, read_only: bool = False) -> "Patient":
        from ragmem.services.doctor.report import Patient

        return Patient(
            settings=self.settings,
            catalog=self.catalog,
            open_models=lambda: self.models,
            open_store=self._open_store,
            reopen=self._reopen,
            ledger=self.ledger,
            model_standing=self.model_standing,
            check_language_model=self._check_language_model,
            now=now(),
            deep=deep,
            read_only=read_only,
        )

    def memory(self, prefix: str) -> Memory:
        """Return the memory whose id starts with the prefix; raises NotFoundError."""
        self.require()
        return self.catalog.memories.resolve(prefix)

    def graph(self, projects: Sequence[str] | None = None) -> "GraphViews":
        """Return the views of the graphs of these projects (None: of all), which are asked one by one."""
        from ragmem.services.graph.views import GraphViews

        self.require()
        return GraphViews(self.catalog, self.store, projects)

    def impact(self, name: str, *, project: str = "", depth: int = 3, memories: int = 50) -> "Impact":
        """Return what a change of a symbol or file reaches, and the memories of it.

        See `services.code.impact`.
        """
        from ragmem.services.code.impact import impact

        return impact(self.catalog, self._code_project(project), name, depth=depth, memories=memories)

    def code_map(self, name: str = "", *, project: str = "") -> dict[str, Any]:
        """Return what is known of the code, or of a folder, file or symbol; see `services.code.map`."""
        from ragmem.services.code.map import code_map

        return code_map(self.catalog, self._code_project(project), name)

    def _code_project(self, project: str) -> str:
        from ragmem.services.code.targets import project_of_code

        self.require()
        named = self.named_projects([project]) if project else ()
        return project_of_code(self.catalog, named or self.default_projects(), named=bool(named))

    def statistics(self) -> dict[str, Any]:
        """Return what `services.reporting.statistics` counts."""
        from ragmem.services.reporting.statistics import statistics

        self.require()
        return statistics(self.catalog, self.store, self.settings)
