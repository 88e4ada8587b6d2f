"""Answers to questions: policy, calibration, expansion, routes."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from ragmem.api.home import Home, now
from ragmem.errors import BackendError
from ragmem.services.ingestion.scope import project_at
from ragmem.services.retrieval import branches
from ragmem.services.retrieval.circuit_breaker import CircuitBreaker
from ragmem.services.retrieval.query import Answer, Assistance, Policy, Question, ask
from ragmem.storage.memories.read_cache import ReadCache

if TYPE_CHECKING:
    from ragmem.services.retrieval.calibration import Calibration
    from ragmem.services.retrieval.expansion import Expansions
    from ragmem.services.retrieval.routes import RoutedAnswer


class Retrieval:
    """Answers questions; remembers for a while which models failed."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.embedder_breaker = CircuitBreaker()
        self._reranker_breaker = CircuitBreaker()
        self._calibrations: dict[str, ReadCache[Calibration | None]] = {}
        self._expansions: Expansions | None = None

    def policy(self) -> Policy:
        """Return how answers are found and ranked, from the settings."""
        query = self._home.settings.query
        return Policy(
            decay=self._home.settings.decay,
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

    def ask(self, question: Question, at: datetime | None = None) -> Answer:
        """Return the answer to a question; `at` is the moment from which ages count (None: now)."""
        home = self._home
        home.require()
        head = branches.begin(question.folder)
        answer = ask(
            home.catalog,
            lambda: home.store,
            question,
            policy=self.policy(),
            now=at or now(),
            breaker=self.embedder_breaker,
            assistance=self._assistance(),
        )
        if head is not None:
            find = partial(project_at, home.catalog, home=home.home)
            answer = replace(answer, matches=branches.mark_unmerged(answer.matches, head, find))
        return replace(answer, notes=(*answer.notes, home.inbox_note)) if home.inbox_note else answer

    def ask_by_route(self, question: Question, route: str | None = None, *, now: datetime) -> "RoutedAnswer":
        """Return the answer by a route; None chooses the route by the form of the question.

        Raises ValueError for a route that does not exist, UsageError for an empty or oversized question.
        """
        from ragmem.services.retrieval.routes import RouteContext, ask_by_route

        home = self._home
        context = RouteContext(
            catalog=home.catalog,
            open_store=lambda: home.store,
            open_ledger=lambda: home.ledger,
            open_agents=lambda: home.agents,
            ask=lambda asked: self.ask(asked, now),
        )
        return ask_by_route(context, question, route, now=now)

    def _assistance(self) -> Assistance:
        from ragmem.services.retrieval.rerank import make_reranker

        home = self._home
        calibration = None
        # The search itself reports a model that cannot be opened.
        with suppress(BackendError):
            calibration = self.calibration()
        reranker = home.settings.reranker
        rerank = None
        if reranker.backend:
            rerank = make_reranker(lambda: home.models.reranker, reranker, self._reranker_breaker)
        return Assistance(calibration, self.expand, rerank, reranker.candidates)

    def expand(self, text: str) -> tuple[tuple[str, ...], str]:
        """Return paraphrases of a question from the language model, or none and a note with the reason.

        Raises BackendError if no language model is configured.
        """
        from ragmem.services.retrieval.expansion import Expansions, require_language_model

        with self._home.lock:
            self._expansions = self._expansions or Expansions()
        return self._expansions.of(require_language_model(self._home.language_model("query")), text)

    def calibration(self) -> "Calibration | None":
        """Return the scores of questions without an answer in this store; None if not measured."""
        from ragmem.services.retrieval.calibration import calibration_for

        database, model = self._home.catalog.database, self._home.models.embedder.model_id
        if not self._home.is_prepared:
            return calibration_for(database, model)
        if model not in self._calibrations:
            self._calibrations[model] = ReadCache(database, lambda: calibration_for(database, model))
        return self._calibrations[model].value()

    def calibrate(self) -> None:
        """Measure the calibration if it is due; do nothing beyond a daily cap or if a model fails."""
        from ragmem.services.retrieval.calibration import refresh_calibration

        home = self._home
        with suppress(BackendError):
            # Caps do not apply to questions, but this is background work.
            home.meter.admit("document")
            refresh_calibration(home.catalog, home.store, model=home.models.embedder.model_id)
