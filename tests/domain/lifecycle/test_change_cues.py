"""The cues of what is over; a sentence is searched only where it has a cue's words, in whatever form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.lifecycle.change_cues import ChangeCue, change_cues

BEING = ("is", "are", "was", "were", "has been", "have been", "got", "gets")
GONE = (
    *("gone", "removed", "dropped", "deleted", "deprecated", "retired", "closed", "disabled", "abandoned"),
    *("discontinued", "obsolete", "out", "lifted", "ignored", "reverted", "withdrawn", "scrapped"),
    *("eliminated", "canceled", "cancelled", "phased out", "rolled back", "switched off", "turned off"),
    "dead",
)
MOVED = (
    *("moved", "migrated", "renamed", "switched", "changed", "went", "goes", "raised", "lowered", "bumped"),
    *("ported", "converted", "shortened", "extended", "reduced", "increased", "upgraded", "downgraded"),
    *("cut", "grew", "transitioned", "relocated"),
)
CASES = (str, str.upper, str.title, lambda text: text.replace("s", "\u017f").replace("I", "\u0130"))
"""Forms that a pattern takes for the same where case does not matter, the last with letters of others."""


@given(
    being=st.sampled_from(BEING),
    gone=st.sampled_from(GONE),
    between=st.sampled_from((" ", " now ", " finally ", " all ", " since ")),
    case=st.sampled_from(CASES),
    before=st.text(alphabet="abz-_ ,", max_size=12),
)
def test_what_is_said_to_be_gone_is_over(
    being: str, gone: str, between: str, case: type, before: str
) -> None:
    text = f"{before}The old kiln {case(being)}{case(between)}{case(gone)}."
    assert "gone" in {one.rule for one in change_cues(text)}, text


@given(
    moved=st.sampled_from(MOVED), word=st.sampled_from(("from", "out of")), case=st.sampled_from(CASES[:3])
)
def test_what_something_moved_from_is_over(moved: str, word: str, case: type) -> None:
    text = f"The scale {case(moved)} {case(word)} the roof {case('to')} the yard."
    assert any(one.over == "the roof" for one in change_cues(text)), text


@pytest.mark.parametrize(
    ("text", "rule", "over"),
    [
        ("The kiosk was replaced by the app.", "replaced", "The kiosk"),
        ("We replaced the kiosk with the app.", "replaced", "the kiosk"),
        ("We renamed the kiosk to booth.", "replaced", "the kiosk"),
        ("The app takes the place of the kiosk.", "replaced", " the kiosk"),
        ("Tickets come from the app instead of the kiosk.", "instead", " the kiosk"),
        ("A ticket is only needed at night.", "gone", "A ticket"),
        ("A stamp is no longer required.", "gone", "A stamp"),
        ("The gate is not used.", "gone", "The gate"),
        ("The leak has nothing to do with frost.", "no longer", " frost"),
        ("The leak is unrelated to frost.", "no longer", " frost"),
        ("The leak was not caused by frost.", "no longer", " frost"),
        ("The fare gave way to a pass.", "gone", "The fare"),
        ("It went up from 3 to 4.", "former", " 3"),
        ("It is left of the door.", "former", " the door"),
        ("The fare is 4, formerly 3.", "former", " 3"),
    ],
)
def test_a_cue_tells_what_is_over(text: str, rule: str, over: str) -> None:
    assert ChangeCue(rule, over) in list(change_cues(text))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "The kiln burns gas.", "It is a harbour from which all ships go out"])
def test_a_sentence_without_a_cue_ends_nothing(text: str) -> None:
    assert not list(change_cues(text))
