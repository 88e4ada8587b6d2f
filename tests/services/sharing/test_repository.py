import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from shared_remotes import git, git_daemon, make_remote, records, write_blob, write_history, write_tree

from ragmem.domain.sharing.record import MAX_RECORD, record_id
from ragmem.domain.sharing.state import Verdict
from ragmem.errors import StorageError, UsageError
from ragmem.services.sharing import repository as repository_module
from ragmem.services.sharing.bare_repository import RemoteError
from ragmem.services.sharing.git_commands import GitError, run
from ragmem.services.sharing.objects import record_path
from ragmem.services.sharing.remote import check_url, remote_url
from ragmem.services.sharing.repository import SharedRepository
from ragmem.services.sharing.signatures import PersonalSettings, merge, sign, verify
from ragmem.services.sharing.sync import prune


@pytest.fixture
def remote(tmp_path):
    return make_remote(tmp_path / "remote.git")


@pytest.fixture
def open_home(tmp_path):
    """Return a function that opens the repository of a home by name."""
    found = {}

    def open_it(name):
        if name not in found:
            found[name] = SharedRepository.open(tmp_path / name / "share" / "project.git")
        return found[name]

    yield open_it
    for one in found.values():
        one.close()


@pytest.fixture
def ann(open_home):
    return open_home("ann")


@pytest.fixture
def bob(open_home):
    return open_home("bob")


def read(repository, member, since="", **options):
    """Return the records of a member by id."""
    found = repository.new_blobs(member, since, **options)
    return {path.rpartition("/")[2]: blob for path, blob in found if path.startswith("records/")}


def fsck(folder):
    return git(folder, "fsck", "--strict", "--no-dangling", "--no-progress")


def test_what_one_member_pushes_another_fetches(remote, ann, bob):
    said = records("ann", 0, 3)
    assert ann.push(remote, "ann", said, [b"signature"]) == 3

    assert bob.fetch(remote) == ["ann"]
    assert read(bob, "ann") == said
    first, blob = next(iter(bob.new_blobs("ann")))
    assert (first.partition("/")[0], blob) == ("attestations", b"signature")
    assert bob.head("ann") == ann.head("ann")
    assert bob.fetch(remote) == []
    assert not any(bob.rejections.values())


def test_only_what_is_new_since_a_commit_is_read(remote, ann, bob):
    ann.push(remote, "ann", records("ann", 0, 3))
    bob.fetch(remote)
    before = bob.head("ann")
    ann.push(remote, "ann", records("ann", 0, 5))
    bob.fetch(remote)

    assert read(bob, "ann", before) == records("ann", 3, 5)
    assert read(bob, "ann", bob.head("ann")) == {}
    assert read(bob, "ann", "0" * 40) == records("ann", 0, 5)
    assert read(bob, "nobody") == {}


def test_pushing_again_changes_nothing(remote, ann):
    ann.push(remote, "ann", records("ann", 0, 3), [b"signature"])
    head = git(remote, "rev-parse", "refs/ragmem/ann")

    assert ann.push(remote, "ann", records("ann", 0, 3), [b"signature"]) == 0
    assert git(remote, "rev-parse", "refs/ragmem/ann") == head


def test_nothing_but_the_ref_of_the_member_is_written(remote, ann):
    ann.push(remote, "ann", records("ann", 0, 3))

    assert git(remote, "for-each-ref", "--format=%(refname)").split() == ["refs/ragmem/ann"]


def test_many_records_become_packs_and_none_is_lost(remote, ann, bob):
    since = ""
    for end in (100, 128, 129, 140, 300):
        assert ann.push(remote, "ann", records("ann", 0, end))
        bob.fetch(remote)
        assert records("ann", end - 2, end).items() <= read(bob, "ann", since).items()
        assert read(bob, "ann") == records("ann", 0, end)
        since = bob.head("ann")
        paths = git(remote, "ls-tree", "-r", "--name-only", "refs/ragmem/ann").split()
        assert sum(path.startswith("records/") for path in paths) <= repository_module.MOST_SINGLE
    assert any(path.startswith("packs/") for path in paths)
    assert fsck(remote) == ""


