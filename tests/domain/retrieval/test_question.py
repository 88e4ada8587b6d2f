"""How a question is read: its syntax, its dates, and what it asks for."""

import time
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragmem.domain.retrieval.question import MAX_TYPED, parse, time_match

NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)
"""A Wednesday."""

moments = st.datetimes(timezones=st.just(UTC))
PIECES = (
    *'"-`\u201c\u201d\u2018\u2019\u00ab\u00bb \n?\ue000',
    *("-foo", '-"', "rm -rf", "git --all", "word", "a - b", "don't", "Error: x", "```"),
    *("last week", " since ", " before ", "2023", "8 May", "2023-05-08", " in ", " and "),
)
typed = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)


def asked(text, now=NOW):
    return parse(text, now=now)


def spans(text, now=NOW):
    """Return the spans as dates, the second one inclusive, as people write them."""
    return [
        " to ".join(
            ("" if moment is None else f"{moment:%Y-%m-%d}") for moment in (start, end and end - timedelta(1))
        )
        for start, end in asked(text, now).times
    ]


@pytest.mark.parametrize(
    ("text", "phrases", "rest"),
    [
        ('how do "circuit breakers" work', ["circuit breakers"], "how do circuit breakers work"),
        ("how do \u201ccircuit breakers\u201d work", ["circuit breakers"], "how do circuit breakers work"),
        (
            "\u201ecircuit breakers\u201c and \u00abretries\u00bb",
            ["circuit breakers", "retries"],
            "circuit breakers and retries",
        ),
        ("the \u2018circuit breaker\u2019 isn\u2019t", ["circuit breaker"], "the circuit breaker isn\u2019t"),
        ('"exit code 3"', ["exit code 3"], "exit code 3"),
        ('"how do we deploy to production?"', [], "how do we deploy to production?"),
        ('"the database is locked after a restart"', [], "the database is locked after a restart"),
        ("don't touch the users' data", [], "don't touch the users' data"),
        ('a 24" screen', [], "a 24 screen"),
        ('what does `echo "x y"` do', [], 'what does `echo "x y"` do'),
    ],
)
def test_only_pairs_of_quotes_make_phrases(text, phrases, rest):
    read = asked(text)
    assert (list(read.phrases), read.text) == (phrases, rest)


@pytest.mark.parametrize(
    ("text", "excluded", "rest"),
    [
        ("deploy -swarm", ["swarm"], "deploy"),
        ('docker deploy -"old stack" -swarm, please', ["old stack", "swarm"], "docker deploy please"),
        ("deploy -well-known", ["well-known"], "deploy"),
        ("a well-known idea", [], "a well-known idea"),
        ("a - b -- c", [], "a - b -- c"),
        ("what does -x do", [], "what does -x do"),
        ("what does --dry-run do", [], "what does --dry-run do"),
        ("why did rm -rf fail", [], "why did rm -rf fail"),
        ("find . -name config", [], "find . -name config"),
        ("git commit --amend -merge", [], "git commit --amend -merge"),
        ("answer -42", [], "answer -42"),
        ("-swarm", [], "swarm"),
        ("run `tool -verbose` twice", [], "run `tool -verbose` twice"),
    ],
)
def test_only_a_dash_before_a_word_excludes(text, excluded, rest):
    read = asked(text)
    assert (sorted(read.excluded), read.text) == (excluded, rest)


@settings(deadline=None)
@given(typed)
@example('x "-foo')
@example('"a -b" c')
@example('-foo -"bar"')
@example('"\u2018rm -rf\u2019')
def test_the_text_that_is_searched_has_no_syntax_left(text):
    once = asked(text)
    again = asked(once.text)
    assert again.text == once.text
    assert not again.excluded


