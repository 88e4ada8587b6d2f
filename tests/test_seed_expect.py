"""`ragmem seed --expect`: what a file expects is compared with what there is, for people and for CI."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from ragmem.config.expectations import Count, QuestionExpectation
from ragmem.services.seeding.expectation_check import Outcome, Verdict, _pattern
from ragmem.services.seeding.outcome_reports import annotations, junit, summary

ROOT = Path(__file__).resolve().parents[1]
REAL = {"RAGMEM_MODELS_BACKEND": "minilm", "RAGMEM_STORE_BACKEND": "lightrag"}

NOTES = {
    "driver.md": "# Driver\n\nWe decided to pin the PostgreSQL driver because version 3 leaks connections.\n",
    "timeout.md": "# Timeout\n\nThe root cause of the timeout was the connection pool of PostgreSQL.\n",
    "kept/harbour.md": "# Harbour\n\nWe decided to keep the harbour bell because the ferries wait for it.\n",
}
SOURCES = """
[sources.notes]
glob = "~/notes/*.md"

[sources.kept]
glob = "~/notes/kept/*.md"
signal = "off"
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path / "ragmem"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes" / "kept").mkdir(parents=True)
    for name, text in NOTES.items():
        (tmp_path / "notes" / name).write_text(text)
    (tmp_path / "sources.toml").write_text(SOURCES)
    return tmp_path


@pytest.fixture
def seed(home, ragmem):
    """Return a function that seeds and compares with a text of expectations."""

    def seed(text, *options, **environ):
        (home / "expect.toml").write_text(text)
        return ragmem("seed", "--sources", "sources.toml", "--expect", "expect.toml", *options, **environ)

    return seed


def outcomes(done):
    told = json.loads(done.stdout)["expectations"]
    return {one["name"]: (one["status"], one["message"], one["line"]) for one in told["outcomes"]}


HOLDING = """
[sources.notes]
files = 2
memories = 2
summarize = { min = 1 }
ingest = { max = 1 }
discard = 0
unread = 0

[[must_find]]
question = "why is the driver pinned"
source = "notes"
path = "driver.md"
within = 1

[[must_not_find]]
question = "harbour bell"
source = "notes"
path = "timeout.md"
"""

FAILING = """\
[sources.notes]
files = 3
memories = { min = 4 }
summarize = { max = 0 }

[[must_find]]
question = "harbour bell"
source = "notes"

[[must_not_find]]
question = "harbour bell"

[[must_not_find]]
question = "why is the driver pinned"
path = "NOTES/*.md"
"""