def test_two_machines_of_one_member_keep_what_both_say(remote, ann, open_home):
    laptop = open_home("laptop")
    ann.push(remote, "ann", records("ann", 0, 2))
    laptop.push(remote, "ann", records("ann", 5, 7))
    ann.push(remote, "ann", records("ann", 2, 3))

    laptop.fetch(remote)
    assert read(laptop, "ann") == records("ann", 0, 3) | records("ann", 5, 7)
    assert git(remote, "rev-list", "--count", "refs/ragmem/ann").strip() == "3"


def test_what_was_fetched_stays_when_the_remote_loses_it(remote, ann, bob):
    ann.push(remote, "ann", records("ann", 0, 2))
    bob.fetch(remote)
    git(remote, "update-ref", "-d", "refs/ragmem/ann")

    assert bob.fetch(remote) == []
    assert read(bob, "ann") == records("ann", 0, 2)
    # And its author's next push brings all of it back.
    ann.push(remote, "ann", records("ann", 2, 3))
    bob.fetch(remote)
    assert read(bob, "ann") == records("ann", 0, 3)


def test_a_member_restores_their_history_when_the_remote_went_back(remote, ann):
    ann.push(remote, "ann", records("ann", 0, 2))
    before = ann.head("ann")
    ann.push(remote, "ann", records("ann", 2, 4))
    git(remote, "update-ref", "refs/ragmem/ann", before)
    ann.fetch(remote)

    ann.push(remote, "ann", {})
    ann.fetch(remote)
    assert read(ann, "ann") == records("ann", 0, 4)


@pytest.mark.parametrize("back", [True, False])
def test_what_the_remote_has_lost_is_pushed_again_without_anything_new(remote, ann, bob, back):
    ann.push(remote, "ann", records("ann", 0, 2))
    first = ann.head("ann")
    ann.push(remote, "ann", records("ann", 2, 4))
    git(remote, "update-ref", *(["refs/ragmem/ann", first] if back else ["-d", "refs/ragmem/ann"]))

    assert ann.push(remote, "ann", {}) == 0

    bob.fetch(remote)
    assert read(bob, "ann") == records("ann", 0, 4)


def test_a_member_joins_their_history_with_one_that_replaced_it(remote, ann, open_home):
    ann.push(remote, "ann", records("ann", 0, 2), [b"one"])
    git(remote, "update-ref", "-d", "refs/ragmem/ann")
    open_home("laptop").push(remote, "ann", records("ann", 7, 9), [b"two"])

    ann.push(remote, "ann", records("ann", 2, 3))
    ann.fetch(remote)
    assert read(ann, "ann") == records("ann", 0, 3) | records("ann", 7, 9)
    assert {blob for path, blob in ann.new_blobs("ann") if path.startswith("att")} == {b"one", b"two"}
    assert len(git(remote, "show", "-s", "--format=%P", "refs/ragmem/ann").split()) == 2
    assert fsck(remote) == ""


def test_joining_two_large_histories_packs_all(remote, ann, open_home):
    ann.push(remote, "ann", records("ann", 0, 100))
    git(remote, "update-ref", "-d", "refs/ragmem/ann")
    open_home("laptop").push(remote, "ann", records("ann", 100, 200))

    ann.push(remote, "ann", {})
    ann.push(remote, "ann", records("ann", 200, 201))
    ann.fetch(remote)
    assert read(ann, "ann") == records("ann", 0, 201)


def test_the_attestations_of_many_pushes_become_few(remote, ann, bob):
    home = Path.home()
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / "key")]
    subprocess.run(make, check=True)
    for name, value in (("gpg.format", "ssh"), ("user.signingkey", home / "key.pub")):
        subprocess.run(["git", "config", "--global", name, str(value)], check=True)
    strange = [b"another machine's"]
    for number in range(10):
        one = records("ann", number, number + 1)
        signed = [*strange, sign(home, list(one))]
        ann.push(remote, "ann", one, signed, merge=partial(merge, home))
    bob.fetch(remote)

    found = [blob for path, blob in bob.new_blobs("ann") if path.startswith("att")]
    assert len(found) <= repository_module.MOST_ATTESTATIONS
    assert strange[0] in found
    seen = [verify(blob, "ann", (), personal=PersonalSettings(home)) for blob in found if blob != strange[0]]
    assert {one.verdict for one in seen} == {Verdict.VERIFIED}
    assert {key for one in seen for key in one.ids} == records("ann", 0, 10).keys()


def test_a_daemon_of_git_serves_as_a_remote(tmp_path, remote, ann, bob):
    with git_daemon(tmp_path) as url:
        ann.push(f"{url}remote.git", "ann", records("ann", 0, 2))
        bob.fetch(f"{url}remote.git")

        assert read(bob, "ann") == records("ann", 0, 2)


