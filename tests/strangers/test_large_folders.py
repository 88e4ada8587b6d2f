"""A large folder is counted first, and read only after somebody has agreed."""

from pathlib import Path

from ragmem.services.ingestion import folder_survey


def test_a_large_folder_is_refused_where_nobody_can_be_asked(large, ragmem):
    done = ragmem("ingest", str(large))

    assert done.returncode == 2
    assert "201 files" in done.stderr
    assert "--dry-run" in done.stderr
    assert done.stdout == ""


def test_a_large_folder_is_read_with_yes(large, ragmem):
    done = ragmem("ingest", "--yes", str(large))

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == folder_survey.MANY_FILES + 1


def test_a_few_large_files_are_asked_about_too(ragmem):
    folder = Path.home() / "archive"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.md").write_text("x" * 7_000_000)

    assert ragmem("ingest", str(folder)).returncode == 2


def test_counting_ends_at_its_limit(ragmem):
    done = ragmem("ingest", "/")

    assert done.returncode == 2
    assert "more than" in done.stderr


def test_a_folder_that_seed_reads_is_pointed_out(ragmem):
    skill = Path.home() / ".claude" / "skills" / "deploy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("# Deploy\n\nPush the tag last, because the pipeline waits for it.\n")
    for folder in (Path.home() / ".claude", skill.parent, skill):
        done = ragmem("ingest", str(folder))
        assert done.returncode == 0
        assert "-s skills" in done.stderr


def test_a_folder_of_which_seed_reads_no_file_is_not_pointed_out(ragmem):
    tool = Path.home() / "repos" / "tool"
    tool.mkdir(parents=True)
    (tool / "guide.md").write_text("# Guide\n\nPush the tag last, because the pipeline waits for it.\n")
    # The glob ~/repos/*/CLAUDE.md begins in this folder, and finds nothing.
    done = ragmem("ingest", str(tool.parent))
    assert (done.returncode, done.stderr) == (0, "")
    (tool / "CLAUDE.md").write_text("Never push to main, because it deploys.\n")
    assert "-s claudemds" in ragmem("ingest", str(tool.parent)).stderr