@settings(deadline=None)
@given(st.text() | typed, moments)
def test_every_text_can_be_read_at_any_time(text, now):
    read = asked(text, now)
    assert all(word in read.text for word in read.words)
    assert all(any(letter.isalnum() for letter in phrase) for phrase in read.phrases + read.excluded)
    for start, end in read.times:
        assert start is not None or end is not None
        assert start is None or end is None or start < end
        assert all(moment is None or moment.tzinfo is UTC for moment in (start, end))


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "-", "-a ", '"', '"a', "`", "\u2018", " ", "1/", "aB", "x.y/", "  -- "),
        *("last ", "in 2023 ", "8 May ", "may ", "the day before ", "a few ", "between may and "),
        *("is x ", "how has ", "at x:1\n", "Error: ", "Error\n", "File a, "),
    ],
)
def test_a_long_text_takes_no_longer_by_the_character(piece):
    text = piece * (20_000 // len(piece))
    started = time.thread_time()
    asked(text)
    asked(text[:MAX_TYPED])
    assert time.thread_time() - started < 0.5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what broke on 2026-03-01?", ["2026-03-01 to 2026-03-01"]),
        ("the talk on 20260301", ["2026-03-01 to 2026-03-01"]),
        ("8 May 2023", ["2023-05-08 to 2023-05-08"]),
        ("on the 8th of May, 2023", ["2023-05-08 to 2023-05-08"]),
        ("May 8th", ["2025-05-08 to 2025-05-08"]),
        ("on Sept 3, 2024", ["2024-09-03 to 2024-09-03"]),
        ("25/12/2023 or 12/25/2024", ["2023-12-25 to 2023-12-25", "2024-12-25 to 2024-12-25"]),
        ("25.12.2023", ["2023-12-25 to 2023-12-25"]),
        ("29 February", ["2024-02-29 to 2024-02-29"]),
        ("in May", ["2025-05-01 to 2025-05-31"]),
        ("in March", ["2026-03-01 to 2026-03-31"]),
        ("in March 2024", ["2024-03-01 to 2024-03-31"]),
        ("2024-03", ["2024-03-01 to 2024-03-31"]),
        ("early May 2024", ["2024-05-01 to 2024-05-10"]),
        ("what did we decide in 2023", ["2023-01-01 to 2023-12-31"]),
        ("Q2 2024", ["2024-04-01 to 2024-06-30"]),
        ("the second quarter of 2024", ["2024-04-01 to 2024-06-30"]),
        ("2024-W12", ["2024-03-18 to 2024-03-24"]),
        ("in week 12", ["2026-03-16 to 2026-03-22"]),
        ("summer 2021", ["2021-06-01 to 2021-08-31"]),
        ("yesterday", ["2026-03-17 to 2026-03-17"]),
        ("the day before yesterday", ["2026-03-16 to 2026-03-16"]),
        ("this morning", ["2026-03-18 to 2026-03-17"]),
        ("last week", ["2026-03-09 to 2026-03-15"]),
        ("the week before last", ["2026-03-02 to 2026-03-08"]),
        ("last weekend", ["2026-03-14 to 2026-03-15"]),
        ("last month", ["2026-02-01 to 2026-02-28"]),
        ("last quarter", ["2025-10-01 to 2025-12-31"]),
        ("last year", ["2025-01-01 to 2025-12-31"]),
        ("last summer", ["2025-06-01 to 2025-08-31"]),
        ("last May", ["2025-05-01 to 2025-05-31"]),
        ("three days ago", ["2026-03-15 to 2026-03-15"]),
        ("a few days ago", ["2026-03-13 to 2026-03-16"]),
        ("a couple of weeks ago", ["2026-03-01 to 2026-03-07"]),
        ("in the last 2 weeks", ["2026-03-04 to 2026-03-18"]),
        ("in the past month", ["2026-02-18 to 2026-03-18"]),
        ("last Tuesday", ["2026-03-17 to 2026-03-17"]),
        ("on Friday of last week", ["2026-03-13 to 2026-03-13"]),
        ("last week's Monday", ["2026-03-09 to 2026-03-09"]),
        ("Freitag letzter Woche", ["2026-03-13 to 2026-03-13"]),
        ("vendredi de la semaine dernière", ["2026-03-13 to 2026-03-13"]),
        ("on Tuesday this week", ["2026-03-17 to 2026-03-17"]),
        ("on Friday this week", ["2026-03-16 to 2026-03-22"]),
        ("in the summer of last year", ["2025-06-01 to 2025-08-31"]),
        ("Q3/2025", ["2025-07-01 to 2025-09-30"]),
        ("im 3. Quartal geliefert", ["2025-07-01 to 2025-09-30"]),
        ("im Quartal 3 2025", ["2025-07-01 to 2025-09-30"]),
        ("last Wednesday", ["2026-03-11 to 2026-03-11"]),
        ("since Monday", ["2026-03-16 to "]),
        ("before 8 May 2023", [" to 2023-05-07"]),
        ("after 8 May 2023", ["2023-05-09 to "]),
        ("until March 2024", [" to 2024-03-31"]),
        ("from 2023 onwards", ["2023-01-01 to "]),
        ("more than a year ago", [" to 2025-03-17"]),
        ("between March 3 and April 5, 2025", ["2025-03-03 to 2025-04-05"]),
        ("from December to February", ["2025-12-01 to 2026-02-28"]),
        ("between 2020 and 2022", ["2020-01-01 to 2022-12-31"]),
        ("in March and April", ["2025-03-01 to 2025-03-31", "2025-04-01 to 2025-04-30"]),
        ("in July last year", ["2025-07-01 to 2025-07-31"]),
        ("in 2023, back in July", ["2023-07-01 to 2023-07-31"]),
        ("last week, as told on 6 November 2023", ["2023-11-06 to 2023-11-06"]),
        ("on Tuesday, March 10", ["2026-03-10 to 2026-03-10"]),
        ("12-15 March 2024", ["2024-03-12 to 2024-03-15"]),
        ("between 10 and 20 May", ["2025-05-10 to 2025-05-20"]),
        ("May 3-5, 2024", ["2024-05-03 to 2024-05-05"]),
        ("the week of March 3", ["2026-03-02 to 2026-03-08"]),
        ("two weeks before 11 August 2023", ["2023-07-28 to 2023-08-11"]),
    ],
)
def test_a_date_is_read_as_it_is_said(text, expected):
    assert spans(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "port 2023 is taken",
        "HTTP 2026",
        "issue #2023 and pull request 2024",
        "does it run on Ubuntu 20.03 or Python 3.11",
        "protocol version 2025-06-18",
        "what fails in 2023 requests",
        "it stops after 2000 ms",
        "error 2023 in line 2024",
        "a 2023 model with 2048 tokens",
        "docs/plans/2026-03-01-search.md",
        "build-20260301",
        "CVE-2023-12345",
        "8/5/2023",
        "31 June 2023",
        "may 8 workers run at once",
        "it may be that march goes on",
        "how do I add a month to a date",
        "how many days ago was it",
        "my last name, the last time, the last commit and the last day of the sprint",
        "what runs on Mondays",
        "the Sunday mass",
        "spring boot and fall back",
        "a second quarter-final",
        "in week 3 of the course",
        "next week and tomorrow",
        "good compared with today",
        "who broke the salt law in 1930",
        'the track "September 2023"',
        "what does `date -d 2023-05-08` print",
        "2026-03-01 10:00:03 worker\nTraceback (most recent call last):\nValueError: 1",
        "8 mai 1930",
        "KW 99",
        "der Planet mars und die mission mars",
        "it fails at 12:30 ratio",
        "line 14:05 of the file",
        "see main.py:14:05",
        "a 16:09 screen",
        "the score was 3:2",
        "fifth week of February 2023",
        "week 54",
        "every Monday",
    ],
)
def test_a_number_that_only_may_be_a_date_is_none(text):
    assert spans(text) == []


