"""Files that git tracks are dated by their last commit; anything in doubt has its time of modification."""

import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from hostile_repositories import git, repository

from ragmem.readers import commit_dates
from ragmem.readers.commit_dates import FEW, CommitDates

NOW = datetime(2026, 5, 1, tzinfo=UTC)
FIRST, SECOND, THIRD = (datetime(year, 3, 1, 12, tzinfo=UTC) for year in (2023, 2024, 2025))


@pytest.fixture
def commit(monkeypatch):
    """Return what commits all changes of a folder at a moment."""

    def at(folder, moment, committed=None):
        monkeypatch.setenv("GIT_AUTHOR_DATE", moment.isoformat())
        monkeypatch.setenv("GIT_COMMITTER_DATE", (committed or moment).isoformat())
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "change")

    return at


@pytest.fixture
def folder(tmp_path, commit, monkeypatch):
    """Return a repository: a.md of the first commit, b.md changed by the second, and one file in a folder."""
    monkeypatch.setenv("GIT_AUTHOR_DATE", FIRST.isoformat())
    monkeypatch.setenv("GIT_COMMITTER_DATE", FIRST.isoformat())
    made = repository(tmp_path / "work", {"a.md": "a\n", "b.md": "b\n", "deep/c.md": "c\n"})
    (made / "b.md").write_text("b\nmore\n")
    commit(made, SECOND)
    return made


def dated(*paths, dates=None):
    dates = dates or CommitDates()
    return [dates.last_change(path, modified=NOW) for path in paths]


def many(folder):
    """Return dates that are beyond the files that are asked for one by one."""
    dates = CommitDates()
    dated(*[folder / "a.md"] * FEW, dates=dates)
    return dates


@pytest.mark.parametrize("way", [lambda _: CommitDates(), many], ids=["one by one", "by a walk"])
class TestEitherWay:
    def test_a_file_has_the_date_of_the_last_commit_that_touched_it(self, folder, way):
        found = dated(folder / "a.md", folder / "b.md", folder / "deep" / "c.md", dates=way(folder))
        assert found == [FIRST, SECOND, FIRST]

    def test_the_authors_date_counts(self, folder, commit, way):
        (folder / "a.md").write_text("rebased\n")
        commit(folder, FIRST, committed=NOW)
        assert dated(folder / "a.md", dates=way(folder)) == [FIRST]

    def test_a_file_that_has_changed_since_or_that_no_commit_has_is_as_new_as_it_is(self, folder, way):
        dates = way(folder)
        (folder / "b.md").write_text("b\nmore\nand more\n")
        (folder / "new.md").write_text("new\n")
        (folder / "staged.md").write_text("staged\n")
        git(folder, "add", "staged.md")
        paths = [folder / name for name in ("b.md", "new.md", "staged.md", "gone.md")]
        assert dated(*paths, dates=dates) == [NOW] * 4

    def test_other_line_ends_are_no_change(self, folder, way):
        dates = way(folder)
        (folder / "b.md").write_bytes(b"b\r\nmore\r\n")
        assert dated(folder / "b.md", dates=dates) == [SECOND]

    def test_a_touched_file_keeps_its_date(self, folder, way):
        dates = way(folder)
        os.utime(folder / "b.md")
        assert dated(folder / "b.md", dates=dates) == [SECOND]

    def test_names_that_git_would_read_as_patterns_or_quote_are_names(self, folder, commit, way):
        names = [
            "*.md",
            ":(glob)x.md",
            'quo"te.md',
            "tab\there.md",
            "new\nline.md",
            "ünï.md",
            "-x.md",
            "a b.md",
        ]
        for name in names:
            (folder / name).write_text(name)
        moment = SECOND + timedelta(days=1)
        commit(folder, moment)
        (folder / "a.md").write_text("newer\n")
        commit(folder, moment + timedelta(days=1))
        assert dated(*(folder / name for name in names), dates=way(folder)) == [moment] * len(names)

    def test_a_worktree_and_a_submodule_have_histories_of_their_own(self, folder, commit, tmp_path, way):
        tree = tmp_path / "tree"
        git(folder, "worktree", "add", "-q", "-b", "side", str(tree), "HEAD~1")
        assert dated(tree / "b.md", dates=way(tree)) == [FIRST]
        outer = repository(tmp_path / "outer", {"o.md": "o\n"})
        git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(folder), "inner")
        assert dated(outer / "inner" / "b.md", dates=way(outer / "inner")) == [SECOND]

    def test_a_link_has_the_date_of_what_it_leads_to(self, folder, tmp_path, way):
        link = tmp_path / "linked.md"
        link.symlink_to(folder / "b.md")
        assert dated(link, dates=way(folder)) == [SECOND]

    def test_a_repository_with_longer_names_of_commits(self, tmp_path, commit, way):
        made = tmp_path / "sha256"
        made.mkdir()
        git(made, "init", "-q", "--object-format=sha256")
        for name in "ab":
            (made / f"{name}.md").write_text(name)
        commit(made, FIRST)
        assert dated(made / "b.md", dates=way(made)) == [FIRST]

    def test_a_shallow_clone_tells_that_a_file_is_no_newer_than_where_it_was_cut(self, folder, tmp_path, way):
        clone = tmp_path / "shallow"
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{folder}", str(clone))
        assert dated(clone / "a.md", dates=way(clone)) == [SECOND]
        older = FIRST - timedelta(days=9)
        assert way(clone).last_change(clone / "a.md", modified=older) == older

    def test_a_clone_without_trees_asks_nobody_and_a_broken_one_tells_nothing(self, folder, tmp_path, way):
        git(folder, "config", "uploadpack.allowFilter", "true")
        clone, contact = tmp_path / "treeless", tmp_path / "contact"
        git(tmp_path, "clone", "-q", "--filter=tree:0", f"file://{folder}", str(clone))
        recorder = tmp_path / "recorder"
        recorder.write_text(f"#!/bin/sh\necho asked >> '{contact}'\nexec git-upload-pack \"$@\"\n")
        recorder.chmod(0o755)
        git(clone, "config", "remote.origin.uploadpack", str(recorder))
        assert dated(clone / "a.md", dates=way(clone)) == [NOW]
        assert not contact.exists()

    def test_dates_that_cannot_be_are_none(self, folder, commit, way):
        for name, moment in (
            ("a.md", datetime(1975, 1, 1, tzinfo=UTC)),
            ("b.md", datetime(2090, 1, 1, tzinfo=UTC)),
        ):
            (folder / name).write_text("clock\n")
            commit(folder, moment, committed=NOW)
        assert dated(folder / "a.md", folder / "b.md", dates=way(folder)) == [NOW, NOW]