# What a hostile member does.


def hostile(remote, entries, member="eve"):
    """Write a history of a member whose root has these entries."""
    return write_history(remote, member, write_tree(remote, entries))


def folder_of(remote, name, entries):
    return ("40000", name, write_tree(remote, entries))


def single(remote, encoded, name=""):
    """Return the entry of a folder with one record, under its own name or another one."""
    key = name or record_id(encoded)
    inner = folder_of(remote, key[:2], [("100644", key, write_blob(remote, encoded))])
    return folder_of(remote, "records", [inner])


def fetch_all(repository, remote, member="eve"):
    """Fetch, and return what came from a hostile member, and the reasons of what did not."""
    repository.fetch(remote)
    found = read(repository, member)
    return found, {reason for reason, count in repository.rejections.get(member, {}).items() if count}


def good(remote, ann):
    """Let a good member push beside the hostile one."""
    ann.push(remote, "ann", records("ann", 0, 2))


BLOB = b"{}"
KEY = record_id(BLOB)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        (lambda at: [single(at, BLOB, "0" * 64)], "another hash than its name"),
        (lambda at: [single(at, b"x" * (MAX_RECORD + 1))], "too large"),
        (lambda at: [single(at, BLOB, "not-a-hash")], "an unknown path"),
        (lambda at: [("100644", "records", write_blob(at, BLOB))], "not a folder"),
        (lambda at: [("120000", "records", write_blob(at, b"/etc"))], "not a folder"),
        (lambda at: [("160000", "records", "1" * 40)], "not a folder"),
        (lambda at: [("100644", "README", write_blob(at, BLOB))], "an unknown path"),
        (lambda at: [folder_of(at, "packs", [("120000", KEY, write_blob(at, BLOB))])], "an unknown path"),
        (lambda at: [folder_of(at, "packs", [("160000", KEY, "1" * 40)])], "an unknown path"),
        (lambda at: [folder_of(at, "packs", [("100755", KEY, write_blob(at, BLOB))])], "an unknown path"),
        (lambda at: [folder_of(at, "packs", [("100644", KEY, write_blob(at, BLOB))])], "not a pack"),
        (lambda at: [folder_of(at, "attestations", [folder_of(at, KEY, [])])], "an unknown path"),
        (
            lambda at: [
                folder_of(at, "records", [folder_of(at, "00", [("100644", KEY, write_blob(at, BLOB))])])
            ],
            "an unknown path",
        ),
    ],
)
def test_what_has_no_place_in_a_history_is_left_out_and_counted(remote, ann, bob, entries, reason):
    hostile(remote, entries(remote))
    good(remote, ann)

    assert fetch_all(bob, remote) == ({}, {reason})
    assert read(bob, "ann") == records("ann", 0, 2)
    assert fsck(bob_folder(bob)) == ""


def bob_folder(repository):
    return repository._git.folder


@pytest.mark.parametrize("name", ["..", ".git", ".", "a/b", ""])
def test_a_path_that_git_rejects_keeps_out_its_member_alone(remote, ann, bob, name):
    hostile(remote, [("100644", name, write_blob(remote, BLOB))])
    good(remote, ann)

    found, reasons = fetch_all(bob, remote)
    assert found == {}
    assert len(reasons) == 1
    assert "git rejects" in reasons.pop()
    assert read(bob, "ann") == records("ann", 0, 2)
    assert fsck(bob_folder(bob)) == ""


def test_a_member_that_was_kept_out_comes_back_with_a_better_history(remote, ann, bob):
    git(
        remote, "update-ref", "refs/ragmem/zoe", hostile(remote, [("100644", "..", write_blob(remote, BLOB))])
    )
    for name in ("bea", "cy", "dan"):
        ann.push(remote, name, records(name, 0, 1))
    assert set(bob.fetch(remote)) == {"bea", "cy", "dan"}
    assert bob.fetch(remote) == []
    assert set(bob.rejections) >= {"eve", "zoe"}
    hostile(remote, [single(remote, *records("eve", 0, 1).values())])
    ann.push(remote, "cy", records("cy", 1, 2))

    assert set(bob.fetch(remote)) == {"eve", "cy"}
    assert read(bob, "eve") == records("eve", 0, 1)