@settings(deadline=None)
@given(st.integers(0, 99_999), st.sampled_from("requests tokens ms files workers times bytes users".split()))
def test_a_count_is_never_a_date(number, noun):
    assert spans(f"what happens in {number} {noun} or after {number} {noun}") == []


@settings(deadline=None, max_examples=40)
@given(st.dates(date(1970, 1, 1), NOW.date()))
def test_all_forms_of_a_day_mean_that_day(day):
    expected = [f"{day:%Y-%m-%d} to {day:%Y-%m-%d}"]
    for form in ("%Y-%m-%d", "%Y/%m/%d", "%d %B %Y", "%B %d, %Y", "%b %d %Y", "%d.%m.%Y", "on %Y%m%d"):
        assert spans(f"what happened {day:{form}}?") == expected


@settings(deadline=None, max_examples=40)
@given(moments.filter(lambda moment: 1971 < moment.year < 9990), st.integers(1, 300))
def test_what_is_told_from_now_is_past_and_contains_its_moment(now, count):
    for unit, length in (("days", 1), ("weeks", 7)):
        ((start, end),) = asked(f"{count} {unit} ago", now).times
        assert start <= now - timedelta(count * length) < end
        ((start, end),) = asked(f"in the last {count} {unit}", now).times
        assert start <= now - timedelta(count * length) < now < end
    for told in ("yesterday", "last week", "last month", "last year", "last Friday", "last night"):
        ((start, end),) = asked(told, now).times
        assert start < end <= now.replace(hour=6) + timedelta(1)
        assert start < now


