"""What `ragmem doctor` tells of projects: two that are one, and memories of none."""

import json
import os
import subprocess
from pathlib import Path

WHO = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org", "-c", "init.defaultBranch=main")


def git(folder, *arguments):
    environ = {"PATH": os.environ["PATH"], "HOME": str(Path.home()), "GIT_ALLOW_PROTOCOL": "file"}
    subprocess.run(["git", *WHO, *arguments], cwd=folder, check=True, capture_output=True, env=environ)


def checks(ragmem):
    every = json.loads(ragmem("doctor", "--json").stdout)["checks"]
    return [check for check in every if check["name"] == "projects"]


def test_two_projects_of_one_first_commit_are_told_until_a_person_joins_or_splits_them(ragmem, monkeypatch):
    one, other = Path.home() / "kiln", Path.home() / "oven"
    one.mkdir()
    git(one, "init", "-q")
    (one / "a.txt").write_text("a")
    git(one, "add", "a.txt")
    git(one, "commit", "-q", "-m", "begin")
    # A shallow clone has no first commit that can be read, and founds a project; later it is whole.
    git(Path.home(), "clone", "-q", "--depth", "1", f"file://{one}", str(other))
    for folder in (other, one):
        monkeypatch.chdir(folder)
        assert ragmem("ingest", "-", stdin=f"The {folder.name} is lit at nine.").returncode == 0
    git(other, "fetch", "-q", "--unshallow")
    (other / "b.txt").write_text("b")
    git(other, "add", "b.txt")
    git(other, "commit", "-q", "-m", "more")
    monkeypatch.chdir(other)
    assert ragmem("ingest", "-", stdin="The oven is hot at ten.").returncode == 0

    [twins] = checks(ragmem)
    assert twins["status"] == "warning"
    assert twins["fix"].startswith("ragmem projects join ")
    assert ragmem(*twins["fix"].split()[1:]).returncode == 0
    assert [check["status"] for check in checks(ragmem)] == ["ok"]

    former = twins["fix"].split()[3]
    assert ragmem("projects", "split", twins["fix"].split()[4], former).returncode == 0
    assert [check["status"] for check in checks(ragmem)] == ["ok"]


def test_memories_of_no_project_are_counted(ragmem):
    stored = ragmem("ingest", "-", stdin="The quay closes at nine because of the tide.")
    identifier = stored.stdout.split()[0]
    assert ragmem("projects", "assign", identifier, "--to", "unassigned").returncode == 0
    [check] = checks(ragmem)
    assert "1 memory belongs to none (unassigned)" in check["detail"]
