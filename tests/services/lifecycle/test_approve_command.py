"""`ragmem approve`: what waits is listed, shown, accepted, rejected; a skill is a file that nobody loses."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ragmem.domain.model import Draft
from ragmem.services.transcripts.transcripts import capture

NOW = datetime(2026, 6, 1, tzinfo=UTC)
WISH = "The user prefers that commit messages name the berth of the quay and never the ticket."
COMMANDS = ("task lint", "task test", "task notes --since v{n}", "rm -rf build", "task bundle")


@pytest.fixture
def approve(inside, tmp_path):
    """Return a function that runs `ragmem approve` on a memory with one proposed wish."""
    home = str(tmp_path / "ragmem")

    def run(*arguments, command="approve", **environ):
        return inside(command, *arguments, RAGMEM_HOME=home, HOME=str(tmp_path / "home"), **environ)

    return run


@pytest.fixture
def wish(open_memory):
    with open_memory(RAGMEM_APPROVAL_ENABLED="true") as memory:
        [one] = memory.ingest([Draft("ingest", "/n/wish", WISH, title="Wish")], by_agent=True)
    return one.id[:12]


def turn(path: Path, cwd: Path, number: int) -> None:
    """Write a session of Claude Code that runs the commands."""
    moment = (NOW + timedelta(days=number)).isoformat().replace("+00:00", "Z")
    common = {"sessionId": path.stem, "timestamp": moment, "cwd": str(cwd)}
    uses = [
        {"type": "tool_use", "id": f"t{at}", "name": "Bash", "input": {"command": command.format(n=number)}}
        for at, command in enumerate(COMMANDS)
    ]
    said = {"type": "text", "text": f"Version {number} of the harbour is out, and its bundle is complete."}
    results = [{"type": "tool_result", "tool_use_id": f"t{at}", "content": "ok"} for at in range(len(uses))]
    records = [
        ("user", f"bring out version {number} of the harbour"),
        ("assistant", uses),
        ("user", results),
        ("assistant", [said]),
    ]
    with path.open("w", encoding="utf-8") as file:
        for at, (role, content) in enumerate(records):
            message = {"role": role, "content": content, "id": f"m{at}", "type": "message"}
            file.write(json.dumps({"type": role, "uuid": f"{at}", "message": message, **common}) + "\n")


@pytest.fixture
def project(open_memory, tmp_path):
    """The folder of a project in which three sessions ran the same commands."""
    root = tmp_path / "home" / "harbour"
    root.mkdir()
    (root / ".ragmem.toml").touch()
    with open_memory() as memory:
        memory.prepare()
        for number in range(3):
            path = tmp_path / f"session-{number}.jsonl"
            turn(path, root, number)
            capture(memory.catalog, memory.settings, path, home=tmp_path / "home", now=NOW, ended=True)
    return root


def listed(approve, *arguments):
    return json.loads(approve("list", "--all", "--json", *arguments).stdout)["proposals"]


def test_the_list_is_the_default_and_tells_by_its_exit_code_whether_anything_waits(approve, wish):
    told = approve()
    assert (told.returncode, wish in told.stdout, "prefers that commit" in told.stdout) == (0, True, True)
    assert approve("reject", wish).returncode == 0
    empty = approve()
    assert (empty.returncode, empty.stdout, "nothing waits" in empty.stderr) == (1, "", True)
    assert [one["id"] for one in listed(approve, "--state", "rejected")] == [wish]


def test_a_proposal_is_shown_whole_and_accepted_by_the_start_of_its_id(approve, wish):
    assert WISH in approve("show", wish[:6]).stdout
    found = approve("commit messages of the quay", command="query")
    assert "proposed" in found.stdout
    done = json.loads(approve("accept", wish[:6], "--json").stdout)
    assert [(one["id"], one["approval"], one["text"]) for one in done["proposals"]] == [
        (wish, "accepted", WISH)
    ]
    assert "proposed" not in approve("commit messages of the quay", command="query").stdout


def test_one_unknown_id_stops_all(approve, wish):
    refused = approve("accept", wish, "zzzzzzzzzzzz")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert [one["id"] for one in listed(approve)] == [wish]


def test_an_export_and_the_doctor_know_what_waits(approve, wish, inside, tmp_path):
    assert "1 memory and 0 skills wait for your review" in approve(command="doctor").stdout
    file = tmp_path / "memory.jsonl"
    assert approve(str(file), command="export").returncode == 0
    other = {"RAGMEM_HOME": str(tmp_path / "other"), "HOME": str(tmp_path / "home")}
    assert inside("import", str(file), **other).returncode == 0
    assert wish in inside("approve", "list", "--all", **other).stdout


def test_a_workflow_becomes_a_draft_that_is_a_file_only_once_it_is_accepted(approve, project):
    assert approve("draft", "--all").returncode == 0
    [draft] = listed(approve)
    assert (draft["sort"], draft["title"], len(draft["sources"])) == ("skill", "lint-test-notes", 3)
    file = project / ".claude" / "skills" / "lint-test-notes" / "SKILL.md"
    assert not file.exists()
    assert approve("accept", draft["id"]).returncode == 0
    text = file.read_text()
    assert "3. `task notes --since <argument>`" in text
    assert "rm -rf" not in text
    assert json.loads(approve("draft", "--all", "--json").stdout) == {"schema": 1, "workflows": 1, "new": 0}
    assert approve("reject", draft["id"]).returncode == 0
    assert not file.parent.exists()
    assert json.loads(approve("draft", "--all", "--json").stdout)["new"] == 0
    assert listed(approve) == []


def test_a_skill_is_never_written_over_a_file_nor_removed_after_a_person_changed_it(
    approve, project, tmp_path
):
    approve("draft", "--all")
    [draft] = listed(approve)
    file = project / ".claude" / "skills" / "lint-test-notes" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    refused = approve("accept", draft["id"])
    assert (refused.returncode, file.read_text()) == (2, "mine")
    assert "--to" in refused.stderr
    assert listed(approve) == [draft]
    assert approve("accept", draft["id"], "--to", str(tmp_path / "skills")).returncode == 0
    written = tmp_path / "skills" / "lint-test-notes" / "SKILL.md"
    written.write_text(f"{written.read_text()}\nOne more step.\n")
    rejected = approve("reject", draft["id"])
    assert (rejected.returncode, "was changed since" in rejected.stderr) == (0, True)
    assert written.exists()


@pytest.mark.parametrize("link", [".claude", ".claude/skills"])
def test_a_link_in_a_repository_leads_no_skill_out_of_it(approve, project, tmp_path, link):
    approve("draft", "--all")
    [draft] = listed(approve)
    away = tmp_path / "away"
    away.mkdir()
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(away)
    refused = approve("accept", draft["id"])
    assert (refused.returncode, list(away.iterdir())) == (2, [])
    assert "outside of the project" in refused.stderr


def test_two_sessions_are_no_workflow(approve, open_memory, tmp_path):
    with open_memory() as memory:
        memory.prepare()
        for number in range(2):
            path = tmp_path / f"session-{number}.jsonl"
            turn(path, tmp_path / "home", number)
            capture(memory.catalog, memory.settings, path, home=tmp_path / "home", now=NOW, ended=True)
    nothing = approve("draft", "--all")
    assert (nothing.returncode, "no workflow" in nothing.stderr) == (1, True)
