"""Profiles: which of LightRAG's storages they use, with which variables, and checks of both."""

import difflib
import importlib.metadata
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ragmem.backends.lightrag.engine import Storages
from ragmem.backends.lightrag.storages.registration import temporary_surroundings
from ragmem.errors import BackendError, ConfigError

REACH_TIMEOUT = 3.0
"""Seconds to wait for a server before it counts as away; LightRAG would try for minutes."""

KINDS: Mapping[str, str] = {
    "kv": "KV_STORAGE",
    "vector": "VECTOR_STORAGE",
    "graph": "GRAPH_STORAGE",
    "doc_status": "DOC_STATUS_STORAGE",
}
"""The keys of [store] storages, and what LightRAG calls them."""

JSON = Storages("JsonKVStorage", "NanoVectorDBStorage", "NetworkXStorage", "JsonDocStatusStorage")
POSTGRES = Storages("PGKVStorage", "PGVectorStorage", "PGTableGraphStorage", "PGDocStatusStorage")

# LightRAG would install missing packages with pip, from the network, during an import.
_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "PGVector": ("asyncpg", "pgvector"),
    "PG": ("asyncpg",),
    "Neo4J": ("neo4j",),
    "Memgraph": ("neo4j",),
    "Milvus": ("pymilvus",),
    "Qdrant": ("qdrant-client",),
    "Mongo": ("pymongo",),
    "Redis": ("redis",),
    "OpenSearch": ("opensearch-py",),
    "Faiss": ("faiss-cpu",),
}

_PREFIXES = tuple(
    "POSTGRES_ NEO4J_ MEMGRAPH_ MILVUS_ QDRANT_ MONGO_ MONGODB_ REDIS_ OPENSEARCH_ AGE_POSTGRES_".split()
)
"""Variables that storages read; those from the caller's shell are hidden."""

_PATIENCE: Mapping[str, str] = {
    "POSTGRES_CONNECTION_RETRIES": "2",
    "POSTGRES_CONNECTION_RETRY_BACKOFF": "0.2",
    "POSTGRES_CONNECTION_RETRY_BACKOFF_MAX": "1",
    "POSTGRES_MAX_CONNECTIONS": "8",
    "REDIS_CONNECT_TIMEOUT": "3",
    "REDIS_RETRY_ATTEMPTS": "1",
    "NEO4J_CONNECTION_TIMEOUT": "3",
    "NEO4J_CONNECTION_ACQUISITION_TIMEOUT": "5",
    "NEO4J_MAX_TRANSACTION_RETRY_TIME": "3",
}
"""Defaults of variables for storages: give up early, keep few connections."""

_PORTS: Mapping[str, int] = {
    "bolt": 7687,
    "bolt+s": 7687,
    "neo4j": 7687,
    "neo4j+s": 7687,
    "redis": 6379,
    "rediss": 6379,
    "mongodb": 27017,
    "http": 80,
    "https": 443,
}
_ADDRESSES = ("NEO4J_URI", "MEMGRAPH_URI", "MILVUS_URI", "QDRANT_URL", "MONGO_URI", "REDIS_URI")


@dataclass(frozen=True, slots=True)
class Profile:
    """Four storages and their variables.

    `folder` is the subfolder of the home for storages that keep files. `url` is the address of the profile
    postgres, which is resolved when the store is opened.
    """

    name: str
    storages: Storages
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    url: str = ""

    @property
    def identity(self) -> str:
        """A key that separates the contents of the profiles in one catalog."""
        if self.name != "custom":
            return self.name
        one = self.storages
        return f"custom:{one.kv},{one.vector},{one.graph},{one.doc_status}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the four storages."""
        return (self.storages.kv, self.storages.vector, self.storages.graph, self.storages.doc_status)

    @property
    def uses_postgres(self) -> bool:
        """Return whether any of the storages is LightRAG's on PostgreSQL."""
        return any(name.startswith("PG") for name in self.names)


def choose(name: str, *, url: str, storages: Mapping[str, str], environment: Mapping[str, str]) -> Profile:
    """Return the profile of that name.

    Raises ConfigError where the configuration is wrong, BackendError where a package is missing.
    """
    for variable in environment:
        if variable.endswith("WORKSPACE"):
            raise ConfigError(
                f"[store.environment] cannot set {variable}",
                hint="each project has its own workspace",
            )
    if name == "json":
        return Profile("json", JSON, environment, folder="lightrag-json")
    if name == "postgres":
        if not url:
            raise ConfigError(
                "the profile postgres needs the address of a database",
                hint='set [store] url = "postgresql://user@host/database"',
            )
        profile = Profile("postgres", POSTGRES, environment, url=url)
    else:
        profile = Profile("custom", _check_storages(storages), environment, folder="lightrag-custom")
        _check_variables(profile)
    _check_packages(profile)
    return profile


