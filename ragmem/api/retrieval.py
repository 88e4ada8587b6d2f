"""Answers to questions: policy, calibration, expansion, routes."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from ragmem.api.home import Home, now
from ragmem.errors import BackendError
from ragmem.ports import KnowsScripts
from ragmem.ports.principal import acting_as
from ragmem.services.ingestion.scope import project_at
from ragmem.services.retrieval import branches
from ragmem.services.retrieval.calibration import BUNDLED, EverydayQuestions
from ragmem.services.retrieval.circuit_breaker import CircuitBreaker
from ragmem.services.retrieval.query import Answer, Assistance, Policy, Question, ask
from ragmem.storage.memories.read_cache import ReadCache

if TYPE_CHECKING:
    from ragmem.ports import Store
    from ragmem.services.retrieval.calibration import Calibration
    from ragmem.services.retrieval.expansion import Expansions
    from ragmem.services.retrieval.occurrences import TimelineAnswer
    from ragmem.services.retrieval.routes import RoutedAnswer
    from ragmem.services.vectors.cosine_scale import CosineScale

FEW_CHUNKS = 30
"""Minimum number of chunks from which a store is measured with another model that runs on this machine."""


class Retrieval:
    """Answers questions; remembers for a while which models failed."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.embedder_breaker = CircuitBreaker()
        self._reranker_breaker = CircuitBreaker()
        self._calibrations: dict[str, ReadCache[Calibration | None]] = {}
        self._everyday = EverydayQuestions(lambda: home.models.embedder)
        self._expansions: Expansions | None = None

    def policy(self) -> Policy:
        """Return how results are retrieved and ranked, from the settings."""
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
            shared_weight=self._home.settings.share.weight,
            abstain=query.abstain,
        )

    def ask(
        self,
        question: Question,
        at: datetime | None = None,
        *,
        careful: bool | None = None,
        respell: bool = False,
    ) -> Answer:
        """Return the answer to a question; `at` is the moment from which ages count (None: now).

        `careful`: True reranks the results, False never does, None: as [reranker] says. With `respell` a note
        suggests stored spellings of unknown words if nothing answers. Raises BackendError for a careful
        question without a reranker.
        """
        home = self._home
        home.require()
        head = branches.begin(question.folder)
        calibration, scale = self._scaled_calibration()
        answer = ask(
            home.catalog,
            partial(self._open_store, scale),
            question,
            policy=self.policy(),
            now=at or now(),
            breaker=self.embedder_breaker,
            assistance=replace(self._assistance(calibration, scale, careful=careful), respell=respell),
        )
        if head is not None:
            find = partial(project_at, home.catalog, home=home.home)
            answer = replace(answer, matches=branches.mark_unmerged(answer.matches, head, find))
        return replace(answer, notes=(*answer.notes, home.inbox_note)) if home.inbox_note else answer

    def ask_by_route(
        self, question: Question, route: str | None = None, *, now: datetime, careful: bool | None = None
    ) -> "RoutedAnswer":
        """Return the answer by a route; None chooses the route by the form of the question.

        `careful` as for `ask`. Raises ValueError for a route that does not exist, UsageError for an empty or
        oversized question.
        """
        from ragmem.services.retrieval.routes import RouteContext, ask_by_route

        home = self._home
        context = RouteContext(
            catalog=home.catalog,
            open_store=lambda: home.store,
            open_ledger=lambda: home.ledger,
            open_agents=lambda: home.agents,
            ask=lambda asked: self.ask(asked, now, careful=careful, respell=True),
        )
        return ask_by_route(context, question, route, now=now)

    def answer_by_timeline(self, question: Question, *, now: datetime) -> "TimelineAnswer | None":
        """Return the dated sentences for a question about time; None for any other question.

        See `services.retrieval.occurrences`.
        """
        from ragmem.services.retrieval.occurrences import answer_by_timeline

        return answer_by_timeline(self._home.catalog, lambda asked: self.ask(asked, now), question, now=now)

    def _scaled_calibration(self) -> "tuple[Calibration | None, CosineScale | None]":
        """Return the calibration, and the line to the bundled model's scale for cosines of another model."""
        from ragmem.services.retrieval.calibration import on_bundled_scale

        # The search itself reports a model that cannot be opened.
        with suppress(BackendError):
            return on_bundled_scale(self.calibration())
        return None, None

    def _open_store(self, scale: "CosineScale | None") -> "Store":
        if scale is None:
            return self._home.store
        from ragmem.services.vectors.cosine_scale import scaled_store

        return scaled_store(self._home.store, scale)

    def _assistance(
        self, calibration: "Calibration | None", scale: "CosineScale | None", *, careful: bool | None
    ) -> Assistance:
        from ragmem.services.retrieval.rerank import make_reranker

        home = self._home
        reranker = home.settings.reranker
        rerank = None
        if careful and not reranker.backend:
            raise BackendError(
                "careful search needs a reranker, and none is configured",
                hint="configure one in [reranker] of config.toml, or omit --careful",
            )
        if reranker.backend and (reranker.use == "always" if careful is None else careful):
            rerank = make_reranker(lambda: home.models.reranker, reranker, self._reranker_breaker)
        cosine = self._everyday.cosine
        everyday = cosine if scale is None else lambda text: scale(cosine(text))
        return Assistance(calibration, self.expand, rerank, reranker.candidates, everyday, self._can_read)

    def _can_read(self, text: str) -> bool:
        """Return whether the embedder knows the script of a text; True if it does not tell."""
        if text.isascii():
            return True
        embedder = self._home.models.embedder
        return not isinstance(embedder, KnowsScripts) or embedder.can_read(text)

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

    @acting_as(None)  # a calibration holds for everybody
    def calibrate(self) -> None:
        """Measure the calibration if it is due; do nothing beyond a daily cap or if a model fails."""
        from ragmem.services.models.use import LOCAL_BACKENDS
        from ragmem.services.retrieval.calibration import FROM_CHUNKS, calibration_of_model, read, write
        from ragmem.services.retrieval.calibration import refresh_calibration as refresh

        home = self._home
        with suppress(BackendError):
            # Caps do not apply to questions, but this is background work.
            home.meter.admit("document")
            database, embedder = home.catalog.database, home.models.embedder
            model = embedder.model_id
            bundled = model.startswith(BUNDLED)
            local = home.settings.models.backend in LOCAL_BACKENDS
            least = FEW_CHUNKS if local and not bundled else FROM_CHUNKS
            if bundled or home.store.statistics()["chunks"] >= least:
                refresh(home.catalog, home.store, model=model, embedder=embedder, least=least)
            elif read(database, model) is None and (ours := calibration_of_model(embedder)) is not None:
                write(database, ours)
