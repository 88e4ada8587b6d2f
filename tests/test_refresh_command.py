"""`ragmem refresh` as a person, a hook and CI run it: what it prints, writes, and ends with."""

import json
import subprocess

import pytest

from ragmem.readers.slugs import slug_of

DECISIONS = {
    "tide": "the tide table is computed once a night, because the model of the harbour takes eleven minutes",
    "crane": "cranes stop at wind force nine, since their brakes slip when it rains and nobody sees it",
}
MEMORY = """---
name: {name}
type: project
date: 2026-05-0{day}
---

## Decision

Status: accepted. We decided that {decision}.
"""


@pytest.fixture
def project(tmp_path, ragmem):
    """A project with two seeded memory files; run `ragmem` in it with `.run`, its memory file is `.file`."""

    class Project:
        root = tmp_path / "home/quay"
        folder = tmp_path / "home/.claude/projects" / slug_of(tmp_path / "home/quay")
        file = folder / "memory/MEMORY.md"

        def run(self, *arguments, **environ):
            where = {"HOME": str(tmp_path / "home"), "RAGMEM_HOME": str(tmp_path / "ragmem")}
            return ragmem(*arguments, **where, PWD=str(self.root), **environ)

    made = Project()
    made.file.parent.mkdir(parents=True)
    made.root.mkdir()
    subprocess.run(["git", "init", "-q", str(made.root)], check=True)
    for day, (name, decision) in enumerate(DECISIONS.items(), 1):
        (made.file.parent / f"{name}.md").write_text(MEMORY.format(name=name, day=day, decision=decision))
    assert made.run("seed").returncode == 0
    return made


def test_it_writes_says_what_and_then_has_nothing_to_do(project):
    at = ("--project", str(project.root))
    checked = project.run("refresh", *at, "--check")
    assert (checked.returncode, checked.stdout) == (1, "")
    assert "not up to date" in checked.stderr
    shown = project.run("refresh", *at, "--dry-run")
    assert (shown.returncode, project.file.exists()) == (0, False)
    assert shown.stdout.startswith("--- /dev/null\n")
    assert "+## Decisions" in shown.stdout
    written = project.run("refresh", *at)
    assert (written.returncode, written.stdout) == (0, "")
    assert "wrote 2 memories of 2 proven" in written.stderr
    assert "2026-05-01 " in project.file.read_text()
    quiet = project.run("refresh", *at, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    assert project.run("refresh", *at, "--check").returncode == 0


def test_its_json_names_the_file_and_each_line(project):
    document = json.loads(project.run("refresh", "--project", str(project.root), "--json").stdout)
    assert document["path"] == str(project.file)
    assert (document["changed"], document["written"], document["memories"]) == (True, True, 2)
    [group] = document["groups"]
    assert (group["title"], [line["at"][:10] for line in group["lines"]]) == (
        "Decisions",
        ["2026-05-02", "2026-05-01"],
    )


def test_another_file_is_written_only_when_it_is_named(project):
    agents = project.root / "AGENTS.md"
    project.run("refresh", "--project", str(project.root))
    assert sorted(one.name for one in project.root.iterdir()) == [".git"]
    agents.write_text("# Rules\n")
    done = project.run("refresh", "--project", str(project.root), "--file", str(agents))
    assert done.returncode == 0
    assert agents.read_text().startswith("# Rules\n\n<!-- BEGIN ragmem")


def test_what_cannot_be_done_is_said(project, tmp_path):
    at = ("--project", str(project.root))
    broken = tmp_path / "broken.md"
    broken.write_text("<!-- END ragmem -->\n")
    refused = project.run("refresh", *at, "--file", str(broken))
    assert refused.returncode == 2
    assert "line 1: an END ragmem without its BEGIN" in refused.stderr
    both = project.run("refresh", *at, "--check", "--dry-run")
    assert both.returncode == 2
    project.file.parent.rename(tmp_path / "gone")
    project.folder.rmdir()
    unknown = project.run("refresh", *at)
    assert unknown.returncode == 2
    assert "Claude Code has no folder for" in unknown.stderr
    assert "--file" in unknown.stderr


def test_the_folder_of_claude_code_may_be_elsewhere(project, tmp_path):
    place = tmp_path / "claude/projects" / slug_of(project.root)
    place.mkdir(parents=True)
    done = project.run("refresh", "--project", str(project.root), CLAUDE_CONFIG_DIR=str(tmp_path / "claude"))
    assert done.returncode == 0
    assert (place / "memory/MEMORY.md").is_file()
    assert not project.file.exists()
