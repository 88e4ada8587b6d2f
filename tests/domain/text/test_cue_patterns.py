"""Patterns of words and lines: what they find is what `re` finds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.classification import kinds, protection
from ragmem.domain.text.cue_patterns import CuePattern

CUES = [
    pattern.pattern
    for table in (*kinds._KIND_CUES.values(), *kinds._CATEGORY_CUES.values())
    for _, pattern in table
]
HINTS = [
    pattern.pattern
    for hints in (protection._RECORD, protection._WILL, protection._HINT, protection._FAINT)
    for pattern in (hints.lines, hints.words)
]
ODD = [
    r"\b(?:no|not|nothing)\b",
    r"\bnot\b|\bonly (?:when|if)\b",
    r"\bnot\b|only",
    r"\b(?:very )?(?:bad|good)\b",
    r"\b(?:very )*bad",
    r"\ba+b?c{0,2}d",
    r"\b(?:\u00e9t\u00e9|z\u0061)",
    r"\b(?<!the )user\b",
    r"\b(?: bad|-bad)",
    r"\b(?:)bad",
    r"\b[)\]|]?(?:bad|\(x\))",
    r"\b(?P<name>bad|good)",
    r"^(?:bad|[ \t]*(?:[-*]|\d\.) ?good)",
    r"^bad|good",
    r"^(?:#{1,6}[ \t]|\*\*)[^\n]{0,9}\bgood",
    r"^[^\n]*\n[^\n]*bad",
    "bad|good",
    r"\bi\b",
]
FRAGMENTS = [
    *"a b i . _ - ' \u2019 ( ) | # * 1".split(),
    *"no not nothing only when if very bad good user the the\u00e9 za \u00e9t\u00e9 aabccd x".split(),
    *(
        " ",
        "\n",
        "\n\n",
        "# ",
        "**",
        "- ",
        "2. ",
        "\t",
        "the user ",
        "please don't ",
        "went with ",
        "decided ",
    ),
    *(
        "always ",
        "never",
        "root cause",
        "doesn't work",
        "phase 2",
        "we decided to",
        "adr 3",
        "f\u00fcr x entschieden",
    ),
]
texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=30).map("".join)


PATTERNS = [(CuePattern(each), re.compile(each, re.MULTILINE)) for each in (*ODD, *CUES, *HINTS)]


@given(text=texts)
def test_the_matches_are_those_of_re(text):
    for cue, compiled in PATTERNS:
        expected = [found.span() for found in compiled.finditer(text)]
        assert [found.span() for found in cue.finditer(text)] == expected, cue.pattern
        first = cue.search(text)
        assert (first and first.span()) == (expected[0] if expected else None)


def test_a_pattern_is_compiled_for_a_text_that_may_have_a_match_only():
    cue = CuePattern(r"\b(?:always|never)\b**")
    assert cue.search("nothing begins like them") is None
    with pytest.raises(re.error):
        cue.search("it never does")
