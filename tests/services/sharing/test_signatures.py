import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hostile_repositories import HostileRepository

from ragmem.domain.sharing.member import member_of
from ragmem.domain.sharing.record import record_id
from ragmem.domain.sharing.state import Verdict
from ragmem.services.sharing.signatures import MAX_IDS, PersonalSettings, SignatureError, sign, verify

IDS = [record_id(bytes([number])) for number in range(3)]
ANN = member_of("ann@example.org")


@pytest.fixture
def home():
    return Path.home()  # each test has one of its own


def configure(*pairs):
    for name, value in zip(pairs[::2], pairs[1::2], strict=True):
        subprocess.run(["git", "config", "--global", name, str(value)], check=True)


def ssh_key(folder, name="key"):
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(folder / name)]
    subprocess.run(make, check=True)
    return folder / f"{name}.pub"


@pytest.fixture
def by_ssh(home):
    if not shutil.which("ssh-keygen"):
        pytest.skip("ssh-keygen is not installed")
    key = ssh_key(home)
    configure("gpg.format", "ssh", "user.signingkey", key)
    return key


@pytest.fixture
def by_gpg(home, monkeypatch):
    if not shutil.which("gpg"):
        pytest.skip("gpg is not installed")
    # The socket of its agent must have a short path.
    rings = Path("/tmp") / f"ragmem-gpg-{record_id(str(home).encode())[:12]}"
    rings.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(rings))
    make = "gpg --batch --quiet --pinentry-mode loopback --passphrase= --quick-generate-key".split()
    subprocess.run([*make, "Ann <ann@example.org>", "ed25519", "sign", "never"], check=True)
    configure("user.signingkey", "ann@example.org")
    yield rings
    subprocess.run(["gpgconf", "--homedir", str(rings), "--kill", "all"], check=True)
    # The agent removes its sockets while it ends.
    shutil.rmtree(rings, ignore_errors=True)


def test_without_a_key_nothing_is_signed(home):
    assert sign(home, IDS) is None


def test_the_first_key_of_a_member_is_pinned_and_counts_from_then_on(home, by_ssh):
    attestation = sign(home, IDS)

    first = verify(attestation, ANN, (), personal=PersonalSettings(home))
    assert (first.verdict, first.ids) == (Verdict.VERIFIED, tuple(sorted(IDS)))
    assert first.pin.startswith("ssh SHA256:")
    again = verify(attestation, ANN, (first.pin,), personal=PersonalSettings(home))
    assert (again.verdict, again.pin) == (Verdict.VERIFIED, "")


def test_a_second_key_is_unknown(home, by_ssh):
    pin = verify(sign(home, IDS), ANN, (), personal=PersonalSettings(home)).pin
    configure("user.signingkey", ssh_key(home, "other"))

    other = verify(sign(home, IDS), ANN, (pin,), personal=PersonalSettings(home))
    assert (other.verdict, other.pin) == (Verdict.UNKNOWN, "")


def test_a_key_of_the_allowed_signers_counts_for_its_member_alone(home, by_ssh):
    allowed = home / "allowed"
    allowed.write_text(f'# team\n\nann@example.org,a@b namespaces="git" {by_ssh.read_text()}')
    configure("gpg.ssh.allowedSignersFile", "~/allowed")
    attestation = sign(home, IDS)

    assert (
        verify(attestation, ANN, ("ssh SHA256:other",), personal=PersonalSettings(home)).verdict
        is Verdict.VERIFIED
    )
    assert (
        verify(attestation, "bob", ("ssh SHA256:other",), personal=PersonalSettings(home)).verdict
        is Verdict.UNKNOWN
    )
    allowed.write_text(f"* cert-authority {by_ssh.read_text()}not a line\nann@example.org ssh-ed25519 !!!\n")
    assert (
        verify(attestation, ANN, ("ssh SHA256:other",), personal=PersonalSettings(home)).verdict
        is Verdict.UNKNOWN
    )


def changed(attestation, **fields):
    data = {**json.loads(attestation), **fields}
    return json.dumps(data, separators=(",", ":"), sort_keys=True).encode()


def test_a_signature_over_other_ids_is_forged(home, by_ssh):
    attestation = changed(sign(home, IDS), ids=[record_id(b"another")])

    found = verify(attestation, ANN, (), personal=PersonalSettings(home))
    assert (found.verdict, found.pin) == (Verdict.FORGED, "")