def test_the_expectations_of_the_example_hold(ragmem, tmp_path):
    """With the embedder that is shipped."""
    page = tmp_path / "summary.md"
    done = ragmem(
        *("seed", "--expect", str(ROOT / "examples" / "expect.toml")),
        *("--junit", str(tmp_path / "junit.xml"), "--github", "--quiet"),
        HOME=str(ROOT / "examples" / "home"),
        GITHUB_STEP_SUMMARY=str(page),
        **REAL,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\n15 of 15 expectations hold\n")
    assert page.read_text() == "### ragmem seed: 15 of 15 expectations hold\n\n"
    assert {case["status"] for case in cases(tmp_path / "junit.xml").values()} == {"passed"}


def test_what_holds_is_told_and_exits_with_zero(seed):
    done = seed(HOLDING)

    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "9 of 9 expectations hold"
    assert 'ok       "why is the driver pinned" finds notes driver.md: at rank 1' in done.stdout


def test_what_does_not_hold_is_told_with_what_is_the_case_and_its_line(seed):
    done = seed(FAILING, "--json")

    found = outcomes(done)
    assert done.returncode == 1
    assert found["all sources: unread"] == ("passed", "0", 1)
    assert found["notes: files"] == ("failed", "2, expected 3", 2)
    assert found["notes: memories"] == ("failed", "2, expected at least 4", 3)
    assert found["notes: summarize"][1:] == ("1, expected 0", 4)
    status, message, line = found['"harbour bell" finds notes']
    assert (status, line) == ("failed", 6)
    assert re.match(
        r'it is not found, expected within 3; first comes "Harbour" \(kept, ~/notes/kept/harbour', message
    )
    assert found['"harbour bell" finds nothing'][0] == "failed"
    assert found['"why is the driver pinned" does not find NOTES/*.md'][:1] == ("failed",)
    shown = seed(FAILING)
    assert "FAILED   notes: files: 2, expected 3  expect.toml:2\n" in shown.stdout


def test_a_dry_run_compares_the_plan_and_asks_nothing(seed, home):
    done = seed(HOLDING, "--dry-run", "--json")

    told = json.loads(done.stdout)
    assert done.returncode == 0
    assert (told["dry_run"], told["expectations"]["skipped"], told["expectations"]["failed"]) == (True, 2, 0)
    assert outcomes(done)["notes: memories"][:2] == ("passed", "2")
    assert not (home / "ragmem" / "data").exists()
    assert seed(FAILING, "--dry-run").returncode == 1


def test_check_fails_where_something_would_change_or_is_not_as_expected(seed):
    assert seed(HOLDING, "--check").returncode == 1
    assert seed(HOLDING).returncode == 0
    assert seed(HOLDING, "--check").returncode == 0
    assert seed(FAILING, "--check").returncode == 1


def test_an_unread_file_is_unexpected_unless_said_otherwise(seed, home):
    (home / "notes" / "broken.md").write_bytes(b"\x00\xff\xfe binary \x00" * 50)

    assert outcomes(seed("", "--json"))["all sources: unread"][:2] == ("failed", "1, expected 0")
    assert seed("").returncode == 1
    assert seed("unread = { max = 1 }").returncode == 0
    assert seed("unread = 1\n[sources.notes]\nunread = 1\n[sources.kept]\nunread = 0").returncode == 0


def test_sources_that_are_not_seeded_now_are_skipped(seed):
    seed(HOLDING)
    found = outcomes(
        seed("[sources.notes]\nfiles = 9\n[sources.kept]\nfiles = 1", "--source", "kept", "--json")
    )

    assert found["notes: files"][:2] == ("skipped", "not seeded now")
    assert found["kept: files"][:2] == ("passed", "1")


def test_nothing_to_seed_is_nothing_found(seed, home):
    for path in [*home.glob("notes/*.md"), *home.glob("notes/kept/*.md")]:
        path.unlink()
    done = seed(HOLDING, "--json")

    assert done.returncode == 1
    assert outcomes(done)['"why is the driver pinned" finds notes driver.md'][1].endswith("nothing is found")


def test_a_question_to_one_project_is_asked_of_it_alone(seed):
    question = '[[must_find]]\nquestion = "harbour bell"\nsource = "kept"\nproject = "user"\n'
    assert seed(question).returncode == 0

    refused = seed(question.replace("user", "nope"))
    assert refused.returncode == 2
    assert refused.stderr.startswith('ragmem: expect.toml:1: there is no project "nope"\n')
    long = seed(question.replace("harbour bell", "bell " * 5_000))
    assert long.returncode == 2
    assert long.stderr.startswith("ragmem: expect.toml:1: the question has ")


def test_a_first_file_is_written_from_what_there_is_and_holds(home, ragmem):
    command = ("seed", "--sources", "sources.toml", "--expect", "new.toml")
    # One that is discarded, and one that cannot be read.
    (home / "notes" / "thanks.md").write_text("Good evening, and thank you very much!\n")
    (home / "notes" / "empty.md").write_text("")
    written = ragmem(*command, "--write-expect")
    text = (home / "new.toml").read_text()

    assert written.returncode == 3
    assert "unread = { max = 1 }\n" in text
    assert "[sources.notes]\nfiles = { min = 4 }\nmemories = { min = 2 }\n" in text
    assert ragmem(*command).returncode == 0
    (home / "notes" / "driver.md").unlink()
    assert ragmem(*command).returncode == 1
    refused = ragmem(*command, "--write-expect")
    assert (refused.returncode, (home / "new.toml").read_text()) == (2, text)
    assert refused.stderr.startswith('ragmem: the file "new.toml" already exists\n')


WRONG = {
    "unknown key": ("\nnope = 1", 2, 'unknown key "nope"'),
    "unknown source": (
        "[sources.notes]\nfiles = 1\n[sources.noets]\nfiles = 1",
        3,
        'there is no source "noets"',
    ),
    "unknown count": ("[sources.notes]\n\nfils = 1", 3, 'unknown key "fils" in [sources.notes]'),
    "unknown bound": ("[sources.notes]\nfiles = { mox = 1 }", 2, 'unknown key "mox" in sources.notes.files'),
    "no count": ("[sources.notes]\nfiles = true", 2, "sources.notes.files must be a count"),
    "empty range": ("[sources.notes]\nfiles = {}", 2, "sources.notes.files must be a count"),
    "a count below none": ("unread = -1", 1, "unread must be a count"),
    "bounds that cross": ("unread = { min = 3, max = 2 }", 1, "unread has a min above its max"),
    "no table": ("[sources]\nnotes = 3", 2, '"sources.notes" must be a table'),
    "no list": ("must_find = 3", 1, '"must_find" must be a list of tables'),
    "no question": ('[[must_find]]\npath = "x"', 1, "[[must_find]] has no question"),
    "no place": ('[[must_find]]\nquestion = "x"', 1, "[[must_find]] names neither source nor path"),
    "no rank": ('[[must_not_find]]\nquestion = "x"\n\nwithin = 0', 4, "within must be a rank"),
    "an empty text": ('[[must_not_find]]\nquestion = " "', 2, "question must be a text"),
    "the second entry": (
        '[[must_not_find]]\nquestion = "x"\n[[must_not_find]]\nquestion = "y"\nsauce = "z"',
        5,
        'unknown key "sauce" in [[must_not_find]]',
    ),
    "a source of an entry": ('[[must_find]]\nquestion = "x"\nsource = "no"', 3, 'there is no source "no"'),
    "no TOML": ("a = ", 1, "not valid TOML"),
}


@pytest.mark.parametrize(("text", "line", "problem"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_refused_with_its_line_before_anything_is_read(text, line, problem, seed, home):
    done = seed(text)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"ragmem: expect.toml:{line}: {problem}")
    assert "\nhint: " in done.stderr
    assert not (home / "ragmem" / "data").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--junit", "x.xml"], "--junit requires --expect"),
        (["--github"], "--github requires --expect"),
        (["--write-expect"], "--write-expect requires --expect"),
        (["--expect", "none.toml"], 'there is no file "none.toml"'),
        (["--expect", "none.toml", "--write-expect", "--dry-run"], "--write-expect cannot be combined"),
        (["--expect", "expect.toml", "--junit", "nowhere/x.xml"], 'there is no folder "nowhere"'),
        (["--expect", "expect.toml", "--junit", "./expect.toml"], '"expect.toml" is the file of --expect'),
    ],
)
def test_options_that_mean_nothing_are_refused(options, problem, home, ragmem):
    (home / "expect.toml").touch()
    done = ragmem("seed", *options)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"ragmem: {problem}")


