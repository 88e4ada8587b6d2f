"""Sources are read file by file, and nothing that lies in a home stops them."""

import os
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from source_files import read_all

from ragmem.config.loader import load
from ragmem.config.settings import ReaderName, Settings, SourceSpec
from ragmem.readers.commit_dates import CommitDates
from ragmem.readers.read_result import ReadResult
from ragmem.readers.scope import ProjectFinder
from ragmem.services.ingestion.source import find_files, read_file


@pytest.fixture
def configuration(tmp_path: Path) -> Settings:
    return load(environ={"RAGMEM_SEED_MAX_FILE_MB": "0.01"}, home=tmp_path)


def notes(tmp_path: Path, reader: ReaderName = "markdown") -> SourceSpec:
    return SourceSpec("notes", ("~/notes/*",), base=tmp_path, reader=reader)


def test_every_reader_that_a_source_may_name_exists() -> None:
    # Transcripts, checkpoints and documents have readers of their own.
    readers = set(get_args(ReaderName)) - {"transcripts", "documents", "checkpoints"}
    assert all(callable(import_module(f"ragmem.readers.{name}").read) for name in readers)
    assert readers >= {"markdown", "reflections"}


def test_a_bad_file_stays_with_itself(tmp_path: Path, configuration: Settings) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("fine")
    (folder / "b.md").write_bytes(b"\0")
    (folder / "c.md").write_text("")
    (folder / "d.md").write_text("x" * 20_000)
    (folder / "e.md").write_text("---\nname: a: b\n---\nfine")
    (folder / "f.md").symlink_to(folder / "gone")
    readings = list(read_all(notes(tmp_path), home=tmp_path, settings=configuration))
    assert [reading.path.name for reading in readings] == ["a.md", "b.md", "c.md", "d.md", "e.md"]
    assert [bool(reading.error) for reading in readings] == [False, True, True, True, False]
    assert [len(reading.drafts) for reading in readings] == [1, 0, 0, 0, 1]
    assert len(readings[4].warnings) == 1
    (skipped,) = find_files(notes(tmp_path), home=tmp_path, settings=configuration).skipped
    assert (skipped.path.name, skipped.reason) == ("f.md", "a broken link")


def test_a_file_that_vanishes_while_reading_is_an_error_of_its_own(
    tmp_path: Path, configuration: Settings
) -> None:
    (tmp_path / "notes").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / "notes" / name).write_text("text")
    readings = read_all(notes(tmp_path), home=tmp_path, settings=configuration)
    assert next(readings).error is None
    (tmp_path / "notes/b.md").unlink()
    assert "there is no such file" in str(next(readings).error)


def test_an_unchanged_file_is_not_opened(tmp_path: Path, configuration: Settings) -> None:
    (tmp_path / "notes").mkdir()
    path = tmp_path / "notes/a.md"
    path.write_bytes(b"\0 would be an error")
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    asked: list[tuple[Path, int, int]] = []

    def unchanged(*facts: object) -> bool:
        asked.append(facts)  # type: ignore[arg-type]
        return True

    found = list(read_all(notes(tmp_path), home=tmp_path, settings=configuration, unchanged=unchanged))
    assert found == [ReadResult(path, size=19, modified_ns=1_700_000_000_123_456_789, unchanged=True)]
    assert asked == [(path, 19, 1_700_000_000_123_456_789)]


def test_the_time_of_modification_is_the_last_resort(tmp_path: Path, configuration: Settings) -> None:
    (tmp_path / "notes").mkdir()
    path = tmp_path / "notes/a.md"
    path.write_text("text")
    os.utime(path, (0, 1_700_000_000))
    (reading,) = read_all(notes(tmp_path), home=tmp_path, settings=configuration)
    assert reading.drafts[0].event_time == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_a_file_of_reflections_without_one_good_line_is_an_error(
    tmp_path: Path, configuration: Settings
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/r.jsonl").write_text("{\n[]\n")
    (reading,) = read_all(notes(tmp_path, "reflections"), home=tmp_path, settings=configuration)
    assert "line 1: not valid JSON" in str(reading.error)
    assert len(reading.warnings) == 2


def test_a_project_tags_and_excludes_its_own_files_only(tmp_path: Path) -> None:
    for name in ("tideline", "gullwing"):
        (tmp_path / "repos" / name / ".git").mkdir(parents=True)
        (tmp_path / "repos" / name / "CLAUDE.md").write_text("---\ntags: [web]\n---\nbody")
        (tmp_path / "repos" / name / "NOTES.md").write_text("body")
    project = tmp_path / "repos/tideline"
    (project / ".ragmem.toml").write_text('tags = ["Sea", "web"]\nexclude = ["NOTES.md"]\n')
    found = load(environ={}, home=tmp_path, cwd=project)
    spec = SourceSpec("all", ("~/repos/*/*.md",), base=tmp_path, scope="project")
    readings = {
        str(reading.path.relative_to(tmp_path / "repos")): reading.drafts[0].tags
        for reading in read_all(spec, home=tmp_path, settings=found)
    }
    assert readings == {
        "gullwing/CLAUDE.md": ("web",),
        "gullwing/NOTES.md": (),
        "tideline/CLAUDE.md": ("web", "sea"),
    }


def test_one_file_can_be_read_outside_of_its_source(tmp_path: Path, configuration: Settings) -> None:
    path = tmp_path / "2026-03-15.md"
    path.write_text("# Decision\n")
    reading = read_file(path, notes(tmp_path), settings=configuration, projects=ProjectFinder(tmp_path))
    assert reading.drafts[0].title == "Decision"
    gone = read_file(
        tmp_path / "gone", notes(tmp_path), settings=configuration, projects=ProjectFinder(tmp_path)
    )
    assert gone.error is not None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=120), reader=st.sampled_from(["markdown", "reflections"]), block=st.booleans())
def test_no_bytes_stop_a_source(
    tmp_path: Path, configuration: Settings, raw: bytes, reader: ReaderName, *, block: bool
) -> None:
    (tmp_path / "notes").mkdir(exist_ok=True)
    (tmp_path / "notes/x").write_bytes(b"---\n" + raw + b"\n---\nbody" if block else raw)
    (reading,) = read_all(notes(tmp_path, reader), home=tmp_path, settings=configuration)
    assert bool(reading.drafts) != bool(reading.error)


class CountedDates(CommitDates):
    """Dates of commits that note for which files they were asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def last_change(self, path: Path, *, modified: datetime) -> datetime:
        self.asked.append(path.name)
        return super().last_change(path, modified=modified)


def test_git_is_asked_for_a_date_only_once_and_only_where_a_file_tells_none(
    tmp_path: Path, configuration: Settings
) -> None:
    (tmp_path / "notes").mkdir()
    texts = {
        "2025-05-17.md": "named",
        "a.md": "---\ndate: 2025-05-17\n---\ntold",
        "b.md": "Date: 2025-05-17\n",
        "c.md": "# Review of 17 May 2025\n",
        "d.md": "silent",
    }
    for name, text in texts.items():
        (tmp_path / "notes" / name).write_text(text)
    lines = "".join(f'{{"task": "{number}"}}\n' for number in range(3))
    (tmp_path / "notes" / "e.jsonl").write_text(lines)
    dates, projects = CountedDates(), ProjectFinder(tmp_path)
    for path in sorted((tmp_path / "notes").iterdir()):
        spec = notes(tmp_path, "reflections" if path.suffix == ".jsonl" else "markdown")
        reading = read_file(path, spec, settings=configuration, projects=projects, commits=dates)
        assert reading.error is None
    assert dates.asked == ["d.md", "e.jsonl"]