def _check_storages(storages: Mapping[str, str]) -> Storages:
    from lightrag.kg import STORAGE_IMPLEMENTATIONS

    valid = {key: STORAGE_IMPLEMENTATIONS[kind]["implementations"] for key, kind in KINDS.items()}
    for key in (*KINDS, *storages):
        if key not in KINDS:
            raise ConfigError(f'[store] storages has no key "{key}"', hint=f"its keys are {', '.join(KINDS)}")
        if not storages.get(key):
            raise ConfigError(
                f'the profile custom needs [store] storages with {", ".join(KINDS)}; "{key}" is missing',
                hint=f"{key} is one of {', '.join(valid[key])}",
            )
    for key, wanted in storages.items():
        if wanted not in valid[key]:
            near = difflib.get_close_matches(wanted, valid[key], 1, 0.5)
            raise ConfigError(
                f'LightRAG has no {key} storage "{wanted}"',
                hint=f'did you mean "{near[0]}"' if near else f"it has {', '.join(valid[key])}",
            )
    return Storages(**{key: storages[key] for key in KINDS})


def _check_variables(profile: Profile) -> None:
    from lightrag.kg import STORAGE_ENV_REQUIREMENTS

    for name in dict.fromkeys(profile.names):
        missing = [one for one in STORAGE_ENV_REQUIREMENTS.get(name, ()) if one not in profile.environment]
        if missing:
            raise ConfigError(
                f"{name} needs {', '.join(missing)}",
                hint=f'set them in [store.environment], as {missing[0]} = "..."',
            )
    addresses(profile.environment)


def _check_packages(profile: Profile) -> None:
    for name in profile.names:
        needed = next((needs for start, needs in _PACKAGES.items() if name.startswith(start)), ())
        missing = [one for one in needed if not _is_installed(one)]
        if missing:
            wanted = "'ragmem[postgres]'" if name.startswith("PG") else " ".join(missing)
            raise BackendError(f"{name} needs the package {', '.join(missing)}", hint=f"pip install {wanted}")


def _is_installed(package: str) -> bool:
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@contextmanager
def isolated_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Give storages these variables and no others, in an empty working folder.

    LightRAG reads `config.ini` and `.env` of the working folder, which may be that of any repository, and the
    variables of the shell. Both are restored afterwards.
    """
    with tempfile.TemporaryDirectory(prefix="ragmem-") as folder, temporary_surroundings(Path(folder)):
        for name in list(os.environ):
            if name.startswith(_PREFIXES):
                del os.environ[name]
        os.environ.update({**_PATIENCE, **variables})
        yield


def addresses(variables: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """Return address without password -> (host, port) of the servers in the variables.

    Raises ConfigError for an invalid address.
    """
    found: dict[str, tuple[str, int]] = {}
    values = [(name, variables[name]) for name in _ADDRESSES if name in variables]
    hosts = variables.get("OPENSEARCH_HOSTS", "").split(",")
    values += [("OPENSEARCH_HOSTS", f"http://{one.strip()}") for one in hosts if one]
    for name, value in values:
        scheme, host, port = _parts(name, value.split(",")[0])
        if host and "+srv" not in scheme:
            found[f"{scheme}://{host}:{port}"] = (host, port)
    if "POSTGRES_DATABASE" in variables:
        host, written = variables.get("POSTGRES_HOST", "localhost"), variables.get("POSTGRES_PORT", "5432")
        if not written.isdecimal():
            raise ConfigError(
                f'[store.environment] POSTGRES_PORT is "{written}"', hint="a port is a number, usually 5432"
            )
        if not host.startswith("/"):
            found[f"postgresql://{host}:{written}/{variables['POSTGRES_DATABASE']}"] = (host, int(written))
    return found


def _parts(name: str, address: str) -> tuple[str, str, int]:
    try:
        parts = urlsplit(address)
        return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443)
    except ValueError:
        # Its message quotes the supposed port, which may be the rest of a password with a slash.
        raise ConfigError(
            f"[store.environment] {name} is not a URL",
            hint="write scheme://user:password@host:port; special characters of a password as %XX",
        ) from None


def reach(variables: Mapping[str, str]) -> None:
    """Raise BackendError where a server that the variables name takes no connection."""
    for address, (host, port) in addresses(variables).items():
        try:
            socket.create_connection((host, port), timeout=REACH_TIMEOUT).close()
        except OSError as error:
            raise BackendError(
                f'cannot reach "{address}": {error.strerror or error}',
                hint="check that the server is running and its address in [store] is right",
            ) from error
