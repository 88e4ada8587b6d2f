"""What a session is told at its start: the last word, what is open, confirmed rules, and else nothing."""

import os
import shutil
import subprocess
from functools import partial

import pytest
from dated_notes import NOW, store_note

from ragmem.domain.model import Kind
from ragmem.readers.git_head import head_at, outside
from ragmem.services.context.context import SizeLimit
from ragmem.services.context.session_start import MOST_FILES, MOST_RULES, RESULTS, RULES, Place, session_start
from ragmem.storage.lifecycle.supersessions import Supersession

PROJECT = "p-quay"
stored = partial(store_note, project=PROJECT, rule="off")

WISH = "The user prefers that commit messages name the berth and never the ticket."
TRAP = (
    "The importer failed with `E1042` because the feed of the buoys sends wind in knots. Fixed by converting"
    " in `feeds/wind.py` before validation."
)


def exchanged(memory, session, result, *, days, title="", asked="fix the crane of the quay, please", **marks):
    """Store an exchange of a session that ended in this result."""
    files = marks.pop("files", "src/crane.py")
    text = f"User: {asked}\n\nAssistant:\n\n# Change\n\n- Changed `{files}`\n\n# Result\n\n{result}"
    metadata = {"session": session, "assistant": "claude", "files": files, "asked": asked, **marks}
    return stored(
        memory, title or f"{session}-{days}", text, source="transcripts", days=days, metadata=metadata
    )


def git(folder, *words):
    identity = ("-c", "user.name=sam", "-c", "user.email=sam@quay.example")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def started(memory, session="s", **more):
    return memory.injections.anticipate(session, event="start", projects=[PROJECT, "user"], at=NOW, **more)


def block_in(memory, folder):
    """Return the block for a session in this repository, once git has answered."""
    head = head_at(folder)
    outside(head, within_s=10)
    return session_start(
        memory.catalog,
        Place([PROJECT], head=head),
        policy=memory.settings.lifecycle.policy,
        limit=SizeLimit.of(None, 2000),
    )


def shown(anticipated):
    return [one.id for one in anticipated.context.memories]


def lines(anticipated):
    return [line for line in anticipated.context.text.splitlines() if line.startswith("- [")]


def worked(memory, name, *files, sessions=4, days=2.0, **marks):
    """Store sessions that changed the same files; return the memory of the last one."""
    stored = [
        exchanged(
            memory,
            f"{name}-{number}",
            f"Case {number} of {name} is right because the `{name}` counts.",
            days=days + number,
            files="\n".join(files),
            **marks,
        )
        for number in range(sessions)
    ]
    return stored[0]


def test_of_each_workstream_the_last_word_is_told_in_one_dated_line_with_its_id(memory):
    exchanged(memory, "one", "The crane lifts twelve tons because `lift.py` counts in kilograms.", days=3)
    last = exchanged(memory, "one", "The crane stops at `MAX_WIND` because the brake reads it.", days=2)
    tide = worked(memory, "tide", "tide.py", "moon.py", sessions=3, days=1.0)
    block = started(memory)
    assert shown(block) == [tide]
    assert lines(block)[0].startswith(f"- [{tide[:12]}] 2026-05-31 Case 0 of tide is right")
    assert last not in shown(block)
    assert "twelve tons" not in block.context.text
    assert f"## {RESULTS}\n" in block.context.text
    assert "/n/" not in block.context.text


@pytest.fixture
def quay(tmp_path):
    """A repository with a commit, whose files are older than it."""
    folder = tmp_path / "quay"
    folder.mkdir()
    git(folder, "init", "-q")
    for name in ("crane.py", "hook.py", "rope.py", "tide.py"):
        (folder / name).write_text("1\n")
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Begin")
    return folder


