"""The address of a PostgreSQL database, resolved by libpq for LightRAG."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from ragmem.backends.lightrag.external.profile import REACH_TIMEOUT
from ragmem.config.secrets import mask_password
from ragmem.errors import BackendError, ConfigError, StoreBusyError
from ragmem.storage.sql.postgres_errors import refusal

PATIENCE = 30.0
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
        deadline = time.monotonic() + PATIENCE
        # Polled: a session that waits in the server would block another that creates an index.
        while connection.execute(f"SELECT pg_try_advisory_lock({_SETUP})").fetchone() != (True,):
            if time.monotonic() > deadline:
                raise StoreBusyError(
                    f"another process has been making tables for {PATIENCE:g} s", hint="try again in a moment"
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
            f'store.url: "{place}" is no address of a PostgreSQL database',
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