# --- for CI ---

TOTALS = {"tests", "failures", "errors", "skipped", "time"}


def cases(path):
    """Return the cases of a JUnit file by name, having checked what readers of such files count on.

    The attributes are those of Jenkins' junit-10.xsd, and file and line, which GitLab and others read.
    """
    root = ET.parse(path).getroot()
    assert (root.tag, set(root.attrib)) == ("testsuites", {"name", *TOTALS})
    found = {}
    for suite in root:
        assert (suite.tag, set(suite.attrib)) == ("testsuite", {"name", *TOTALS})
        for case in suite:
            assert (case.tag, set(case.attrib)) == ("testcase", {"classname", "name", "file", "line", "time"})
            assert float(case.get("time")) >= 0
            assert int(case.get("line")) >= 1
            assert [child.tag for child in case] in ([], ["failure"], ["skipped"])
            assert case.get("name") not in found
            status = case[0].tag if len(case) else "passed"
            found[case.get("name")] = {"status": status, "line": case.get("line"), "text": case}
        _has_totals(suite, suite)
    _has_totals(root, root)
    return found


def _has_totals(element, within):
    counted = {name: len(list(within.iter(tag))) for name, tag in COUNTED.items()}
    assert {name: int(element.get(name)) for name in COUNTED} == counted


COUNTED = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}


def test_junit_and_annotations_tell_what_is_not_as_expected(seed, home):
    (home / "summary.md").write_text("before\n")
    done = seed(
        FAILING,
        *("--json", "--junit", "out.xml", "--github"),
        GITHUB_WORKSPACE=str(home),
        GITHUB_STEP_SUMMARY=str(home / "summary.md"),
    )

    found = cases(home / "out.xml")
    failed = {name: int(case["line"]) for name, case in found.items() if case["status"] == "failure"}
    assert failed == {name: line for name, (status, _, line) in outcomes(done).items() if status == "failed"}
    assert found["notes: files"]["text"][0].get("message") == "2, expected 3"
    commands = [line for line in done.stderr.splitlines() if line.startswith("::")]
    assert len(commands) == len(failed) == 6
    assert commands[0] == "::error file=expect.toml,line=2,title=notes%3A files::notes: files: 2, expected 3"
    page = (home / "summary.md").read_text()
    assert page.startswith("before\n### ragmem seed: 1 of 7 expectations hold\n")
    assert page.count("\n|") == len(failed) + 2


def test_no_annotation_without_being_asked(seed, home):
    done = seed(FAILING, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(home / "summary.md"))

    assert "::error" not in done.stdout + done.stderr
    assert not (home / "summary.md").exists()


