"""Documents that docling-serve and MinerU read, over sockets, and what becomes of their failures."""

import io

import pytest
from engine_servers import engine_serving
from PIL import Image

from ragmem.backends.converters import open_engine
from ragmem.config import offline
from ragmem.config.settings import DocumentSettings
from ragmem.errors import ConfigError
from ragmem.readers.documents.model import Limits


def _png():
    packed = io.BytesIO()
    Image.effect_noise((80, 60), 90).save(packed, "PNG")
    return packed.getvalue()


PICTURE = _png()


def _page(number):
    return [{"page_no": number}]


DOCLING = {
    "schema_name": "DoclingDocument",
    "body": {
        "self_ref": "#/body",
        "children": [
            {"$ref": "#/texts/0"},
            {"$ref": "#/texts/1"},
            {"$ref": "#/texts/7"},
            {"$ref": "#/groups/0"},
            {"$ref": "#/texts/4"},
            {"$ref": "#/tables/0"},
            {"$ref": "#/pictures/0"},
            {"$ref": "#/texts/9"},
            {"$ref": "#/texts/99"},
        ],
    },
    "groups": [
        {
            "self_ref": "#/groups/0",
            "label": "list",
            "children": [{"$ref": "#/texts/2"}, {"$ref": "#/texts/3"}],
        }
    ],
    "texts": [
        {"self_ref": "#/texts/0", "label": "title", "text": "The quay of Oslo", "prov": _page(1)},
        {"self_ref": "#/texts/1", "label": "section_header", "level": 1, "text": "Depths", "prov": _page(1)},
        {"self_ref": "#/texts/2", "label": "list_item", "text": "measured at noon", "prov": _page(1)},
        {
            "self_ref": "#/texts/3",
            "label": "list_item",
            "text": "with a lead",
            "marker": "1.",
            "prov": _page(1),
        },
        {"self_ref": "#/texts/4", "label": "formula", "text": "d = vt/2", "prov": _page(2)},
        {"self_ref": "#/texts/5", "label": "caption", "text": "Table 1: depths", "prov": _page(2)},
        {"self_ref": "#/texts/6", "label": "caption", "text": "Figure 1: the crane", "prov": _page(3)},
        {"self_ref": "#/texts/7", "label": "page_header", "text": "Port of Oslo", "prov": _page(1)},
        {"self_ref": "#/texts/8", "label": "footnote", "text": "at low water", "prov": _page(2)},
        {
            "self_ref": "#/texts/9",
            "label": "code",
            "text": "print(1)",
            "code_language": "Python",
            "prov": _page(3),
        },
    ],
    "tables": [
        {
            "self_ref": "#/tables/0",
            "label": "table",
            "prov": _page(2),
            "captions": [{"$ref": "#/texts/5"}],
            "footnotes": [{"$ref": "#/texts/8"}],
            "data": {
                "grid": [
                    [{"text": "Berth"}, {"text": "Depth"}],
                    [{"text": "B4"}, {"text": "11 m"}],
                ]
            },
        }
    ],
    "pictures": [
        {
            "self_ref": "#/pictures/0",
            "label": "picture",
            "prov": _page(3),
            "captions": [{"$ref": "#/texts/6"}],
            "image": {"uri": "artifacts/image_1.png"},
        }
    ],
}
DOCLING_ANSWER = {"quay.json": DOCLING, "quay.md": b"# The quay", "artifacts/image_1.png": PICTURE}

