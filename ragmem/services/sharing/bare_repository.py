"""A bare repository of our own: its lock, its refs, and what it asks of a remote."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ragmem.domain.sharing.member import is_member
from ragmem.errors import RagmemError, StorageError, StoreBusyError, os_errors_as
from ragmem.frozen import dataclass
from ragmem.services.sharing.git_commands import Answer, GitError, run
from ragmem.services.sharing.remote import shown_url
from ragmem.storage.sql.fair_lock import lock_within

MAX_FETCH = 512 * 1024 * 1024
"""Bytes that one fetch may add: some 500,000 records."""

MAX_MEMBERS = 5_000
"""Refs that one fetch may bring."""

_FETCH_TIMEOUT = 3600.0
_FLOW_BYTES, _FLOW_TIME = 64 * 1024, 20.0
"""A fetch goes on beyond its time as long as this much comes in within so many seconds: lines may be slow."""

_LOCAL_TIMEOUT = 60.0
_LOCK_TIMEOUT = 30.0
_MOST_PACK_FILES = 20
_MOST_REASON = 200
_REWRITTEN = "rewritten"
"""A file in the repository that says that some objects may be reached no more."""

_MANY = f"more than {MAX_MEMBERS} members"
_LATE = "git did not finish in time"
_TOO_MUCH = f"more than {MAX_FETCH // 1024**2} MiB"
_CREATE = "--bare --quiet --template= --initial-branch=none --object-format=sha1".split()
_FETCH = "--quiet --no-tags --no-write-fetch-head --no-auto-maintenance --no-recurse-submodules".split()
_RACE = re.compile(r"\[rejected\]|fetch first|non-fast-forward|cannot lock ref|incorrect old value")
"""Messages of git by which another machine has pushed first."""

_BAD_OBJECTS = re.compile(
    r"fsck error|index-pack|unpack-objects|invalid object|bad object|bad tree|missing (?:blob|tree|commit)|"
    r"did not send all necessary objects|died of signal|object corrupt|not a commit|repository corruption|"
    r"remote: fatal:"
)
"""Messages of git by which objects are at fault, and not the way to the remote."""


class RemoteError(RagmemError):
    """The remote cannot be reached, or rejects what it is sent (exit code 3)."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A ref: the type and the id of its object, and its name."""

    type: str
    object: str
    name: str


