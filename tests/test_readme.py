"""The README is short and complete, and GitHub can read its workflows and forms."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
FORMS = sorted(path for path in ROOT.glob(".github/ISSUE_TEMPLATE/*.yml") if path.name != "config.yml")
GUIDES = ("CONTRIBUTING.md", "AGENTS.md")


def parsed(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_readme_has_at_most_a_thousand_words():
    words = re.findall(r"\S*\w\S*", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(words) <= 1000


def test_the_table_of_the_readme_has_every_command_in_at_most_twelve_words(ragmem):
    commands = re.findall(r"^  ([a-z][a-z-]+) {2,}\S", ragmem("--help").stdout, re.MULTILINE)
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Commands\n")[2]
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", table, re.MULTILINE))
    assert set(rows) == set(commands)
    assert {name: line for name, line in rows.items() if len(line.split()) > 12} == {}


@pytest.mark.parametrize("guide", GUIDES)
def test_what_a_guide_names_exists(guide):
    text = (ROOT / guide).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:ragmem|web|docs|examples)/[\w./-]+\.\w+)`", text))
    assert named
    assert {path for path in named if "NAME" not in path and not (ROOT / path).exists()} == set()
    targets = set(re.findall(r"`?make ([a-z]+)`", text)) | set(
        re.findall(r"^make ([a-z]+)", text, re.MULTILINE)
    )
    assert targets - set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)) == set()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_names_whole_versions_of_actions_and_asks_for_no_right_to_write(path):
    flow = parsed(path)
    assert flow["permissions"] == {"contents": "read"}
    steps = [step for job in flow["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    assert [one for one in used if not re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", one)] == []
    assert all(("uses" in step) != ("run" in step) for step in steps)


def test_the_tests_run_on_both_systems_and_on_every_python():
    matrix = parsed(ROOT / ".github/workflows/tests.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos"}
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]


def test_only_the_job_that_publishes_has_an_identity():
    jobs = parsed(ROOT / ".github/workflows/release.yml")["jobs"]
    rights = {name: job.get("permissions") for name, job in jobs.items()}
    assert rights == {"build": None, "publish": {"id-token": "write"}}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_has_what_github_asks_of_one(path):
    form = parsed(path)
    assert form["name"]
    assert form["description"]
    inputs = [item for item in form["body"] if item["type"] != "markdown"]
    assert {item["type"] for item in inputs} <= {"textarea", "input", "dropdown", "checkboxes"}
    assert all(item["attributes"]["label"] for item in inputs)
    names = [item["id"] for item in inputs]
    assert len(names) == len(set(names))
