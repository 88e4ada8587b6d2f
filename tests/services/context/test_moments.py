"""What is told of a file that is touched and of a command that failed: lessons, never work, never twice."""

import os
import subprocess
from datetime import UTC, datetime

import pytest

from ragmem.domain.code.error_lines import error_lines
from ragmem.domain.model import Draft, Scope
from ragmem.storage.lifecycle.supersessions import Supersession

NOW = datetime(2026, 6, 1, tzinfo=UTC)
MADE = datetime(2026, 3, 1, tzinfo=UTC)
PROJECT = "p-quay"

LOCK = "`berth_plan.py` must not be imported before the lock is taken, because the import writes the plan."
FIX = (
    "`AttributeError: module 'quay.cli' has no attribute 'load_berths'` came after the split of the module."
    " Fix: import it from `quay.loading`."
)


@pytest.fixture
def place(tmp_path, open_memory):
    """Return a memory, and the working folder of a project that it knows."""
    folder = tmp_path / "quay"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "berth_plan.py").write_text("def allocate_every_berth():\n    return []\n")
    (folder / "src" / "index.ts").write_text("export {}\n")
    memory = open_memory()
    memory.catalog.prepare()
    memory.catalog.projects.remember(PROJECT, name="quay", root=str(folder))
    return memory, folder


def stored(memory, name, text, *, source="memory", made=MADE, project=PROJECT, **metadata):
    draft = Draft(source, f"/n/{name}", text, name, made, Scope(project), metadata=metadata)
    [one] = memory.ingest([draft])
    return one.id


def exchange(asked, *said):
    return "\n\n".join(
        (f"User: {asked}", "Assistant:", "# Change", "- Changed berth_plan.py", "# Result", *said)
    )


def told(place, event, prompt, *, session="s", **more):
    memory, folder = place
    return memory.injections.anticipate(session, prompt, event=event, cwd=folder, at=NOW, **more)


def touched(place, name="src/berth_plan.py", **more):
    return told(place, "file", str(place[1] / name), **more)


def shown(anticipated):
    return [one.id for one in anticipated.context.memories]


def test_a_file_brings_what_names_it_by_path_name_or_symbol(place):
    memory, _ = place
    by_name = stored(memory, "lock", LOCK)
    by_symbol = stored(memory, "symbol", "Never call `allocate_every_berth` twice: it empties the table.")
    stored(memory, "other", "`crane_plan.py` must not be imported before the lock, because of the plan.")
    assert shown(touched(place)) == [by_name, by_symbol]
    assert touched(place).reason == "everything known about it was already injected into this session"


@pytest.mark.parametrize("words", [20, 26, 30, 34])
def test_the_best_is_told_first_and_never_left_out_for_a_shorter_one(place, words):
    memory, _ = place
    steps = (
        f"- `step_{number}` must come first, because the plan {'of the quay ' * (words // 4)}is written."
        for number in range(3)
    )
    said = "The helpers of [src/berth_plan.py](../../src/berth_plan.py) must be called in this order:"
    long = "\n".join((said, "", *steps))
    best = stored(memory, "The helpers of the plan of the berths", long, source="decisions")
    stored(memory, "symbol", "Never call `allocate_every_berth` twice: it empties the table.")
    assert shown(touched(place))[:1] == [best]


def test_a_common_name_counts_only_with_its_path(place):
    memory, _ = place
    stored(memory, "any", "`index.ts` must never export a default, because the bundler renames it.")
    other = stored(memory, "other", "`lib/index.ts` must never export a default.")
    assert shown(touched(place, "src/index.ts")) == []
    right = stored(memory, "right", "`src/index.ts` must stay empty, because the build fills it.")
    assert shown(touched(place, "src/index.ts", session="t")) == [right]
    assert other not in shown(touched(place, "src/index.ts", session="u"))