def test_the_work_whose_files_have_uncommitted_changes_is_told_first(memory, quay):
    crane = worked(memory, "crane", "crane.py", "hook.py", "rope.py", sessions=6, days=1.0)
    tide = worked(memory, "tide", "tide.py", sessions=2, days=9.0)

    def told():
        return [one.id for one in block_in(memory, quay).memories]

    assert told() == [crane]
    os.utime(quay / "tide.py", (2_000_000_000, 2_000_000_000))
    assert told() == [tide, crane]
    assert [one.id for one in memory.session_context(projects=[PROJECT], folder=str(quay)).memories] == told()
    assert [one.id for one in memory.session_context(projects=[PROJECT]).memories] == [crane]
    # After a clone all files are newer than the log.
    for file in quay.glob("*.py"):
        os.utime(file, (2_000_000_000, 2_000_000_000))
    assert told() == [crane]
    shutil.rmtree(quay / ".git" / "logs")
    assert told() == [crane]


def test_uncommitted_changes_are_found_in_the_folder_of_the_session(memory, quay):
    (quay / "pier").mkdir()
    (quay / "pier" / "tide.py").write_text("2\n")
    worked(memory, "crane", "crane.py", "hook.py", "rope.py", sessions=6, days=1.0, cwd="/moved/since/quay")
    tide = worked(memory, "tide", "tide.py", sessions=2, days=9.0, cwd=str(quay / "pier"))
    assert block_in(memory, quay).memories[0].id == tide


def test_a_commit_is_the_last_word_of_its_exchange(memory):
    exchanged(
        memory,
        "one",
        "All is well with `crane.py` now.",
        days=2,
        title="Brake the crane in wind",
        commits="abc1234",
    )
    assert "Brake the crane in wind" in lines(started(memory))[0]


def test_a_prompt_is_no_subject_though_its_exchange_names_a_pull_request(memory):
    asked = "can you look at the comments of the harbour master, please"
    pull = {"pull_requests": "https://quay.example/pull/7"}
    result = "The crane stops because `MAX_WIND` is read by the brake."
    exchanged(memory, "one", result, days=1, title=asked, asked=asked, **pull)
    exchanged(memory, "two", result, days=2, title=asked, asked=asked, **pull)
    exchanged(memory, "two", result, days=3, title="Brake the crane (part 2)", part="2", asked=asked, **pull)
    [line] = lines(started(memory))
    assert "harbour master" not in line
    assert "The crane stops because" in line
    assert "Before: Brake the crane. In" in line


@pytest.mark.parametrize("mark", ["interrupted", "agent", "compaction"])
def test_what_was_broken_off_or_is_told_elsewhere_is_no_result(memory, mark):
    exchanged(memory, "one", "The crane stops because `MAX_WIND` is read.", days=2, **{mark: "yes"})
    assert started(memory).context.text == ""


def test_a_talk_that_changed_and_decided_nothing_is_no_result(memory):
    exchanged(memory, "one", "Cranes are tall because ships are tall.", days=2, files="")
    assert started(memory).context.text == ""


def test_nothing_is_told_where_the_project_has_nothing_of_its_own(memory):
    stored(
        memory, "note", "We decided to pin the driver of the pool because version 3 leaks.", source="notes"
    )
    stored(memory, "elsewhere", WISH, kind=Kind.PREFERENCE, project="p-other")
    exchanged(memory, "one", "The crane stops because `MAX_WIND` is read.", days=1)
    answer = memory.injections.anticipate("s", event="start", projects=["p-empty", "user"], at=NOW)
    assert answer.context.text == ""
    assert answer.reason == "the session begins, and nothing found"


