"""A clone without its blobs is read from what is there: no remote is asked for the rest, offline or not."""

import json
from pathlib import Path

import pytest
from hostile_repositories import git, repository

from ragmem.api.memory import Ragmem

PAY = "".join(f"def charge_{number}(amount):\n    return amount * {number}\n\n\n" for number in range(20))
NOTE = "# Harbour\n\nWe decided to bound the harbour queue at 700 entries, because it exhausted the memory.\n"


@pytest.fixture
def clone(tmp_path):
    """Return a partial clone of a history with two renames, and the file that a contact would leave.

    One file was renamed and changed at once, which only its contents show; the other was only renamed.
    """
    origin = repository(tmp_path / "origin", {"pay.py": PAY, "cart.py": "def add(item):\n    return item\n"})
    git(origin, "mv", "pay.py", "billing.py")
    (origin / "billing.py").write_text(PAY.replace("charge_7(", "charge_seven("))
    git(origin, "mv", "cart.py", "basket.py")
    git(origin, "commit", "-qam", "rename")
    for number in range(2):
        (origin / "billing.py").write_text(PAY + f"LIMIT = {number}\n")
        (origin / "notes.md").write_text(NOTE * (number + 1))
        git(origin, "add", "-A")
        git(origin, "commit", "-qm", "change")
    git(origin, "config", "uploadpack.allowFilter", "true")
    folder = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{origin}", str(folder))
    contact = tmp_path / "contact"
    recorder = tmp_path / "recorder"
    recorder.write_text(f"#!/bin/sh\necho asked >> '{contact}'\nexec git-upload-pack \"$@\"\n")
    recorder.chmod(0o755)
    git(folder, "config", "remote.origin.uploadpack", str(recorder))
    return folder, contact


def renames_known(done):
    (code,) = json.loads(done.stdout)["code"]
    with Ragmem.open() as memory:
        return {(one.old, one.new) for one in memory.catalog.code.renames(code["project"])}


def test_such_a_clone_does_lack_what_a_comparison_of_contents_needs(clone):
    folder, contact = clone
    git(folder, "log", "-M", "--name-status", "--format=%H")

    assert contact.exists()


@pytest.mark.parametrize("offline", [["--offline"], []], ids=["offline", "online"])
def test_ingesting_code_asks_no_remote_and_finds_the_rename_that_needs_no_contents(clone, ragmem, offline):
    folder, contact = clone
    done = ragmem(*offline, "ingest", "--code", str(folder), "--json")

    assert done.returncode == 0, done.stderr
    assert not contact.exists()
    assert renames_known(done) == {("cart.py", "basket.py")}


@pytest.mark.parametrize("offline", [["--offline"], []], ids=["offline", "online"])
def test_ingesting_files_and_folders_asks_no_remote(clone, ragmem, offline):
    folder, contact = clone
    for path in (folder / "notes.md", folder):
        done = ragmem(*offline, "ingest", str(path))
        assert done.returncode == 0, done.stderr

    assert not contact.exists()


def test_a_clone_without_trees_is_read_too(clone, ragmem, tmp_path):
    origin = tmp_path / "origin"
    folder = Path(tmp_path, "treeless")
    git(tmp_path, "clone", "-q", "--filter=tree:0", f"file://{origin}", str(folder))
    git(folder, "config", "remote.origin.uploadpack", str(tmp_path / "recorder"))
    for asked in (["--code", str(folder)], [str(folder)]):
        done = ragmem("--offline", "ingest", *asked)
        assert done.returncode == 0, done.stderr

    assert not (tmp_path / "contact").exists()
