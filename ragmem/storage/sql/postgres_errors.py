"""Translate errors of PostgreSQL for people."""

from ragmem.config.secrets import mask_password
from ragmem.errors import (
    BackendError,
    RagmemError,
    RejectionError,
    StorageError,
    StoreBusyError,
    StoreDamagedError,
)

_ADDRESS_HINT = "check store.url in config.toml, or RAGMEM_STORE_URL"

# SQLSTATE, or its class -> (error, what is wrong, the next step).
_STATES: tuple[tuple[str, type[RagmemError], str, str], ...] = (
    ("28", StorageError, "refuses the login", "check user and password: PGPASSWORD, ~/.pgpass, store.url"),
    ("3D000", StorageError, "does not exist", "create it: createdb NAME"),
    ("42501", StorageError, "does not allow this", "grant the user CREATE on the database, or ask its owner"),
    ("25006", StorageError, "is read-only", "connect to the primary server"),
    ("53100", StorageError, "has no disk space left", "free space on the server"),
    ("53300", StorageError, "has no connection left", "close other clients, or raise max_connections"),
    ("58P01", BackendError, "lacks an extension", "install pgvector on the server"),
    ("0A000", BackendError, "lacks a feature", "use PostgreSQL 14 or later with pgvector"),
    ("22", RejectionError, "rejects a value", "please report it, with the stored text"),
    ("23", RejectionError, "rejects a value", "please report it, with the stored text"),
    ("40", StoreBusyError, "gave precedence to another writer", "try again in a moment"),
    ("55P03", StoreBusyError, "is locked by another writer", "try again in a moment"),
    ("57014", StoreBusyError, "stopped the statement", "try again, or raise the server's statement_timeout"),
    ("57", StorageError, "is shutting down or starting", "try again in a moment"),
    ("08", StorageError, "has closed the connection", "try again in a moment"),
    ("XX", StoreDamagedError, "is damaged", "read the server's log, and restore a backup of the database"),
)

_UNGIVEN = "no password supplied"
# A refused connection has no SQLSTATE, only libpq's words.
_WORDS = (
    ("password authentication failed", "28"),
    (_UNGIVEN, "28"),
    ("no pg_hba.conf entry", "28"),
    ("role ", "28"),
    ("too many clients", "53300"),
    ("connection slots", "53300"),
    ("too many connections", "53300"),
    ("database ", "3D000"),
    ("starting up", "57"),
    ("shutting down", "57"),
)


def error_for(state: str | None, text: str, place: str) -> RagmemError:
    """Return the error for a SQLSTATE and the server's words; `place` has no password."""
    problem = mask_password(" ".join(text.split("\n", 1)[0].split()))
    for begin, kind, meaning, hint in _STATES:
        if state is not None and state.startswith(begin):
            return kind(f'the database "{place}" {meaning}: {problem}', hint=hint)
    return StorageError(
        f'the database "{place}" failed: {problem}', hint="please report it, with the command that failed"
    )


def refusal(text: str, place: str) -> RagmemError:
    """Return the error for a connection that could not be made."""
    words = " ".join(text.split())
    # The server's own message follows a description of the connection.
    _, told, answer = words.rpartition("FATAL: ")
    for word, state in _WORDS:
        if (told or word == _UNGIVEN) and word in answer:
            return error_for(state, answer, place)
    return StorageError(
        f'cannot reach the database "{place}": {mask_password(words)}',
        hint=f"is the server running? {_ADDRESS_HINT}",
    )