def test_what_is_merely_classified_is_no_rule_and_what_people_confirmed_is(memory):
    note = stored(memory, "note", "Decision: never deploy the quay on a Friday, it floods.", source="notes")
    wish = stored(memory, "wish", WISH, kind=Kind.PREFERENCE)
    trap = stored(memory, "trap", TRAP)
    mine = stored(memory, "mine", "Sam prefers tabs over blanks.", kind=Kind.PREFERENCE, project="user")
    pinned = stored(
        memory, "pinned", "Never close the quay's gate by hand.", source="notes", kind=Kind.PREFERENCE
    )
    memory.lifecycle.pin(pinned)
    correction = memory.records.add_user_correction("Speeds are in knots.", project=PROJECT)
    block = started(memory)
    assert set(shown(block)) == {wish, trap, mine, pinned, correction}
    assert shown(block)[-1] == mine
    assert note not in shown(block)
    assert f"## {RULES}\n" in block.context.text
    assert "feeds/wind.py" in block.context.text


@pytest.mark.parametrize("more", ["", ", and the crane of the north quay reads the plan of the south quay"])
def test_a_record_whose_title_is_its_text_is_told_once(memory, more):
    said = f"The crane reads its limit from the berth plan, since two berths differ{more}."
    decided = memory.records.add_episode("decision", said, project=PROJECT)
    memory.lifecycle.pin(decided)
    [line] = lines(started(memory))
    assert line.endswith(f" {said}")
    assert line.count("The crane reads") == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "# 14. Quays\n\n## Status\n\nAccepted\n\n## Decision\n\nWe keep the quay lists secret.",
            "We keep the quay lists secret.",
        ),
        ("# 15. Quays\n\n## Decision\n\nWe keep it secret.", "Quays: We keep it secret."),
        (WISH, WISH),
    ],
)
def test_of_a_short_record_no_heading_is_told(memory, text, told):
    stored(
        memory, text.splitlines()[0].strip("# "), text, source="decisions", uri="/r/docs/adr/0014-quays.md"
    )
    (line,) = lines(started(memory))
    assert line.rpartition("] ")[2].split(" ", 1)[1] == told


def test_a_decision_that_two_documents_state_is_told_once(memory):
    said = "We decided to keep the tide tables in one SQLite file, because a backup is then one copy."
    for number, title in enumerate(("Summary of decisions", "ADR 3: tide tables"), start=2):
        text = f"# {title}\n\nStatus: Accepted\n\n## Context\n\n{'The harbour has tides. ' * 20}\n\n"
        text += f"## Decision\n\n{said}\n"
        stored(memory, title, text, source="decisions", uri=f"/r/docs/adr/000{number}-tides.md")
    assert len(lines(started(memory))) == 1


def test_what_a_newer_memory_replaced_or_may_have_is_not_told(memory):
    wish = stored(memory, "wish", WISH, kind=Kind.PREFERENCE)
    old, stale = (stored(memory, name, f"{TRAP} Case {name}.", days=20) for name in ("old", "stale"))
    memory.catalog.supersessions.put(
        [
            Supersession(old, wish, NOW, NOW, "value", "says otherwise", NOW),
            Supersession(stale, wish, NOW, NOW, "perhaps outdated", "may say otherwise", NOW),
        ]
    )
    assert shown(started(memory)) == [wish]


OPEN = (
    "The crane stops because `MAX_WIND` is read.\n\n## Next steps\n\n- Teach the winch about the spring tide."
)


def test_an_open_point_is_told_until_a_later_exchange_speaks_of_it(memory):
    exchanged(memory, "one", OPEN, days=3)
    assert "Open: Teach the winch about the spring tide." in started(memory, "a").context.text
    exchanged(memory, "two", "Painted `hull.py` because it was rusty.", days=4, files="hull.py")
    assert "spring tide" in started(memory, "b").context.text
    exchanged(memory, "three", "The winch knows the spring tide because `tides.py` tells it.", days=1)
    assert "Open:" not in started(memory, "c").context.text


def test_an_open_point_without_words_of_its_own_is_not_told(memory):
    exchanged(memory, "one", OPEN.replace("Teach the winch about the spring tide.", "Do it."), days=3)
    assert "Open:" not in started(memory).context.text