@pytest.mark.parametrize("name", ["Eve", "eve/eve", "-eve", "eve@", "\u00e9ve", "x" * 65])
def test_a_ref_whose_name_is_no_member_is_left_out(remote, ann, bob, name):
    good(remote, ann)
    git(remote, "update-ref", f"refs/ragmem/{name}", hostile(remote, [], "zoe"))

    assert set(bob.fetch(remote)) == {"ann", "zoe"}
    assert bob.rejections[name] == {"not the id of a member": 1}
    assert set(bob.heads()) == {"ann", "zoe"}


def test_a_ref_to_no_commit_is_left_out(remote, ann, bob):
    good(remote, ann)
    git(remote, "update-ref", "refs/ragmem/eve", write_blob(remote, BLOB))

    assert bob.fetch(remote) == ["ann"]
    assert bob.rejections["eve"] == {"no commit": 1}


def test_a_folder_in_the_place_of_a_member_does_not_stop_the_others(remote, ann, bob):
    ann.push(remote, "eve", records("eve", 0, 1))
    bob.fetch(remote)
    git(remote, "update-ref", "-d", "refs/ragmem/eve")
    git(remote, "update-ref", "refs/ragmem/eve/eve", hostile(remote, [], "zoe"))
    good(remote, ann)

    assert set(bob.fetch(remote)) == {"ann", "zoe"}
    assert read(bob, "eve") == records("eve", 0, 1)


def test_records_beyond_the_limit_are_left_out_and_counted(remote, ann, bob):
    ann.push(remote, "ann", records("ann", 0, 300))
    ann.push(remote, "ann", records("ann", 300, 320))
    bob.fetch(remote)

    assert len(read(bob, "ann", limit=310)) == 310
    assert bob.rejections["ann"]["beyond the limit of records"] == 10


def test_a_folder_of_a_great_many_names_is_not_read(remote, bob):
    blob = write_blob(remote, BLOB)
    names = [("100644", record_id(str(number).encode()), blob) for number in range(25_000)]
    hostile(remote, [folder_of(remote, "packs", sorted(names))])

    assert fetch_all(bob, remote) == ({}, {"too large a folder"})


def test_many_small_folders_are_read_up_to_a_limit(remote, bob, monkeypatch):
    monkeypatch.setattr("ragmem.services.sharing.objects.MAX_ENTRIES", 50)
    blob = write_blob(remote, BLOB)
    names = [("100644", record_id(str(number).encode()), blob) for number in range(60)]
    hostile(remote, [folder_of(remote, "packs", sorted(names))])

    assert fetch_all(bob, remote) == ({}, {"too many packs", "another hash than its name"})


def test_one_blob_with_many_names_is_read_up_to_a_limit(remote, bob, monkeypatch):
    monkeypatch.setattr("ragmem.services.sharing.objects.MAX_BYTES", 1000)
    blob = write_blob(remote, b"x" * 100)
    names = [("100644", record_id(str(number).encode()), blob) for number in range(60)]
    hostile(remote, [folder_of(remote, "packs", sorted(names))])

    assert fetch_all(bob, remote) == ({}, {"beyond the limit of bytes", "another hash than its name"})
    assert bob.rejections["eve"]["beyond the limit of bytes"] == 50


