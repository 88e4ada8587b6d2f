"""Dates in names and titles: whole and unambiguous, or none."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragmem.domain.retrieval.whole_dates import date_of_name, date_of_title, whole_dates

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
MONTHS = "January February March April May June July August September October November December".split()
MONATE = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
MOIS = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()

days = st.datetimes(datetime(1990, 1, 1), datetime(2026, 11, 23))  # noqa: DTZ001 - hypothesis wants it bare
NAMES = ["{}", "{} queue", "notes {}", "a_{}_b", "x-{}"]
TITLES = ["{}", "{}: queue", "Queue ({})", "**{}** x"]
FORMS = [
    "{0:%Y-%m-%d}",
    "{0:%Y%m%d}",
    "{0:%Y_%m_%d}",
    "{0:%Y.%m.%d}",
    "{0:%d.%m.%Y}",
    "{0.day}.{0.month}.{0:%Y}",
    "{1} {0.day}, {0:%Y}",
    "{1}-{0.day}-{0:%Y}",
    "{0.day} {1} {0:%Y}",
    "{0.day:02}-{1}-{0:%Y}",
    "{0.day}{1}{0:%Y}",
    "{0.day}. {2} {0:%Y}",
    "{0.day}_{2}_{0:%Y}",
    "{0.day} {3} {0:%Y}",
    "{0:%Y} {1} {0.day}",
]
"""How people write a day: with the name of its month in English, German and French."""


def rendered(form, day):
    return form.format(day, *(names[day.month - 1] for names in (MONTHS, MONATE, MOIS)))


def first(found):
    return found.stretch[0] if found else None


@given(
    day=days,
    form=st.sampled_from(FORMS),
    name=st.sampled_from(NAMES),
)
def test_a_day_that_is_written_into_a_name_is_read_back(day, form, name):
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    assert first(date_of_name(name.format(rendered(form, day)), now=NOW)) == midnight


@given(
    day=days,
    form=st.sampled_from(FORMS),
    title=st.sampled_from(TITLES),
)
def test_a_day_with_which_a_title_begins_or_ends_is_read_back(day, form, title):
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    assert first(date_of_title(title.format(rendered(form, day)), now=NOW)) == midnight


@given(
    day=days.map(lambda one: one.replace(microsecond=0)),
    form=st.sampled_from(["%Y-%m-%dT%H:%M:%S", "%Y%m%dT%H%M%S", "%Y-%m-%d_%H-%M-%S", "%Y-%m-%d %H:%M:%S"]),
    zone=st.sampled_from([("", 0), ("Z", 0), ("+02:00", 120), ("+0530", 330)]),
)
def test_a_time_of_day_and_its_zone_are_kept(day, form, zone):
    told, minutes = zone
    moment = day.replace(tzinfo=UTC) - timedelta(minutes=minutes)
    found = date_of_name(f"{day:{form}}{told}", now=NOW)
    assert first(found) == (moment if moment.year >= 1990 else None)


@given(text=st.text(max_size=400))
@example("2026-05-17" * 40)
@example("0001-01-01 9999-12-31 " * 10)
@example("17" + " " * 300)
def test_any_text_is_read(text):
    for one in whole_dates(text, now=NOW):
        assert 0 <= one.start < one.end <= len(text)
        assert one.stretch[0] <= one.stretch[1]
    for read in (date_of_name, date_of_title):
        found = read(text, now=NOW)
        assert found is None or found.moment(lambda: NOW).tzinfo


@pytest.mark.parametrize(
    "name",
    [
        "1.2.3",
        "v20.04",
        "v2026.05.17",
        "app-v2026.05.17",
        "version 2026-05-17",
        "build 20260517",
        "port 2026",
        "#20260517",
        "120260517",
        "2026051",
        "10.0.20.26",
        "192.168.2026",
        "1.12.2020.4",
        "CVE-2026-05123",
        "RFC-2026-05-x",
        "2019-2026",
        "2009-11",
        "03-04-2026",
        "03/04/2026",
        "2026-02-31",
        "31 February 2026",
        "2026-13-01",
        "2026-W54",
        "1985-01-01",
        "2031-01-01",
        "20991231",
        "2026-05-01--2026-05-17",
        "2026-05-01_2026-05-17",
        "20260501-20260517",
        "due-2026-05-17",
        "archive-until-2026-05-17",
        "bis 17. Mai 2026",
        "depuis le 17 mai 2026",
    ],
)
def test_what_only_may_be_a_date_is_none(name):
    assert date_of_name(name, now=NOW) is None
    assert date_of_title(name, now=NOW) is None


@pytest.mark.parametrize(
    "title",
    [
        "Migration due by 2027-01-01",
        "Migration due by 2026-01-01",
        "In use since 2019-05-01",
        "Offsite 2026-12-24",
        "2026-05-17 deadline for the tax",
        "2026-05-17 to 2026-05-20 offsite",
        "From 2026-05 to 2026-07",
        "What happened on 2026-05-17 in the harbour",
        "2026-05-01 and what came of it on 2026-05-17",
        "Effective from May 17, 2026",
        "Gültig bis 17.05.2026",
    ],
)
def test_a_title_that_names_a_date_in_another_sense_has_none(title):
    assert date_of_title(title, now=NOW) is None


@pytest.mark.parametrize(
    "title",
    [
        "Sunday, May 17, 2026 \u2014 standup",
        "Standup (Sun 17 May 2026)",
        "[2026-05-17] Standup",
        "Protokoll vom Sonntag, 17. Mai 2026",
        "Compte rendu du 17 mai 2026",
        "Status as of 2026-05-17",
        "ADR-0012: bound the queue (2026-05-17)",
        "2026-05-17, Sunday",
    ],
)
def test_weekdays_and_marks_stand_beside_the_date_of_a_title(title):
    assert first(date_of_title(title, now=NOW)) == datetime(2026, 5, 17, tzinfo=UTC)


@pytest.mark.parametrize(("name", "month"), [("2026-05", 5), ("standup-2026-05", 5), ("May 2026 review", 5)])
def test_a_month_is_when_the_file_was_changed_in_it(name, month):
    found = date_of_name(name, now=NOW)
    within = datetime(2026, month, 20, 7, tzinfo=UTC)
    assert found.moment(lambda: within) == within
    assert found.moment(lambda: NOW) == datetime(2026, month, 1, tzinfo=UTC)
