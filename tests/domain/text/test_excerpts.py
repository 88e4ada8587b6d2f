"""Parts of a text that are shown whole or not at all."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.text.excerpts import announces, atoms, estimate_tokens, find_overlaps, runs

TEXT = """# Pool

The pool was exhausted. It leaked cursors, e.g. in the importer.

1. **Close** the cursor.
2. Restart it.

```python
pool.close()

pool.open()
```

| name | size |
|------|------|
| main | 5    |
| more | 7    |
"""


def shown(text: str) -> list[str]:
    return [text[start:end] for start, end in atoms(text)]


def test_a_part_is_a_sentence_a_fence_a_heading_or_a_row():
    assert shown(TEXT) == [
        "# Pool",
        "The pool was exhausted.",
        "It leaked cursors, e.g. in the importer.",
        "1. **Close** the cursor.",
        "2. Restart it.",
        "```python\npool.close()\n\npool.open()\n```",
        "| name | size |\n|------|------|\n| main | 5    |",
        "| more | 7    |",
    ]


def test_what_announces_something_is_a_heading_or_ends_with_a_colon():
    assert announces("## Fix", (0, 6))
    assert announces("Fix\n---", (0, 7))
    assert announces("**How to apply:**", (0, 17))
    assert not announces("The fix.", (0, 8))


def test_runs_are_neighbours_in_order():
    assert runs([5, 1, 2, 9, 8]) == [(1, 2), (5, 5), (8, 9)]


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab. \n#`|-1:\u4e2d", max_size=200))
def test_parts_hold_every_character_that_is_not_blank_once(text):
    parts = atoms(text)
    for (_, end), (start, _) in pairwise(parts):
        assert end <= start
    assert sum(len("".join(text[a:b].split())) for a, b in parts) == len("".join(text.split()))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_two_texts_joined_have_no_more_tokens_than_both_apart(one, other):
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


@given(st.integers(0, 12), st.integers(0, 12))
def test_the_parts_that_a_span_reaches_are_those_it_overlaps(start, length):
    parts = [(0, 3), (4, 6), (6, 9), (11, 12)]
    end = start + length
    wanted = [n for n, (a, b) in enumerate(parts) if a < end and b > start]
    assert list(find_overlaps(parts, start, end)) == (wanted if length else [])
