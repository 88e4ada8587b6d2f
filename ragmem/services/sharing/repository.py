"""The repository for sharing: a private bare one in the home, with a history for each member.

`refs/remote/<member>` is what the remote had at the last fetch, and `refs/own/<member>` is what this home
pushed. `refs/incoming/...` and `refs/outgoing/...` last as long as one operation. Objects come first and refs
last, by compare-and-swap, so that a kill leaves nothing half.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Self
from uuid import uuid4

from ragmem.domain.sharing.member import is_member
from ragmem.domain.sharing.record import InvalidRecordError, parse, write_packs
from ragmem.errors import UsageError
from ragmem.services.processes.atomic_write import new_file
from ragmem.services.sharing.bare_repository import MAX_MEMBERS, BareRepository, RemoteError
from ragmem.services.sharing.objects import (
    ATTESTATIONS,
    MAX_ENTRIES,
    PACKS,
    RECORDS,
    Entry,
    ObjectReader,
    read_blobs,
    read_tree,
    record_path,
)
from ragmem.services.sharing.remote import check_url, shown_url

REF = "refs/ragmem/"
"""The refs of members on the remote."""

MOST_SINGLE = 128
"""Single records of a member; beyond them all go into a pack."""

MOST_ATTESTATIONS = 4
"""Attestations of a member; beyond them they are merged, so that few signatures stand for many records."""

MAX_RECORDS = 10_000
"""Records of a member that are read at a time."""

REMOTE_TIMEOUT = 120.0
"""Seconds for all that one call asks of a remote."""

_TRIES = 6
_ZEROS = "0" * 40

Merge = Callable[[list[bytes]], tuple[bytes, list[bytes]]]
"""Returns one attestation in place of several, and those that it replaces; see `signatures.merge`."""

Exclusions = dict[str, tuple[str, str]]
"""The members whose objects git rejected, with the head and the reason."""


class SharedRepository:
    """The records of all members of a project. Use it in a `with` statement, by one thread at a time.

    `rejections` counts omissions since it was opened, by member and reason; "" means nobody.
    """

    def __init__(self, folder: Path) -> None:
        self._git = BareRepository(folder)
        self._reader = ObjectReader(folder)
        self._exclusions_file = folder / "exclusions.json"
        self._heads: dict[str, str] | None = None
        self.rejections: dict[str, Counter[str]] = {}

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Return the repository at a folder; it is made when something is fetched or pushed."""
        return cls(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes that read objects."""
        self._reader.close()

    def heads(self) -> Mapping[str, str]:
        """Return the commit id of each member, as last fetched or pushed."""
        if self._heads is None:
            refs = self._git.refs("refs/remote/")
            self._heads = {ref.name: ref.object for ref in refs if is_member(ref.name)}
        return self._heads

    def head(self, member: str) -> str:
        """Return the commit id of a member; "" if nothing came from them."""
        return self.heads().get(member, "")

    def new_blobs(
        self, member: str, since: str = "", *, limit: int = MAX_RECORDS
    ) -> Iterator[tuple[str, bytes]]:
        """Yield paths and bytes of what a member has and had not at a commit; all of it if that is unknown.

        First come the attestations, then up to `limit` records, those of packs with the path they would have
        alone; a record may come again. The hash of each is its name, and nothing else is checked. What is
        left out is counted in `rejections`. Raises GitError if git fails.
        """
        head = self.head(member)
        if not head or head == since:
            return
        rejections = self.rejections.setdefault(member, Counter())
        if since and self._reader.sizes([since])[0][0] != "commit":
            since = ""
        entries = read_tree(self._reader, head, since, rejections)
        yield from read_blobs(self._reader, entries, limit, rejections)

    def fetch(self, url: str, *, timeout: float = REMOTE_TIMEOUT) -> list[str]:
        """Fetch the histories of all members; return the members whose head changed.

        A member whose objects are at fault is left out and counted, and tried again when there is a new head.
        What was fetched stays if the remote deletes or rewrites it. Raises UsageError for a bad URL,
        RemoteError and GitError if the remote does not answer, StoreBusyError if another process works here.
        """
        url = check_url(url)
        end = time.monotonic() + timeout
        with self._git.locked():
            self._heads = None
            exclusions = self._exclusions()
            incoming = _incoming()
            specs = [f"+{REF}*:{incoming}*", *(f"^{REF}{name}" for name in exclusions)]
            if self._git.fetch(url, specs, incoming, end):
                # Somebody's objects are at fault: find out whose, and take in the others.
                listed = self._git.list_remote(url, REF, end)
                if len(listed) > MAX_MEMBERS:
                    # Nobody has so many colleagues; known members stay reachable.
                    self.rejections.setdefault("", Counter())["too many members"] += 1
                    listed = {name: head for name, head in listed.items() if name in self.heads()}
                self._fetch_apart(url, incoming, listed, exclusions, end)
            elif exclusions:
                listed = self._git.list_remote(url, REF, end)
                again = {name: listed[name] for name in exclusions.keys() & listed.keys()}
                self._fetch_apart(url, incoming, again, exclusions, end)
            self._write_exclusions(exclusions)
            for name, (_, reason) in exclusions.items():
                self.rejections.setdefault(name, Counter())[reason] += 1
            changed = self._take_in(incoming)
            self._git.repack()
        return changed

    def push(
        self,
        url: str,
        member: str,
        records: Mapping[str, bytes],
        attestations: Iterable[bytes] = (),
        *,
        merge: Merge | None = None,
        timeout: float = REMOTE_TIMEOUT,
    ) -> int:
        """Add records and attestations to a member's history on the remote; return how many records are new.

        Nothing is overwritten: if the remote has more, as another machine of this member pushed it, that is
        fetched and both are kept. What the remote has lost is pushed again. `merge` makes one attestation of
        several. Raises what it raises, what `fetch` does, and RemoteError if the remote rejects the push.
        """
        if not is_member(member):
            raise UsageError(f"{member!r} is not a valid member id", hint="set member below [share]")
        url = check_url(url)
        end = time.monotonic() + timeout
        blobs = {f"{ATTESTATIONS}/{sha256(one).hexdigest()}": one for one in attestations}
        with self._git.locked():
            self._heads = None
            for _ in range(_TRIES):
                commit, added = self._commit(member, records, blobs, merge)
                if not commit and self._git.refs(f"refs/own/{member}"):
                    # Somebody may have deleted or reset it.
                    there = self._git.list_remote(url, REF, end).get(member)
                    commit = "" if there == self.head(member) else self.head(member)
                rejection = self._git.push(url, commit, f"{REF}{member}", end) if commit else ""
                if not rejection:
                    break
                self._fetch_own(url, member, end)
            else:
                raise RemoteError(f"{shown_url(url)}: {rejection}", hint="run `ragmem share push` again")
            if commit:
                self._update(
                    [
                        f"update refs/remote/{member} {commit}",
                        f"update refs/own/{member} {commit}",
                        f"update refs/outgoing/{member} {_ZEROS}",
                    ]
                )
            self._git.repack()
        return added

    def _commit(
        self,
        member: str,
        records: Mapping[str, bytes],
        attestations: Mapping[str, bytes],
        merge: Merge | None,
    ) -> tuple[str, int]:
        """Return a commit with all of a member, "" if the remote has it, and how many records are new."""
        base, other = self._parents(member)
        entries = self._entries(base)
        kept = {path: entry for path, entry in self._entries(other).items() if path not in entries}
        both = entries | kept
        known = {path for path, _ in self._blobs(both.values(), RECORDS, PACKS)}
        new = {record_path(key): encoded for key, encoded in records.items() if record_path(key) not in known}
        added = {path: blob for path, blob in attestations.items() if path not in both}
        if not (new or added or kept):
            return ("" if base == self.head(member) else base), 0
        lines = [f"M 100644 {entry.object} {path}\n".encode() for path, entry in kept.items()]
        if added and merge:
            signed = dict(self._blobs(both.values(), ATTESTATIONS)) | added
            if len(signed) > MOST_ATTESTATIONS:
                one, several = merge(list(signed.values()))
                replaced = [path for path, blob in signed.items() if blob in several]
                lines += [f"D {path}\n".encode() for path in replaced if path in both]
                added = {path: blob for path, blob in added.items() if path not in replaced}
                added |= {f"{ATTESTATIONS}/{sha256(one).hexdigest()}": one} if several else {}
        single = [entry for path, entry in both.items() if path.startswith(RECORDS)]
        if MOST_SINGLE - len(new) < len(single) < MAX_ENTRIES or len(new) > MOST_SINGLE:
            old = [encoded for _, encoded in self._blobs(single, RECORDS) if _is_record(encoded)]
            packs = write_packs([*old, *new.values()])
            added.update((f"{PACKS}/{sha256(pack).hexdigest()}", pack) for pack in packs)
            lines.append(f"D {RECORDS}\n".encode())
        else:
            added.update(new)
        for path, blob in added.items():
            lines += [f"M 100644 inline {path}\ndata {len(blob)}\n".encode(), blob, b"\n"]
        return self._write(member, base, other, lines), len(new)

    def _write(self, member: str, base: str, other: str, lines: Iterable[bytes]) -> str:
        """Write a commit on top of one or two others, and return its id."""
        head = (
            f"commit refs/outgoing/{member}\nmark :1\n"
            f"committer {member} <{member}@ragmem.invalid> {int(time.time())} +0000\ndata 6\nshare\n"
        )
        head += f"from {base}\n" if base else ""
        head += f"merge {other}\n" if other else ""
        given = head.encode() + b"".join(lines) + b"get-mark :1\ndone\n"
        return self._git.write("fast-import", "--quiet", "--force", "--done", given=given).strip()

    def _parents(self, member: str) -> tuple[str, str]:
        """Return the commit to build on, and another whose records it lacks, if the remote was rewritten."""
        own = {ref.name: ref.object for ref in self._git.refs("refs/own/")}.get(member, "")
        head = self.head(member)
        if not own or not head or own == head:
            return own or head, ""
        common = self._git.ask("merge-base", own, head).strip()
        if common in (own, head):
            return (head if common == own else own), ""
        return head, own

    def _entries(self, commit: str) -> dict[str, Entry]:
        entries = read_tree(self._reader, commit, "", Counter()) if commit else []
        return {entry.path: entry for entry in entries}

    def _blobs(self, entries: Iterable[Entry], *folders: str) -> Iterator[tuple[str, bytes]]:
        found = [entry for entry in entries if entry.path.startswith(folders)]
        return read_blobs(self._reader, found, MAX_ENTRIES, Counter())

    def _fetch_apart(
        self, url: str, incoming: str, listed: Mapping[str, str], exclusions: Exclusions, end: float
    ) -> None:
        """Fetch members in ever smaller groups, until those that are at fault are alone; note these."""
        groups = [sorted(name for name, head in listed.items() if exclusions.get(name, ("",))[0] != head)]
        while groups:
            names = groups.pop()
            specs = [f"+{REF}{name}:{incoming}{name}" for name in names]
            problem = self._git.fetch(url, specs, incoming, end) if names else ""
            if problem and len(names) == 1:
                exclusions[names[0]] = (listed[names[0]], problem)
            elif problem:
                middle = len(names) // 2
                groups += [names[:middle], names[middle:]]
            else:
                for name in names:
                    exclusions.pop(name, None)

    def _fetch_own(self, url: str, member: str, end: float) -> None:
        incoming = _incoming()
        if problem := self._git.fetch(url, [f"+{REF}{member}:{incoming}{member}"], incoming, end):
            message = f"{shown_url(url)}: {REF}{member} has {problem}"
            raise RemoteError(message, hint="find out who else pushes there")
        self._take_in(incoming)

    def _take_in(self, incoming: str) -> list[str]:
        """Update the heads of members atomically to the received ones; return the members with a new head."""
        heads = self.heads()
        commands = []
        changed = []
        for ref in self._git.refs(incoming):
            commands.append(f"delete {incoming}{ref.name}")
            if not is_member(ref.name) or ref.type != "commit":
                reason = "no commit" if is_member(ref.name) else "not the id of a member"
                self.rejections.setdefault(ref.name, Counter())[reason] += 1
            elif heads.get(ref.name) != ref.object:
                changed.append(ref.name)
                former = heads.get(ref.name, _ZEROS)
                commands.append(f"update refs/remote/{ref.name} {ref.object} {former}")
        self._update(commands)
        return changed

    def _update(self, commands: Iterable[str]) -> None:
        self._git.update(commands)
        self._heads = None

    def _exclusions(self) -> Exclusions:
        try:
            found = json.loads(self._exclusions_file.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}  # git rejects them once more
        return {name: (head, reason) for name, (head, reason) in found.items()}

    def _write_exclusions(self, exclusions: Exclusions) -> None:
        if exclusions:
            with new_file(self._exclusions_file, force=True) as file:
                file.write(json.dumps(exclusions).encode())
        else:
            self._exclusions_file.unlink(missing_ok=True)


def _incoming() -> str:
    """Return the prefix of refs for one fetch: those of a process that was killed are not in its way."""
    return f"refs/incoming/{uuid4().hex}/"


def _is_record(encoded: bytes) -> bool:
    try:
        parse(encoded)
    except InvalidRecordError:
        return False
    return True