def test_the_work_that_goes_on_is_told_once_and_work_that_does_not_is_not(memory):
    tide = worked(memory, "tide", "tide.py", "moon.py")
    pier = worked(memory, "pier", "pier.py", "pile.py", days=3.5)
    lone = exchanged(memory, "lone", "Wrote `poem.txt` because it was asked for.", days=1, files="poem.txt")
    assert shown(started(memory)) == [tide, pier]
    assert lone not in shown(started(memory, "other"))


def test_nothing_is_told_of_work_that_probably_ends(memory):
    for number in range(5):
        worked(memory, f"gate{number}", f"gate{number}.py", sessions=1, days=9 - number)
    assert started(memory).context.text == ""
    tide = worked(memory, "tide", "gate4.py", "tide.py", sessions=3, days=0.1)
    assert shown(started(memory, "other")) == [tide]


def test_what_a_session_rejected_is_told_neither_as_a_result_nor_as_a_commit_before(memory):
    named = {"commits": "abc1234", "days": 1, "files": "tide.py"}
    first = exchanged(memory, "one", "It works.", title="Raise the tide", **named)
    second = exchanged(memory, "one", "It works.", title="Lower the tide", **{**named, "days": 2})
    exchanged(memory, "one", "It works.", title="Count the tides", **{**named, "days": 3})
    block = session_start(
        memory.catalog,
        Place([PROJECT]),
        policy=memory.settings.lifecycle.policy,
        limit=SizeLimit.of(None, 2000),
        without=[first, second],
    )
    assert "Count the tides" in block.text
    assert "Raise" not in block.text
    assert "Lower" not in block.text


def test_the_last_session_is_told_if_it_left_a_point_open(memory):
    tide = worked(memory, "tide", "tide.py", "moon.py")
    last = exchanged(memory, "last", OPEN, days=1)
    assert shown(started(memory)) == [tide, last]


def test_the_work_of_the_branch_that_is_checked_out_comes_first(memory, tmp_path):
    git(tmp_path, "init", "--initial-branch=main")
    git(tmp_path, "commit", "--allow-empty", "-m", "begin")
    tide = worked(memory, "tide", "tide.py", "moon.py", branch="main")
    lone = exchanged(
        memory, "lone", "The gate waits because `gate.py` asks.", days=9, files="gate.py", branch="gate"
    )
    assert [one.id for one in block_in(memory, tmp_path).memories] == [tide]
    git(tmp_path, "checkout", "-b", "gate")
    assert [one.id for one in block_in(memory, tmp_path).memories] == [lone, tide]


