"""Sign the ids of records with the person's ssh or gpg key, and verify what others signed.

An attestation is JSON in one form: the ids in order, the format, and the signature of ssh (PROTOCOL.sshsig of
OpenSSH, namespace `ragmem`) or of OpenPGP over the lines of the ids. One stands for a whole upload.
"""

import base64
import binascii
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from ragmem.domain.sharing.member import member_of
from ragmem.domain.sharing.record import is_record_id
from ragmem.domain.sharing.state import Verdict
from ragmem.errors import RagmemError
from ragmem.frozen import dataclass
from ragmem.readers.git import environment, output_of

NAMESPACE = "ragmem"

MAX_IDS = 10_000
"""Ids of an attestation."""

MAX_MERGE = 2_000
"""Ids of an attestation that is not merged with others any more: it would be sent again each time."""

_MOST_MERGED = 64
"""Attestations that are looked at to merge them, each by a process of its own."""

_HINT = "check user.signingkey and gpg.format of git, or unset user.signingkey to share without a signature"
_MAX_SIGNATURE = 32_768
_SIGN_TIMEOUT, _VERIFY_TIMEOUT = 60.0, 10.0
_HEADER = b"ragmem attestation 1\n"
_SSH_GOOD = re.compile(r'^Good "ragmem" signature with \S+ key (SHA256:[A-Za-z0-9+/]+)', re.MULTILINE)
_GPG_GOOD = re.compile(r"^\[GNUPG:\] VALIDSIG .*?([0-9A-F]{40,64})\s*$", re.MULTILINE)
_GPG_UID = re.compile(r"^\[GNUPG:\] GOODSIG \S+ .*<([^<>]+)>\s*$", re.MULTILINE)
_GPG_TRUST = re.compile(r"^\[GNUPG:\] TRUST_(?:FULLY|ULTIMATE)\b", re.MULTILINE)
_GPG_UNKNOWN = re.compile(r"^\[GNUPG:\] (?:NO_PUBKEY|EXPKEYSIG|REVKEYSIG|EXPSIG)\b", re.MULTILINE)
_LITERAL = re.compile(r"(?:key::)?((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-\S+ \S+.*)")
_SIGNER = re.compile(r'(?P<names>"[^"]*"|\S+)\s+(?P<options>.*?)\s*\b(?:ssh|ecdsa|sk)-\S+\s+(?P<key>\S+)')


class SignatureError(RagmemError):
    """The key that git names cannot sign (exit code 3)."""


@dataclass(frozen=True, slots=True)
class Attestation:
    """A signature over ids of records: what it says of them, and the key if it is right.

    `pin` is the key if it is the first of this member: it may count as theirs from now on.
    """

    verdict: Verdict
    ids: tuple[str, ...] = ()
    key: str = ""
    pin: str = ""


def sign(folder: Path, ids: Sequence[str]) -> bytes | None:
    """Return an attestation of these ids by the key that git signs with in a folder; None if it names none.

    Raises SignatureError if the key cannot sign, and ValueError for more than MAX_IDS ids.
    """
    if len(ids) > MAX_IDS:
        raise ValueError(f"an attestation is about at most {MAX_IDS} records")
    key = _setting(folder, "user.signingkey")
    if not key:
        return None
    ids = sorted(set(ids))
    kind = _setting(folder, "gpg.format") or "openpgp"
    with tempfile.TemporaryDirectory() as desk:
        if kind == "ssh":
            signature = _sign_by_ssh(folder, Path(desk), key, _payload(ids))
        elif kind == "openpgp":
            program = PersonalSettings(folder).first_of("gpg.openpgp.program", "gpg.program") or "gpg"
            command = [program, "--batch", "--armor", "--detach-sign", f"--local-user={key}"]
            signature = _run(command, _payload(ids), _SIGN_TIMEOUT, sign=True).stdout
        else:
            raise SignatureError(f'git signs with "{kind}", which is not supported', hint=_HINT)
    return _encode({"format": kind, "ids": ids, "signature": signature.decode("ascii", "replace"), "v": 1})


