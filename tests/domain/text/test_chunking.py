import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.text.blocks import MAX_HEADING_CHARS
from ragmem.domain.text.chunking import MAX_CHARS, chunk

WORDS = "the store keeps every row of the table in one file on disk "
PARTS = st.sampled_from(
    [
        *("# One", "## Two", "### Three", "#### Four", "#hash", "# ", "===", "---"),
        *("```", "```py", "~~~", "- item", "1. first", "| a | b |", "|---|---|", "> quote", "    indented"),
        *("user: why", "assistant: so", "Kim: hi", "Ola: ho", "def f():", "    return 1", "}", "f() {"),
        *("A sentence. Another one! ", "word ", "e.g. this", "`code`", "x" * 120),
        *("\n", "\n\n", "\r\n", "\t", " ", "\u2028", "\x0b", "\x00", "漢字。", "😀", "é"),
    ]
)
TEXTS = (
    st.text(max_size=300)
    | st.lists(PARTS, max_size=60).map("".join)
    | st.lists(PARTS, max_size=60).map("\n".join)
)
BUDGETS = st.tuples(st.integers(20, 200), st.integers(0, 20))


def squeeze(text):
    return "".join(text.split())


@given(TEXTS, BUDGETS)
def test_chunks_rebuild_the_text(text, budget):
    chunks = chunk(text, memory_id="m", max_chars=budget[0], min_chars=budget[1], redactor=DEFAULT)
    assert "".join(squeeze(part.text) for part in chunks) == squeeze(text)
    for part in chunks:
        assert part.text == text[part.start : part.end]
        assert part.text.strip()
    for before, after in pairwise(chunks):
        assert before.end <= after.start
    assert [part.order for part in chunks] == list(range(len(chunks)))


@given(TEXTS, BUDGETS)
def test_no_chunk_exceeds_the_budget_by_more_than_a_heading(text, budget):
    for part in chunk(text, memory_id="m", max_chars=budget[0], min_chars=budget[1], redactor=DEFAULT):
        assert len(part.text) <= max(budget[0], 4) + MAX_HEADING_CHARS + 2


@given(TEXTS)
def test_chunking_twice_gives_the_same_ids_and_ids_are_unique(text):
    once, twice = chunk(text, memory_id="m", redactor=DEFAULT), chunk(text, memory_id="m", redactor=DEFAULT)
    assert once == twice
    assert len({part.id for part in once}) == len(once)
    assert {part.id for part in once}.isdisjoint(
        part.id for part in chunk(text, memory_id="other", redactor=DEFAULT)
    )


def test_a_blank_text_has_no_chunks():
    assert chunk("", memory_id="m", redactor=DEFAULT) == ()
    assert chunk(" \n\t\r\n", memory_id="m", redactor=DEFAULT) == ()


def test_a_short_note_is_one_chunk():
    text = "# Title\n\nOne line.\n\n## Part\n\nAnother line.\n"
    (only,) = chunk(text, memory_id="m", redactor=DEFAULT)
    assert only.text == text.strip()
    assert only.heading == "Title"


def test_large_sections_are_chunks_with_their_heading_path():
    text = f"# Top\n\n## Left\n\n{WORDS * 12}\n\n## Right\n\n### Deep\n\n{WORDS * 12}\n"
    left, right = chunk(text, memory_id="m", redactor=DEFAULT)
    assert left.text.startswith("# Top")
    assert left.heading == "Top > Left"
    assert right.text.startswith("## Right\n\n### Deep")
    assert right.heading == "Top > Right > Deep"


def test_a_section_that_is_split_keeps_its_path_in_every_part():
    text = f"# Top\n\n## Long\n\n{('Now ' + WORDS.strip() + '. ') * 60}"
    parts = chunk(text, memory_id="m", redactor=DEFAULT)
    assert len(parts) > 3
    assert {part.heading for part in parts[1:]} == {"Top > Long"}
    assert all(part.text.endswith(".") for part in parts)


def test_an_answer_stands_under_what_was_asked():
    asked = "How is the staging certificate renewed?"
    answer = f"It is renewed by a timer.\n\n## Steps\n\n{WORDS * 30}"
    parts = chunk(
        f"user: {asked}\nassistant: {answer}\nuser: Thanks, that is all.\n", memory_id="m", redactor=DEFAULT
    )
    assert parts[0].text.startswith(f"user: {asked}\nassistant: It is renewed")
    assert parts[0].heading == ""
    assert {part.heading for part in parts[1:-1]} == {f"{asked} > Steps"}
    assert parts[-1].text == "user: Thanks, that is all."
    assert parts[-1].heading == ""


