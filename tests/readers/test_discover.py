"""Globs become files."""

import os
from pathlib import Path

import pytest

from ragmem.config.loader import load
from ragmem.config.settings import SourceSpec
from ragmem.errors import ConfigError
from ragmem.readers.discover import Discovery, discover


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")


def find(home: Path, *globs: str, exclude: tuple[str, ...] = (), own: tuple[str, ...] = ()) -> Discovery:
    spec = SourceSpec("notes", globs, base=home / "base", exclude=own)
    return discover(spec, home=home, exclude=exclude, beyond=home)


def names(found: Discovery, home: Path) -> list[str]:
    return [str(path.relative_to(home)) for path in found.files]


def test_what_an_editor_of_notes_keeps_of_former_and_deleted_pages_is_left_out(tmp_path: Path) -> None:
    former = ("logseq/bak/pages/ferry/2026.md", "logseq/version-files/base/ferry.md", "logseq/.recycle/x.md")
    for name in ("pages/ferry.md", "logseq.md", ".trash/ferry.md", ".obsidian/ferry.md", *former):
        touch(tmp_path / "graph" / name)
    shipped = load(environ={}, home=tmp_path).exclude
    found = find(tmp_path, "~/graph/**/*.md", exclude=shipped)
    assert names(found, tmp_path) == ["graph/logseq.md", "graph/pages/ferry.md"]


def test_a_tilde_means_the_given_home(tmp_path: Path) -> None:
    touch(tmp_path / ".claude/skills/b/SKILL.md", tmp_path / ".claude/skills/a/SKILL.md")
    found = find(tmp_path, "~/.claude/skills/*/SKILL.md")
    assert names(found, tmp_path) == [".claude/skills/a/SKILL.md", ".claude/skills/b/SKILL.md"]


def test_a_relative_glob_starts_at_its_file(tmp_path: Path) -> None:
    touch(tmp_path / "base/x.md", tmp_path / "other/y.md")
    assert names(find(tmp_path, "*.md", "../other/*.md"), tmp_path) == ["base/x.md", "other/y.md"]


def test_two_stars_match_no_folder_and_many(tmp_path: Path) -> None:
    touch(tmp_path / "s/a.md", tmp_path / "s/1/b.md", tmp_path / "s/1/2/c.md", tmp_path / "s/1/2/c.txt")
    assert names(find(tmp_path, "~/s/**/*.md"), tmp_path) == ["s/1/2/c.md", "s/1/b.md", "s/a.md"]
    assert names(find(tmp_path, "~/s/**/2/**/*.md"), tmp_path) == ["s/1/2/c.md"]
    assert len(find(tmp_path, "~/**/**/*.md").files) == 3


def test_wildcards_skip_hidden_names_unless_the_dot_is_written(tmp_path: Path) -> None:
    touch(tmp_path / "s/.hidden/a.md", tmp_path / "s/.b.md", tmp_path / "s/c.md")
    assert names(find(tmp_path, "~/s/**/*.md"), tmp_path) == ["s/c.md"]
    assert names(find(tmp_path, "~/s/.*/*.md"), tmp_path) == ["s/.hidden/a.md"]


def test_names_with_blanks_quotes_and_other_scripts_are_found(tmp_path: Path) -> None:
    odd = ["a b.md", "it's.md", 'q".md', "über.md", "日本.md", "[x].md", "-n.md", "a\nb.md"]
    touch(*(tmp_path / "s" / name for name in odd))
    assert {path.name for path in find(tmp_path, "~/s/*.md").files} == set(odd)
    assert names(find(tmp_path, "~/s/[[]x].md"), tmp_path) == ["s/[x].md"]


def test_a_glob_that_matches_nothing_is_an_empty_discovery(tmp_path: Path) -> None:
    assert find(tmp_path, "~/nothing/*.md", "~/nothing.md") == Discovery()


def test_a_file_in_the_place_of_a_folder_matches_nothing(tmp_path: Path) -> None:
    touch(tmp_path / "s")
    assert find(tmp_path, "~/s/*/x.md", "~/s/x.md") == Discovery()


def test_a_file_that_two_globs_name_is_taken_once(tmp_path: Path) -> None:
    touch(tmp_path / "s/a.md")
    assert names(find(tmp_path, "~/s/*.md", "~/s/a.md", "~/**/a.md"), tmp_path) == ["s/a.md"]


def test_a_linked_file_is_taken_once_under_its_own_name(tmp_path: Path) -> None:
    touch(tmp_path / "s/real.md")
    (tmp_path / "s/alias.md").symlink_to(tmp_path / "s/real.md")
    assert names(find(tmp_path, "~/s/*.md"), tmp_path) == ["s/real.md"]


def test_a_link_to_a_file_elsewhere_is_followed(tmp_path: Path) -> None:
    touch(tmp_path / "dotfiles/SKILL.md")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/deploy").symlink_to(tmp_path / "dotfiles", target_is_directory=True)
    assert names(find(tmp_path, "~/skills/*/SKILL.md"), tmp_path) == ["skills/deploy/SKILL.md"]