def test_a_report_of_work_is_not_told_and_the_last_correction_is(place):
    memory, _ = place
    about = {
        "source": "transcripts",
        "session": "earlier",
        "assistant": "claude",
        "files": "src/berth_plan.py",
    }
    stored(memory, "work", exchange("Add the plan", "Added `berth_plan.py` and its tests."), **about)
    assert shown(touched(place)) == []
    stored(memory, "first", exchange("No, sort the berths by length.", "Done."), **about)
    last = stored(
        memory,
        "last",
        exchange("Wrong again, you should never sort them in place.", "Done."),
        made=datetime(2026, 4, 1, tzinfo=UTC),
        **about,
    )
    assert shown(touched(place)) == [last]


def test_what_is_superseded_low_rated_or_of_the_session_itself_is_not_told(place):
    memory, _ = place
    old = stored(memory, "old", LOCK)
    new = stored(memory, "new", f"{LOCK} Since May the lock is taken by the loader.")
    memory.catalog.supersessions.put([Supersession(old, new, MADE, NOW, "value", "newer", NOW)])
    assert shown(touched(place)) == [new]
    own = stored(
        memory,
        "own",
        exchange("Never sort `berth_plan.py`.", "Because of X."),
        source="transcripts",
        session="me",
    )
    assert own not in shown(touched(place, session="me"))


def test_a_file_that_changed_since_is_marked_with_its_commits(place):
    memory, folder = place
    stored(memory, "lock", LOCK)
    assert "changed since 2026-03-01" in touched(place).context.text
    environ = {
        **os.environ,
        "GIT_AUTHOR_DATE": "2026-05-02T10:00:00Z",
        "GIT_COMMITTER_DATE": "2026-05-02T10:00:00Z",
    }
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, env=environ)
    for number in range(50):
        text = touched(place, session=f"t{number}").context.text
        if "1 commit" in text:  # git answers in the background
            break
    assert "changed since 2026-03-01: 1 commit" in text
    gone = told(place, "file", str(folder / "lib" / "berth_plan.py"), session="gone")
    assert "the file is not there now" in gone.context.text


def test_an_error_brings_its_fix_and_another_error_with_the_same_name_does_not(place):
    memory, _ = place
    fix = stored(memory, "fix", FIX)
    stored(
        memory, "only seen", "`AttributeError: module 'quay.cli' has no attribute 'load_berths'` again today."
    )
    again = 'Traceback (most recent call last):\n  File "/x/y.py", line 7\n' + FIX[1:].partition("`")[0]
    assert shown(told(place, "failure", again)) == [fix]
    assert told(place, "failure", again).context.text == ""
    for other in (
        "AttributeError: module 'quay.cli' has no attribute 'load_cranes'",
        "NameError: name 'load_berths' is not defined",
        "Error: not found",
        "make: *** [test] Error 1",
        "exit 1",
    ):
        assert shown(told(place, "failure", other, session=other)) == []


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("ModuleNotFoundError: No module named 'moorings'", "ModuleNotFoundError: No module named 'cranes'"),
        ("/bin/sh: moorctl: command not found", "/bin/sh: cranectl: command not found"),
        ("Error: Harbour connection failed: Connection refused", "Error: Harbour connection timed out"),
    ],
)
def test_an_error_is_known_again_by_the_one_thing_it_names_or_word_for_word(place, line, other):
    memory, _ = place
    fix = stored(memory, "fix", f"`{line}`: fixed by a mooring in the lock file of the harbour's connection.")
    assert shown(told(place, "failure", f"Exit code 1\n{line}\n")) == [fix]
    assert shown(told(place, "failure", f"Exit code 1\n{other}\n", session="other")) == []


