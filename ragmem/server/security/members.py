"""The members of a team with their roles and the hashes of their tokens, in a file of the state folder.

A token is shown once, when it is made. It has 256 random bits, so a plain SHA-256 of it reveals nothing.
"""

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from ragmem.config.folders import replace_file
from ragmem.domain.sharing.member import MAX_MEMBER, is_member
from ragmem.errors import ConfigError, ConflictError, NotFoundError, StorageError, UsageError
from ragmem.ports.principal import NOBODY, ROLES, MemberRole, Principal
from ragmem.server.security.auth import TOKEN_BYTES, private_folder, read_private_file

FILE_NAME = "members.json"

PREFIX = "ragmem_"
"""How each member's token begins, so that a scanner of secrets can know it."""

MAX_MEMBERS = 10_000
MAX_BYTES = 16 * 1024 * 1024

_TOKEN = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Member:
    """A member: role, ids of projects (None: all), hash of the token, and when each was set."""

    name: str
    role: MemberRole
    projects: tuple[str, ...] | None
    token_sha256: str
    added_at: str
    token_at: str

    @property
    def principal(self) -> Principal:
        """Who acts when this member sends a request."""
        return Principal(self.name, self.role, None if self.projects is None else frozenset(self.projects))


def is_member_token(text: str) -> bool:
    """Return whether a text has the form of a member's token."""
    return _TOKEN.fullmatch(text) is not None


def token_hash(token: str) -> str:
    """Return the SHA-256 of a token in hexadecimal digits."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class Members:
    """The file of the members; a running server sees a change at the next request."""

    def __init__(self, state: Path, *, warn: Callable[[str], None] = lambda _: None) -> None:
        self.path = state / FILE_NAME
        self._warn = warn
        self._signature: tuple[int, ...] | None = None
        self._by_hash: Mapping[str, Member] = {}

    def all(self) -> list[Member]:
        """Return all members by name; raises ConfigError for a file that is damaged or that others can read.

        Without a file there are none.
        """
        try:
            raw = read_private_file(self.path, MAX_BYTES, what="the members", hint=self._hint)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(f'cannot read "{self.path}": {error.strerror}', hint=self._hint) from error
        try:
            document = orjson.loads(raw)
            if document["schema"] != _SCHEMA:
                raise ConfigError(f'"{self.path}" was written by a newer ragmem', hint="update ragmem")
            members = [_member(one) for one in document["members"]]
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(f'"{self.path}" is not a members file', hint=self._hint) from error
        return sorted(members, key=lambda one: one.name)

    def find(self, hashed: str) -> Member | None:
        """Return the member whose token has this hash, as the file is now; None also for an unusable file."""
        try:
            status = self.path.stat()
            # The last one changes with the rights as well.
            signature: tuple[int, ...] | None = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        except OSError:
            signature = None
        if signature != self._signature:
            self._signature = signature
            try:
                self._by_hash = {one.token_sha256: one for one in self.all()}
            except (ConfigError, StorageError) as error:
                self._by_hash = {}
                self._warn(f"no member can log in: {error}")
        return self._by_hash.get(hashed)

    def add(self, name: str, role: MemberRole, projects: Iterable[str] | None = None) -> str:
        """Add a member and return the token; `projects` are ids, None: all.

        Raises UsageError for a name that is not a valid member id, and ConflictError for one that is there.
        """
        if not is_member(name) or name == NOBODY.member:
            raise UsageError(
                f'"{name[:MAX_MEMBER]}" cannot be the name of a member',
                hint="use lower-case letters, digits, - and _, such as ann or ann-lee",
            )
        token, now = _new_token(), _now()
        chosen = None if projects is None else tuple(sorted(set(projects)))
        with self._changing() as members:
            if name in members:
                raise ConflictError(
                    f'the member "{name}" already exists', hint=f"ragmem serve members rotate {name}"
                )
            if len(members) >= MAX_MEMBERS:
                raise UsageError(
                    f"there are {MAX_MEMBERS:,} members already", hint="ragmem serve members remove NAME"
                )
            members[name] = Member(name, role, chosen, token_hash(token), now, now)
        return token

    def rotate(self, name: str) -> str:
        """Replace the token of a member and return the new one; raises NotFoundError for an unknown name."""
        token = _new_token()
        with self._changing() as members:
            members[name] = replace(_known(members, name), token_sha256=token_hash(token), token_at=_now())
        return token

    def remove(self, name: str) -> None:
        """Remove a member; raises NotFoundError for an unknown name. What the member stored stays."""
        with self._changing() as members:
            del members[_known(members, name).name]

    @property
    def _hint(self) -> str:
        return f'restore a copy, or start over: mv "{self.path}" "{self.path}.old"'

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Member]]:
        with private_folder(self.path, what="the members"):
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                members = {one.name: one for one in self.all()}
                yield members
                self._write(members.values())
            finally:
                os.close(lock)

    def _write(self, members: Iterable[Member]) -> None:
        document = {"schema": _SCHEMA, "members": [asdict(one) for one in members]}
        replace_file(self.path, orjson.dumps(document, option=orjson.OPT_INDENT_2))


def _known(members: Mapping[str, Member], name: str) -> Member:
    if name not in members:
        raise NotFoundError(f'there is no member "{name[:MAX_MEMBER]}"', hint="ragmem serve members list")
    return members[name]


def _member(fields: Mapping[str, Any]) -> Member:
    """Return the member of a row of the file; raises ValueError, TypeError or KeyError for another row."""
    projects: Sequence[str] | None = fields["projects"]
    texts = [fields[name] for name in ("name", "token_sha256", "added_at", "token_at")] + [*(projects or ())]
    if not all(isinstance(text, str) for text in texts) or fields["role"] not in ROLES:
        raise TypeError("not a member")
    if not is_member(fields["name"]) or not re.fullmatch("[0-9a-f]{64}", fields["token_sha256"]):
        raise ValueError("not a member")
    chosen = None if projects is None else tuple(projects)
    return Member(**{**fields, "projects": chosen})


def _new_token() -> str:
    return PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