def test_a_link_in_a_circle_is_reported_and_not_followed(tmp_path: Path) -> None:
    touch(tmp_path / "s/deep/a.md")
    (tmp_path / "s/deep/up").symlink_to(tmp_path / "s", target_is_directory=True)
    (tmp_path / "s/self").symlink_to(tmp_path / "s/self")
    found = find(tmp_path, "~/s/**/*.md")
    assert names(found, tmp_path) == ["s/deep/a.md"]
    assert {(item.path.name, item.reason) for item in found.skipped} == {
        ("up", "a link that leads in a circle"),
        ("self", "a link that leads in a circle"),
    }


def test_a_folder_with_two_names_is_read_once_under_its_own(tmp_path: Path) -> None:
    touch(tmp_path / "s/zz/a.md")
    (tmp_path / "s/aa").symlink_to(tmp_path / "s/zz", target_is_directory=True)
    found = find(tmp_path, "~/s/**/*.md")
    assert names(found, tmp_path) == ["s/zz/a.md"]
    assert [item.reason for item in found.skipped] == ["a link to a folder that was read already"]


def test_two_links_into_each_other_end(tmp_path: Path) -> None:
    touch(tmp_path / "s/a/x.md", tmp_path / "s/b/y.md")
    (tmp_path / "s/a/to_b").symlink_to(tmp_path / "s/b", target_is_directory=True)
    (tmp_path / "s/b/to_a").symlink_to(tmp_path / "s/a", target_is_directory=True)
    assert names(find(tmp_path, "~/s/**/*.md"), tmp_path) == ["s/a/x.md", "s/b/y.md"]


def test_broken_links_folders_and_pipes_are_skipped_with_a_reason(tmp_path: Path) -> None:
    touch(tmp_path / "s/a.md")
    (tmp_path / "s/broken.md").symlink_to(tmp_path / "gone.md")
    (tmp_path / "s/folder.md").mkdir()
    os.mkfifo(tmp_path / "s/pipe.md")
    found = find(tmp_path, "~/s/*.md")
    assert names(found, tmp_path) == ["s/a.md"]
    assert {item.path.name: item.reason for item in found.skipped} == {
        "broken.md": "a broken link",
        "folder.md": "a folder; a glob that ends in /**/*.md finds the files in it",
        "pipe.md": "a pipe",
    }


def test_a_name_that_is_no_utf_8_is_reported(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    try:
        (Path(os.fsdecode(bytes(tmp_path / "s") + b"/\xff.md"))).write_text("text")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    found = find(tmp_path, "~/s/*.md")
    assert found.files == ()
    assert [item.reason for item in found.skipped] == ["its name is not UTF-8"]


@pytest.mark.parametrize("glob", ["~/s/*/*.md", "~/s/**/*"])
def test_a_folder_that_cannot_be_read_is_reported(tmp_path: Path, glob: str) -> None:
    touch(tmp_path / "s/closed/a.md", tmp_path / "s/open/b.md")
    (tmp_path / "s/closed").chmod(0)
    try:
        if os.access(tmp_path / "s/closed", os.R_OK):
            pytest.skip("this user may read everything")
        found = find(tmp_path, glob)
    finally:
        (tmp_path / "s/closed").chmod(0o700)
    assert names(found, tmp_path) == ["s/open/b.md"]
    assert [item.reason for item in found.skipped if item.path.name == "closed"] == ["permission denied"]


def test_exclusions_count_from_the_first_wildcard_and_are_not_reported(tmp_path: Path) -> None:
    touch(*(tmp_path / "s" / name for name in ("a.md", "draft-b.md", "old/c.md", "new/old/d.md", "new/e.md")))
    assert names(find(tmp_path, "~/s/**/*.md", exclude=("old/",), own=("draft-*",)), tmp_path) == [
        "s/a.md",
        "s/new/e.md",
    ]
    found = find(tmp_path, "~/s/**/*.md", exclude=("/old/",))
    assert names(found, tmp_path) == ["s/a.md", "s/draft-b.md", "s/new/e.md", "s/new/old/d.md"]
    assert found.skipped == ()


def test_a_later_pattern_takes_something_back(tmp_path: Path) -> None:
    touch(tmp_path / "s/a.md", tmp_path / "s/b.md")
    assert names(find(tmp_path, "~/s/*.md", exclude=("*.md",), own=("!b.md",)), tmp_path) == ["s/b.md"]


def test_an_exclusion_may_count_from_the_home(tmp_path: Path) -> None:
    touch(tmp_path / "repos/secret/CLAUDE.md", tmp_path / "repos/open/CLAUDE.md")
    found = find(tmp_path, "~/repos/*/CLAUDE.md", exclude=("~/repos/secret/",))
    assert names(found, tmp_path) == ["repos/open/CLAUDE.md"]


def test_a_projects_exclusions_reach_its_own_files_only(tmp_path: Path) -> None:
    touch(tmp_path / "repos/a/CLAUDE.md", tmp_path / "repos/b/CLAUDE.md")
    spec = SourceSpec("claudemds", ("~/repos/*/CLAUDE.md",), base=tmp_path)
    found = discover(spec, home=tmp_path, rooted={tmp_path / "repos/a": ("*", "/../b/")})
    assert names(found, tmp_path) == ["repos/b/CLAUDE.md"]


def test_an_exclusion_that_is_no_pattern_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='the exclusion "!" is not a pattern'):
        find(tmp_path, "~/s/*.md", exclude=("fine", "!"))
