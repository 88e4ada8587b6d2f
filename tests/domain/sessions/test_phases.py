"""An exchange goes through phases, and its text stands under their headings."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.sessions.phases import Phase, phases_of, text_of, title_of
from ragmem.domain.sessions.transcript import Act, ActType, Exchange
from ragmem.domain.text.chunking import chunk
from ragmem.domain.text.turns import turns

WORDS = (
    Act(ActType.SAID, "Let me look at the table."),
    Act(ActType.READ, "/srv/tide/table.py"),
    Act(ActType.SEARCHED, "moon"),
    Act(ActType.SAID, "The moon is asked twice; I ask it once."),
    Act(ActType.READ, "/srv/tide/moon.py"),
    Act(ActType.CHANGED, "/srv/tide/table.py"),
    Act(ActType.READ, "/srv/tide/table.py"),
    Act(ActType.CHANGED, "/srv/tide/table.py"),
    Act(ActType.TESTED, "pytest -q"),
    Act(ActType.REPORTED, "3 passed in 2s"),
    Act(ActType.COMMITTED, "1a2b3c4 Ask the moon once"),
    Act(ActType.SAID, "The table is in time now."),
)


def exchange(*acts: Act, question: str = "why is the tide table late?", **more: Any) -> Exchange:
    return Exchange("s1", 1, "claude", question, acts, cwd="/srv/tide", **more)


def test_phases_follow_what_was_done() -> None:
    assert phases_of(exchange(*WORDS)) == [
        Phase.TASK,
        Phase.RESEARCH,
        Phase.CHANGE,
        Phase.TEST,
        Phase.RESULT,
    ]
    assert phases_of(exchange(Act(ActType.SAID, "The moon is late."))) == [Phase.TASK, Phase.RESULT]


def test_words_stand_under_the_heading_of_what_they_announce() -> None:
    assert text_of(exchange(*WORDS[:1], *WORDS[2:6], *WORDS[-1:])) == (
        "User: why is the tide table late?\n\nAssistant:\n\n# Research\n\nLet me look at the table.\n\n"
        "- Searched for `moon`\n\nThe moon is asked twice; I ask it once.\n\n- Looked at `moon.py`\n\n"
        "# Change\n\n- Changed `table.py`\n\n# Result\n\nThe table is in time now."
    )


def test_a_look_at_a_file_between_two_edits_opens_no_phase() -> None:
    text = text_of(exchange(*WORDS[5:8], *WORDS[-1:]))
    assert text.count("# Change") == 1
    assert "# Research" not in text


def test_an_answer_in_words_alone_has_no_headings() -> None:
    text = text_of(exchange(Act(ActType.SAID, "The moon is late.")))
    assert text == "User: why is the tide table late?\n\nAssistant:\n\nThe moon is late."


def test_a_short_question_stands_with_the_one_before_it() -> None:
    leaning = exchange(Act(ActType.SAID, "Done."), question="yes", before="shall the moon be asked once?")
    assert "shall the moon be asked once?" in text_of(leaning)
    assert title_of(leaning, 80, redactor=DEFAULT) == "yes (earlier: shall the moon be asked once?)"


def test_many_files_in_a_row_are_one_line() -> None:
    acts = [Act(ActType.READ, f"/srv/tide/{number}.py") for number in range(40)]
    text = text_of(exchange(*acts, Act(ActType.SAID, "Read.")))
    assert "`11.py` and 28 more" in text
    assert "`12.py`" not in text


def test_each_piece_of_an_answer_stands_under_the_question() -> None:
    pieces = chunk(
        text_of(exchange(*WORDS[:8], Act(ActType.SAID, "It is in time. " * 120))),
        memory_id="m",
        redactor=DEFAULT,
    )
    assert len(pieces) > 2
    assert all("tide table late" in piece.searchable for piece in pieces)


LINES = st.sampled_from(
    [
        "User: postgres",
        "### Assistant",
        "**System:** Debian",
        "[10:02] Human: hi",
        "tool:",
        "```python",
        "```",
        "~~~",
        "The tide turned.",
        "- AI (old): no",
        "",
        "# Model",
    ]
)
TEXT = st.lists(LINES, min_size=1, max_size=6).map("\n".join)


@pytest.mark.parametrize("deed", [ActType.SAID, ActType.ADDED])
@settings(max_examples=60, deadline=None)
@given(asked=TEXT, answers=st.lists(TEXT, min_size=1, max_size=3))
def test_no_text_can_take_a_turn_of_its_own(deed: ActType, asked: str, answers: list[str]) -> None:
    text = text_of(exchange(*(Act(deed, answer) for answer in answers), question=asked))
    assert [turn.speaker for turn in turns(text)] == ["user", "assistant"]
