"""For which time a sentence says that it holds."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.retrieval.validity import may_be_dated, may_have_ended, validity

NOW = datetime(2026, 3, 18, tzinfo=UTC)


def day(year, month=1, number=1):
    return datetime(year, month, number, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sentence", "label", "since", "until", "ended"),
    [
        ("Gull used Jenkins until March 2024.", "until March 2024", None, day(2024, 4), True),
        ("CI has run on Woodpecker since 14 March 2024.", "since 2024-03-14", day(2024, 3, 14), None, False),
        ("Kiln 14 was in use from 2021 to 2023.", "2021 to 2023", day(2021), day(2024), True),
        ("From 2021 until June 2030 we rent it.", "2021 to June 2030", day(2021), day(2030, 7), False),
        ("As of Q2 2025 the API returns JSON.", "since 2025-04-01 to 2025-06-30", day(2025, 4), None, False),
        ("From 2024 on we pin the driver.", "since 2024", day(2024), None, False),
        ("We no longer use the kiln.", "no longer", None, None, True),
        ("We used to fire by hand.", "formerly", None, None, True),
        ("Wir nutzten Jenkins bis März 2024.", "until March 2024", None, day(2024, 4), True),
        ("Seit 2023 läuft alles auf Kubernetes.", "since 2023", day(2023), None, False),
        ("Wir nutzen den Ofen nicht mehr.", "no longer", None, None, True),
        ("Nous utilisons Redis depuis mars 2024.", "since March 2024", day(2024, 3), None, False),
        ("Usamos Redis desde marzo de 2024.", "since March 2024", day(2024, 3), None, False),
        ("我们从2023年开始用Redis。", "since 2023", day(2023), None, False),
    ],
)  # fmt: skip
def test_a_statement_says_since_when_and_until_when_it_holds(sentence, label, since, until, ended):
    found = validity(sentence, now=NOW)
    assert (found.label, found.since, found.until, found.ended) == (label, since, until, ended)
    far = f"Nothing. {sentence}{' It is so.' * 20} Seen in 2025."
    assert may_be_dated(far) or not (since or until)
    assert may_have_ended(far) or not (until and ended)


def test_what_something_is_used_for_has_not_ended():
    assert not may_have_ended("The tensioner is used to control the yarn.")
    assert may_have_ended("It is known that we\nused to fire by hand.")


def test_a_year_far_from_the_words_dates_nothing():
    assert not may_be_dated(f"Seen in 2025.{' It is so.' * 20} From then on we wait.")
    assert not may_have_ended(f"From then on we wait.{' It is so.' * 20} Seen in 2025.")


@pytest.mark.parametrize(
    "sentence",
    [
        "The report must be finished until 2024-03-01.",
        "The certificate is valid until 2024-01-01.",
        "We did not get a kiln until 2024.",
        "Did we use Jenkins until 2024?",
        "Logs from 2024-01-01 to 2024-02-01 were lost.",
        "The data from 2024 is here.",
        "We met between March and April.",
        "Since we moved, builds are fast.",
        "Since version 2024.1 it works.",
        "The flag is used to fire by hand.",
        "Read lines from 3 to 5.",
        "Do not hesitate to ask if you have any more questions.",
        "Yarn tensioner: used to control the yarn.",
        "The text is no longer than a page.",
        "Once the kiln is no longer warm, open it.",
        "until",
        "",
    ],
)
def test_without_a_sure_time_nothing_is_said(sentence):
    assert validity(sentence, now=NOW) is None


@given(st.text(max_size=80), st.sampled_from(["since 2024", "until 99999999", "from 2024-02-30 to 2024"]))
def test_any_text_is_read(text, said):
    validity(f"{text} {said} {text}", now=NOW)


def test_a_span_of_the_past_lies_within_or_not():
    asked = (day(2022), day(2023))
    assert validity("We used it until 2023.", now=NOW).contains(asked)
    assert validity("We have used it since 2020.", now=NOW).contains(asked)
    assert not validity("We have used it since 2024.", now=NOW).contains(asked)
    assert not validity("It was in use from 2020 to 2021.", now=NOW).contains(asked)
    assert not validity("We no longer use it.", now=NOW).contains(asked)
    assert not validity("We used it until 2023.", now=NOW).contains((None, day(2023)))
