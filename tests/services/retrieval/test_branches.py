"""What was made on an unmerged branch is marked and stands behind the rest, unless all branches count."""

import json
import os
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ragmem.domain.model import Draft, Scope
from ragmem.mcp.dispatch import call
from ragmem.readers.git_head import head_at, outside
from ragmem.server.v1.questions import Question as Asked
from ragmem.server.v1.questions import ask
from ragmem.services.context.context import context
from ragmem.services.retrieval.question import Question

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PROJECT = "p-quay"
TEXT = "The berths of the quay are allocated {} because the harbour master wants it so."
ASKED = "how are the berths of the quay allocated"
ENVIRON = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def git(folder, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, env=ENVIRON, capture_output=True)
    return done.stdout.decode().strip()


def commit(folder, name):
    (folder / name).write_text(name)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", name)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path):
    """Return a folder on main; `merged` is merged into it, `open` is not, and had a commit before main's."""
    folder = tmp_path / "quay"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    first = commit(folder, "one")
    git(folder, "checkout", "-qb", "merged")
    commit(folder, "two")
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "merged")
    git(folder, "checkout", "-qb", "open")
    last = commit(folder, "three")
    git(folder, "checkout", "-q", "main")
    return folder, first, last


def stored(memory, name, way, **metadata):
    draft = Draft("memory", f"/n/{name}", TEXT.format(way), name, NOW, Scope(PROJECT), metadata=metadata)
    [one] = memory.ingest([draft])
    return one.id


@pytest.fixture
def place(repository, open_memory):
    """Return a memory of the repository's project, and the ids of what was made on its branches."""
    folder, first, last = repository
    memory = open_memory()
    memory.catalog.prepare()
    memory.catalog.projects.remember(PROJECT, name="quay", root=str(folder))
    ids = {
        "open": stored(memory, "open", "by their length, longest first", branch="open", commits=last[:9]),
        "main": stored(memory, "main", "by the time of arrival", branch="main"),
        "merged": stored(memory, "merged", "by draught, deepest first", branch="merged"),
        "before": stored(memory, "before", "by hand, on paper", branch="open", commits=first[:9]),
        "gone": stored(memory, "gone", "by lot, at noon", branch="deleted-long-ago"),
    }
    # Git answers in the background: the first question may come too early.
    assert outside(head_at(folder), within_s=10) is not None
    return memory, folder, ids


def marked(answer):
    return {match.memory.title: match.unmerged for match in answer.matches if match.unmerged}


def test_only_what_is_in_no_commit_of_the_head_is_marked_and_stands_last(place):
    memory, folder, _ = place
    answer = memory.retrieval.ask(Question(ASKED, folder=str(folder / "nowhere")))
    assert marked(answer) == {"open": "open"}
    assert answer.matches[-1].memory.title == "open"
    assert len(answer.matches) == 5
    block = context(answer, redactor=memory.redactor).text
    assert block.count("made on branch open, not merged") == 1
    alike = memory.retrieval.ask(Question(ASKED))
    assert not marked(alike)
    assert {match.memory.id for match in alike.matches} == {match.memory.id for match in answer.matches}


def test_what_is_merged_since_is_marked_no_more(place):
    memory, folder, _ = place
    git(folder, "merge", "-q", "open")
    assert outside(head_at(folder), within_s=10) is not None
    assert not marked(memory.retrieval.ask(Question(ASKED, folder=str(folder))))


def test_on_its_own_branch_or_in_another_project_nothing_is_marked(place, tmp_path):
    memory, folder, _ = place
    tree = tmp_path / "tree"
    git(folder, "worktree", "add", "-q", str(tree), "open")
    assert head_at(tree).branch == "open"
    assert not marked(memory.retrieval.ask(Question(ASKED, folder=str(tree))))
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    assert not marked(memory.retrieval.ask(Question(ASKED, folder=str(other))))


def test_the_command_line_marks_it_and_all_branches_does_not(place, ragmem, monkeypatch):
    memory, folder, _ = place
    home = {"RAGMEM_HOME": str(memory.settings.places.data.parent)}
    memory.close()
    monkeypatch.chdir(folder)
    for _ in range(5):
        plain = ragmem("query", ASKED, "--all", **home)
        if "not merged" in plain.stdout:  # git may be late on a busy machine
            break
        time.sleep(0.1)
    assert plain.stdout.count("made on branch open, not merged") == 1
    shown = json.loads(ragmem("query", ASKED, "--all", "--all-branches", "--json", **home).stdout)
    assert {match["unmerged_branch"] for match in shown["matches"]} == {""}
    assert Path.cwd() == folder


def test_the_tool_search_marks_it_and_all_branches_does_not(place):
    memory, folder, _ = place
    found = call(memory, "search", {"query": ASKED}, cwd=folder)
    assert found.text.count("made on branch open, not merged") == 1
    alike = call(memory, "search", {"query": ASKED, "all_branches": True}, cwd=folder)
    assert "not merged" not in alike.text


def test_over_http_only_a_folder_of_a_known_project_is_looked_into(place, tmp_path):
    memory, folder, _ = place

    def marks(**more):
        matches = ask(memory, Asked(query=ASKED, **more))["matches"]
        return [match["unmerged_branch"] for match in matches if match["unmerged_branch"]]

    assert marks(cwd=str(folder)) == ["open"]
    assert marks(cwd=str(folder), all_branches=True) == []
    assert marks(cwd=str(tmp_path)) == marks() == []