class PersonalSettings:
    """The settings of the person or the machine for git; each is asked for once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, str] = {}

    def get(self, name: str, *, path: bool = False) -> str:
        """Return a setting, never one of the repository's own configuration; "" if there is none."""
        if name not in self._known:
            self._known[name] = self._ask(name, ("--type=path",) if path else ())
        return self._known[name]

    def first_of(self, *names: str) -> str:
        """Return the first of these settings that there is."""
        return next((found for name in names if (found := self.get(name))), "")

    def _ask(self, name: str, kind: tuple[str, ...]) -> str:
        answer = output_of(self._folder, "config", "--show-scope", *kind, "--get-all", name) or b""
        values = dict.fromkeys(("system", "global"), "")
        for line in answer.decode("utf-8", "replace").splitlines():
            scope, _, value = line.partition("\t")
            if scope in values:
                values[scope] = value
        return values["global"] or values["system"]


def verify(encoded: bytes, member: str, keys: Collection[str], *, personal: PersonalSettings) -> Attestation:
    """Return what an attestation in a member's history says of its records.

    `keys` are the member's keys that are known already. A key also counts as theirs if the person's own git
    says so: in gpg.ssh.allowedSignersFile, or as a trusted key of gpg. Never raises: a form that is not one
    says nothing (`unsigned`, no ids), and a signature that nothing can check is `unknown`.
    """
    data = _parse(encoded)
    if not data:
        return Attestation(Verdict.UNSIGNED)
    ids = tuple(data["ids"])
    with tempfile.TemporaryDirectory() as desk:
        path = Path(desk) / "signature"
        path.write_text(data["signature"], encoding="ascii")
        try:
            if data["format"] == "ssh":
                key, allowed = _verify_by_ssh(personal, path, _payload(ids), member)
            else:
                key, allowed = _verify_by_gpg(personal, path, _payload(ids), member)
        except SignatureError:
            return Attestation(Verdict.UNKNOWN, ids)  # the program is not there, or does not know this key
    if not key:
        return Attestation(Verdict.FORGED, ids)
    first = not keys and not allowed
    known = allowed or first or key in keys
    return Attestation(Verdict.VERIFIED if known else Verdict.UNKNOWN, ids, key, key if first else "")