def test_dates_are_those_of_the_zone_of_the_question():
    zone = timezone(timedelta(hours=9))
    ((start, end),) = asked("yesterday", datetime(2026, 3, 18, 1, tzinfo=zone)).times
    assert start == datetime(2026, 3, 16, 15, tzinfo=UTC)
    assert end == datetime(2026, 3, 17, 15, tzinfo=UTC)


def test_a_text_full_of_dates_asks_for_none():
    assert spans(" ".join(f"2026-01-{day:02}" for day in range(1, 10))) == []


@settings(deadline=None)
@given(moments, moments, st.integers(1, 400))
def test_time_match_is_one_inside_and_falls_with_the_distance(moment, start, days):
    start = min(start, datetime(9990, 1, 1, tzinfo=UTC))
    span = (start, start + timedelta(days))
    match = time_match(moment, [span])
    assert 0 <= match <= 1
    assert (match == 1) == (span[0] <= moment < span[1]) or match > 0.999
    if moment >= span[1] and moment.year < 9998:
        assert time_match(moment + timedelta(1), [span]) <= match
    assert time_match(moment, []) == 0
    assert time_match(moment, [span, (None, moment + timedelta.resolution)]) == 1


def test_a_named_span_forgives_its_own_length():
    day = (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    for distance, expected in ((0, 1.0), (1, 0.5), (2, 0.0625), (3, 0.0)):
        assert time_match(day[1] + timedelta(distance), [day]) == expected
    year = (datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))
    assert [time_match(year[1] + timedelta(days), [year]) for days in (-300, 35, 105)] == [1.0, 0.5, 0.0]
    assert time_match(datetime(2026, 3, 4, tzinfo=UTC), [(None, day[1])]) > 0.9
    assert time_match(datetime(2026, 4, 1, tzinfo=UTC), [(None, day[1])]) == 0


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("what did we use to deploy; we used to have a script", "wants_history"),
        ("what was the default originally", "wants_history"),
        ("how has the retry policy changed", "wants_history"),
        ("history of the cache key", "wants_history"),
        ("what was it before the migration", "wants_history"),
        ("what was the timeout before that?", "wants_history"),
        ("which queue did we use before rabbitmq", "wants_history"),
        ("what is the old name of the service", "wants_history"),
        ("what were the old defaults", "wants_history"),
        ("which port did the earlier release use", "wants_history"),
        ("which port was it in the past", "wants_history"),
        ("which decision was superseded", "wants_history"),
        ("why did we use AUC before?", "wants_history"),
        ("which pool size was set before", "wants_history"),
        ("Welche Metrik haben wir früher benutzt?", "wants_history"),
        ("was hatten wir vorher als Broker", "wants_history"),
        ("Quel était le délai auparavant ?", "wants_history"),
        ("quel outil on utilisait avant", "wants_history"),
        ("¿Qué proveedor teníamos antes?", "wants_history"),
        ("Que banco de dados usávamos antes?", "wants_history"),
        ("quale database usavamo prima?", "wants_history"),
        ("welke wachtrij gebruikten we vroeger", "wants_history"),
        ("Jaki był wcześniej termin płatności?", "wants_history"),
        ("какой порт был раньше", "wants_history"),
        ("what is the latest plan", "wants_newest"),
        ("which model do we currently use", "wants_newest"),
        ("what is our current setup", "wants_newest"),
        ("where do the logs go now", "wants_newest"),
        ("when did we drop redis", "asks_when"),
        ("and when was it merged", "asks_when"),
        ("which month did it start", "asks_when"),
        ("how long ago was that", "asks_when"),
        ("do you remember when we moved", "asks_when"),
    ],
)
def test_a_question_tells_what_it_asks_for(text, feature):
    read = asked(text)
    assert getattr(read, feature)
    for other in {"wants_history", "wants_newest", "asks_when"} - {feature}:
        assert not getattr(read, other)


def test_a_long_prompt_asks_in_its_questions_only():
    told = "We currently run the latest build, and it used to work. " * 6
    read = asked(f"{told} When did it break?")
    assert read.asks_when
    assert not any((read.wants_history, read.wants_newest))


