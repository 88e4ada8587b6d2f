"""A home and its resources, opened at first use: catalog, models, store, ledger, recalls and agents."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from ragmem import backends
from ragmem.backends.composed_models import ComposedModels, LateMeter
from ragmem.config.loader import load
from ragmem.config.models import ModelSettings
from ragmem.config.settings import Settings
from ragmem.errors import ConfigError, UsageError
from ragmem.inbox import inbox_folder
from ragmem.inbox.reader import is_empty
from ragmem.ports import LanguageModel, Models, Purpose, Store
from ragmem.ports.principal import acting_as, confined_member
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.sqlite import SQLiteDatabase

if TYPE_CHECKING:
    from ragmem.services.agents.agents import Agents
    from ragmem.services.lifecycle.recalls import Recalls
    from ragmem.services.models.active_models import ActiveModels
    from ragmem.services.models.usage import Ledger

# Services are imported inside functions: a question must not pay for the imports of a seed.

T = TypeVar("T")

INBOX_RETRY_S = 1.0
"""Seconds before the inbox is read again after a part of it could not be stored. One question may ask
several times, and the questions of a server must not all wait for a busy writer."""


def now() -> datetime:
    """Return the present moment in UTC; the one place where the package reads the clock for ages."""
    return datetime.now(tz=UTC)


class lazy(Generic[T]):  # noqa: N801 - it reads like `property`
    """A property that is computed at its first use, by one thread, and then kept in the object."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, home: Any, owner: type | None = None) -> T:
        with home.lock:
            if self._name not in home.__dict__:
                home.__dict__[self._name] = self._compute(home)
            kept: T = home.__dict__[self._name]
            return kept