class BareRepository:
    """A bare repository without branches, at a folder.

    What changes it is done within `locked`. Its methods raise GitError if git fails, and RemoteError if a
    remote does not answer until `end`, a time of the monotonic clock in seconds.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._locks: tuple[int, ...] = ()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock, which ends with this process and the commands it has started; make the repository.

        Raises StoreBusyError if another process holds it for half a minute, and StorageError if the ragmem
        home cannot be written.
        """
        writing = os_errors_as(
            StorageError, f'write "{self.folder}"', hint="check free space and permissions"
        )
        with writing:
            self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = self.folder.with_name(f"{self.folder.name}.lock")
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not lock_within(descriptor, _LOCK_TIMEOUT):
                message = "another process shares memories of this project"
                raise StoreBusyError(message, hint="try again in a minute")
            self._locks = (descriptor,)
            with writing:
                self._create()
                self._clear()
            yield
        finally:
            self._locks = ()
            os.close(descriptor)

    def ask(self, *arguments: str) -> str:
        """Return the output of a git command that reads; "" if it fails."""
        if not self.folder.exists():
            return ""
        return run(self.folder, *arguments, timeout=_LOCAL_TIMEOUT).output.decode("utf-8", "replace")

    def write(self, *arguments: str, given: bytes) -> str:
        """Return the output of a git command that writes."""
        answer = run(self.folder, *arguments, timeout=_LOCAL_TIMEOUT, given=given, locks=self._locks)
        if answer.code:
            raise GitError(
                f"git {arguments[0]} fails at {self.folder}: {_reason(answer)}",
                hint="free space there, or move the folder away and run `ragmem share fetch`",
            )
        return answer.output.decode("utf-8", "replace")

    def refs(self, prefix: str) -> list[Ref]:
        """Return the refs below a prefix, which their names are without."""
        lines = self.ask(
            "for-each-ref", "--format=%(objecttype) %(objectname) %(refname)", prefix
        ).splitlines()
        found = (line.split(" ", 2) for line in lines)
        return [Ref(kind, key, name.removeprefix(prefix)) for kind, key, name in found]

    def update(self, commands: Iterable[str]) -> None:
        """Change refs by commands of `git update-ref`, in one transaction; note what was rewritten."""
        words = [command.split() for command in commands]
        if not words:
            return
        self.write("update-ref", "--stdin", given="".join(f"{' '.join(one)}\n" for one in words).encode())
        former = {one[3] for one in words if one[0] == "update" and one[3:] and one[3].strip("0")}
        lost = "--max-count=1 --ignore-missing --stdin --not --all".split()
        if former and self.write("rev-list", *lost, given="\n".join(former).encode()):
            (self.folder / _REWRITTEN).touch()

    def fetch(self, url: str, specs: Iterable[str], incoming: str, end: float) -> str:
        """Fetch by refspecs to refs with a prefix; return "", or what is wrong with what is there.

        It goes on beyond its end as long as much comes in.
        """
        packs = self.folder / "objects/pack"
        size = flow = _size_of(packs)

        def excess() -> str:
            nonlocal flow, end
            now = _size_of(packs)
            if now - size > MAX_FETCH:
                return _TOO_MUCH
            if _count_of(self.folder / incoming) > MAX_MEMBERS:
                return _MANY
            if now - flow > _FLOW_BYTES:
                flow, end = now, max(end, time.monotonic() + _FLOW_TIME)
            return _LATE if time.monotonic() > end else ""

        given = "".join(f"{spec}\n" for spec in specs)
        try:
            latest = time.monotonic() + _FETCH_TIMEOUT
            answer = self._remote(url, latest, "fetch", *_FETCH, "--stdin", given=given, excess=excess)
            many = _MANY if _count_of(self.folder / incoming) > MAX_MEMBERS else ""
        except RemoteError as error:
            many = next((limit for limit in (_TOO_MUCH, _MANY) if limit in str(error)), "")
            if not many:
                raise
        if many:
            self._clear()
            return many
        if answer.code == 0:
            return ""
        if found := _BAD_OBJECTS.search(_text(answer)):
            return f"objects that git rejects: {found[0]}"
        raise _remote_error(url, answer)

    def push(self, url: str, commit: str, ref: str, end: float) -> str:
        """Push a commit to a ref; return "", or what the remote says if it has another commit there."""
        answer = self._remote(url, end, "push", "--porcelain", "--no-verify", given=f"{commit}:{ref}")
        if answer.code == 0:
            return ""
        if _RACE.search(_text(answer)):
            return _reason(answer)
        raise _remote_error(url, answer)

    def list_remote(self, url: str, prefix: str, end: float) -> dict[str, str]:
        """Return the object ids of the refs of members on a remote below a prefix, without fetching any."""
        answer = self._remote(url, end, "ls-remote", "--refs", given=f"{prefix}*")
        if answer.code:
            raise _remote_error(url, answer)
        lines = (line.partition("\t") for line in answer.output.decode("utf-8", "replace").splitlines())
        found = {name.removeprefix(prefix): key for key, _, name in lines}
        return {name: key for name, key in found.items() if is_member(name)}

    def repack(self) -> None:
        """Merge small packs into larger ones; the work is proportional to the received records."""
        if len(list((self.folder / "objects/pack").glob("*.pack"))) > _MOST_PACK_FILES:
            arguments = ("repack", "--geometric=2", "-d", "-q")
            # If git is too old for this, or the disk is full, nothing changes.
            run(self.folder, *arguments, timeout=_LOCAL_TIMEOUT, locks=self._locks)

    def prune(self) -> None:
        """Drop what no ref leads to, if a history was rewritten; raises what `locked` and `write` do."""
        if not (self.folder / _REWRITTEN).exists():
            return
        with self.locked():
            self.write("repack", "-a", "-d", "-q", given=b"")
            self.write("prune", "--expire=now", given=b"")
            (self.folder / _REWRITTEN).unlink(missing_ok=True)

    def _remote(
        self, url: str, end: float, *arguments: str, given: str, excess: Callable[[], str] = str
    ) -> Answer:
        """Run a command with a remote; `given` is its input with `--stdin`, else its last argument."""
        last = () if "--stdin" in arguments else (given,)
        try:
            return run(
                self.folder,
                *arguments,
                "--",
                url,
                *last,
                timeout=max(1.0, end - time.monotonic()),
                given=b"" if last else given.encode(),
                remote=True,
                excess=excess,
            )
        except GitError as error:
            raise RemoteError(f"{shown_url(url)}: {error}", hint=error.hint) from error

    def _create(self) -> None:
        if (self.folder / "HEAD").exists():
            return
        part = self.folder.with_name(f"{self.folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        # The lock files that `_clear` deletes are those of refs in files.
        arguments = ("-c", "init.defaultRefFormat=files", "init", *_CREATE)
        answer = run(part, *arguments, timeout=_LOCAL_TIMEOUT, locks=self._locks)
        if answer.code:
            raise GitError(f"git cannot make {self.folder}: {_reason(answer)}", hint="use git 2.32 or newer")
        part.rename(self.folder)

    def _clear(self) -> None:
        """Delete what processes that were killed have left: all live ones hold our lock.

        The refs of fetches are files, which may be too many for git to list. Only a fetch may outlive a
        process that was killed. It then fails, or nothing refers to what it wrote.
        """
        shutil.rmtree(self.folder / "refs/incoming", ignore_errors=True)
        for lock in (*self.folder.glob("*.lock"), *(self.folder / "refs").rglob("*.lock")):
            lock.unlink(missing_ok=True)
        for part in (self.folder / "objects/pack").glob("tmp_*"):
            part.unlink(missing_ok=True)


def _size_of(packs: Path) -> int:
    """Return the bytes of the files in a folder; a file that vanishes meanwhile has none."""
    size = 0
    for path in packs.glob("*"):
        with suppress(FileNotFoundError):
            size += path.stat().st_size
    return size


def _count_of(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*"))


def _text(answer: Answer) -> str:
    return answer.output.decode("utf-8", "replace") + answer.errors


def _reason(answer: Answer) -> str:
    """Return the line that says why git failed, without credentials and control characters."""
    lines = [shown_url(" ".join(line.split())) for line in _text(answer).split("\n") if line.strip()]
    for mark in ("[remote rejected] ", "fatal: ", "error: "):
        for line in lines:
            if mark in line:
                return line.partition(mark)[2][:_MOST_REASON]
    return lines[-1][:_MOST_REASON] if lines else f"exit status {answer.code}"


def _remote_error(url: str, answer: Answer) -> RemoteError:
    shown = shown_url(url)
    return RemoteError(f"{shown}: {_reason(answer)}", hint=f"try `git ls-remote {shown}` in a terminal")