@pytest.mark.parametrize(
    "text",
    [
        "what is this flag used to do",
        "what do I check before this step",
        "have we seen this error before",
        "what should I do before a release",
        "was muss ich vorher prüfen",
        "das merken sie früher oder später",
        "que faire avant la mise en production",
        "¿qué hago antes de publicar?",
        "quale viene prima",
        "what did we decide about retries",
        "how old are the defaults",
        "which tricks have I used to improve it",
        "how do I get the current directory",
        "pull the image:latest",
        "current_time and nowhere",
        "When the server starts, which port does it take",
        "what happens when a test fails",
        'who sang "The Latest"',
    ],
)
def test_other_uses_of_the_words_ask_for_nothing(text):
    read = asked(text)
    assert not any((read.wants_history, read.wants_newest, read.asks_when))


@pytest.mark.parametrize(
    "text",
    [
        'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: bad "thing" -foo',
        "TypeError: x is not a function\n    at run (/srv/app/index.js:12:5)",
        "error[E0308]: mismatched types",
        "src/main.c:12:5: error: expected ';'",
        "panic: runtime error: index out of range",
        "bash: foo: command not found",
        "why do I see sqlite3.OperationalError: database is locked",
    ],
)
def test_a_pasted_error_is_seen_and_keeps_its_marks(text):
    read = asked(text)
    assert read.pasted_error
    assert read.text == text
    assert not any((read.phrases, read.excluded, read.times))


@pytest.mark.parametrize(
    "text", ["error handling in seed", "which errors: all or none", "trace the request", "at home"]
)
def test_speaking_of_errors_is_not_pasting_one(text):
    assert not asked(text).pasted_error


def test_identifiers_and_paths_are_told_apart():
    read = asked("why does getUser in src/app/main.py ignore --dry-run")
    assert read.identifiers == ("getUser", "src/app/main.py", "--dry-run")
    assert read.paths == ("src/app/main.py",)


def test_a_pasted_document_has_neither_syntax_nor_dates():
    text = 'since 8 May 2023 "we" -used ' * 100
    read = asked(text)
    assert read.text == text.strip()
    assert not any((read.phrases, read.excluded, read.times))


@pytest.mark.parametrize(
    "text",
    ["what happened last week", "yesterday", "notes of 3 May 2024", "what's new since Monday?", "in March"],
)
def test_a_question_may_name_nothing_but_a_time(text):
    assert parse(text, now=NOW).only_times


@pytest.mark.parametrize(
    "text",
    ["why did the kiln fail yesterday", '"pool" last week', "what happened", "", "notes of the May queue"],
)
def test_a_question_that_names_something_else_is_not_about_a_time_alone(text):
    assert not parse(text, now=NOW).only_times


