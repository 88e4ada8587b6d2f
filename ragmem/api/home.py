"""What a home consists of, opened where it is first used: catalog, models, store and ledger."""

import os
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ragmem import backends
from ragmem.backends.composed import ComposedModels, LateMeter
from ragmem.config import ModelSettings, Settings, load
from ragmem.errors import ConfigError, UsageError
from ragmem.ports import Models, Store
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.sqlite import SQLiteDatabase

if TYPE_CHECKING:
    from ragmem.readers.documents.reading import Documents
    from ragmem.services.models.active_models import ActiveModels
    from ragmem.services.models.usage import Ledger

# Services are imported where they are used: a question must not pay for what only seeding needs.


def now() -> datetime:
    """Return the present moment in UTC; the one place where the package reads the clock for ages."""
    return datetime.now(tz=UTC)


class Opened:
    """The parts of a home; each is opened when it is first used, all are closed by `with`."""

    def __init__(self, settings: Settings, *, home: Path, cwd: Path, models: Models | None = None) -> None:
        self.settings = settings
        self.redactor = settings.redactor
        self.home = home
        self.cwd = cwd
        self.catalog = Catalog(_database_of(settings), self.redactor)
        self._given_models = models
        self._models: ActiveModels | None = None
        self._store: Store | None = None
        self._asking: ComposedModels | None = None
        self._ledger: Ledger | None = None
        self._meter = LateMeter(lambda: self.ledger)
        self._prepared: tuple[int, ...] | None = None
        self._opening = threading.RLock()
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

    def may_tend(self) -> bool:
        """Tell whether gc may be carried out without a person, as config.toml and the environment say now.

        They are read anew: whoever switches it off means the process that runs. Raises ConfigError.
        """
        settings = self._reload() if self._reload else self.settings
        return settings.lifecycle.automatic

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close store, models and database; closing twice is fine."""
        if self._store is not None:
            self._store.close()
            self._store = None
        if self._models is not None:
            self._models.close()
            self._models = None
        if self._asking is not None:
            self._asking.close()
            self._asking = None
        if self._ledger is not None:
            self._ledger.close()
        self.catalog.close()

    @property
    def ledger(self) -> "Ledger":
        """What counts the requests to providers; reads and writes nothing before the first."""
        with self._opening:
            if self._ledger is None:
                from ragmem.services.models.usage import Ledger

                self._ledger = Ledger(self.catalog, self.settings, now=now)
            return self._ledger

    @property
    def models(self) -> "ActiveModels":
        """The configured models, but for the embedder while the vectors are another model's.

        Nothing is opened before it is used; `models.wanted` are the configured ones in any case.
        """
        with self._opening:
            if self._models is None:
                from ragmem.services.models.active_models import ActiveModels

                wanted = self._given_models or self._compose(self.settings.models)
                self._models = ActiveModels(
                    wanted,
                    self.settings.models,
                    self.catalog.models,
                    open_recipe=self._compose,
                    open_store=self._open_store,
                )
            return self._models

    def documents(self, *, dry_run: bool = False) -> "Documents":
        """Return what reads the documents of one run, for a `with`; nothing starts before the first.

        With the model that sees and the server of [documents], where they are wanted; a dry run has no
        picture described that is not known. Raises ConfigError where they are not named as they should be.
        """
        from ragmem.services.ingestion.documents import documents_for

        wanted = self.settings.documents
        describe, engine = None, None
        if wanted.engine != "builtin":
            from ragmem.backends.converters import open_engine

            engine = open_engine(wanted)
        if wanted.vision:
            from ragmem.backends.seeing import open_sight
            from ragmem.services.ingestion.pictures import Descriptions

            describe = Descriptions(
                open_sight(self.settings, meter=self._meter),
                self.redactor,
                wanted.vision,
                self.settings.places.cache,
                most=0 if dry_run else wanted.max_pictures,
                dry_run=dry_run,
            )
        return documents_for(self.settings, describe=describe, elsewhere=engine)

    def _compose(self, embedding: ModelSettings) -> ComposedModels:
        return ComposedModels(
            embedding,
            self.settings.language_model,
            meter=self._meter,
            cache=self.settings.places.cache,
            reranker=self.settings.reranker,
            redactor=self.redactor,
        )

    @property
    def store(self) -> Store:
        """The configured store; raises BackendError when there is no such backend."""
        self.prepare()
        return self._open_store()

    def _open_store(self) -> Store:
        with self._opening:
            if self._store is None:
                wanted = self.settings.store
                self._store = backends.open_store(
                    wanted.backend,
                    {
                        **wanted.options,
                        "profile": wanted.profile,
                        "url": wanted.url,
                        "storages": wanted.storages,
                        "environment": wanted.environment,
                    },
                    self.models,
                    database=self.catalog.database,
                )
            return self._store

    def prepare(self) -> None:
        """Create the database where it is missing."""
        # A database that was put back meanwhile may be one of an older ragmem.
        if self._prepared is None or self._prepared != self.catalog.database.identity:
            self.catalog.prepare()
            self._prepared = self.catalog.database.identity

    def require(self) -> None:
        """Raise UsageError when nothing was ever stored here."""
        if not self.catalog.exists():
            shared = self.settings.store.profile == "postgres"
            place = self.catalog.database.place if shared else self.settings.places.data
            meant = "store.url" if shared else "RAGMEM_HOME"
            raise UsageError(
                f'there is no memory in "{place}" yet',
                hint=f"fill it with `ragmem seed`, or point {meant} at the one you mean",
            )
        self.prepare()

    def _check_language_model(self) -> list[str]:
        composed = self._compose(self.settings.models)
        try:
            return composed.check_language_model()
        finally:
            composed.close()

    def _reopen(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
        self.catalog.close()


def _database_of(settings: Settings) -> Database:
    """Return the database of the profile, not opened yet; raises ConfigError where its address is missing."""
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
