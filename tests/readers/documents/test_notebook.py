"""Jupyter notebooks: sections, code, outputs as tables, text, pictures and errors, of both formats."""

import base64
import io
import json

import pytest
from PIL import Image

from ragmem.readers.documents.formats.notebook import read
from ragmem.readers.documents.model import Limits, RefusedError


def _png():
    packed = io.BytesIO()
    Image.new("RGB", (80, 60), "teal").save(packed, "PNG")
    return base64.b64encode(packed.getvalue()).decode()


def _markdown(source, **more):
    return {"cell_type": "markdown", "metadata": {}, "source": source, **more}


def _code(source, *outputs):
    return {
        "cell_type": "code",
        "metadata": {},
        "execution_count": 1,
        "source": source,
        "outputs": list(outputs),
    }


def _data(**kinds):
    data = {name.replace("_", "/"): value for name, value in kinds.items()}
    return {"output_type": "display_data", "metadata": {}, "data": data}


@pytest.fixture
def converted(tmp_path):
    """Return a function that reads a notebook of these cells."""

    def given(*cells, metadata=None, limits=None, whole=None):
        notebook = whole or {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata or {}, "cells": cells}
        path = tmp_path / "book.ipynb"
        path.write_text(json.dumps(notebook))
        return read(str(path), limits or Limits())

    return given


def test_a_part_is_a_section_and_its_place_the_first_cell(converted):
    document = converted(
        _markdown("# Tides of Oslo"),
        _markdown(["Two weeks of the log,\n", "read by hand."]),
        _code("import pandas"),
        _markdown("## Fit\n\nLeast squares."),
        _code("fit()"),
    )

    assert document.title == "Tides of Oslo"
    assert [(part.locator, part.label, part.title) for part in document.parts] == [
        ("cell=1", "cells 1-3", "Tides of Oslo"),
        ("cell=4", "cells 4-5", "Fit"),
    ]
    assert "Two weeks of the log,\nread by hand." in document.parts[0].text


def test_a_notebook_of_one_section_has_no_locator(converted):
    (part,) = converted(_markdown("Only words."), _code("1 + 1")).parts

    assert (part.locator, part.label) == ("", "")


def test_a_comment_in_code_is_no_heading(converted):
    document = converted(_markdown("# One\n\n```python\n# not a heading\n```"), _code("# nor this\nx = 1"))

    assert [part.title for part in document.parts] == ["One"]


def test_code_is_fenced_in_its_language(converted):
    kernel = {"kernelspec": {"language": "R", "name": "ir"}}
    text = converted(_code("x <- 1"), _code("%%bash\nls"), metadata=kernel).parts[0].text

    assert "```r\nx <- 1\n```" in text
    assert "```bash\n%%bash\nls\n```" in text


def test_code_that_holds_a_fence_is_fenced_by_a_longer_one(converted):
    text = converted(_code('print("```")')).parts[0].text

    assert '````python\nprint("```")\n````' in text


def test_a_table_in_html_is_a_table_with_its_rows_as_sentences(converted):
    html = (
        "<style>td {}</style><table><caption>High water</caption><thead><tr><th></th><th>port</th><th>m</th>"
        "</tr></thead><tbody><tr><th>0</th><td>Oslo</td><td>1.2</td></tr></tbody></table>"
    )

    text = converted(_code("df", _data(text_html=[html], text_plain=["  port m"]))).parts[0].text

    assert "| 0 | Oslo | 1.2 |" in text
    assert "High water. 0; port: Oslo; m: 1.2." in text
    assert "  port m" not in text


def test_printed_text_is_bounded_and_clean(converted):
    printed = {
        "output_type": "stream",
        "name": "stdout",
        "text": ["\x1b[31mstart\x1b[0m\n", "x" * 9_000, "\nend"],
    }

    text = converted(_code("go()", printed)).parts[0].text

    assert "```text\nstart\nxxx" in text
    assert "end\n```" in text
    assert "characters left out" in text
    assert len(text) < 4_500


def test_an_error_is_told_in_a_line(converted):
    error = {
        "output_type": "error",
        "ename": "ValueError",
        "evalue": "no such port: Atlantis",
        "traceback": ["\x1b[0;31mlong\x1b[0m"] * 50,
    }

    text = converted(_code("port('Atlantis')", error)).parts[0].text

    assert "Error: ValueError: no such port: Atlantis" in text
    assert "long" not in text


def test_pictures_of_outputs_and_attachments_are_handed_on_at_their_place(converted):
    attached = _markdown(
        "Before.\n\n![The quay](attachment:quay.png)\n\nAfter.",
        attachments={"quay.png": {"image/png": _png()}},
    )
    other = io.BytesIO()
    Image.new("RGB", (90, 60), "red").save(other, "PNG")
    plot = _data(image_png=base64.b64encode(other.getvalue()).decode(), text_plain="<Figure size 640x480>")

    part = converted(attached, _code("plot()", plot)).parts[0]

    first, second = part.pictures
    assert f"Before.\n\nImage: The quay\n\n{first.mark}\n\nAfter." in part.text
    assert part.text.rstrip().endswith(second.mark)
    assert "Figure" not in part.text


def test_latex_and_markdown_outputs_stay_as_they_are(converted):
    text = (
        converted(
            _code("a", _data(text_latex="$$\\int_0^1 x$$", text_plain="1/2")),
            _code("b", _data(text_markdown="**bold**", text_plain="bold")),
        )
        .parts[0]
        .text
    )

    assert "$$\\int_0^1 x$$" in text
    assert "**bold**" in text


def test_nbformat_3_is_read_as_well(converted):
    whole = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": "old"},
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "heading", "level": 2, "source": "Old tides"},
                    {
                        "cell_type": "code",
                        "language": "python",
                        "input": ["x = 1\n", "x"],
                        "outputs": [
                            {"output_type": "pyout", "text": ["42"], "prompt_number": 1},
                            {"output_type": "pyerr", "ename": "E", "evalue": "gone", "traceback": []},
                        ],
                    },
                ]
            }
        ],
    }

    text = converted(whole=whole).parts[0].text

    assert text.startswith("## Old tides")
    assert "```python\nx = 1\nx\n```" in text
    assert "42" in text
    assert "Error: E: gone" in text


def test_cells_beyond_the_limit_are_left_out_with_a_warning(converted):
    document = converted(*(_markdown(f"# H{number}\n\ntext") for number in range(9)), limits=Limits(pages=4))

    assert len(document.parts) == 4
    assert document.warnings == ("only the first 4 of 9 cells are read",)


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"cells": []}', '{"nbformat": 2, "worksheets": []}', "\udcff"]
)
def test_what_is_no_notebook_is_refused(tmp_path, content):
    path = tmp_path / "no.ipynb"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))

    with pytest.raises(RefusedError):
        read(str(path), Limits())