BERLIN, ANGELES, TOKYO = (ZoneInfo(name) for name in ("Europe/Berlin", "America/Los_Angeles", "Asia/Tokyo"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3rd week of May", ["2025-05-15 to 2025-05-21"]),
        ("what did we do in the third week of May 2024", ["2024-05-15 to 2024-05-21"]),
        ("the first week of May", ["2025-05-01 to 2025-05-07"]),
        ("week 2 of May 2024", ["2024-05-08 to 2024-05-14"]),
        ("in the fifth week of May", ["2025-05-29 to 2025-05-31"]),
        ("last week of May", ["2025-05-25 to 2025-05-31"]),
        ("the last week of last month", ["2026-02-22 to 2026-02-28"]),
        ("week 23", ["2025-06-02 to 2025-06-08"]),
        ("the 23rd week of 2024", ["2024-06-03 to 2024-06-09"]),
        ("second half of 2024", ["2024-07-01 to 2024-12-31"]),
        ("2024 H1", ["2024-01-01 to 2024-06-30"]),
        ("in the first half of last year", ["2025-01-01 to 2025-06-30"]),
        ("the 2nd half of May", ["2025-05-16 to 2025-05-31"]),
        ("first Monday of May", ["2025-05-05 to 2025-05-05"]),
        ("the last Friday in March 2024", ["2024-03-29 to 2024-03-29"]),
        ("what did I do Monday?", ["2026-03-16 to 2026-03-16"]),
        ("am 8. Mai letztes Jahr", ["2025-05-08 to 2025-05-08"]),
        ("was war am 3. März 2024", ["2024-03-03 to 2024-03-03"]),
        ("gestern", ["2026-03-17 to 2026-03-17"]),
        ("letzte Woche", ["2026-03-09 to 2026-03-15"]),
        ("vor drei Tagen", ["2026-03-15 to 2026-03-15"]),
        ("in der dritten Maiwoche", ["2025-05-15 to 2025-05-21"]),
        ("in der 3. Woche im Mai 2024", ["2024-05-15 to 2024-05-21"]),
        ("letzte Woche im Mai", ["2025-05-25 to 2025-05-31"]),
        ("in KW 23", ["2025-06-02 to 2025-06-08"]),
        ("zweites Halbjahr 2024", ["2024-07-01 to 2024-12-31"]),
        ("3. Quartal 2024", ["2024-07-01 to 2024-09-30"]),
        ("seit Montag", ["2026-03-16 to "]),
        ("letzten Freitag", ["2026-03-13 to 2026-03-13"]),
        ("zwischen dem 3. Mai und dem 5. Mai", ["2025-05-03 to 2025-05-05"]),
        ("vor dem 3. Mai", [" to 2025-05-02"]),
        ("hier", ["2026-03-17 to 2026-03-17"]),
        ("la semaine dernière", ["2026-03-09 to 2026-03-15"]),
        ("il y a trois jours", ["2026-03-15 to 2026-03-15"]),
        ("la troisième semaine de mai", ["2025-05-15 to 2025-05-21"]),
        ("la dernière semaine de mai", ["2025-05-25 to 2025-05-31"]),
        ("semaine 23", ["2025-06-02 to 2025-06-08"]),
        ("T3 2024", ["2024-07-01 to 2024-09-30"]),
        ("deuxième moitié de 2024", ["2024-07-01 to 2024-12-31"]),
        ("lundi dernier", ["2026-03-16 to 2026-03-16"]),
        ("depuis lundi", ["2026-03-16 to "]),
        ("le premier lundi de mai", ["2025-05-05 to 2025-05-05"]),
        ("entre le 3 mai et le 5 mai", ["2025-05-03 to 2025-05-05"]),
    ],
)
def test_a_part_of_a_month_or_a_year_is_read_as_it_is_said_in_three_languages(text, expected):
    assert spans(text) == expected


@pytest.mark.parametrize("text", ["mid May", "mid-May 2025", "Mitte Mai", "mi-mai"])
def test_the_middle_of_a_month_holds_its_middle_and_neither_end(text):
    ((start, end),) = asked(text).times
    assert start < datetime(2025, 5, 16, tzinfo=UTC) < end
    assert (start.month, end.month) == (5, 5)


@pytest.mark.parametrize("text", ["end of March 2024", "Ende März 2024", "fin mars 2024", "late March 2024"])
def test_the_end_of_a_month_holds_its_last_day_and_not_the_first(text):
    ((start, end),) = asked(text).times
    assert start.day > 15
    assert end == datetime(2024, 4, 1, tzinfo=UTC)


AT_FIVE_PAST_TWO = (
    "what did I note on 3 May 2025 at 14:05",
    "2025-05-03 14:05",
    "2025-05-03T14:05",
    "at 14:05 on 3 May 2025",
    "May 3, 2025 at 2:05 pm",
    "2.05pm on 3 May 2025",
    "3 May 2025, 14:05",
    "am 3. Mai 2025 um 14:05",
    "am 3. Mai 2025 um 14.05 Uhr",
    "am 3. Mai 2025 um 14 Uhr 05",
    "le 3 mai 2025 à 14h05",
    "what did I note at 14:05 about kilns on 3 May 2025",
)