MINERU = [
    {"type": "text", "text": "The quay of Oslo", "text_level": 1, "page_idx": 0},
    {"type": "header", "text": "Port of Oslo", "page_idx": 0},
    {"type": "text", "text": "Soundings of the spring.", "page_idx": 0},
    {"type": "list", "list_items": ["measured at noon", "with a lead"], "page_idx": 0},
    {"type": "equation", "text": "$$\nd = vt/2\n$$", "text_format": "latex", "page_idx": 1},
    {
        "type": "table",
        "table_caption": ["Table 1: depths"],
        "table_footnote": ["at low water"],
        "table_body": "<table><tr><td>Berth</td><td>Depth</td></tr><tr><td>B4</td><td>11 m</td></tr></table>",
        "page_idx": 1,
    },
    {"type": "image", "img_path": "images/a.png", "image_caption": ["Figure 1: the crane"], "page_idx": 2},
    {"type": "code", "code_body": "```python\nprint(1)\n```", "page_idx": 2},
]
MINERU_ANSWER = {
    "quay/auto/quay_content_list.json": MINERU,
    "quay/auto/images/a.png": PICTURE,
    "quay/auto/quay.md": b"# The quay",
}
ANSWERS = {"docling": DOCLING_ANSWER, "mineru": MINERU_ANSWER}
QUICK = {"DOCLING_POLL_INTERVAL_SECONDS": "0.01", "MINERU_POLL_INTERVAL_SECONDS": "0.01"}


@pytest.fixture(params=["docling", "mineru"])
def protocol(request):
    return request.param


@pytest.fixture
def pdf(tmp_path):
    path = tmp_path / "quay.pdf"
    path.write_bytes(b"%PDF-1.7 not looked at here")
    return path


def _engine(protocol, url, *, seconds=5.0, environ=QUICK):
    wanted = DocumentSettings(engine=protocol, endpoint=url, engine_seconds=seconds)
    return open_engine(wanted, environ=environ)


def _read(protocol, pdf, *, limits=None, environ=QUICK, **more):
    """Return what came of a file, the warnings, and the server."""
    answer = more.pop("answer", ANSWERS[protocol])
    with engine_serving(protocol, answer, **more) as server:
        engine = _engine(protocol, server.url, seconds=more.get("seconds", 5.0), environ=environ)
        try:
            return engine(pdf, limits or Limits()), engine.take_warnings(), server
        finally:
            engine.close()


def test_a_document_comes_back_page_by_page(protocol, pdf):
    converted, warnings, _ = _read(protocol, pdf)

    assert warnings == []
    assert converted.title == "The quay of Oslo"
    assert [(part.locator, part.label) for part in converted.parts] == [
        ("page=1", "page 1"),
        ("page=2", "page 2"),
        ("page=3", "page 3"),
    ]
    first, second, third = (part.text for part in converted.parts)
    assert first.startswith("# The quay of Oslo")
    assert "- measured at noon" in first
    assert "Port of Oslo" not in first
    assert "Table 1: depths. Berth: B4; Depth: 11 m." in second
    assert "at low water" in second
    assert "d = vt/2" in second
    assert "$$" in second
    assert "Figure 1: the crane" in third
    assert "```python\nprint(1)\n```" in third


def test_pictures_come_with_their_place(protocol, pdf):
    converted, _, _ = _read(protocol, pdf)

    (picture,) = converted.parts[2].pictures
    assert picture.data == PICTURE
    assert picture.media_type == "image/png"
    assert f"Figure 1: the crane\n\n{picture.mark}" in converted.parts[2].text


def test_the_file_goes_up_as_lightrag_sends_it(protocol, pdf):
    _, _, server = _read(protocol, pdf)

    (name, filename, content) = server.files[0]
    assert (name, filename, content) == ("files", "quay.pdf", pdf.read_bytes())
    form = server.forms[0]
    if protocol == "docling":
        assert form["to_formats"] == ["json", "md"]
        assert form["target_type"] == ["zip"]
        assert form["do_ocr"] == ["true"]
        assert "ocr_lang" not in form
    else:
        assert form["return_content_list"] == ["true"]
        assert form["response_format_zip"] == ["true"]
        assert (form["start_page_id"], form["end_page_id"]) == (["0"], ["1999"])


