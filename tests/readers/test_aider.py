"""Aider's chat history becomes exchanges, in sessions, without what the program says of itself."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.domain.model import Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.sessions.transcript import Exchange
from ragmem.readers.transcripts import assistant_of, drafts_of
from tests.readers.transcript_files import exchanges

NAME = ".aider.chat.history.md"


def told(*lines: str) -> str:
    """Return lines of the program."""
    return "".join(f"> {line}  \n" for line in lines)


START = "\n# aider chat started at 2026-03-04 05:06:07\n\n> Aider v0.86.1  \n"
MODEL = "> Main model: acme/tide-4 with diff edit format  \n> Weak model: acme/tide-mini  \n\n"
EDIT = """The queue has no bound, so a slow reader fills the memory.

pkg/queue.go
```go
<<<<<<< SEARCH
make(chan Job)
=======
make(chan Job, 64)
>>>>>>> REPLACE
```

Reload the service afterwards:
```bash
systemctl reload tide
```

"""
EDIT += told(
    "Tokens: 2.9k sent, 40 received.",
    "Applied edit to pkg/queue.go",
    "Commit 8145bab fix: Bound the queue at 64 jobs",
    "systemctl reload tide",
    "Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: y",
    "Running systemctl reload tide",
    "Added 2 lines of output to the chat.",
)


def read(folder: Path, text: str, name: str = NAME) -> list[Exchange]:
    path = folder / name
    path.write_text(text)
    return exchanges(path, ended=True)


def acts(exchange: Exchange) -> list[tuple[str, str]]:
    return [(act.deed.value, act.text) for act in exchange.acts]


def test_an_answer_is_told_without_its_edits_but_with_files_commits_and_commands(tmp_path):
    (found,) = read(tmp_path, f"{START}{MODEL}#### Why does the queue  \n####   \n#### grow?  \n\n{EDIT}")
    assert found.question == "Why does the queue\n\ngrow?"
    assert (found.session, found.number) == ("20260304050607", 1)
    assert (found.assistant, found.model, found.cwd) == ("aider", "acme/tide-4", str(tmp_path))
    assert found.began.isoformat() == "2026-03-04T05:06:07+00:00"
    assert (dict(found.files), found.commits) == ({"pkg/queue.go": 1}, ("8145bab",))
    said = (
        "The queue has no bound, so a slow reader fills the memory.\n\n"
        "Reload the service afterwards:\n```bash\nsystemctl reload tide\n```"
    )
    assert acts(found) == [
        ("said", said),
        ("changed", "pkg/queue.go"),
        ("committed", "8145bab fix: Bound the queue at 64 jobs"),
        ("ran", "systemctl reload tide"),
    ]
    (draft,) = drafts_of(found, path=tmp_path / NAME, scope=Scope("tide"), redactor=DEFAULT)
    assert draft.title == "fix: Bound the queue at 64 jobs"


def test_each_start_of_the_program_is_a_session(tmp_path):
    asked = "#### How long is a tide?  \n\nTwelve hours and 25 minutes.\n"
    later = START.replace("05:06:07", "09:00:00")
    found = read(tmp_path, f"{START}{asked}\n#### And a moon?  \n\n29 days.\n{START}{asked}{later}{asked}")
    assert [(one.session, one.number) for one in found] == [
        ("20260304050607", 1),
        ("20260304050607", 2),
        ("20260304050607.2", 1),
        ("20260304090000", 1),
    ]


@pytest.mark.parametrize(
    "not_asked",
    [
        "/add src/tide.py",
        "/clear",
        "<blank>",
        "Add file to the chat? (Y)es/(N)o/(A)ll/(S)kip all/(D)on't ask again [Yes]: all",
    ],
)
def test_a_command_of_the_program_and_its_questions_are_no_questions(tmp_path, not_asked):
    (found,) = read(tmp_path, f"{START}#### Bound the queue.  \n\n{EDIT}\n#### {not_asked}  \n> Done.  \n")
    assert found.question == "Bound the queue."
    assert len(found.acts) == 4


def test_a_question_behind_a_command_is_one_and_a_command_line_is_work(tmp_path):
    asked = "#### /ask How long is a tide?  \n\nTwelve hours.\n\n"
    (found,) = read(tmp_path, f"{START}{asked}#### /run pytest -q  \n{told('Added 9 lines.')}")
    assert found.question == "How long is a tide?"
    assert acts(found) == [("said", "Twelve hours."), ("tested", "pytest -q")]


@pytest.mark.parametrize("handed", ["", "Hm.\n\n"])
def test_the_plan_that_is_handed_to_the_editor_is_no_question(tmp_path, handed):
    plan = "Bound the queue at 64.\n\n- Change `make`."
    told = "".join(f"#### {line}  \n" for line in f"{handed}{plan}".split("\n"))
    plan = f"Hm.\n</think>\n\n{plan}"
    (found,) = read(
        tmp_path, f"{START}#### Why does it grow?  \n\n{plan}\n\n> Tokens: 1 sent.  \n\n{told}\n{EDIT}"
    )
    assert found.question == "Why does it grow?"
    assert found.commits == ("8145bab",)


def test_headings_and_quotations_of_an_answer_are_words_of_it(tmp_path):
    answer = "#### Step 1\n\n> Note that a bound blocks the writer.\n\nSo take 64."
    (found,) = read(tmp_path, f"{START}#### Which bound?  \n\n{answer}\n")
    assert acts(found) == [("said", answer)]


def test_ends_that_an_editor_has_removed_are_not_needed(tmp_path):
    text = f"{START}#### Bound the queue.  \n\n{EDIT}"
    (found,) = read(tmp_path, "\n".join(line.rstrip() for line in text.split("\n")).replace("\n", "\r\n"))
    assert found.commits == ("8145bab",)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("pkg/a.py\n<source>\nx = 1\n</source>\nDone.", "Done."),
        ("**pkg/a.py**\n```python\nx = 1\n```\nDone.", "Done."),
        ("```diff\n--- pkg/a.py\n+++ pkg/a.py\n@@ @@\n-x\n+y\n```\nDone.", "Done."),
        ("```\npkg/a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\nDone.", "Done."),
        ("<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\nDone.", "Done."),
        ("Changes:\n```\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```", "Changes:"),
        ("```diff\n--- pkg/b.py\n+++ pkg/b.py\n-x\n```", "```diff\n--- pkg/b.py\n+++ pkg/b.py\n-x\n```"),
        ("pkg/b.py has:\n```python\nx = 1\n```", "pkg/b.py has:\n```python\nx = 1\n```"),
        ("```python\nnever closed", "```python\nnever closed"),
        ("<think>\nHm.\n</think>\nDone.", "Done."),
        ("Hm.\n\nOr not.\n</think>\n\nDone.", "Done."),
        ("--------------\n► **THINKING**\n\nHm.\n\n------------\n► **ANSWER**\nDone.", "Done."),
        ("Done.\n<thinking-content-7bbeb8e1441453ad>\nHm.", "Done."),
    ],
)
def test_blocks_that_change_a_file_and_thoughts_are_left_out(tmp_path, answer, said):
    (found,) = read(tmp_path, f"{START}#### Go on with a.  \n\n{answer}\n\n> Applied edit to pkg/a.py  \n")
    assert acts(found) == [("said", said), ("changed", "pkg/a.py")]


def test_texts_of_several_lines_and_commits_of_others_are_left_out(tmp_path):
    told = "> Committing pkg/a.py before applying edits.  \n> Commit 1111111 Mine  \n> set A=1\nset B=2  \n"
    told += "\n> Aider v0.86.2\n Model: acme/tide-4\nGit repo: .git  \n"
    undone = "\n#### /undo  \n> Removed: 8145bab fix: Bound the queue  \n"
    (found,) = read(tmp_path, f"{START}#### Bound it.  \n\nDone.\n\n{told}{undone}")
    assert acts(found) == [("said", "Done."), ("added", "/undo 8145bab fix: Bound the queue")]


def test_paths_of_windows_have_the_separators_of_all(tmp_path):
    (found,) = read(tmp_path, f"{START}#### Bound it.  \n\nDone.\n\n> Applied edit to pkg\\a.py  \n")
    assert list(found.files) == ["pkg/a.py"]


def test_the_first_line_tells_the_format_whatever_the_name(tmp_path):
    assert assistant_of(tmp_path / "chat.md", START.encode()) == "aider"
    assert assistant_of(tmp_path / NAME, b"# Notes\n" + START.encode()) is None


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(
            ["#### a  ", "#### ", "> b  ", "> c", "", "d", "```", "x.py", START, ">>>>>>> REPLACE"]
        )
    )
)
def test_any_order_of_lines_is_read_and_no_question_is_lost(tmp_path, lines):
    text = "\n".join([START, *lines, "#### last  ", "", "an answer"])
    found = read(tmp_path, text)
    assert "last" in found[-1].question
    assert len({(one.session, one.number, one.part) for one in found}) == len(found)
