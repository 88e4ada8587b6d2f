"""Rich texts of several programs, code pages and ages; damaged ones are read as far as they go."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.readers.documents.formats import module_of, rtf
from ragmem.readers.documents.model import Limits, RefusedError

FONTS = r"{\fonttbl{\f0\fnil\fcharset0 A;}{\f1\fcharset204 B;}{\f2\fcharset128 C;}{\f3\fcharset178 D;}}"


@pytest.fixture
def read(tmp_path):
    def converted(body, head=r"\ansi\ansicpg1252\deff0"):
        path = tmp_path / "made.rtf"
        path.write_bytes(b"{\\rtf1" + head.encode() + FONTS.encode() + body.encode("latin-1") + b"}")
        assert module_of(str(path)) == "rtf"
        return rtf.read(str(path), Limits())

    return converted


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (r"\pard The {\b lock} opens.\par", "The lock opens."),
        (r"one\par two\line three\par", "one\n\ntwo\nthree"),
        ("one\\\ntwo\\\n", "one\n\ntwo"),
        (r"\'c4rger \emdash  \ldblquote Flut\rdblquote\~x", "Ärger — “Flut” x"),
        (r"{\f1\'cf\'f0\'e8\'eb\'e8\'e2} {\f2\'92\'aa} {\f3\'e3\'cf}", "Прилив 潮 مد"),
        (r"\u8364?\uc2 \u8364\'80\'81 \uc0\u228 x \uc1\u-10179?\u-8704?", "€€ äx 😀"),
        (r"seen{\v hidden}{\deleted gone} {\pict\pngblip 89504e47}{\*\unknown lost}end", "seen end"),
        (r"a\bin3 }}}b", "ab"),
        (r'{\field{\*\fldinst HYPERLINK "https://x"}{\fldrslt the office}} says', "the office says"),
        (r"{\header page head}{\pntext\'95\tab}rope\par{\listtext 2.\tab}oars\par", "- rope\n2. oars"),
    ],
)
def test_a_text_becomes_this_markdown(read, body, told):
    assert read(body).parts[0].text == told


def test_headings_notes_and_tables(read):
    head = r"\ansi{\stylesheet{\s0 Normal;}{\s4\outlinelevel1 Heading 2;}}"
    body = (
        r"\pard\s4 Tides\par\pard Deep{\footnote\pard At {\i spring} tide.}.\par"
        r"\trowd\cellx1\cellx2\pard\intbl Port\cell Depth\cell\row"
        r"\trowd\pard\intbl Emden{\footnote Old.}\cell 8\par m\cell\row\pard After.\par"
    )
    assert read(body, head).parts[0].text == (
        "## Tides\n\nDeep[^1].\n\n[^1]: At spring tide.\n\n"
        "| Port | Depth |\n| --- | --- |\n| Emden[^2] | 8 m |\n\nPort: Emden[^2]; Depth: 8 m.\n\n"
        "[^2]: Old.\n\nAfter."
    )


def test_the_facts_of_a_file_are_its_metadata(read):
    document = read(r"{\info{\title Fl\'fct}{\author Ann}{\creatim\yr2024\mo3\dy12\hr9\min5}}Words")
    assert (document.title, document.metadata["author"]) == ("Flüt", "Ann")
    assert document.event_time == "2024-03-12T09:05"
    assert document.parts[0].text == "Words"


def test_a_text_named_like_a_rich_text_is_refused(tmp_path):
    (tmp_path / "a.rtf").write_text("Words")
    with pytest.raises(RefusedError, match=r"not that of a \.rtf file"):
        module_of(str(tmp_path / "a.rtf"))


def test_braces_without_end_are_refused(read):
    with pytest.raises(RefusedError, match="nested too deeply"):
        read("{" * 10_000)


PIECES = st.sampled_from(
    r"{ } \par \cell \row \intbl \pard \u228 \u-1 \uc0 \uc9 \'e4 \' \'zz \bin9 \bin-1 \f1 \f9 \s1 "
    r"\fcharset128 \outlinelevel3 {\footnote {\info {\title {\*\x {\fonttbl {\pict {\stylesheet "
    r"\ansicpg99999 \ansicpg0 \creatim \yr99999999 \mo-3 \v \v0 \plain \* \\ \~ {\creatim ä".split(" ")
)


@given(st.lists(PIECES | st.text(max_size=4), max_size=30).map(" ".join))
def test_any_content_is_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("rtf") / "a.rtf"
    path.write_bytes(b"{\\rtf1 " + content.encode("utf-8", "replace"))
    with suppress(RefusedError):
        assert len(rtf.read(str(path), Limits()).parts) == 1
