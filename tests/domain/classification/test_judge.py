import math
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.classification.judge import (
    HEADS,
    MAX_WINDOWS,
    WINDOW_CHARS,
    inputs,
    judge,
    load_weights,
    telling_sentences,
    windows,
)
from ragmem.domain.classification.signal import CERTAIN, KEPT_SOURCES, classify, is_noise
from ragmem.domain.model import Category, Kind, Tier

CHATTER = "Perfect! Now I'll update the todo list and move on to the next task."
FACT = (
    "## Root cause\n\nThe importer dropped rows because `parse_row` in `loader/csv.py` read the byte-order"
    " mark as a part of the first column's name. Fixed by decoding as utf-8-sig; older exports need it."
)
WISH = "From now on never commit without running the tests first, and always ask me before you push."


@given(st.text(max_size=4000), st.sampled_from(["", "sessions", "transcripts", "claudemds", "my notes"]))
def test_every_text_gets_probabilities(text, source):
    verdict = judge(text, source=source)
    for head, classes in HEADS.items():
        found = verdict.probabilities[head]
        assert tuple(found) == classes
        assert math.isclose(sum(found.values()), 1.0, abs_tol=1e-6)


def test_a_verdict_is_the_same_in_each_process():
    text = f"{FACT} {WISH}"
    program = f"from ragmem.domain.classification.judge import judge; print(judge({text!r}))"
    verdicts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(verdicts) == 1


@given(st.text(max_size=6000))
def test_a_short_text_is_read_as_a_whole_and_a_long_one_in_bounded_parts(text):
    parts, whole = windows(text)
    assert len(parts) <= MAX_WINDOWS
    assert all(len(part) <= WINDOW_CHARS for _, part in parts)
    if whole and len(parts) == 1 and len(text.strip()) <= WINDOW_CHARS:
        assert parts[0][1].split() == text[:WINDOW_CHARS].split() or text.strip() == parts[0][1]


@given(st.text(max_size=3000))
def test_inputs_stay_bounded(text):
    assert all(0 <= value <= 20 for value in inputs(text, source="chat", role="user").values())


def test_the_shipped_weights_fit_the_heads():
    weights = load_weights()
    classes = sum(map(len, HEADS.values()))
    assert len(weights.bias) == classes
    assert all(len(row) == classes for row in weights.values.values())
    assert weights.words


def test_chatter_is_discarded():
    signal = classify(CHATTER, source="transcripts")
    assert signal.tier is Tier.DISCARD
    assert "discard" in signal.reason


@pytest.mark.parametrize("text", [FACT, WISH])
@pytest.mark.parametrize("source", ["", "sessions", "transcripts", "claudemds"])
def test_a_fact_and_a_wish_are_never_discarded(text, source):
    assert classify(text, source=source).tier is not Tier.DISCARD


def test_a_wish_is_seen_as_protected():
    assert judge(WISH, source="transcripts").protected > 0.5
    assert judge(CHATTER, source="transcripts").protected < 0.05


@pytest.mark.parametrize(
    "text",
    [
        "Danke, das sieht wirklich sehr gut aus, genau so hatte ich mir das heute vorgestellt.",
        "Merci beaucoup, cela fonctionne parfaitement maintenant, je continue avec la suite demain.",
        "Большое спасибо, теперь всё работает отлично, продолжим завтра утром с остальными.",
    ],
)
def test_another_language_is_kept(text):
    assert not judge(text, source="transcripts").known_language
    assert classify(text, source="transcripts").tier is not Tier.DISCARD


def test_the_words_of_a_user_alone_are_kept():
    record = f"## User\n\n{CHATTER}\n\n## User\n\n{CHATTER}\n\n## Assistant\n"
    assert judge(record, source="transcripts").only_user
    assert classify(record, source="transcripts").tier is not Tier.DISCARD


def test_one_part_that_says_something_keeps_the_others():
    talk = f"user: go on\n\nassistant: {CHATTER}\n\n"
    assert judge(talk, source="transcripts").discard > CERTAIN
    assert judge(f"{talk}user: why?\n\nassistant: {FACT}", source="transcripts").discard < CERTAIN


def test_a_text_of_many_parts_is_kept():
    text = "\n\n".join([CHATTER] * 1000)
    assert not judge(text).whole
    assert classify(text, source="transcripts").tier is not Tier.DISCARD


@pytest.mark.parametrize("source", sorted(KEPT_SOURCES))
def test_what_a_person_keeps_is_never_discarded(source):
    assert classify(CHATTER, source=source).tier is Tier.INGEST
    assert classify(CHATTER * 20, source=source).tier is Tier.SUMMARIZE
    assert not is_noise(CHATTER, source=source)


@pytest.mark.parametrize("times", [1, 20], ids=["short", "long"])
def test_the_first_reason_is_what_keeps_a_text_from_being_discarded(times):
    for kept in (
        classify(CHATTER * times, source="ingest"),
        classify(CHATTER * times, source="transcripts", protected=True),
        classify("Danke, das sieht wirklich sehr gut aus. " * times, source="transcripts"),
    ):
        assert kept.tier is not Tier.DISCARD
        assert kept.reason.startswith("kept: ")


def test_a_greeting_is_discarded():
    assert classify("ok, thanks!", source="transcripts").reason == "a greeting"


@pytest.mark.parametrize(
    ("text", "kind", "category"),
    [
        (FACT, Kind.ERROR, Category.ERROR_SOLUTION),
        ("## Style\n\n- Prefer small functions.\n- Never commit generated files.\n", Kind.PREFERENCE, None),
        (
            "## Architecture\n\nThe service has three layers. The storage module wraps the database.",
            Kind.ARCHITECTURE,
            Category.NONE,
        ),
    ],
)
def test_the_kind_and_the_category_are_the_most_probable_ones(text, kind, category):
    verdict = judge(text)
    assert verdict.kind is kind
    assert category in {None, verdict.category}


@pytest.mark.parametrize("text", ["ok", "Great, thank you!", "continue", "User: yes\n\nAssistant: Great!"])
def test_an_acknowledgement_or_a_bare_order_is_about_nothing(text):
    verdict = judge(text, source="transcripts")
    assert (verdict.kind, verdict.category) == (Kind.GENERAL, Category.NONE)


def test_a_short_wish_stays_a_preference():
    assert judge("ok, always use tabs", source="transcripts").kind is Kind.PREFERENCE


def test_a_protected_text_is_kept():
    assert classify(CHATTER, protected=True).tier is Tier.INGEST


def test_the_sentences_that_speak_most_for_and_against_a_text_are_its_own():
    text = f"{CHATTER} {FACT} Great, everything is done and looks good!"
    kept, idle = telling_sentences(text)
    assert "parse_row" in kept
    assert idle in {*CHATTER.replace("! ", "!|").split("|"), "Great, everything is done and looks good!"}
    assert telling_sentences("") == ("", "")


@given(st.text(max_size=3000))
def test_a_telling_sentence_stands_in_any_text(text):
    assert all(one in text for one in telling_sentences(text))
