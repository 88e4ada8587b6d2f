"""The models in use: the configured ones, but the previous embedder until its vectors are replaced.

The *wanted* model is the one in [models], the *active* one has made the current vectors. While they differ,
the active one stays in use, so that vectors of two models never mix. If there are no vectors yet, the wanted
one is used at once.
"""

import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, fields, replace
from functools import cached_property
from typing import Any

from ragmem.config.models import ModelSettings
from ragmem.errors import BackendError, StorageError, StoreBusyError, StoreDamagedError
from ragmem.ports import (
    Embedder,
    EntityRecognizer,
    HasEntityRecognizer,
    HasReranker,
    LanguageModel,
    Models,
    Reranker,
    Store,
)
from ragmem.storage.activity.model_record import ACTIVE, ModelRecord, ModelRecords
from ragmem.storage.memories.read_cache import ReadCache

_SECRET = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)

_NEVER_KEPT = frozenset({"key_command"})
"""A restored database may come from a stranger: no command from it is executed."""


class ActiveModels:
    """Implements ports.Models, and checks on each use whether another model has become active.

    `open_recipe` opens the models of a [models] table, `open_store` the store with the vectors; neither
    is called before it is needed. Safe to use from several threads.
    """

    def __init__(
        self,
        wanted: Models,
        settings: ModelSettings,
        records: ModelRecords,
        *,
        open_recipe: Callable[[ModelSettings], Models],
        open_store: Callable[[], Store],
    ) -> None:
        self.wanted = wanted
        self._settings = settings
        self.records = records
        self._open_recipe = open_recipe
        self._open_store = open_store
        self._former: dict[str, Models] = {}
        self._opening = threading.Lock()
        self._held: ModelRecord | None = None
        self._kept = ReadCache(records.database, self._find_active)

    @property
    def embedder(self) -> Embedder:
        """The embedder of the active model; raises BackendError if it is unavailable."""
        try:
            active, wanted = self.active(), self.wanted_id()
        except (StorageError, StoreDamagedError):
            # Without the database nothing can be searched or stored, but a model can be tried alone.
            return self.wanted.embedder
        if active is None or active.model == wanted:
            return self.wanted.embedder
        try:
            return self._open(active).embedder
        except BackendError:
            if wanted:
                raise
            # Both fail; the error of the configured model is the one that a user can fix.
            return self.wanted.embedder

    @property
    def language_model(self) -> LanguageModel | None:
        """The configured language model, or None."""
        return self.wanted.language_model

    @property
    def reranker(self) -> Reranker | None:
        """The configured reranker, or None."""
        return self.wanted.reranker if isinstance(self.wanted, HasReranker) else None

    @property
    def recognizer(self) -> EntityRecognizer | None:
        """The configured recognizer of entities, or None."""
        return self.wanted.recognizer if isinstance(self.wanted, HasEntityRecognizer) else None

    def check(self) -> list[str]:
        """Return the problems in the files of the configured models and of the active one."""
        found = self.wanted.check()
        try:
            active = self.active()
        except (StorageError, StoreDamagedError):
            return found
        if active is not None and active.model != self.wanted_id():
            found += [line for line in self._open(active).check() if line not in found]
        return found

    def close(self) -> None:
        """Free what was loaded; closing twice is fine."""
        with self._opening:
            opened, self._former = list(self._former.values()), {}
        for models in (self.wanted, *opened):
            models.close()

    def wanted_id(self) -> str:
        """Return the id of the configured model, "" if it is unavailable; contacts and loads nothing."""
        try:
            return self.wanted.embedder.model_id
        except BackendError:
            return ""

    def active(self) -> ModelRecord | None:
        """Return the model of the current vectors; None if there are none and the wanted model may be used.

        Its recipe is empty if an earlier release made the vectors, because those did not record it.
        """
        return self._kept.value() if self.records.are_committed else self._find_active()

    def _find_active(self) -> ModelRecord | None:
        # Without a record this is a home of an earlier release, or a new one.
        record = self.records.read(ACTIVE) or self._held
        if record is not None and (record.model == self.wanted_id() or self._has_vectors_of(record.model)):
            return record
        self._held = self._most_used()
        return self._held

    def remember(self) -> None:
        """Record the model of the current vectors and its recipe, for a later change of the model.

        If it is recorded already, this reads one row. If it cannot be recorded, the next call tries again.
        """
        with suppress(BackendError, StorageError, StoreBusyError):
            self._remember()

    def _remember(self) -> None:
        recipe = self._recipe
        wanted = self.wanted_id()
        record = before = self.records.read(ACTIVE)
        if record is None or (record.model != wanted and not self._has_vectors_of(record.model)):
            # There is no record, or all its vectors were deleted.
            record = self._most_used()
        elif record.model != wanted or record.recipe == recipe:
            return
        if record is not None:
            known = replace(record, recipe=recipe) if record.model == wanted else record
            self.records.replace(ACTIVE, before, known)

    @cached_property
    def _recipe(self) -> dict[str, Any]:
        return recipe_of(self._settings)

    def probe(self) -> None:
        """Raise BackendError if the configured model does not answer."""
        self.wanted.embedder.embed(["probe"], role="document")

    def record_of_wanted(self) -> ModelRecord:
        """Return the record of the configured model; raises BackendError if it is unavailable.

        A provider may be asked for the dimensions of its vectors.
        """
        embedder = self.wanted.embedder
        return ModelRecord(embedder.model_id, embedder.dimensions, recipe_of(self._settings))

    def _most_used(self) -> ModelRecord | None:
        found = self._open_store().model_of_most()
        return ModelRecord(*found) if found is not None else None

    def _has_vectors_of(self, model: str) -> bool:
        return self._open_store().has_vectors_of(model)

    def _open(self, active: ModelRecord) -> Models:
        with self._opening:
            opened = self._former.get(active.model)
            if opened is None:
                opened = self._former[active.model] = self._open_previous(active)
            return opened

    def _open_previous(self, active: ModelRecord) -> Models:
        recipe = settings_of(active.recipe)
        if active.recipe and recipe.backend == self._settings.backend:
            recipe = replace(recipe, key_command=self._settings.key_command)
        # Without a recipe only the bundled model can be opened.
        opened = self._open_recipe(recipe)
        try:
            made = opened.embedder.model_id
        except BackendError:
            opened.close()
            raise
        if made != active.model:
            opened.close()
            raise BackendError(
                f'the vectors were made by the model "{active.model}", which cannot be opened',
                hint="run `ragmem models use` or `ragmem seed --rebuild`, or restore [models]",
            )
        return opened


def recipe_of(settings: ModelSettings) -> dict[str, Any]:
    """Return the non-default values of a [models] table, without secrets and commands that read one."""
    plain = asdict(ModelSettings())
    recipe = {
        name: value
        for name, value in asdict(settings).items()
        if value != plain[name] and name not in _NEVER_KEPT
    }
    if "options" in recipe:
        recipe["options"] = _harmless(recipe["options"])
    # The backend sets the recipe; an empty one means unknown.
    return {"backend": settings.backend, **recipe}


def settings_of(recipe: Mapping[str, Any]) -> ModelSettings:
    """Return a recipe as settings, without keys unknown to this release."""
    known = {field.name for field in fields(ModelSettings)} - _NEVER_KEPT
    given = {name: value for name, value in recipe.items() if name in known}
    # Options override other settings, so those of a stranger could set a command as well.
    options = given.pop("options", {})
    return ModelSettings(**given, options=_harmless(options) if isinstance(options, Mapping) else {})


def _harmless(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without names that sound like secrets, at any depth, and without `key_command`."""
    return {
        name: _harmless(value) if isinstance(value, Mapping) else value
        for name, value in options.items()
        if not _SECRET.search(name)
    }
