"""The hooks for pre-commit: what their manifest says runs, passes and fails."""

import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

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