NASTY = 'a\n::error::b % c, d: <e> & "f" \x07 | `g` @h [i](j) \ud7ff'


@pytest.fixture
def nasty():
    failed = Outcome("questions", NASTY, 7, "failed", NASTY, 0.25)
    skipped = Outcome("counts", "again", 8, "skipped", NASTY)
    return Verdict(Path("expect.toml"), (failed, skipped))


def test_no_text_breaks_a_junit_file(nasty, tmp_path):
    (tmp_path / "out.xml").write_text(junit(nasty, shown=NASTY), encoding="utf-8")

    [name, again] = sorted(cases(tmp_path / "out.xml"), key=len, reverse=True)
    assert name == " ".join(NASTY.replace("\x07", "\ufffd").split())
    assert again == "again"


def test_no_text_becomes_a_command_of_its_own(nasty):
    [command] = annotations(nasty, shown="a,b:c%.toml")

    assert command.startswith(
        "::error file=a%2Cb%3Ac%25.toml,line=7,title=a%0A%3A%3Aerror%3A%3Ab %25 c%2C d%3A"
    )
    assert not {"\n", "\r"} & set(command)


def test_no_title_becomes_a_command_of_the_older_kind(seed, home):
    # The runner takes `##[NAME]` for a command wherever in a line it stands (ActionCommand.cs, TryParse).
    (home / "notes" / "driver.md").write_text(
        NOTES["driver.md"].replace("# Driver", "# X ##[stop-commands]y")
    )
    text = '[[must_not_find]]\nquestion = "the PostgreSQL driver ##[add-mask]z"\npath = "driver.md"\n'
    done = seed(text, "--github")

    assert done.returncode == 1
    assert "stop-commands]y" in done.stdout
    assert "##[" not in done.stdout + done.stderr
    told = seed(text, "--github", "--json").stdout
    assert json.loads(told)["expectations"]["failed"] == 1
    assert "##[" not in told


def test_a_name_with_a_hash_is_found_by_its_whole_path(seed, home):
    (home / "notes" / "driver.md").rename(home / "notes" / "c#-driver.md")
    found = outcomes(
        seed('[[must_find]]\nquestion = "why pin the PostgreSQL driver"\npath = "c#-driver.md"\n', "--json")
    )

    assert [status for status, *_ in found.values()] == ["passed", "passed"]


def test_no_text_becomes_markup_of_the_summary(nasty):
    lines = summary(nasty, shown="expect.toml").splitlines()

    assert lines[0] == "### ragmem seed: 0 of 1 expectations hold, 1 skipped"
    [row] = [line for line in lines if "&lt;e&gt;" in line]
    assert row.count("|") == 4
    assert not set("`@[]<") & set(row)


@pytest.mark.parametrize(
    ("glob", "place", "fits"),
    [
        ("a.md", "/x/a.md", True),
        ("a.md", "/x/ba.md", False),
        ("b/*.md", "/x/b/a.md", True),
        ("B/*.MD", "/x/b/a.md", True),
        ("b/*.md", "/x/b/c/a.md", False),
        ("b/**/a.md", "/x/b/a.md", True),
        ("b/**/a.md", "/x/b/c/d/a.md", True),
        ("b/**", "/x/b/c/d/a.md", True),
        ("?.md", "/x/a.md", True),
        ("?.md", "/x/ab.md", False),
        ("/x/*", "/x/a.md", True),
        ("/x/*", "/y/x/a.md", False),
        ("~/n/*", "/home/ada/n/a.md", True),
        ("[a].md", "/x/a.md", False),
    ],
)
def test_a_path_is_found_by_a_glob(glob, place, fits):
    assert bool(_pattern(glob, home="/home/ada").fullmatch(place)) is fits


@pytest.mark.parametrize(
    ("least", "most", "wanted", "holding"),
    [
        (2, 2, "2", [2]),
        (2, None, "at least 2", [2, 3]),
        (0, 2, "at most 2", [0, 1, 2]),
        (1, 2, "1 to 2", [1, 2]),
    ],
)
def test_a_count_is_a_number_or_a_range(least, most, wanted, holding):
    count = Count("notes", "files", least, most, 1)

    assert count.description == wanted
    assert [number for number in range(4) if count.holds(number)] == holding


def test_questions_of_one_name_are_told_apart(seed):
    same = '[[must_not_find]]\nquestion = "a zebra"\n'
    found = outcomes(seed(same + same, "--json"))

    assert {'"a zebra" finds nothing', '"a zebra" finds nothing (2)'} <= set(found)
    assert QuestionExpectation("a zebra", False, "", "", "", 3, 1).question == "a zebra"