def test_a_signature_for_another_purpose_is_forged(home, by_ssh):
    attestation = sign(home, IDS)
    text = "".join(f"{key}\n" for key in sorted(IDS))
    command = ["ssh-keygen", "-Y", "sign", "-n", "git", "-f", str(by_ssh)]
    payload = f"ragmem attestation 1\n{text}"
    signed = subprocess.run(command, input=payload, text=True, capture_output=True, check=True)

    assert (
        verify(
            changed(attestation, signature=signed.stdout), ANN, (), personal=PersonalSettings(home)
        ).verdict
        is Verdict.FORGED
    )


@pytest.mark.parametrize(
    "attestation",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"format":"ssh","ids":[],"signature":"","v":1}',
        b'{"format":"sh","ids":["%s"],"signature":"","v":1}' % IDS[0].encode(),
        b'{"format":"ssh","ids":["../x"],"signature":"","v":1}',
        b'{"format":"ssh","ids":[1],"signature":"","v":1}',
        b'{"format":"ssh","ids":["%s"],"signature":[],"v":1}' % IDS[0].encode(),
        b'{"v":1, "format":"ssh","ids":["%s"],"signature":""}' % IDS[0].encode(),
    ],
)
def test_what_is_no_attestation_says_nothing(home, attestation):
    assert verify(attestation, ANN, (), personal=PersonalSettings(home)).ids == ()


@pytest.mark.parametrize("kind", ["ssh", "openpgp"])
def test_rubbish_for_a_signature_is_never_right(home, kind):
    data = {"format": kind, "ids": IDS[:1], "signature": "rubbish", "v": 1}

    assert verify(changed("{}", **data), ANN, (), personal=PersonalSettings(home)).verdict in {
        Verdict.FORGED,
        Verdict.UNKNOWN,
    }


def test_a_key_that_cannot_sign_is_told(home, by_ssh):
    configure("user.signingkey", home / "missing")
    with pytest.raises(SignatureError, match="cannot sign"):
        sign(home, IDS)
    configure("gpg.format", "x509")
    with pytest.raises(SignatureError, match="not supported"):
        sign(home, IDS)


def test_too_many_ids_for_one_signature_are_refused(home):
    with pytest.raises(ValueError, match="at most"):
        sign(home, ["x"] * (MAX_IDS + 1))


def test_the_repository_names_no_program(tmp_path, home, by_ssh):
    hostile = HostileRepository(tmp_path / "repository")
    for name in ("gpg.ssh.program", "gpg.program", "gpg.ssh.defaultKeyCommand"):
        subprocess.run(["git", "-C", str(hostile.folder), "config", name, hostile.program(name)], check=True)
    names = ["config", "gpg.ssh.allowedSignersFile", str(hostile.folder / "CLAUDE.md")]
    subprocess.run(["git", "-C", str(hostile.folder), *names], check=True)

    attestation = sign(hostile.folder, IDS)

    assert verify(attestation, ANN, (), personal=PersonalSettings(hostile.folder)).verdict is Verdict.VERIFIED
    assert hostile.ran == []


def test_a_gpg_key_that_the_person_trusts_counts_for_its_member(home, by_gpg):
    attestation = sign(home, IDS)

    found = verify(attestation, ANN, ("gpg OTHER",), personal=PersonalSettings(home))
    assert (found.verdict, found.key.partition(" ")[0]) == (Verdict.VERIFIED, "gpg")
    assert (
        verify(attestation, "bob", ("gpg OTHER",), personal=PersonalSettings(home)).verdict is Verdict.UNKNOWN
    )
    wrong = changed(attestation, ids=[record_id(b"another")])
    assert verify(wrong, ANN, (), personal=PersonalSettings(home)).verdict is Verdict.FORGED


def test_a_gpg_key_that_is_not_in_the_ring_is_unknown(home, by_gpg, monkeypatch):
    attestation = sign(home, IDS)
    empty = by_gpg / "empty"
    empty.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(empty))

    found = verify(attestation, ANN, (), personal=PersonalSettings(home))
    assert (found.verdict, found.pin) == (Verdict.UNKNOWN, "")


def test_without_the_program_a_signature_is_unknown(home, by_ssh, monkeypatch):
    attestation = sign(home, IDS)
    configure("gpg.ssh.program", home / "nowhere")

    assert verify(attestation, ANN, (), personal=PersonalSettings(home)).verdict is Verdict.UNKNOWN
