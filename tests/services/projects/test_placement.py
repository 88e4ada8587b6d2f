"""A text belongs to the project that it names; one that names none is told to nobody who did not ask."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.config.settings import SourceSpec
from ragmem.domain.model import UNASSIGNED, USER, Draft, Scope
from ragmem.readers.named_projects import NamedProjects
from ragmem.readers.scope import ProjectFinder
from ragmem.storage.activity.transcripts import Transcript

NOW = datetime(2026, 6, 1, tzinfo=UTC)
REASON = "We decided to keep the {} at port 8443 because the proxy of the harbour office blocks all others."


@pytest.fixture
def home(ragmem):
    """Return a home with the folders of two projects, which the seed of this home knows."""
    root = Path.home()
    for name in ("tideline", "gullwing"):
        (root / "repos" / name).mkdir(parents=True)
        (root / "repos" / name / "CLAUDE.md").write_text(f"# {name}\n\n{REASON.format(name + ' rules')}\n")
    return root


def write(root, name, text):
    path = root / ".claude" / "History" / "Sessions" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def seeded(ragmem, *arguments):
    done = ragmem("seed", *arguments)
    assert done.returncode == 0, done.stderr
    return done


def projects_of(ragmem, source="sessions"):
    """Return title -> (id, project without its hash) of all memories of a source."""
    done = ragmem("query", "harbour office proxy port", "--all", "--nearest", "--limit", "50", "--json")
    return {
        match["title"]: (match["id"], match["project"].rpartition("-")[0] or match["project"])
        for match in json.loads(done.stdout)["matches"]
        if match["source"] == source
    }


TEXTS = {
    "a line": ("**Project:** tideline\n\n{}", "tideline"),
    "a list": ("- Repository: `gullwing` (the board)\n\n{}", "gullwing"),
    "a folder": ("Working directory: {home}/repos/gullwing/src\n\n{}", "gullwing"),
    "frontmatter": ("---\nproject: Gullwing\n---\n\nSee {home}/repos/tideline/a.py\n\n{}", "gullwing"),
    "cwd": ("---\ncwd: {home}/repos/tideline\n---\n\n{}", "tideline"),
    "one path": ("It was in `{home}/repos/tideline/src/api.py`.\n\n{}", "tideline"),
    "most paths": (
        "~/repos/tideline/a.py ~/repos/tideline/b.py ~/repos/tideline/c.py ~/repos/gullwing/d.py\n\n{}",
        "tideline",
    ),
    "two paths": ("~/repos/tideline/a.py and ~/repos/gullwing/d.py\n\n{}", UNASSIGNED),
    "two names": ("Project: tideline, gullwing\n\n{}", UNASSIGNED),
    "two fields": ("---\nproject: tideline\nrepo: gullwing\n---\n\n{}", UNASSIGNED),
    "a stranger": ("Project: lighthouse\n\n~/repos/tideline/a.py\n\n{}", UNASSIGNED),
    "the user": ("---\nproject: user\n---\n\n{}", USER),
    "nothing": ("{}", UNASSIGNED),
    "no name": ("**Project**: 90% complete\n\n~/repos/tideline/a.py\n\n{}", "tideline"),
    "in code": ("```\nproject: gullwing\n```\n\n{}", UNASSIGNED),
}


def test_a_text_belongs_to_the_project_that_it_names(ragmem, home):
    for number, (title, (text, _)) in enumerate(TEXTS.items()):
        said = text.replace("{home}", str(home)).replace("{}", REASON.format(title))
        head, _, body = said.partition("\n---\n") if said.startswith("---") else ("", "", said)
        write(
            home,
            f"2026-03/{number}.md",
            f"{head}\n---\n# {title}\n{body}" if head else f"# {title}\n\n{said}",
        )
    write(home, "20260301-101500_gullwing/note.md", f"# folder\n\n{REASON.format('folder')}")
    seeded(ragmem)
    wanted = {title: project for title, (_, project) in TEXTS.items()} | {"folder": "gullwing"}
    assert {title: project for title, (_, project) in projects_of(ragmem).items()} == wanted
    # A second seed finds nothing to do.
    assert ragmem("seed", "--check").returncode == 0


def test_what_names_no_project_is_found_only_when_all_are_asked(ragmem, home, monkeypatch):
    write(home, "a.md", f"# Visit\n\n{REASON.format('sluice')}\n")
    seeded(ragmem)
    monkeypatch.chdir(home / "repos" / "tideline")
    inside = ragmem("query", "what about the sluice", "--source", "sessions")
    assert inside.returncode == 1
    assert inside.stdout == ""
    assert "--all" in inside.stderr
    assert "sluice" in ragmem("query", "what about the sluice", "--source", "sessions", "--all").stdout


def test_memories_of_the_user_move_to_their_projects_with_their_ids(ragmem, home):
    write(home, "a.md", f"# A\n\nProject: tideline\n\n{REASON.format('api')}\n")
    write(home, "b.md", f"# B\n\n{REASON.format('board')}\n")
    gone = write(home, "c.md", f"# C\n\nProject: gullwing\n\n{REASON.format('crane')}\n")
    kept = write(home, "d.md", f"# D\n\nProject: gullwing\n\n{REASON.format('dock')}\n")
    done = ragmem("seed", RAGMEM_SOURCES_SESSIONS_SCOPE="user")
    assert done.returncode == 0, done.stderr
    before = projects_of(ragmem)
    assert {project for _, project in before.values()} == {USER}
    assert ragmem("projects", "assign", before["D"][0], "--to", "tideline").returncode == 0

    gone.unlink()
    told = ragmem("doctor").stdout
    assert "projects assign --named" in told
    tried = seeded(ragmem, "--dry-run", "--json")
    assert projects_of(ragmem) == before | {"D": (before["D"][0], "tideline")}
    assert json.loads(tried.stdout)
    seeded(ragmem)
    after = projects_of(ragmem)
    assert {title: key for title, (key, _) in after.items()} == {
        title: key for title, (key, _) in before.items()
    }
    wanted = {"A": "tideline", "B": UNASSIGNED, "C": USER, "D": "tideline"}
    assert {title: project for title, (_, project) in after.items()} == wanted
    assert ragmem("projects", "assign", "--named", "--dry-run").returncode == 0
    moved = ragmem("projects", "assign", "--named")
    assert moved.returncode == 0, moved.stderr
    assert projects_of(ragmem)["C"] == (before["C"][0], "gullwing")
    assert "projects assign --named" not in ragmem("doctor").stdout

    # What a person has chosen stays, whatever the file says.
    assert ragmem("projects", "assign", before["A"][0], "--to", "user").returncode == 0
    kept.write_text(f"# D\n\nProject: gullwing\n\n{REASON.format('new dock')}\n")
    write(home, "a.md", f"# A\n\nProject: tideline\n\n{REASON.format('new api')}\n")
    seeded(ragmem)
    assert projects_of(ragmem)["A"] == (before["A"][0], USER)
    assert projects_of(ragmem)["D"] == (before["D"][0], "tideline")
    assert "new dock" in ragmem("inspect", "memory", before["D"][0]).stdout


def test_a_project_that_becomes_known_takes_what_has_named_it(ragmem, home):
    write(home, "a.md", f"# A\n\nProject: lighthouse\n\n{REASON.format('lamp')}\n")
    seeded(ragmem)
    assert projects_of(ragmem)["A"][1] == UNASSIGNED
    (home / "repos" / "lighthouse").mkdir()
    (home / "repos" / "lighthouse" / "CLAUDE.md").write_text(f"# L\n\n{REASON.format('lamp rules')}\n")
    seeded(ragmem)
    assert projects_of(ragmem)["A"][1] == "lighthouse"


def test_a_text_belongs_to_the_project_of_the_session_that_made_it(memory):
    read = Transcript("/t/a.jsonl", "claude", "s1", "tide-1", "h", 1, 1, 1, 1, "{}", "r1", NOW)
    memory.catalog.prepare()
    for path, session, project in (
        ("a", "s1", "tide-1"),
        ("b", "s2", "tide-1"),
        ("c", "s2", "quay-2"),
    ):
        memory.catalog.transcripts.keep(replace(read, path=path, session=session, project=project))
    named = NamedProjects(ProjectFinder(memory.home), memory.catalog.projects)
    spec = SourceSpec("mine", ("~/x/*.md",), base=memory.home, scope="named")
    place = memory.home / "x" / "a.md"
    assert named.project_of({"session_id": "s1"}, "", place, spec) == "tide-1"
    assert named.project_of({"session_id": "s2"}, "", place, spec) == UNASSIGNED
    assert named.project_of({"session_id": "s1", "project": "elsewhere"}, "", place, spec) == UNASSIGNED


@given(
    st.dictionaries(st.sampled_from(["project", "cwd", "path", "repo", "session_id"]), st.text()), st.text()
)
def test_whatever_a_text_says_it_belongs_to_what_is_known_or_to_none(fields, text):
    finder = ProjectFinder(Path("/nowhere/home"))
    spec = SourceSpec("mine", ("~/x/*.md",), base=Path("/nowhere"), scope="named")
    found = NamedProjects(finder, None).project_of(fields, text, Path("/nowhere/home/x/a.md"), spec)
    assert found in {UNASSIGNED, USER, *(one.id for one in finder.seen_projects())}


def test_what_was_forgotten_stays_so_when_it_gets_a_project(ragmem, home):
    write(home, "a.md", f"# A\n\nProject: lighthouse\n\n{REASON.format('lamp')}\n")
    write(home, "b.md", f"# B\n\nProject: lighthouse\n\n{REASON.format('lens')}\n")
    seeded(ragmem)
    first, second = (projects_of(ragmem)[title][0] for title in "AB")
    assert ragmem("forget", first, "--yes").returncode == 0
    purged = ragmem("forget", second, "--purge", "--yes")
    assert purged.returncode == 0, purged.stderr
    (home / "repos" / "lighthouse").mkdir()
    (home / "repos" / "lighthouse" / "CLAUDE.md").write_text(f"# L\n\n{REASON.format('lamp rules')}\n")
    seeded(ragmem)
    assert projects_of(ragmem) == {}


def test_the_folder_that_the_source_itself_names_says_nothing_of_its_files(tmp_path):
    finder = ProjectFinder(tmp_path)
    for name in ("notes", "board"):
        (tmp_path / name).mkdir()
        finder.project_of(tmp_path / name)
    named = NamedProjects(finder, None)
    spec = SourceSpec("mine", ("~/x/notes/*/*.md",), base=tmp_path, scope="named")
    assert named.project_of({}, "", tmp_path / "x" / "notes" / "a.md", spec) == UNASSIGNED
    assert named.project_of({}, "", tmp_path / "x" / "notes" / "board" / "a.md", spec).startswith("board-")


def test_a_session_is_told_nothing_of_no_project_unless_that_is_asked_of(memory):
    text = "Decision: we decided on port {} for the {} because the proxy blocks all others, never change it."
    for number, project in enumerate((UNASSIGNED, USER, "tideline-00000001")):
        said = text.format(8000 + number, project)
        memory.ingest([Draft("sessions", f"/s/{project}", said, scope=Scope(project))])
    for told in (
        memory.session_context(everywhere=True),
        memory.injections.anticipate("one", event="start", everywhere=True).context,
    ):
        assert UNASSIGNED not in {one.scope.project for one in told.memories}
        assert told.memories
    prompted = memory.injections.anticipate("two", "Which port did we decide on, and why?").context
    assert UNASSIGNED not in {one.scope.project for one in prompted.memories}
    asked = memory.session_context(projects=[UNASSIGNED])
    assert {one.scope.project for one in asked.memories} == {UNASSIGNED}


def test_gc_ends_nothing_of_no_project_for_what_another_says(memory):
    at = datetime(2026, 3, 1, tzinfo=UTC)
    texts = [
        f"Deployed the service at 2026-03-0{day} 10:00:00 in {day}0 seconds, run {day}."
        for day in range(1, 5)
    ]
    texts += ["The API runs on port 8080.", "The API now runs on port 9090 instead of port 8080."]
    drafts = [
        Draft(
            "sessions", f"/s/{number}", text, event_time=at + timedelta(days=number), scope=Scope(UNASSIGNED)
        )
        for number, text in enumerate(texts)
    ]
    memory.ingest(drafts)
    assert memory.gc.plan().empty
    # The same in a project: it is no test of rules that say nothing.
    memory.ingest([replace(draft, scope=Scope("tideline-00000001")) for draft in drafts])
    assert not memory.gc.plan().empty
