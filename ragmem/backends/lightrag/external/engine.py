"""The LightRAG objects of a store on any of its storages: opened safely, with translated failures."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.lightrag import engine
from ragmem.backends.lightrag.engine import Embedding, Engine, Instance
from ragmem.backends.lightrag.external import profile as foreign_profile
from ragmem.backends.lightrag.external.profile import REACH_TIMEOUT, Profile
from ragmem.backends.lightrag.external.tables import Model
from ragmem.config.secrets import mask_password
from ragmem.domain.model import digest
from ragmem.errors import BackendError, ConfigError, RagmemError, StoreBusyError
from ragmem.ports import Models
from ragmem.storage.sql.fair_lock import lock_within
from ragmem.storage.sql.postgres_errors import refusal

SETUP_PATIENCE = 30.0
"""Seconds to wait for another process that creates the tables."""

_SETUP = "1918986093, 2"
"""The advisory lock for creating tables: "ragm" in ASCII."""

_SSL: Mapping[str, str] = {
    "sslmode": "POSTGRES_SSL_MODE",
    "sslcert": "POSTGRES_SSL_CERT",
    "sslkey": "POSTGRES_SSL_KEY",
    "sslrootcert": "POSTGRES_SSL_ROOT_CERT",
    "sslcrl": "POSTGRES_SSL_CRL",
}

_T = TypeVar("_T")
_P = ParamSpec("_P")

_DRIVERS = frozenset(
    "asyncpg grpc httpcore httpx neo4j opensearchpy psycopg pymilvus pymongo qdrant_client redis"
    " tenacity".split()
)
"""Packages whose exceptions mean a problem of a server, not a bug."""

ITERATIVE = (0, 8)
"""The first pgvector that continues a search if the rows from its index are of other projects."""

SEARCH = "hnsw.iterative_scan=relaxed_order&hnsw.ef_search=400"
"""How an index is searched: in strict order it drops what it finds late, which is much of a small project."""


class ForeignEngine(Engine):
    """LightRAG for each workspace, on the storages of a profile.

    `ahead` holds precomputed vectors by text, because LightRAG's storages embed their rows themselves.
    """

    def __init__(self, profile: Profile, models: Models, options: Mapping[str, object], home: Path) -> None:
        self._profile = profile
        self._models = models
        self._options = options
        self._folder = home
        self._variables: dict[str, str] | None = None
        self._instances: dict[str, Instance] = {}
        self._model: Model | None = None
        self._locked = False
        self.place = ", ".join(foreign_profile.addresses(profile.environment)) or str(home / profile.folder)
        self.ahead: dict[str, NDArray[np.float32]] = {}

    def run(self, work: Callable[_P, Coroutine[Any, Any, _T]], *arguments: _P.args, **named: _P.kwargs) -> _T:
        """Run a coroutine to its end; raises BackendError if a server fails."""
        with self._translate_errors():
            return engine.run(lambda: work(*arguments, **named))

    def use(self, model: Model) -> None:
        """Use the tables of this model for workspaces from now on."""
        if self._model != model:
            if self._model is not None:
                self.close()
            self._model = model

    @property
    def server_settings(self) -> str:
        """The settings of LightRAG's connections to PostgreSQL, as name=value&name=value."""
        return (self._variables or {}).get("POSTGRES_SERVER_SETTINGS", "")

    def forget_pending(self) -> None:
        """Discard the buffers of the storages after a failed put."""
        with contextlib.suppress(BackendError), self._translate_errors():
            self.discard_pending()

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except RagmemError:
            raise
        except Exception as error:
            cause: BaseException | None = error
            while cause is not None:
                if (
                    isinstance(cause, OSError | TimeoutError)
                    or type(cause).__module__.split(".")[0] in _DRIVERS
                ):
                    problem = str(cause).strip().partition("\n")[0] or type(cause).__name__
                    raise BackendError(
                        f'the storage at "{self.place}" failed: {problem}',
                        hint="check that the server is running and [store] in config.toml is right",
                    ) from error
                cause = cause.__cause__ or cause.__context__
            raise

    def instance(self, workspace: str) -> Instance:
        """Return the opened LightRAG of a workspace; raises BackendError if its server does not answer."""
        with self._translate_errors():
            return super().instance(workspace)

    def _open(self, workspace: str) -> Instance:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # LightRAG makes its files readable for all; this folder is for their owner only.
        (self._folder / self._profile.folder).mkdir(exist_ok=True, mode=0o700)
        model = self._model
        assert model is not None
        first = self._variables is None
        variables = self._variables = self._variables or self._resolve_variables()
        with self._hold_setup_lock(first=first), foreign_profile.isolated_environment(variables):
            rag = engine.construct(
                self._folder,
                working_dir=str(self._folder / self._profile.folder),
                workspace=workspace,
                storages=self._profile.storages,
                embedding=Embedding(_table_name(model.id), model.dimensions, self._embedding()),
                models=self._models,
                options=self._options,
            )
            try:
                instance = engine.start(rag)
                self._refuse_other_database(instance, variables)
            except BaseException:
                # Opened storages hold a connection pool that all storages share.
                engine.run(lambda: _finalize(Instance(rag, {})))
                raise
        return instance

    def _refuse_other_database(self, instance: Instance, variables: Mapping[str, str]) -> None:
        """Raise BackendError if LightRAG returned connections to another database.

        It has one pool for the whole process, opened by the first store.
        """
        if not self._profile.uses_postgres:
            return
        wanted = [variables.get(f"POSTGRES_{name}") for name in ("HOST", "PORT", "DATABASE")]
        for storage in (*instance.storages(), instance.rag.doc_status):
            pool = getattr(storage, "db", None)
            found = [str(getattr(pool, name, None)) for name in ("host", "port", "database")]
            if hasattr(pool, "host") and any(a not in {None, b} for a, b in zip(wanted, found, strict=True)):
                raise BackendError(
                    f'this process already has a store in the PostgreSQL database "{found[2]}"',
                    hint="close it before you open another",
                )

    def _hold_setup_lock(self, *, first: bool) -> contextlib.AbstractContextManager[None]:
        if not (first and self._profile.url):
            return contextlib.nullcontext()

        return setup_lock(self._profile.url)

    def _resolve_variables(self) -> dict[str, str]:
        """Return the variables for the storages, after their servers have answered."""
        if self._profile.url:
            address = resolve(self._profile.url)
            self.place = address.place
            variables = {**self._profile.environment, **address.variables}
            if address.pgvector < ITERATIVE:
                # Its index would find nothing if the nearest rows are of other projects.
                variables.setdefault("POSTGRES_VECTOR_INDEX_TYPE", "")
            else:
                variables.setdefault("POSTGRES_SERVER_SETTINGS", SEARCH)
            return variables
        if not self._locked and any(name in _FILES for name in self._profile.names):
            _take(self._folder / self._profile.folder)
            self._locked = True
        variables = dict(self._profile.environment)
        foreign_profile.reach(variables)
        return variables

    def _embedding(self) -> Callable[..., Coroutine[Any, Any, NDArray[np.float32]]]:
        # A plain function, not a method: LightRAG deep-copies its configuration.
        ahead, models = self.ahead, self._models

        async def embed(texts: list[str], context: str = "document", **_: Any) -> NDArray[np.float32]:
            if context == "query":
                return models.embedder.embed(list(texts), role="query")
            # Look up each vector once: another thread may drop those that its own put has used.
            known = {text: vector for text in texts if (vector := ahead.get(text)) is not None}
            missing = [text for text in dict.fromkeys(texts) if text not in known]
            if missing:
                vectors = models.embedder.embed(missing, role="document")
                known.update(zip(missing, vectors, strict=True))
            return np.stack([known[text] for text in texts])

        return embed

    def close(self) -> None:
        """Close all instances; closing twice is fine, even without the server."""
        self.ahead.clear()
        # Connections that cannot be closed are gone anyway.
        with contextlib.suppress(BackendError), self._translate_errors():
            super().close()
        self._instances.clear()
        self._variables = None
        if self._locked:
            _release(self._folder / self._profile.folder)
            self._locked = False