@pytest.mark.parametrize("text", AT_FIVE_PAST_TWO)
@pytest.mark.parametrize("zone", [BERLIN, ANGELES, TOKYO, UTC])
def test_a_time_of_day_is_the_minute_of_the_persons_zone(text, zone):
    read = parse(text, now=NOW, zone=zone)
    minute = datetime(2025, 5, 3, 14, 5, tzinfo=zone)
    assert any(start == minute and end == minute + timedelta(minutes=1) for start, end in read.times)
    assert time_match(minute + timedelta(seconds=59), read.times) == 1
    # What was stored without a zone has its clock in UTC.
    assert time_match(minute.replace(tzinfo=UTC), read.times) == 1
    assert time_match(minute + timedelta(hours=3, minutes=30), read.times) < 0.01
    assert read.days == ((datetime(2025, 5, 3, tzinfo=UTC), datetime(2025, 5, 4, tzinfo=UTC)),)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday at 9 am", (17, 9), (17, 10)),
        ("gestern um 9 Uhr", (17, 9), (17, 10)),
        ("hier à 9h", (17, 9), (17, 10)),
        ("3pm yesterday", (17, 15), (17, 16)),
        ("what did I note at 3pm", (18, 15), (18, 16)),
        ("what did I note at 8pm", (17, 20), (17, 21)),
        ("yesterday between 2 and 4 pm", (17, 14), (17, 16)),
        ("yesterday evening", (17, 17), (18, 0)),
        ("gestern Abend", (17, 17), (18, 0)),
        ("Monday morning", (16, 4), (16, 12)),
        ("lundi matin", (16, 4), (16, 12)),
        ("yesterday at noon", (17, 12), (17, 13)),
    ],
)
def test_a_time_of_day_beside_a_day_is_that_part_of_it(text, first, last):
    now = datetime(2026, 3, 18, 16, 30, tzinfo=BERLIN)
    here = parse(text, now=now.astimezone(UTC), zone=BERLIN).times[0]
    (day, hour), (until, end) = first, last
    assert here == (
        datetime(2026, 3, day, hour, tzinfo=BERLIN),
        datetime(2026, 3, until, end, tzinfo=BERLIN),
    )


@pytest.mark.parametrize(
    "text",
    ["3 May 2025 at 14:05 UTC", "2025-05-03T14:05:10Z", "3 May 2025 at 16:05 CEST", "2025-05-03 09:05-05:00"],
)
def test_a_zone_that_is_said_holds_and_no_other(text):
    minute = datetime(2025, 5, 3, 14, 5, tzinfo=UTC)
    assert parse(text, now=NOW, zone=TOKYO).times == ((minute, minute + timedelta(minutes=1)),)


def test_a_memory_with_no_more_than_a_date_is_near_a_time_of_its_day():
    read = parse("3 May 2025 at 14:05", now=NOW, zone=ANGELES)
    midnight = datetime(2025, 5, 3, tzinfo=UTC)
    assert time_match(midnight, read.times) < 0.01
    assert time_match(midnight, read.days) == 1


ZONES = st.sampled_from([UTC, BERLIN, ANGELES, TOKYO, timezone(timedelta(hours=-3, minutes=-30))])


@settings(deadline=None, max_examples=60)
@given(
    st.integers(600_000, 29_000_000).map(lambda minute: datetime.fromtimestamp(60 * minute, tz=UTC)), ZONES
)
def test_any_minute_is_found_by_all_forms_of_its_day_and_clock(moment, zone):
    minute = moment.replace(second=0, microsecond=0, tzinfo=zone)
    for form in (
        "%Y-%m-%d %H:%M",
        "%Y-%m-%dT%H:%M",
        "on %d %B %Y at %H:%M",
        "at %I:%M %p on %B %d, %Y",
        "%d.%m.%Y um %H:%M Uhr",
        "%H:%M on %Y/%m/%d",
    ):
        times = parse(f"what did I note {moment:{form}}?", now=NOW, zone=zone).times
        assert minute.astimezone(UTC) in [start for start, _ in times], form


@settings(deadline=None, max_examples=60)
@given(st.integers(1971, 2025), st.integers(1, 12), st.integers(1, 4))
def test_the_weeks_of_a_month_follow_each_other_from_its_first_day(year, month, number):
    name = date(year, month, 1).strftime("%B")
    told = ("first", "second", "third", "fourth")[number - 1]
    ((start, end),) = asked(f"what happened in the {told} week of {name} {year}").times
    assert (start.year, start.month, start.day) == (year, month, 7 * number - 6)
    assert end - start == timedelta(7)
    ((last, until),) = asked(f"the last week of {name} {year}").times
    assert (until - last, until.day, (until - timedelta(1)).month) == (timedelta(7), 1, month)
    assert start < until
    assert end <= until


@pytest.mark.parametrize(
    "piece", ["at 9 ", "14:05 ", "3 mai ", "vor drei ", "la semaine ", "um 14 Uhr ", "3. Woche "]
)
def test_a_long_text_of_clocks_takes_no_longer_by_the_character(piece):
    text = piece * (MAX_TYPED // len(piece))
    asked(text)
    started = time.thread_time()
    asked(text)
    assert time.thread_time() - started < 0.5