def test_a_clone_whose_files_are_all_new_has_the_dates_of_its_commits(folder, tmp_path):
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(folder), str(clone))
    assert dated(clone / "a.md", clone / "b.md", clone / "deep" / "c.md") == [FIRST, SECOND, FIRST]


def test_a_folder_without_git_an_empty_or_a_broken_repository_tell_nothing(tmp_path, folder):
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.md").write_text("a")
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    (empty / "a.md").write_text("a")
    shutil.rmtree(folder / ".git" / "objects")
    assert dated(plain / "a.md", empty / "a.md", folder / "a.md") == [NOW] * 3


def test_files_beyond_the_walk_are_as_old_as_its_last_commit_at_least(folder, commit, monkeypatch):
    for number in range(3):
        (folder / "b.md").write_text(f"{number}\n")
        commit(folder, SECOND + timedelta(days=number))
    monkeypatch.setattr(commit_dates, "MOST_COMMITS", 2)
    dates = many(folder)
    assert dated(folder / "b.md", folder / "a.md", dates=dates) == [
        SECOND + timedelta(days=2),
        SECOND + timedelta(days=1),
    ]


def test_without_time_left_files_have_their_time_of_modification(folder):
    dates = CommitDates(seconds=0)
    assert dated(folder / "a.md", folder / "b.md", dates=dates) == [NOW, NOW]


@pytest.mark.parametrize("way", [lambda _: CommitDates(), many], ids=["one by one", "by a walk"])
def test_a_file_that_only_a_merge_brought_has_the_date_of_the_merge(folder, monkeypatch, way):
    monkeypatch.setenv("GIT_AUTHOR_DATE", SECOND.isoformat())
    git(folder, "switch", "-q", "-c", "side")
    (folder / "own.md").write_text("own\n")
    git(folder, "add", "own.md")
    git(folder, "commit", "-qm", "side")
    git(folder, "switch", "-q", "-")
    git(folder, "merge", "-q", "--no-ff", "--no-commit", "side")
    (folder / "merged.md").write_text("what a subtree brings stands in no other commit\n")
    git(folder, "add", "merged.md")
    monkeypatch.setenv("GIT_AUTHOR_DATE", THIRD.isoformat())
    git(folder, "commit", "-qm", "merge")
    assert dated(folder / "merged.md", folder / "own.md", dates=way(folder)) == [THIRD, SECOND]


def test_a_merge_keeps_the_dates_of_what_it_merged(folder, commit, monkeypatch):
    git(folder, "checkout", "-q", "-b", "side", "HEAD~1")
    (folder / "a.md").write_text("on the side\n")
    commit(folder, SECOND + timedelta(days=3))
    git(folder, "checkout", "-q", "main")
    monkeypatch.setenv("GIT_AUTHOR_DATE", NOW.isoformat())
    git(folder, "merge", "-q", "--no-ff", "-m", "merge", "side")
    for dates in (CommitDates(), many(folder)):
        assert dated(folder / "a.md", folder / "b.md", dates=dates) == [SECOND + timedelta(days=3), SECOND]