def merge(folder: Path, attestations: Sequence[bytes]) -> tuple[bytes, list[bytes]]:
    """Return one attestation in place of small ones by the same key as the last, and those that it replaces.

    The key signs again what it has signed before, and nothing else. Where there is nothing to merge both are
    empty. Raises SignatureError if the key cannot sign.
    """
    personal = PersonalSettings(folder)
    seen = [(one, verify(one, "", (), personal=personal)) for one in attestations[-_MOST_MERGED:]]
    key = seen[-1][1].key if seen else ""
    small = [(one, found.ids) for one, found in seen if found.key == key and len(found.ids) < MAX_MERGE]
    small = small[-(MAX_IDS // MAX_MERGE) :]
    ids = sorted({one for _, ids in small for one in ids})
    signature = sign(folder, ids) if key and len(small) > 1 else None
    return (signature, [one for one, _ in small]) if signature else (b"", [])


def _payload(ids: Sequence[str]) -> bytes:
    return _HEADER + "".join(f"{key}\n" for key in ids).encode()


def _encode(data: dict[str, Any]) -> bytes:
    return json.dumps(data, separators=(",", ":"), sort_keys=True).encode()


def _parse(encoded: bytes) -> dict[str, Any] | None:
    """Return the fields of an attestation; None for other bytes."""
    try:
        data = json.loads(encoded)
        ids, signature = data["ids"], data["signature"]
        valid = (
            data.keys() == {"format", "ids", "signature", "v"}
            and data["v"] == 1
            and data["format"] in ("ssh", "openpgp")
            and 0 < len(ids) <= MAX_IDS
            and all(is_record_id(key) for key in ids)
            and sorted(set(ids)) == ids
            and len(signature) <= _MAX_SIGNATURE
            and signature.isascii()
            and _encode(data) == encoded
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return data if valid else None


def _sign_by_ssh(folder: Path, desk: Path, key: str, payload: bytes) -> bytes:
    program = PersonalSettings(folder).first_of("gpg.ssh.program") or "ssh-keygen"
    command = [program, "-Y", "sign", "-n", NAMESPACE, "-f"]
    if literal := _LITERAL.fullmatch(key):
        public = desk / "key.pub"
        public.write_text(f"{literal[1]}\n", encoding="utf-8")
        command += [str(public), "-U"]  # the agent has the private half
    else:
        command.append(str(Path(key).expanduser()))
    return _run(command, payload, _SIGN_TIMEOUT, sign=True).stdout


def _verify_by_ssh(
    personal: PersonalSettings, signature: Path, payload: bytes, member: str
) -> tuple[str, bool]:
    """Return the key of a signature, "" if it is wrong, and whether git has it for the member."""
    program = personal.first_of("gpg.ssh.program") or "ssh-keygen"
    command = [program, "-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signature)]
    found = _SSH_GOOD.search(_text(_run(command, payload, _VERIFY_TIMEOUT)))
    if not found:
        return "", False
    return f"ssh {found[1]}", found[1] in _allowed_signers(personal, member)


def _verify_by_gpg(
    personal: PersonalSettings, signature: Path, payload: bytes, member: str
) -> tuple[str, bool]:
    """Return the same of a signature by gpg; raises SignatureError for a key that gpg does not know."""
    program = personal.first_of("gpg.openpgp.program", "gpg.program") or "gpg"
    command = [program, "--batch", "--no-auto-key-retrieve", "--status-fd=1", "--verify", str(signature), "-"]
    status = _text(_run(command, payload, _VERIFY_TIMEOUT))
    if _GPG_UNKNOWN.search(status):
        raise SignatureError("gpg does not know the key")
    found, uid = _GPG_GOOD.search(status), _GPG_UID.search(status)
    if not found or "[GNUPG:] BADSIG" in status:
        return "", False
    allowed = bool(uid and _GPG_TRUST.search(status)) and member_of(uid[1] if uid else "") == member
    return f"gpg {found[1]}", allowed


def _allowed_signers(personal: PersonalSettings, member: str) -> set[str]:
    """Return the fingerprints that the person's file of allowed signers has for a member.

    A line is `principals [options] type key` (ssh-keygen(1), ALLOWED SIGNERS). One with an authority or with
    times says nothing here.
    """
    path = personal.get("gpg.ssh.allowedSignersFile", path=True)
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines() if path else []
    except OSError:
        return set()  # git itself goes on without the file
    found = set()
    for line in lines:
        signer = _SIGNER.match(line.strip())
        if not signer or re.search(r"cert-authority|valid-", signer["options"], re.IGNORECASE):
            continue
        names = signer["names"].strip('"').split(",")
        if any(member in (name, member_of(name)) for name in names):
            try:
                digest = hashlib.sha256(base64.b64decode(signer["key"], validate=True)).digest()
            except binascii.Error:
                continue
            found.add("SHA256:" + base64.b64encode(digest).decode().rstrip("="))
    return found


def _setting(folder: Path, name: str) -> str:
    return (output_of(folder, "config", "--get", name) or b"").decode("utf-8", "replace").strip()


def _run(
    command: Sequence[str], given: bytes, timeout: float, *, sign: bool = False
) -> subprocess.CompletedProcess[bytes]:
    """Run a program for signatures; raises SignatureError if it is not there, and if it cannot sign."""
    try:
        done = subprocess.run(  # noqa: S603 - no shell; the program is the person's
            command,
            input=given,
            env=environment(),
            capture_output=True,
            timeout=timeout,
            check=False,
            # Only at a terminal can the person be asked for a passphrase.
            start_new_session=not (sign and sys.stdin.isatty()),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = "is not there" if isinstance(error, OSError) else "does not end"
        raise SignatureError(f"{command[0]} {reason}", hint=_HINT) from error
    if sign and (done.returncode or not done.stdout.strip()):
        lines = done.stderr.decode("utf-8", "replace").split("\n")
        reason = next((" ".join(line.split()) for line in lines if line.strip()), "no reason given")[:200]
        raise SignatureError(f"{command[0]} cannot sign with the key of git: {reason}", hint=_HINT)
    return done


def _text(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stdout.decode("utf-8", "replace")
