"""The text of an exchange divides into its question, its result and what stays open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.classification.greeting import is_order
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.sessions.outline import Outline, outline_of
from ragmem.domain.sessions.phases import text_of, title_of
from ragmem.domain.sessions.transcript import Act, ActType, Exchange

RESULT = """The table was late because the moon was asked twice.

We decided to keep one request per tide.

## Next steps

- Cache the answer in `moon.py`
- [x] Add a test
- Shall I open a pull request?

```python
ask(moon)
```"""

ACTS = (
    Act(ActType.SAID, "Let me look at the table, because it is slow."),
    Act(ActType.DELEGATED, "Find the callers"),
    Act(ActType.RETURNED, "Report of a subagent (Find the callers):\n\nOnly `tide.py` calls `moon.ask`."),
    Act(ActType.ADDED, "From now on never ask the moon at night."),
    Act(ActType.CHANGED, "/srv/tide/moon.py"),
    Act(ActType.SAID, RESULT),
)


def exchange(*acts: Act, question: str = "why is the tide table late?", **more: object) -> Exchange:
    return Exchange("s1", 1, "claude", question, acts, cwd="/srv/tide", **more)  # type: ignore[arg-type]


def parts(found: Exchange) -> dict[str, list[str]]:
    text = text_of(found)
    outline = outline_of(text)
    assert outline is not None
    named = ("result", "decisions", "causes", "open_points", "reports")
    return {name: [text[start:end] for start, end in getattr(outline, name)] for name in named}


def test_the_parts_of_an_exchange_leave_out_the_work() -> None:
    assert parts(exchange(*ACTS)) == {
        "result": [
            "The table was late because the moon was asked twice.",
            "We decided to keep one request per tide.",
            "- [x] Add a test",
            "- Shall I open a pull request?",
            "ask(moon)",
        ],
        "decisions": [
            "The user added: From now on never ask the moon at night.",
            "We decided to keep one request per tide.",
        ],
        "causes": ["The table was late because the moon was asked twice."],
        "open_points": ["- Cache the answer in `moon.py`"],
        "reports": ["Report of a subagent (Find the callers):", "Only `tide.py` calls `moon.ask`."],
    }


def test_an_answer_in_words_alone_is_a_result_and_one_without_an_end_has_none() -> None:
    assert parts(exchange(Act(ActType.SAID, "The moon is late.")))["result"] == ["The moon is late."]
    assert parts(exchange(*ACTS[:-1], interrupted=True))["result"] == []
    assert outline_of("A note about the moon.\n\nAssistant:\n\nNothing.") is None


@pytest.mark.parametrize(
    ("said", "opened"),
    [
        ("Done.\n\n**Remaining:**\n- the docs of `moon.py`\n\nAll tests pass.", ["- the docs of `moon.py`"]),
        ("Done.\n\nTODO: the docs of `moon.py`.", ["TODO: the docs of `moon.py`."]),
        ("Fertig.\n\n### Nächste Schritte\n\n1. Doku für `moon.py`", ["1. Doku für `moon.py`"]),
        ("## Next steps\n\n### Docs\n\nWrite them.\n\n## Tests\n\nThey pass.", ["Write them."]),
        ("The next steps are clear. The table is in time.", []),
    ],
)
def test_open_points(said: str, opened: list[str]) -> None:
    assert parts(exchange(Act(ActType.SAID, said)))["open_points"] == opened


@given(st.text(alphabet="#-*: \n`ab.?[x]", max_size=200), st.text(alphabet="# \nResult:ab.", max_size=80))
def test_every_part_is_within_the_text(said: str, question: str) -> None:
    text = text_of(
        exchange(ACTS[2], Act(ActType.CHANGED, "/srv/a"), Act(ActType.SAID, said), question=question)
    )
    outline = outline_of(text)
    assert isinstance(outline, Outline)
    spans = [*outline.result, *outline.open_points]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert not set(outline.result) & set(outline.open_points)


@pytest.mark.parametrize(
    ("acts", "question", "title"),
    [
        (
            (*ACTS, Act(ActType.COMMITTED, "1a2b3c4 Ask the moon once")),
            "ship it",
            "Ask the moon once",
        ),
        (
            (Act(ActType.REPORTED, "https://github.com/a/b/pull/7 Ask the moon once"), *ACTS[-1:]),
            "open a pull request",
            "Ask the moon once",
        ),
        (ACTS, "why?", "The table was late because the moon was asked twice."),
        ((Act(ActType.SAID, "Done! Perfect.\n\n```sh\nmake moon\n```"),), "make the moon", "make the moon"),
        (
            (Act(ActType.SAID, "I see `moon.py` asks twice."), Act(ActType.CHANGED, "/srv/tide/moon.py")),
            "continue",
            "continue (earlier: why is it late?)",
        ),
        (
            (Act(ActType.SAID, "`moon.py` asks twice, so I cache it."), Act(ActType.CHANGED, "/srv/moon.py")),
            "continue",
            "`moon.py` asks twice, so I cache it.",
        ),
    ],
)
def test_titles(acts: tuple[Act, ...], question: str, title: str) -> None:
    assert title_of(exchange(*acts, question=question, before="why is it late?"), 80, DEFAULT) == title or (
        title_of(exchange(*acts, question=question), 80, DEFAULT) == title
    )


@pytest.mark.parametrize(
    "order",
    [
        "continue",
        "Ship it!",
        "1",
        "yes, do both",
        "ok go ahead",
        "mach weiter",
        "2 and 3",
        "继续",
        "続けてください。",
        "@agent Try Again",
        '@agent Continue: "Continue to iterate?"',
        "Implement the plan as specified, it is attached for your reference. Do NOT edit the plan.",
    ],
)
def test_bare_orders(order: str) -> None:
    assert is_order(order)


@pytest.mark.parametrize(
    "order", ["", "fix the moon", "run pytest", "no, use SQLite", "/review", "why?", "@agent fix the moon"]
)
def test_orders_with_a_subject(order: str) -> None:
    assert not is_order(order)


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Done. The moon is asked once.", "The moon is asked once."),
        ("OK great, the moon is asked once.", "the moon is asked once."),
        ("No test fails when the moon is late.", "No test fails when the moon is late."),
        ("Good news: the moon is asked once now.", "Good news: the moon is asked once now."),
        ("Thanks for the log of the moon.\n\nThe moon is asked once.", "The moon is asked once."),
        ("All 12 tests pass (12/12) and lint is clean. The moon is asked once.", "The moon is asked once."),
        ("The file is complete and well-structured. The moon is asked once.", "The moon is asked once."),
        ("Ready for you to test it now. The moon is asked once.", "The moon is asked once."),
        (
            "潮汐の表は一度だけ取得されます。",
            "潮汐の表は一度だけ取得されます。",
        ),
        (
            "已修复潮汐表的显示问题。",
            "已修复潮汐表的显示问题。",
        ),
    ],
)
def test_a_title_loses_only_what_is_no_part_of_its_sentence(said: str, title: str) -> None:
    found = exchange(Act(ActType.CHANGED, "/srv/tide/moon.py"), Act(ActType.SAID, said))
    assert title_of(found, 120, redactor=DEFAULT) == title