def test_the_variables_of_lightrag_shape_the_request(pdf):
    environ = {
        **QUICK,
        "DOCLING_DO_OCR": "no",
        "DOCLING_OCR_LANG": '["en","de"]',
        "DOCLING_OCR_ENGINE": "easyocr",
    }
    _, _, server = _read("docling", pdf, environ=environ)
    assert server.forms[0]["do_ocr"] == ["false"]
    assert server.forms[0]["ocr_lang"] == ["en", "de"]
    assert server.forms[0]["ocr_engine"] == ["easyocr"]

    environ = {
        **QUICK,
        "MINERU_LANGUAGE": "en",
        "MINERU_LOCAL_BACKEND": "pipeline",
        "MINERU_ENABLE_TABLE": "0",
    }
    _, _, server = _read("mineru", pdf, environ=environ)
    assert server.forms[0]["lang_list"] == ["en"]
    assert server.forms[0]["backend"] == ["pipeline"]
    assert server.forms[0]["table_enable"] == ["false"]


def test_the_address_may_stand_in_lightrags_variable(protocol, pdf):
    variable = {"docling": "DOCLING_ENDPOINT", "mineru": "MINERU_LOCAL_ENDPOINT"}[protocol]
    with engine_serving(protocol, ANSWERS[protocol]) as server:
        suffix = "/v1/convert/file/async" if protocol == "docling" else "/"
        engine = _engine(protocol, "", environ={**QUICK, variable: f"{server.url}{suffix}"})
        assert engine(pdf, Limits()).title == "The quay of Oslo"
        engine.close()


def test_docling_may_answer_with_json_instead_of_an_archive(pdf):
    converted, warnings, _ = _read("docling", pdf, as_json=True)

    assert warnings == []
    assert converted.title == "The quay of Oslo"
    assert all(not part.pictures for part in converted.parts)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("error", 'answered 500: {"detail": "out of memory on the device"}'),
        ("failed", "failed: page 3 is too dark"),
        ("redirect", "answered 307"),
        ("nonsense", "archive"),
    ],
)
def test_a_failure_leaves_the_document_to_ragmem_with_a_warning(protocol, pdf, wrong, told):
    converted, (warning,), _ = _read(protocol, pdf, wrong=wrong)

    assert converted is None
    assert warning.startswith(f"{protocol} did not read it (")
    assert warning.endswith("so that ragmem did")
    assert told in warning
    assert "\n" not in warning


def test_a_server_that_is_not_there_is_a_warning(protocol, pdf):
    with engine_serving(protocol, {}) as server:
        url = server.url
    engine = _engine(protocol, url)

    assert engine(pdf, Limits()) is None
    assert f"{url} cannot be reached" in engine.take_warnings()[0]
    engine.close()


def test_a_task_that_never_ends_is_given_up(protocol, pdf):
    with engine_serving(protocol, ANSWERS[protocol], wrong="hangs") as server:
        engine = _engine(protocol, server.url, seconds=0.2)
        assert engine(pdf, Limits()) is None
        assert "takes longer than 0.2 seconds" in engine.take_warnings()[0]
        engine.close()


def test_after_three_failures_the_server_is_left_in_peace(protocol, pdf):
    with engine_serving(protocol, ANSWERS[protocol], wrong="error") as server:
        engine = _engine(protocol, server.url)
        assert [engine(pdf, Limits()) for _ in range(5)] == [None] * 5
        assert len(server.paths) == 3
        engine.close()


def test_other_formats_are_not_sent(protocol, pdf, tmp_path):
    notebook = tmp_path / "a.ipynb"
    notebook.write_text("{}")
    with engine_serving(protocol, ANSWERS[protocol]) as server:
        engine = _engine(protocol, server.url)
        assert engine(notebook, Limits()) is None
        assert engine.take_warnings() == []
        assert server.paths == []
        engine.close()


def test_an_answer_that_unpacks_to_too_much_is_not_taken(protocol, pdf):
    converted, (warning,), _ = _read(protocol, pdf, limits=Limits(unpacked_bytes=50))

    assert converted is None
    assert "more than the limits allow" in warning