def test_sessions_on_the_default_branch_of_the_remote_are_no_workstream(memory, tmp_path):
    git(tmp_path, "init", "--initial-branch=develop")
    git(tmp_path, "commit", "--allow-empty", "-m", "begin")
    worked(memory, "tide", "tide.py", "moon.py", branch="develop")
    exchanged(memory, "lone", "The gate waits.", days=1, files="gate.py", branch="develop")
    assert "gate.py" in block_in(memory, tmp_path).text
    git(tmp_path, "update-ref", "refs/remotes/origin/develop", "HEAD")
    git(tmp_path, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop")
    assert "gate.py" not in block_in(memory, tmp_path).text


def test_a_line_names_commits_before_it_and_files_that_no_other_line_names(memory):
    for number, subjects in enumerate(
        [("Raise the tide", "Merge branch 'main' into tide"), ("Lower the tide", "Count it", "Ask it")]
    ):
        for later, subject in enumerate(subjects):
            exchanged(
                memory,
                f"tide-{number}",
                "It works.",
                title=subject,
                days=number + later / 10 + 1,
                commits="abc1234",
                files="\n".join(f"tide{file}.py" for file in range(20)),
            )
    [line] = lines(started(memory))
    assert "Raise the tide. Before: Lower the tide; Count it. In tide0.py, " in line
    assert line.count(".py") == MOST_FILES
    worked(memory, "pier", "tide0.py", "pier.py", "pile.py", days=0.1)
    assert [line.count("tide0.py") for line in lines(started(memory, "other"))] == [1, 0]


@pytest.mark.parametrize("home", ["/Users/sam", "/home/sam", "/root", "~"])
def test_a_file_among_the_settings_of_a_person_is_none_of_the_project(memory, home):
    files = f"src/crane.py\n{home}/.claude/plans/quiet-humming-crane.md"
    exchanged(memory, "a", "The crane of the quay lifts again.", days=1, files=files)
    text = started(memory).context.text
    assert "crane.py" in text
    assert "humming" not in text


def test_a_line_of_code_explains_no_result(memory):
    result = (
        "The crane stops at the wind.\n\n```python\nlimits = read(`MAX_WIND`, `MIN_WIND`) or default\n```"
    )
    exchanged(memory, "one", result, days=1)
    assert "limits" not in lines(started(memory))[0]


def test_a_start_has_room_for_1500_characters_unless_more_is_asked_for(memory):
    for number in range(4):
        tale = (
            f"Crane {number} stops because `wind_{number}.py` reads the gauge of its berth {'slowly ' * 20}."
        )
        exchanged(memory, f"one{number}", tale, days=number + 1)
    for number in range(8):
        stored(
            memory, f"rule{number}", f"Rule {number}: {TRAP}"[:150] + ".", kind=Kind.PREFERENCE, days=number
        )
    block = started(memory, "a").context
    assert 0 < len(block.text) <= 1500
    assert block.left_out
    more = started(memory, "b", max_chars=6000).context
    assert len(more.memories) > len(block.memories)
    assert len(started(memory, "c", tokens=150).context.text) < len(block.text)


def test_a_session_that_was_compacted_is_not_told_of_itself(memory):
    exchanged(memory, "s", "The crane stops because `MAX_WIND` is read.", days=1)
    other = exchanged(memory, "other", "The gate opens because `gate.py` waits.", days=2)
    assert shown(started(memory, "s", again=True)) == [other]


def test_what_was_made_on_an_unmerged_branch_is_marked_and_stands_behind(memory, tmp_path):
    git(tmp_path, "init", "--initial-branch=main")
    git(tmp_path, "commit", "--allow-empty", "-m", "begin")
    git(tmp_path, "checkout", "-b", "wip")
    git(tmp_path, "commit", "--allow-empty", "-m", "try")
    git(tmp_path, "checkout", "main")
    away = exchanged(
        memory,
        "away",
        "The gate opens because `gate.py` waits.",
        days=1,
        branch="wip",
        files="a.py\nb.py\nc.py\nd.py",
    )
    here = exchanged(
        memory, "here", "The gate shuts because `gate.py` goes.", days=2, branch="main", files="a.py"
    )
    block = block_in(memory, tmp_path)
    assert [one.id for one in block.memories] == [here, away]
    assert "(made on branch wip, not merged) The gate opens" in block.text


def test_of_more_rules_than_are_told_those_near_to_the_last_work_come_first(memory):
    ids = [
        stored(
            memory, f"rule{number}", f"The user prefers that pier {number} is swept.", kind=Kind.PREFERENCE
        )
        for number in range(MOST_RULES + 3)
    ]
    block = session_start(
        memory.catalog,
        Place([PROJECT]),
        policy=memory.settings.lifecycle.policy,
        limit=SizeLimit.of(None, 9000),
        near=lambda: {ids[4]: 0.9, ids[7]: 0.5},
    )
    told = [one.id for one in block.memories]
    assert told[:2] == [ids[4], ids[7]]
    assert len(told) == MOST_RULES


def test_a_sentence_with_a_mark_at_its_end_gets_no_second_one(memory):
    worked(memory, "tide", "tide.py", sessions=3, days=2.0)
    exchanged(memory, "one", "潮汐表は `moon.py` から一度だけ取得されます。", days=1, files="tide.py")
    [line] = lines(started(memory))
    assert "取得されます。 In tide.py." in line
