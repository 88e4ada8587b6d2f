from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.text.blocks import BlockType, blocks, sentences, units

LINES = st.lists(
    st.sampled_from(
        ["# A", "text", "- item", "```", "~~~", "|a|", "", "---", "===", "  more", "> ```", "1. one"]
    )
).map("\n".join)


def forms(text):
    return [(block.form, text[block.start : block.end]) for block in blocks(text)]


def split(text):
    return [text[start:end] for start, end in sentences(text, 0, len(text))]


def test_titles_have_lines_of_marks_below_or_around_them():
    text = (
        '=====\nTitle\n=====\n\n## Anchors <a href="#a" id="a"></a>\n\nWhy C#\n------\ntext\n\n'
        "Deeper\n~~~~~~\n\n- item\n\nDeepest\n^^^^^^^"
    )
    assert [(one.level, one.title) for one in blocks(text) if one.form is BlockType.HEADING] == [
        (1, "Title"),
        (2, "Anchors"),
        (2, "Why C#"),
        (3, "Deeper"),
        (4, "Deepest"),
    ]
    assert [form for form, _ in forms("Run\n~~~\nmake\n~~~")] == [BlockType.PARAGRAPH, BlockType.FENCE]
    assert [form for form, _ in forms("Longer text\n---")] == [BlockType.PARAGRAPH, BlockType.RULE]
    assert [form for form, _ in forms("---\n42\n---")] == [
        BlockType.RULE,
        BlockType.PARAGRAPH,
        BlockType.RULE,
    ]
    assert [form for form, _ in forms("| a |\n-----")] == [BlockType.TABLE, BlockType.RULE]


def test_org_has_stars_for_headings_and_fields_that_are_no_text():
    text = (
        ":PROPERTIES:\n:ID: 0176\n:END:\n#+title: Ferry\nIt sails.\n* TODO Engine :gas:\n:PROPERTIES:\n"
        ":ID: 5\n:END:\nIt burns gas.\n- item\n** Parts\n#+BEGIN_SRC sh\n* no heading\n#+END_SRC\nDone.\n"
    )
    said = [(block.form, block.level, block.title or text[start:end]) for block, start, end in units(text)]
    assert said == [
        (BlockType.PARAGRAPH, 0, "It sails."),
        (BlockType.HEADING, 1, "Engine"),
        (BlockType.PARAGRAPH, 0, "It burns gas."),
        (BlockType.ITEM, 0, "- item"),
        (BlockType.HEADING, 2, "Parts"),
        (BlockType.FENCE, 0, "* no heading"),
        (BlockType.PARAGRAPH, 0, "Done."),
    ]
    part = [block.form for block, *_ in units("** Parts\nGas.\n#+begin_src sh\nls\n#+end_src\n")]
    assert part == [BlockType.HEADING, BlockType.PARAGRAPH, BlockType.FENCE]
    assert {block.form for block, *_ in units("* item\n** item\n#+x: y\n")} == {BlockType.ITEM}


def test_titles_of_a_wiki_stand_between_equal_signs():
    text = "= Ferry =\n\n==Abstract==\n\n=== Why === \n\nx == y\n==\n"
    assert [(one.level, one.title) for one in blocks(text) if one.form is BlockType.HEADING] == [
        (1, "Ferry"),
        (2, "Abstract"),
        (3, "Why"),
    ]
    steps = [form for form, _ in forms("==Steps==\n\n# Load\n# Sail")]
    assert steps == [BlockType.HEADING, BlockType.ITEM, BlockType.ITEM]
    noted = [form for form, _ in forms("==Important==\n\n# Ferry\n\nIt sails.")]
    assert noted == [BlockType.PARAGRAPH, BlockType.HEADING, BlockType.PARAGRAPH]
    assert {form for form, _ in forms("=== 3 passed ===\n\n= x =")} == {BlockType.PARAGRAPH}


def test_a_day_before_its_month_ends_no_sentence():
    text = "On 5. January we deployed it. Am 7. M\u00e4rz fiel es aus. It took 15. May it rest."
    assert split(text) == [
        "On 5. January we deployed it.",
        "Am 7. M\u00e4rz fiel es aus.",
        "It took 15. May it rest.",
    ]
    assert split("It took 15. We waited.") == ["It took 15.", "We waited."]


def test_the_blocks_of_a_note():
    text = "# Head\nFirst\nline.\n\n- one\n  more\n  - two\n\n| a |\n| b |\n---\n```\n# code\n```\nend"
    assert forms(text) == [
        (BlockType.HEADING, "# Head"),
        (BlockType.PARAGRAPH, "First\nline."),
        (BlockType.ITEM, "- one\n  more"),
        (BlockType.ITEM, "  - two"),
        (BlockType.TABLE, "| a |\n| b |"),
        (BlockType.RULE, "---"),
        (BlockType.FENCE, "```\n# code\n```"),
        (BlockType.PARAGRAPH, "end"),
    ]


def test_a_fence_closes_at_its_own_marks_only():
    assert forms("````\n```\n# x\n````\nafter")[1] == (BlockType.PARAGRAPH, "after")
    assert forms("~~~\n```\n~~~\nafter")[1] == (BlockType.PARAGRAPH, "after")


def test_an_open_fence_runs_to_the_end():
    assert forms("```\ncode\n\n# still code\n\n") == [(BlockType.FENCE, "```\ncode\n\n# still code")]


def test_carriage_returns_end_lines_too():
    assert forms("# A\r\ntext\r\n\r\nmore") == [
        (BlockType.HEADING, "# A"),
        (BlockType.PARAGRAPH, "text"),
        (BlockType.PARAGRAPH, "more"),
    ]


def test_sentences_do_not_end_at_abbreviations_initials_or_versions():
    assert split("Use one, e.g. Redis. It is v1.2 now. A. Person wrote it! Did it work? yes") == [
        "Use one, e.g. Redis.",
        "It is v1.2 now.",
        "A. Person wrote it!",
        "Did it work? yes",
    ]


def test_the_number_of_a_link_ends_no_sentence():
    assert split("It replaces [12. A queue](0012-queue.md). We have 12. Then we sail.") == [
        "It replaces [12. A queue](0012-queue.md).",
        "We have 12.",
        "Then we sail.",
    ]


def test_full_stops_of_other_scripts_end_sentences():
    assert split("第一句。第二句！") == ["第一句。", "第二句！"]


def test_what_states_nothing_is_no_unit():
    text = "```py\nx\n```\n---\n|---|\n| a |"
    assert [text[start:end] for _, start, end in units(text)] == ["x", "| a |"]


@given(st.text(max_size=200) | LINES)
def test_blocks_hold_every_character_that_is_not_blank_once(text):
    found = list(blocks(text))
    assert "".join("".join(text[b.start : b.end].split()) for b in found) == "".join(text.split())
    assert all(b.start < b.end for b in found)


@given(st.text("aA.!? \n", max_size=80))
def test_sentences_hold_every_character_that_is_not_blank_once(text):
    assert "".join("".join(part.split()) for part in split(text)) == "".join(text.split())


@given(LINES, st.sampled_from(["", "\n", " \n", "\t"]))
def test_a_text_has_the_same_blocks_with_either_line_end(text, end):
    text += end
    wide = text.replace("\n", "\r\n")
    found = [(form, said.replace("\r\n", "\n")) for form, said in forms(wide)]
    assert found == forms(text)