class Home:
    """The settings and resources of a home; each is opened at its first use, `with` closes all of them.

    `home` is the folder of the user, `cwd` the working folder; `models` replace the configured ones.
    """

    def __init__(self, settings: Settings, *, home: Path, cwd: Path, models: Models | None = None) -> None:
        self.settings = settings
        self.redactor = settings.redactor
        self.home = home
        self.cwd = cwd
        self.catalog = Catalog(_database_of(settings), self.redactor, cache=settings.places.cache)
        self.meter = LateMeter(lambda: self.ledger)
        self.lock = threading.RLock()
        self.inbox_note = ""
        """Why a part of the inbox was not stored before the last question; "": all of it was."""
        self._inbox_retry = 0.0
        self._models_override = models
        self._language_models: dict[Purpose, ComposedModels] = {}
        self._prepared: tuple[int, ...] | None = None
        self._reload: Callable[[], Settings] | None = None

    @classmethod
    def open(
        cls,
        *,
        environ: Mapping[str, str] | None = None,
        home: Path | None = None,
        cwd: Path | None = None,
        sources_file: Path | None = None,
    ) -> Self:
        """Return the memory of this user; nothing is created or loaded before its first use.

        Raises ConfigError when a configuration file or variable is wrong.
        """
        where = home or Path.home()
        here = cwd or Path.cwd()
        read = partial(
            load,
            environ=os.environ if environ is None else environ,
            home=where,
            cwd=here,
            sources_file=sources_file,
        )
        opened = cls(read(), home=where, cwd=here)
        opened._reload = read
        return opened

    def reload_settings(self) -> Settings:
        """Return the settings as config.toml and the environment are now; raises ConfigError."""
        return self._reload() if self._reload else self.settings

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close everything that was opened; closing twice is fine."""
        for name in ("recalls", "agents", "unprepared_store", "models"):
            self._close(name)
        while self._language_models:
            self._language_models.popitem()[1].close()
        self._close("ledger")
        self.catalog.close()

    def reopen(self) -> None:
        """Close the store and the database; their next use opens the files that are there then."""
        self._close("unprepared_store")
        self.catalog.close()

    def _close(self, name: str) -> None:
        if (opened := self.__dict__.pop(name, None)) is not None:
            opened.close()

    @lazy
    def ledger(self) -> "Ledger":
        """The counter of requests to providers; reads and writes nothing before the first request."""
        from ragmem.services.models.usage import Ledger

        return Ledger(self.catalog, self.settings, now=now)

    @lazy
    def recalls(self) -> "Recalls":
        """The counter of which session recalled which memories."""
        from ragmem.services.lifecycle.recalls import FOLDER, Recalls

        return Recalls(self.catalog, self.settings.places.state / FOLDER, now=now)

    @lazy
    def agents(self) -> "Agents":
        """The agents of this home; nothing is created before the first one registers."""
        from ragmem.services.agents.agents import Agents
        from ragmem.storage.operational.file import OperationalFile

        settings = self.settings
        file = OperationalFile(settings.places.data, busy_timeout=settings.write.busy_timeout_s)
        return Agents(file, settings.agents, now=now, redactor=self.redactor)

    @lazy
    def models(self) -> "ActiveModels":
        """The configured models, except that the embedder is the one that made the present vectors.

        Each model is opened at its first use. `models.wanted` are always the configured ones.
        """
        from ragmem.services.models.active_models import ActiveModels

        return ActiveModels(
            self._models_override or self.compose_models(self.settings.models),
            self.settings.models,
            self.catalog.models,
            open_recipe=self.compose_models,
            open_store=lambda: self.unprepared_store,
        )

    def compose_models(self, embedding: ModelSettings, purpose: Purpose = "extraction") -> ComposedModels:
        """Return models with this embedder, and the configured language model and reranker.

        Requests to the language model count for the purpose.
        """
        return ComposedModels(
            embedding,
            self.settings.language_model,
            meter=self.meter,
            cache=self.settings.places.cache,
            purpose=purpose,
            reranker=self.settings.reranker,
            recognizer=self.settings.extraction.ner,
            redactor=self.redactor,
        )

    def language_model(self, purpose: Purpose) -> LanguageModel | None:
        """Return the model of [language_model], whose requests count for a purpose; None if not configured.

        Raises BackendError if it cannot be opened.
        """
        if self._models_override is not None:
            return self._models_override.language_model
        with self.lock:
            if purpose not in self._language_models:
                self._language_models[purpose] = self.compose_models(self.settings.models, purpose)
            return self._language_models[purpose].language_model

    @property
    def store(self) -> Store:
        """The configured store, for a member of a team as it may use it; raises BackendError without one."""
        self.prepare()
        if confined_member() is None:
            return self.unprepared_store
        from ragmem.services.vectors.member_store import member_store

        return member_store(self.unprepared_store, self.catalog)

    @lazy
    def unprepared_store(self) -> Store:
        """The configured store, whose database may be missing or of an older schema."""
        chosen = self.settings.store
        return backends.open_store(
            chosen.backend,
            {
                **chosen.options,
                "profile": chosen.profile,
                "url": chosen.url,
                "storages": chosen.storages,
                "environment": chosen.environment,
            },
            self.models,
            database=self.catalog.database,
        )

    def prepare(self) -> None:
        """Create the database if it is missing, and bring its schema up to date."""
        # A database that was restored meanwhile may be one of an older ragmem.
        if self._prepared is None or self._prepared != self.catalog.database.identity:
            self.catalog.prepare()
            self._prepared = self.catalog.database.identity

    @property
    def is_prepared(self) -> bool:
        """Whether the database was opened and brought up to date."""
        return self._prepared is not None

    @cached_property
    def _inbox_folder(self) -> str:
        return inbox_folder(self.settings.places.data)

    def is_stored(self) -> bool:
        """Return whether anything was ever stored here; stores a part of the inbox first, briefly."""
        if is_empty(self._inbox_folder):
            self.inbox_note = ""
        elif time.monotonic() >= self._inbox_retry:
            from ragmem.services.ingestion.inbox import drain_quickly

            with acting_as(None):  # the inbox is the owner's
                self.inbox_note = drain_quickly(self.catalog, self.settings, home=self.home, now=now())
            self._inbox_retry = time.monotonic() + (INBOX_RETRY_S if self.inbox_note else 0)
        return self.catalog.exists()

    def require(self) -> None:
        """Call `is_stored`; raise UsageError if nothing was ever stored here."""
        if not self.is_stored():
            shared = self.settings.store.profile == "postgres"
            place = self.catalog.database.place if shared else self.settings.places.data
            meant = "store.url" if shared else "RAGMEM_HOME"
            raise UsageError(
                f'there is no memory in "{place}" yet',
                hint=f"run `ragmem seed`, or set {meant} to the right place",
            )
        self.prepare()

    def forget_texts(self) -> None:
        """Remove what the cache folder has of texts that are about to be deleted permanently."""
        from ragmem.services.lifecycle.text_cache import CACHE, remove_others

        # It has hashes of the words of memories that were there at the last plan of gc.
        remove_others(self.settings.places.cache / CACHE, ())
        self.catalog.rules.forget()


def _database_of(settings: Settings) -> Database:
    """Return the database of the profile, not opened yet; raises ConfigError if its address is missing."""
    chosen, data, patience = settings.store, settings.places.data, settings.write.busy_timeout_s
    if chosen.profile != "postgres":
        return SQLiteDatabase(data, busy_timeout=patience)
    if not chosen.url:
        raise ConfigError(
            'the profile "postgres" needs the address of a database',
            hint='write url = "postgresql://user@host:5432/name" below [store], or set RAGMEM_STORE_URL',
        )
    from ragmem.storage.home.postgres import PostgresDatabase

    return PostgresDatabase(chosen.url, data, busy_timeout=patience)