def test_one_folder_with_many_names_is_not_read(remote, bob):
    blob = write_blob(remote, BLOB)
    many = write_tree(
        remote, sorted(("100644", record_id(bytes([n % 256, n // 256])), blob) for n in range(1500))
    )
    names = [("40000", f"{number:02x}", many) for number in range(256)]
    hostile(remote, [folder_of(remote, "records", names)])

    assert fetch_all(bob, remote) == ({}, {"too large a folder"})


def test_more_attestations_than_anybody_verifies_are_left_out(remote, bob):
    names = [
        ("100644", record_id(bytes([n % 256, n // 256])), write_blob(remote, bytes([n % 256, n // 256])))
        for n in range(300)
    ]
    hostile(remote, [folder_of(remote, "attestations", sorted(names))])

    bob.fetch(remote)
    assert len(list(bob.new_blobs("eve"))) == 256
    assert bob.rejections["eve"] == {"too many attestations": 1}


def test_a_blob_of_many_megabytes_is_not_read(remote, ann, bob):
    good(remote, ann)
    stream = b"\0" * (16 * 1024 * 1024)
    hostile(remote, [single(remote, stream)])

    assert fetch_all(bob, remote) == ({}, {"too large"})


def test_rubbish_in_the_history_of_a_member_does_not_spoil_their_packs(remote, ann, bob):
    hostile(remote, [single(remote, b"two\nlines")], member="ann")

    ann.push(remote, "ann", records("ann", 0, 200))
    bob.fetch(remote)
    assert read(bob, "ann") == records("ann", 0, 200)


# What goes wrong on the way.


def test_a_remote_that_does_not_answer_is_left_in_time(ann):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"git://127.0.0.1:{silent.getsockname()[1]}/remote.git"
        with pytest.raises(RemoteError, match="did not finish in time"):
            ann.fetch(url, timeout=1)
        with pytest.raises(RemoteError, match="did not finish in time"):
            ann.push(url, "ann", records("ann", 0, 1), timeout=1)


def test_a_remote_that_is_not_there_is_told(tmp_path, ann):
    for act in (ann.fetch, lambda url: ann.push(url, "ann", records("ann", 0, 1))):
        with pytest.raises(RemoteError, match=r"missing.git.*does not appear to be a git repository") as told:
            act(str(tmp_path / "missing.git"))
        assert "git ls-remote" in told.value.hint


def test_a_remote_that_rejects_a_push_is_told_and_nothing_is_lost(remote, ann):
    hook = Path(remote) / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho '\033[2Jnot \033]0;today' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RemoteError, match="pre-receive hook declined") as told:
        ann.push(remote, "ann", records("ann", 0, 2))
    assert "\033" not in str(told.value)
    hook.unlink()

    assert ann.push(remote, "ann", records("ann", 0, 2)) == 2


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% /tmp/x",
        "EXT::x",
        "fd::7",
        "http://example.invalid/x.git",
        "ftp://example.invalid/x",
        "--upload-pack=touch",
        "-x",
        "",
        "https://example.invalid/a\nb",
    ],
)
def test_a_url_that_could_run_a_program_is_refused(ann, url):
    for act in (ann.fetch, lambda url: ann.push(url, "ann", {})):
        with pytest.raises(UsageError):
            act(url)


def test_another_name_for_a_program_does_not_run_it(tmp_path, ann):
    mark = tmp_path / "mark"
    name = f"url.ext::sh -c 'touch {mark}' .insteadOf"
    subprocess.run(["git", "config", "--global", name, "https://example.invalid/"], check=True)

    with pytest.raises(RemoteError, match="transport 'ext' not allowed"):
        ann.fetch("https://example.invalid/x.git")
    assert not mark.exists()


def test_hooks_of_the_person_do_not_run(tmp_path, remote, ann):
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-push", "reference-transaction", "post-receive"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> '{tmp_path}/mark'\nexit 1\n")
        (hooks / name).chmod(0o755)
    subprocess.run(["git", "config", "--global", "core.hooksPath", str(hooks)], check=True)
    # The remote is a folder of the same person, where git runs their hooks; so they stand in our way alone.
    git(remote, "config", "core.hooksPath", "/dev/null")

    assert ann.push(remote, "ann", records("ann", 0, 1)) == 1
    assert not (tmp_path / "mark").exists()


def test_refs_that_a_dead_fetch_has_left_go(remote, ann, bob):
    ann.push(remote, "ann", records("ann", 0, 1))
    bob.fetch(remote)
    git(bob_folder(bob), "update-ref", "refs/incoming/dead/eve", bob.head("ann"))
    ann.push(remote, "ann", records("ann", 1, 2))

    assert bob.fetch(remote) == ["ann"]
    assert git(bob_folder(bob), "for-each-ref", "refs/incoming") == ""


def test_a_fetch_goes_on_beyond_its_time_while_much_comes_in(remote, ann, bob, monkeypatch):
    ann.push(remote, "ann", records("ann", 0, 300, size=2000))

    def sizes():
        yield from range(0, 10**9, 10**6)

    grown = sizes()
    monkeypatch.setattr("ragmem.services.sharing.bare_repository._size_of", lambda _: next(grown))
    assert bob.fetch(remote, timeout=0) == ["ann"]


def test_what_is_too_large_keeps_out_its_member_alone(remote, ann, bob, tmp_path, monkeypatch):
    good(remote, ann)
    hostile(remote, [single(remote, random.Random(1).randbytes(200_000))])
    monkeypatch.setattr("ragmem.services.sharing.bare_repository.MAX_FETCH", 50_000)
    slow = "import os,time\nwhile b:=os.read(0,8192): os.write(1,b); time.sleep(0.05)"
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\neval \"$2\" | '{sys.executable}' -c '{slow}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")

    found, reasons = fetch_all(bob, f"ssh://host{remote}")
    assert (found, reasons) == ({}, {"more than 512 MiB"})
    assert read(bob, "ann") == records("ann", 0, 2)


def test_a_flood_of_members_does_not_cut_off_those_who_are_known(remote, ann, bob, monkeypatch):
    good(remote, ann)
    bob.fetch(remote)
    for name in ("bot1", "bot2", "bot3"):
        hostile(remote, [], name)
    ann.push(remote, "ann", records("ann", 2, 3))
    for module in ("repository", "bare_repository"):
        monkeypatch.setattr(f"ragmem.services.sharing.{module}.MAX_MEMBERS", 3)

    assert bob.fetch(remote) == ["ann"]
    assert bob.rejections[""] == {"too many members": 1}
    assert set(bob.heads()) == {"ann"}


def test_a_home_that_cannot_be_written_is_told(tmp_path, remote):
    (tmp_path / "file").touch()
    with SharedRepository.open(tmp_path / "file" / "project.git") as repository:
        with pytest.raises(StorageError, match="cannot write"):
            repository.fetch(remote)
        with pytest.raises(UsageError, match="not a valid member id"):
            repository.push(remote, "../ann", {})


def test_locks_of_dead_processes_are_not_in_the_way(remote, ann, bob):
    ann.push(remote, "ann", records("ann", 0, 1))
    bob.fetch(remote)
    for folder in (bob_folder(ann), bob_folder(bob)):
        for name in ("packed-refs", "refs/remote/ann", "refs/own/ann", "refs/outgoing/ann", "HEAD", "config"):
            (folder / f"{name}.lock").parent.mkdir(exist_ok=True)
            (folder / f"{name}.lock").touch()
        (folder / "objects/pack/tmp_pack_x").write_bytes(b"x" * 100)

    assert ann.push(remote, "ann", records("ann", 1, 2)) == 1
    assert bob.fetch(remote) == ["ann"]
    assert not list(bob_folder(bob).rglob("tmp_pack_*"))


def test_many_fetches_do_not_leave_many_packs(remote, ann, bob, monkeypatch):
    monkeypatch.setattr("ragmem.services.sharing.bare_repository._MOST_PACK_FILES", 3)
    for number in range(12):
        ann.push(remote, "ann", records("ann", number, number + 1))
        bob.fetch(remote)

    assert len(list((bob_folder(bob) / "objects/pack").glob("*.pack"))) <= 4
    assert read(bob, "ann") == records("ann", 0, 12)
    assert fsck(bob_folder(bob)) == ""


def test_what_a_member_has_rewritten_away_goes_with_the_next_upkeep(remote, ann, bob):
    ann.push(remote, "ann", records("ann", 0, 3))
    hostile(remote, [single(remote, BLOB)])
    bob.fetch(remote)
    before = bob.head("eve")
    blob = git(bob_folder(bob), "rev-parse", f"{before}:{record_path(KEY)}").strip()
    hostile(remote, [single(remote, b'{"other": 1}')])
    bob.fetch(remote)
    assert git(bob_folder(bob), "cat-file", "-t", before) == "commit\n"

    assert prune(bob_folder(bob).parents[1]) == []
    assert "missing" in git(bob_folder(bob), "cat-file", "--batch-check", given=before.encode())
    assert "missing" in git(bob_folder(bob), "cat-file", "--batch-check", given=blob.encode())
    assert read(bob, "ann") == records("ann", 0, 3)
    assert read(bob, "eve", before) == read(bob, "eve") != {}
    assert fsck(bob_folder(bob)) == ""


def test_a_history_that_goes_on_is_not_repacked(remote, ann, bob):
    for number in range(3):
        ann.push(remote, "ann", records("ann", number, number + 1))
        bob.fetch(remote)
    packs = sorted(bob_folder(bob).glob("objects/pack/*"))
    assert prune(bob_folder(bob).parents[1]) == []
    assert sorted(bob_folder(bob).glob("objects/pack/*")) == packs


def test_upkeep_tells_why_it_failed_and_tries_again(remote, ann, bob, monkeypatch):
    hostile(remote, [single(remote, BLOB)])
    bob.fetch(remote)
    before = bob.head("eve")
    hostile(remote, [single(remote, b'{"other": 1}')])
    bob.fetch(remote)
    with monkeypatch.context() as patch:
        patch.setattr("ragmem.services.sharing.bare_repository._LOCAL_TIMEOUT", 0.0)
        (problem,) = prune(bob_folder(bob).parents[1])
    assert "git did not finish in time" in problem
    assert prune(bob_folder(bob).parents[1]) == []
    assert "missing" in git(bob_folder(bob), "cat-file", "--batch-check", given=before.encode())


def act(folder, remote, member, first, end):
    with SharedRepository.open(folder) as repository:
        repository.push(remote, member, records(member, first, end))
        repository.fetch(remote)


def start(*arguments):
    process = multiprocessing.get_context("spawn").Process(target=act, args=arguments)
    process.start()
    return process


@pytest.mark.slow
def test_processes_that_are_killed_at_any_moment_leave_nothing_half(tmp_path, remote):
    draw = random.Random(27)
    folder = tmp_path / "ann" / "share" / "project.git"
    began = time.monotonic()
    act(folder, remote, "ann", 0, 1)
    usual = time.monotonic() - began
    for number in range(12):
        process = start(folder, remote, "ann", 0, number * 20)
        # Some die while Python starts, most while git works.
        time.sleep(draw.uniform(0.3, 0.5 + usual))
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
        process.join()

    act(folder, remote, "ann", 0, 230)
    with SharedRepository.open(tmp_path / "bob" / "project.git") as bob:
        bob.fetch(remote)
        assert read(bob, "ann") == records("ann", 0, 230)
    assert fsck(remote) == ""
    assert fsck(folder) == ""


@pytest.mark.slow
def test_machines_that_push_at_once_lose_nothing(tmp_path, remote):
    running = [
        start(tmp_path / f"home{number % 2}" / "project.git", remote, "ann", number * 10, number * 10 + 10)
        for number in range(4)
    ]
    for process in running:
        process.join()
        assert process.exitcode == 0

    with SharedRepository.open(tmp_path / "bob" / "project.git") as bob:
        bob.fetch(remote)
        assert read(bob, "ann") == records("ann", 0, 40)


# The runner and the remote of a project.


def test_a_command_that_goes_beyond_a_limit_is_ended(tmp_path, remote):
    began = time.monotonic()
    with pytest.raises(GitError, match="too much"):
        run(Path(remote), "-c", "alias.x=!sleep 60", "x", timeout=60, excess=lambda: "too much")
    with pytest.raises(GitError, match="in time"):
        run(Path(remote), "-c", "alias.x=!sleep 60", "x", timeout=0.2)
    with pytest.raises(GitError, match="without end"):
        run(Path(remote), "-c", "alias.x=!yes", "x", timeout=60)
    with pytest.raises(GitError, match="without end"):
        run(Path(remote), "-c", "alias.x=!yes >&2", "x", timeout=60)
    assert time.monotonic() - began < 50


def test_without_git_the_error_names_it(tmp_path, ann, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(GitError, match="git cannot be run"):
        ann.fetch(str(tmp_path))


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


def test_the_remote_of_a_project_is_read_from_its_configuration(project):
    def configure(name, value):
        subprocess.run(["git", "-C", str(project), "config", name, value], check=True)

    with pytest.raises(UsageError, match='no remote "origin"'):
        remote_url(project)
    configure("remote.origin.url", "../team.git")
    assert remote_url(project) == str(project / "../team.git")
    configure("remote.origin.url", "git@example.org:team/app.git")
    assert remote_url(project) == "git@example.org:team/app.git"
    configure("remote.origin.pushurl", "ssh://git@example.org/team/app.git")
    assert remote_url(project, push=True) == "ssh://git@example.org/team/app.git"
    assert remote_url(project) == "git@example.org:team/app.git"
    configure("remote.origin.url", "ext::sh -c x")
    with pytest.raises(UsageError, match="not a remote"):
        remote_url(project)


def test_an_error_shows_no_password():
    with pytest.raises(UsageError) as told:
        check_url("ftp::https://me:secret@example.org/x")
    assert "secret" not in told.value.full_message


def test_a_path_of_a_record_begins_with_its_id():
    assert record_path(KEY) == f"records/{KEY[:2]}/{KEY}"