def test_pages_beyond_the_limit_are_left_out_with_a_warning(protocol, pdf):
    converted, _, _ = _read(protocol, pdf, limits=Limits(pages=2))

    assert len(converted.parts) == 2
    assert converted.warnings == ("only the first 2 of 3 pages are read",)
    assert converted.unread == ("page=3",)


@pytest.mark.parametrize(
    "url", ["", "ftp://here", "not an address", "http://me:secret@127.0.0.1:1", "http://h/?k=v"]
)
def test_an_address_that_is_none_is_a_configuration_error(protocol, url):
    with pytest.raises(ConfigError) as error:
        _engine(protocol, url)

    assert "secret" not in str(error.value)


def test_offline_keeps_from_other_machines_and_not_from_this_one(protocol, pdf, monkeypatch):
    monkeypatch.setattr(offline._State, "on", True)

    engine = _engine(protocol, "http://converter.example:5001")
    assert engine(pdf, Limits()) is None
    assert 'offline: "converter.example" was not reached' in engine.take_warnings()[0]
    engine.close()

    converted, warnings, _ = _read(protocol, pdf)
    assert (converted.title, warnings) == ("The quay of Oslo", [])


def test_the_pieces_of_a_paragraph_are_one_text_and_circles_end(pdf):
    document = {
        "body": {"children": [{"$ref": "#/groups/0"}, {"$ref": "#/groups/1"}]},
        "groups": [
            {
                "label": "inline",
                "children": [{"$ref": "#/texts/0"}, {"$ref": "#/texts/1"}, {"$ref": "#/texts/2"}],
            },
            {
                "label": "list",
                "children": [{"$ref": "#/groups/1"}, {"$ref": "#/groups/1"}, {"$ref": "#/texts/3"}],
            },
        ],
        "texts": [
            {"self_ref": "#/texts/0", "label": "text", "text": "The depth", "prov": []},
            {"self_ref": "#/texts/1", "label": "formula", "text": "d = vt/2", "prov": []},
            {"self_ref": "#/texts/2", "label": "text", "text": "is in metres.", "prov": []},
            {"self_ref": "#/texts/3", "label": "list_item", "text": "once", "prov": []},
        ],
    }

    converted, warnings, _ = _read("docling", pdf, answer={"quay.json": document})

    assert warnings == []
    (part,) = converted.parts
    assert part.text == "The depth $d = vt/2$ is in metres.\n\n- once"
    assert part.locator == ""


def test_control_characters_in_an_answer_are_left_out(pdf):
    items = [{"type": "text", "text": "de\x00ep\x1b[31m water", "page_idx": 0}]

    converted, _, _ = _read("mineru", pdf, answer={"a_content_list.json": items})

    assert converted.parts[0].text == "deep[31m water"


@pytest.mark.parametrize(
    "content", [{"body": {"children": [7]}, "texts": []}, {"body": []}, [1], {"body": {"children": "x"}}]
)
def test_an_answer_of_another_shape_is_a_warning(protocol, pdf, content):
    name = "a.json" if protocol == "docling" else "a_content_list.json"

    converted, (warning,), _ = _read(protocol, pdf, answer={name: content})

    assert converted is None
    assert "\n" not in warning


def test_a_cell_that_claims_a_million_rows_is_told_of_few(pdf):
    cell = {
        "text": "B4",
        "start_row_offset_idx": 0,
        "end_row_offset_idx": 10**12,
        "start_col_offset_idx": 10**12,
        "end_col_offset_idx": 10**12 + 2,
    }
    table = {"self_ref": "#/tables/0", "label": "table", "data": {"table_cells": [cell]}}
    answer = {"quay.json": {"body": {"children": [{"$ref": "#/tables/0"}]}, "tables": [table]}}

    converted, _, _ = _read("docling", pdf, answer=answer)

    assert len(converted.parts[0].text) < 200_000
