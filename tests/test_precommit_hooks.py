"""The hooks for pre-commit and what docs/ci.md shows: it runs, passes and fails as it says."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from ragmem.config.expectations import COUNTED, read_expectations

ROOT = Path(__file__).resolve().parents[1]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}

# Of pre-commit's manifest, as its clientlib.py has them; an unknown one is only warned of there.
KEYS = set(
    "id name entry language alias files exclude types types_or exclude_types additional_dependencies args"
    " always_run fail_fast pass_filenames description language_version log_file minimum_pre_commit_version"
    " require_serial stages verbose".split()
)


@pytest.fixture
def hook(tmp_path, monkeypatch, ragmem):
    """Return a function that runs a hook in a repository, as pre-commit does: entry, args, names of files."""
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "--quiet", "--template=", "."], check=True)
    (tmp_path / "note.md").write_text("# Driver\n\nWe decided to pin the driver because version 3 leaks.\n")
    (tmp_path / "sources.toml").write_text('[sources.notes]\nglob = "note*.md"\nsignal = "off"\n')
    (tmp_path / "ragmem-expect.toml").write_text("[sources.notes]\nfiles = 1\nmemories = 1\n")

    def run(name, *more, files=()):
        program, *words = shlex.split(HOOKS[name]["entry"])
        assert program == "ragmem"
        passed = files if HOOKS[name].get("pass_filenames", True) else ()
        return ragmem(*words, *HOOKS[name]["args"], *more, *passed)

    return run


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_a_hook_says_what_pre_commit_needs(hook):
    assert {"id", "name", "entry", "language", "description", "args"} <= set(hook) <= KEYS
    assert hook["language"] == "python"
    assert set(hook.get("stages", [])) <= {"commit-msg", "pre-commit", "pre-push"}


def test_every_hook_runs_in_a_test_below():
    assert set(HOOKS) == {"ragmem-expect", "ragmem-check-message"}


def test_a_commit_that_seeds_what_is_expected_passes_and_another_fails(hook, tmp_path):
    more = ("--sources", "sources.toml")
    assert hook("ragmem-expect", *more, files=["note.md"]).returncode == 0
    (tmp_path / "note.md").rename(tmp_path / "renamed.md")
    failed = hook("ragmem-expect", *more)

    assert failed.returncode == 1
    assert "FAILED   notes: files: 0, expected 1  ragmem-expect.toml:2" in failed.stdout
    assert not (tmp_path / "ragmem").exists()


def test_a_commit_message_that_breaks_a_rule_fails(hook, tmp_path):
    (tmp_path / "rules.md").write_text("- **no-leftovers**: never say `wip`\n")
    message = tmp_path / ".git" / "COMMIT_EDITMSG"
    message.write_text("Pin the driver\n")
    assert hook("ragmem-check-message", files=[str(message)]).returncode == 0

    message.write_text("wip\n")
    failed = hook("ragmem-check-message", files=[str(message)])
    assert failed.returncode == 1
    assert "no-leftovers" in failed.stdout


BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "docs" / "ci.md").read_text(), re.MULTILINE | re.DOTALL)


def test_the_page_shows_yaml_that_can_be_read():
    github, gitlab, config = [yaml.safe_load(text) for language, text in BLOCKS if language == "yaml"]

    # YAML reads a bare `on` as true.
    assert {"name", True, "permissions", "jobs"} == set(github)
    assert gitlab["memory"]["artifacts"]["reports"] == {"junit": "ragmem.xml"}
    assert [hook["id"] for hook in config["repos"][0]["hooks"]] == list(HOOKS)


def test_the_commands_of_the_page_pass_where_all_is_as_expected(hook, tmp_path, ragmem):
    """The steps of both pipelines, as they stand there, on the repository of the hooks."""
    github, gitlab, _ = [yaml.safe_load(text) for language, text in BLOCKS if language == "yaml"]
    steps = [step["run"] for step in github["jobs"]["seed"]["steps"] if "run" in step]
    lines = [line for line in [*steps, *gitlab["memory"]["script"]] if line.startswith("ragmem ")]
    assert len(lines) == 2
    for line in lines:
        done = ragmem(*shlex.split(line)[1:])
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "ragmem.xml").is_file()


def test_the_expectations_of_the_page_are_some(tmp_path):
    [text] = [text for language, text in BLOCKS if language == "toml"]
    (tmp_path / "expect.toml").write_text(text)
    expected = read_expectations(tmp_path / "expect.toml", sources=["memory"])

    assert {count.counted for count in expected.counts} == set(COUNTED)
    assert [asked.found for asked in expected.questions] == [True, False, False]