def test_a_long_question_has_chunks_of_its_own_and_heads_its_answer_clipped():
    text = f"Human: I wonder. {WORDS * 9}\n\nAI: {WORDS * 9}"
    question, answer = chunk(text, memory_id="m", redactor=DEFAULT)
    assert question.text.startswith("Human: I wonder.")
    assert answer.text.startswith("AI: the store")
    assert answer.heading.startswith("I wonder. the store keeps")
    assert answer.heading.endswith("…")
    assert len(answer.heading) <= MAX_CHARS // 4


def test_short_turns_of_people_share_a_chunk_that_ends_with_a_turn():
    text = "".join(f"{'Kim' if n % 2 else 'Ola'}: {WORDS * 2}\n" for n in range(12))
    parts = chunk(text, memory_id="m", redactor=DEFAULT)
    assert 2 < len(parts) < 12
    assert all(part.text.startswith(("Kim: ", "Ola: ")) for part in parts)


def test_a_function_that_fits_is_not_cut_and_stands_under_its_class():
    body = "\n".join(f"        value_{n} = compute({n})" for n in range(12))
    text = "class Store:\n" + "".join(f"    def step_{n}(self):\n{body}\n\n" for n in range(5))
    parts = chunk(text, memory_id="m", redactor=DEFAULT)
    for number in range(5):
        function = f"def step_{number}(self):\n{body}"
        (only,) = [part for part in parts if function in part.text]
        assert only.heading == ("Store" if number else "")
        assert "Store" in only.searchable


def test_a_fence_that_is_too_large_is_divided_between_its_functions():
    functions = [f"def step_{n}():\n" + "    call('a', 1)\n" * 25 for n in range(4)]
    parts = chunk("# T\n\n```py\n" + "\n".join(functions) + "```\n", memory_id="m", redactor=DEFAULT)
    assert all(any(function.strip() in part.text for part in parts) for function in functions)


def test_a_hash_inside_a_code_fence_is_no_heading():
    text = f"# Real\n\n```sh\n# not a heading\nmake\n```\n\n{WORDS * 20}"
    assert {part.heading for part in chunk(text, memory_id="m", redactor=DEFAULT)} == {"Real"}


@pytest.mark.parametrize("body", ["```py\n" + "value = other\n" * 40 + "```", "| left | right |\n" * 24])
def test_a_fence_or_table_that_fits_is_kept_whole(body):
    body = body.strip()
    text = f"# T\n\n{WORDS * 8}\n\n{body}\n\n{WORDS * 8}"
    assert any(body in part.text for part in chunk(text, memory_id="m", redactor=DEFAULT))


def test_small_neighbours_under_one_parent_are_merged():
    text = "# Top\n\n" + "".join(f"## Part {n}\n\n{WORDS}\n\n" for n in range(12))
    parts = chunk(text, memory_id="m", redactor=DEFAULT)
    assert len(parts) <= 3
    assert all(len(part.text) >= 200 for part in parts)
    assert {part.heading for part in parts} == {"Top"}


def test_a_setext_heading_counts():
    (only,) = chunk("Title\n=====\n\ntext\n", memory_id="m", redactor=DEFAULT)
    assert only.heading == "Title"


def test_titles_of_restructuredtext_are_headings():
    body = WORDS * 8
    text = f"=====\nRFC 7\n=====\n\n{body}\n\nRejected ideas\n--------------\n\n{body}\n"
    parts = chunk(text, memory_id="m", redactor=DEFAULT)
    assert [part.heading for part in parts] == ["RFC 7", "RFC 7 > Rejected ideas"]


@pytest.mark.parametrize("text", ["a note\n---\n", "--------\nname: x\n---\n", "two\nlines\n-----\n"])
def test_a_rule_below_a_text_makes_no_heading(text):
    (only,) = chunk(text + f"\n{WORDS}\n", memory_id="m", redactor=DEFAULT)
    assert only.heading == ""


def test_other_scripts_get_smaller_chunks():
    assert (
        max(len(part.text) for part in chunk("漢字" * 2000, memory_id="m", redactor=DEFAULT))
        <= MAX_CHARS // 4
    )


def test_a_budget_that_cannot_hold_anything_is_refused():
    with pytest.raises(ValueError, match="max_chars"):
        chunk("text", memory_id="m", max_chars=0, min_chars=0, redactor=DEFAULT)
    with pytest.raises(ValueError, match="min_chars"):
        chunk("text", memory_id="m", max_chars=10, min_chars=20, redactor=DEFAULT)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 500_000,
        "# h\n" * 20_000,
        "`" * 100_000,
        "```\n" * 20_000,
        "A. " * 40_000,
        "?" * 200_000,
        " " * 500_000 + "x",
        "- " * 100_000,
        "\t" * 200_000 + "x",
        "|" * 300_000,
    ],
    ids=lambda text: repr(text[:5]),
)
def test_the_time_is_linear_for_odd_texts(text):
    start = time.thread_time()
    chunk(text, memory_id="m", redactor=DEFAULT)
    assert time.thread_time() - start < 10  # linear takes about one; quadratic takes minutes