async def _finalize(instance: Instance) -> None:
    for storage in (*instance.storages(), instance.rag.doc_status):
        with contextlib.suppress(Exception):
            await storage.finalize()


def _table_name(model: str) -> str:
    """Return a unique name of the model that fits into a table's name."""
    readable = "".join(letter if letter.isalnum() else "_" for letter in model.lower() if letter.isascii())
    return f"{readable[:20].strip('_')}_{digest('model', model)[:8]}"


_NAME = "in-use.lock"
PATIENCE = 5.0
"""Seconds to wait for a process that is ending."""

_FILES = (
    "JsonKVStorage",
    "NanoVectorDBStorage",
    "NetworkXStorage",
    "JsonDocStatusStorage",
    "FaissVectorDBStorage",
)

_guard = threading.Lock()
_held: dict[Path, tuple[int, int]] = {}
"""Descriptor and number of stores by folder: several stores of one process share the lock."""


def _take(folder: Path) -> None:
    """Lock a folder against other processes; raises StoreBusyError if one holds it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _guard:
        descriptor, stores = _held.get(folder, (-1, 0))
        if not stores:
            descriptor = _lock(folder)
        _held[folder] = (descriptor, stores + 1)


def _lock(folder: Path) -> int:
    descriptor = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT, 0o600)
    if not lock_within(descriptor, PATIENCE):
        os.close(descriptor)
        raise StoreBusyError(
            f'another process uses the files in "{folder}"',
            hint="stop it (`ragmem serve`?), or use a [store] profile that several processes can share",
        )
    return descriptor


def _release(folder: Path) -> None:
    """Release the lock on a folder."""
    with _guard:
        descriptor, stores = _held.pop(folder)
        if stores > 1:
            _held[folder] = (descriptor, stores - 1)
        else:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Address:
    """A database that answered: variables for LightRAG, its name without password, its pgvector."""

    variables: Mapping[str, str]
    place: str
    pgvector: tuple[int, ...]


@contextmanager
def setup_lock(url: str) -> Iterator[None]:
    """Hold the lock for creating LightRAG's tables, which it does not guard itself.

    Raises StoreBusyError after half a minute.
    """
    import psycopg

    with psycopg.connect(url, connect_timeout=int(REACH_TIMEOUT), autocommit=True) as connection:
        deadline = time.monotonic() + SETUP_PATIENCE
        # Polled: a session that waits in the server would block another that creates an index.
        while connection.execute(f"SELECT pg_try_advisory_lock({_SETUP})").fetchone() != (True,):
            if time.monotonic() > deadline:
                raise StoreBusyError(
                    f"another process has been creating tables for {SETUP_PATIENCE:g} s",
                    hint="try again in a moment",
                )
            time.sleep(0.05)
        yield


def resolve(url: str) -> Address:
    """Connect to a database and return its address with libpq's additions (password file, defaults).

    Raises ConfigError for an invalid address, BackendError if nothing answers or pgvector is missing. Takes a
    few seconds at most.
    """
    import psycopg

    place = mask_password(url)
    try:
        given = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # Its message contains the address with the password.
        given = {}
    if not given:
        raise ConfigError(
            f'store.url: "{place}" is not a URL of a PostgreSQL database',
            hint="write postgresql://user@host:5432/name; special characters of a password as %XX",
        )
    try:
        with psycopg.connect(url, connect_timeout=int(REACH_TIMEOUT), autocommit=True) as connection:
            row = connection.execute(
                "SELECT coalesce(installed_version, default_version) FROM pg_available_extensions"
                " WHERE name = 'vector'"
            ).fetchone()
            info = connection.info
            variables = {
                "POSTGRES_HOST": info.host or "localhost",
                "POSTGRES_PORT": str(info.port),
                "POSTGRES_USER": info.user,
                "POSTGRES_PASSWORD": info.password,
                "POSTGRES_DATABASE": info.dbname,
            }
    except psycopg.Error as error:
        raise refusal(str(error), place) from error
    if row is None:
        raise BackendError(f'the server of "{place}" has no pgvector', hint="install pgvector on the server")
    # The driver does the weaker modes by default.
    if str(given.get("sslmode", "")) in {"require", "verify-ca", "verify-full"}:
        variables.update({name: str(given[key]) for key, name in _SSL.items() if key in given})
    version = tuple(int(part) for part in str(row[0]).split(".") if part.isdigit())
    return Address(variables=variables, place=place, pgvector=version)
