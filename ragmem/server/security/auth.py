"""The token of the server: made at the first start, and stored in a file that only its owner can read."""

import hmac
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ragmem.errors import ConfigError, StorageError

TOKEN_NAME = "serve.token"  # noqa: S105 - the name of a file
TOKEN_BYTES = 32
_SHORTEST = 32
LONGEST_TOKEN = 512


def token_path(state: Path) -> Path:
    """Return the path of this home's token."""
    return state / TOKEN_NAME


def load_token(state: Path) -> str:
    """Return the token; the first call makes one with 256 random bits, and concurrent calls agree on it.

    The folder becomes 0700 and the file 0600. Raises ConfigError for an invalid token or one that others may
    have read, StorageError if the folder cannot be written.
    """
    path = token_path(state)
    with private_folder(path, what="the token"):
        if not path.is_symlink() and not path.exists():
            _make(path)
        return _read(path)


def new_token(state: Path) -> str:
    """Replace the token, even an invalid one, and return the new one.

    A running server keeps its token. Raises StorageError as `load_token` does.
    """
    path = token_path(state)
    with private_folder(path, what="the token"):
        _make(path, instead=True)
        return _read(path)


@contextmanager
def private_folder(path: Path, *, what: str) -> Iterator[None]:
    """Make the folder of a file 0700 first; an OSError of the block becomes a StorageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if stat.S_IMODE(path.parent.stat().st_mode) != 0o700:
            path.parent.chmod(0o700)
        yield
    except OSError as error:
        raise StorageError(
            f'cannot keep {what} in "{path}": {error.strerror}',
            hint="check the permissions of the folder, or set RAGMEM_HOME to another one",
        ) from error


def _make(path: Path, *, instead: bool = False) -> None:
    # A link to a finished file: no reader sees a partial one, and the first of two writers wins.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")
        if instead:
            draft.replace(path)
            return
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _read(path: Path) -> str:
    again = f'delete it, and the next start creates a new one: rm "{path}"'
    token = read_private_file(path, LONGEST_TOKEN, what="the token", hint=again).strip()
    if not _SHORTEST <= len(token) <= LONGEST_TOKEN or not token.isascii() or len(token.split()) != 1:
        raise ConfigError(f'the file "{path}" contains no token', hint=again)
    return token.decode("ascii")


def read_private_file(path: Path, limit: int, *, what: str, hint: str) -> bytes:
    """Return at most `limit` + 1 bytes of a file that nobody but its owner can read or replace.

    Raises ConfigError for a link and for a file that others can read; both quote `what`. Raises OSError.
    """
    if path.is_symlink():
        raise ConfigError(f'{what} "{path}" is a link', hint=hint)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise ConfigError(f'others can read or replace {what} in "{path}"', hint=hint)
        return file.read(limit + 1)


def carries(headers: Iterable[tuple[bytes, bytes]], token: str) -> bool:
    """Return whether a request's headers have the token, as `Authorization: Bearer` or as `X-API-Key`.

    Each such header is compared completely and in constant time.
    """
    wanted = token.encode("ascii")
    found = False
    for given in credentials(headers):
        found |= hmac.compare_digest(given, wanted)
    return found


def credentials(headers: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Yield what a request's headers have as `Authorization: Bearer` or as `X-API-Key`."""
    for name, value in headers:
        if name == b"x-api-key":
            yield value.strip()
        elif name == b"authorization" and value[:7].lower() == b"bearer ":
            yield value[7:].strip()


def same_token(given: str, token: str) -> bool:
    """Return in constant time whether a text is the token."""
    # A text that cannot be encoded must not raise an error.
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode("ascii"))