def test_the_fix_of_a_command_is_the_one_like_it_that_went_through(place):
    memory, _ = place
    line = "error: unrecognized subcommand 'moor'"
    failed = f"- Tested with `quay moor run test`\n- Failed: {line}"
    other = '- Failed: error: script "lint" exited with code 1'
    worked = f"{failed}\n- Tested with `moor run test`\n\nNow the linter.\n\n- Ran `moor run lint`\n{other}"
    fix = stored(memory, "fix", exchange("make it green", worked, "It is."), source="transcripts")
    edited = f"{failed}\n- Changed berth.py\n- Tested with `moor run test`\n{other}"
    stored(memory, "edited", exchange("make it green", edited, "It is."), source="transcripts")
    stored(
        memory, "only seen", exchange("make it green", f"{failed}\n{other}", "It is."), source="transcripts"
    )
    code = "error: the berth of vessel 'Gannet' is not declared"
    looked = f"- Tested with `moor run test | tail`\n- Failed: {code}\n- Tested with `moor run test | head`"
    stored(memory, "looked", exchange("make it green", looked, "It is."), source="transcripts")
    assert shown(told(place, "failure", f"Exit code 2\n{code}")) == []
    found = told(place, "failure", f"Exit code 2\n{line}")
    assert shown(found) == [fix]
    assert f"{failed}\n- Tested with `moor run test`" in found.context.text


@pytest.mark.parametrize(
    "said",
    [
        "\u539f\u56e0: \u95a2\u6570\u540d\u304c\u9055\u3046\u3002",
        "\u4fee\u590d\uff1a\u6539\u7528\u53e6\u4e00\u4e2a\u51fd\u6570\u3002",
        "\uc6d0\uc778: \ud568\uc218 \uc774\ub984\uc774 \ub2e4\ub974\ub2e4.",
        "Causa raiz: o m\u00f3dulo foi importado duas vezes.",
        "La causa era il modulo del porto.",
        "\u041f\u0440\u0438\u0447\u0438\u043d\u0430: port.",
        "De oorzaak lag in de haven.",
    ],
)
def test_the_fix_of_an_error_is_known_in_other_languages(place, said):
    memory, _ = place
    line = "NameError: name 'load_berths' is not defined"
    fix = stored(memory, "fix", f"### `{line}`\n\n- {said}")
    stored(memory, "seen", f"### `{line}`\n\n- \u6e2f\u3002")
    assert shown(told(place, "failure", f"Exit code 1\n{line}\n")) == [fix]


def test_what_a_task_runner_says_of_every_failure_is_no_error_to_know_again(place):
    memory, _ = place
    for line in (
        "[lint] ERROR task failed",
        "[lint:go] ERROR task failed",
        "error: Recipe `lint` failed on line 3",
    ):
        text = exchange(
            "why?", f"- Failed: {line}", "The line was too long, because a name must be a constant."
        )
        stored(memory, line, text, source="transcripts", files="b.py")
        assert shown(told(place, "failure", f"f.go:3:1: ST1003: rename it\n{line}", session=line)) == []


def test_a_subagent_is_told_what_answers_its_task_in_few_words_and_counts_for_itself(place):
    memory, _ = place
    lock = stored(memory, "lock", LOCK)
    task = "why must berth_plan.py not be imported before the lock is taken"
    assert lock in shown(touched(place))
    started = told(place, "subagent", task, agent="a1")
    assert shown(started) == [lock]
    assert len(started.context.text) <= 1_200


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "2026-01-02T03:04:05Z src/a.ts(12,3): error TS2345: Argument of type 'Berth' is not assignable.",
            "lib/b/c.ts(9,41): error TS2345: Argument of type 'Berth' is not assignable.",
        ),
        (
            "OSError: [Errno 28] No space left on device: '/var/lib/quay/1.db' after 31.5 s",
            "OSError: [Errno 28] No space left on device: '/home/kim/x.db' after 2 s",
        ),
    ],
)
def test_an_error_is_the_same_with_other_numbers_paths_and_times(one, other):
    [first], [second] = error_lines(one), error_lines(other)
    assert first.key == second.key
    assert second.share_in(frozenset(first.weights)) == 1.0


def test_the_calls_that_led_to_an_error_of_php_are_no_errors():
    output = (
        "PHP Fatal error:  Uncaught App\\CardDeclinedException: no money in /app/src/Pay.php:12\n"
        "Stack trace:\n"
        "#0 /app/src/ErrorHandler.php(45): App\\Pay->handleError(Object(App\\Order))\n"
        "#1 [internal function]: App\\FailureHandler->onFailure()\n"
    )
    assert [line.text for line in error_lines(output)] == [output.splitlines()[0]]


def test_no_file_outside_of_the_working_folder_is_looked_at(place, tmp_path):
    memory, folder = place
    stored(memory, "symbol", "Never call `allocate_every_berth` twice: it empties the table.")
    outside = tmp_path / "berth_plan.py"
    outside.write_text("def allocate_every_berth():\n    return []\n")
    assert shown(told(place, "file", str(outside))) == []
    assert shown(told(place, "file", f"{folder}/../berth_plan.py")) == []
    named = stored(memory, "lock", LOCK)
    given = memory.injections.anticipate(
        "http", str(folder / "src" / "berth_plan.py"), event="file", projects=[PROJECT], at=NOW
    )
    assert shown(given) == [named]
    assert "changed since" not in given.context.text


PACKAGES = "Use pnpm, never npm or yarn."
TESTING = "Tests must not open sockets."
FORMAT = "Always run `make fmt` before committing."


def test_a_command_brings_the_rules_that_apply_to_it_once_a_session(place):
    memory, _ = place
    packages = stored(memory, "packages", PACKAGES)
    stored(memory, "testing", TESTING)
    first = told(place, "command", "cd web && npm install zod")
    assert shown(first) == [packages]
    assert "applies to npm" in first.context.text
    assert first.reason == "a rule applies"
    assert shown(told(place, "command", "npm install react")) == []
    assert shown(told(place, "command", "ls -la", session="t")) == []


def test_a_file_brings_the_rules_for_such_files_after_what_names_it(place):
    memory, folder = place
    testing = stored(memory, "testing", TESTING)
    named = stored(
        memory, "named", "`tests/test_berths.py` must never be run twice, because it fills the disk."
    )
    assert shown(touched(place, "tests/test_berths.py")) == [named, testing]
    assert shown(touched(place, "src/berth_plan.py", session="t")) == []
    outside = told(place, "file", str(folder.parent / "elsewhere" / "test_other.py"), session="u")
    assert shown(outside) == []


def test_a_prompt_brings_the_rules_that_apply_also_where_it_begins_no_topic(place):
    memory, _ = place
    rule = stored(memory, "format", FORMAT)
    found = told(place, "prompt", "ok, commit this")
    assert shown(found) == [rule]
    assert shown(told(place, "prompt", "ok, commit this")) == []
    assert shown(told(place, "prompt", "go on", session="t")) == []


def test_a_rule_that_is_superseded_or_rated_bad_is_not_told(place):
    memory, _ = place
    old = stored(memory, "old", PACKAGES)
    new = stored(memory, "new", "Use bun, never npm or yarn.")
    memory.catalog.supersessions.put([Supersession(old, new, MADE, NOW, "value", "newer", NOW)])
    assert shown(told(place, "command", "npm install zod")) == [new]


def test_what_the_assistant_reads_itself_is_not_told(place):
    memory, _ = place
    stored(memory, "claude", PACKAGES, source="claudemds")
    assert shown(told(place, "command", "npm install zod")) == []


def test_what_a_session_knows_of_a_file_has_room_beside_its_source(place):
    memory, _ = place
    session = "0a1b2c3d-0000-4000-8000-000000000001"
    planned = "the berth of each vessel is planned once for the whole tide, " * 5
    said = exchange("plan the berths", f"Never sort `berth_plan.py`, because {planned}or the plan is lost.")
    uri = f"/home/ana/.claude/projects/-home-ana-work-quay/{session}.jsonl#{session}/12"
    title = "The berths are planned once for the whole tide, and no vessel loses its berth any more"
    about = {"session": session, "assistant": "claude", "files": "src/other.py"}
    draft = Draft("transcripts", uri, said, title, MADE, Scope(PROJECT), metadata=about)
    [known] = memory.ingest([draft])
    found = touched(place)
    assert shown(found) == [known.id]
    assert "| claude session 0a1b2c3d-000" in found.context.text
