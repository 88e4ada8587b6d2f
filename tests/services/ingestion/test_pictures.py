"""Pictures of documents are described by a model that sees: once, within a budget, only where asked for."""

import base64
import hashlib
import io
import json
from pathlib import Path

import openpyxl
import pytest
from engine_servers import engine_serving
from openpyxl.drawing.image import Image as SheetImage
from PIL import Image
from provider_protocols import Reply
from provider_servers import serving

from ragmem.api.memory import Ragmem

FAKE = {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake", "RAGMEM_DOCUMENTS_OCR": "false"}
TOLD = "A yellow crane lifts a propeller of 7 m over the quay."


def _saying(text):
    return Reply(200, {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": {}})


@pytest.fixture
def eyes():
    """A server of a model that sees, which says what the script tells it to."""
    with serving(None) as server:
        yield server


@pytest.fixture
def seeded(tmp_path, eyes):
    """Return a function that seeds the folder `docs`; it returns the report and the texts by title."""
    (tmp_path / "docs").mkdir()
    sources = tmp_path / "sources.toml"
    sources.write_text(
        f'[sources.documents]\nglob = "{tmp_path}/docs/*"\nreader = "documents"\nsignal = "off"\n'
    )

    def seed(*, explain=False, dry_run=False, vision="compatible/eyes", **environ):
        wanted = (
            {"RAGMEM_DOCUMENTS_VISION": vision, "RAGMEM_DOCUMENTS_VISION_URL": eyes.root} if vision else {}
        )
        environ = {**FAKE, **wanted, **environ, "RAGMEM_HOME": str(tmp_path / "home")}
        with Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path, sources_file=sources) as memory:
            report = memory.seed(explain=explain, dry_run=dry_run)
            texts = {}
            if memory.catalog.exists():
                known = memory.catalog.memories.get(memory.catalog.memories.ids())
                texts = {Path(one.uri).name.partition("#")[0]: one.text for one in known.values()}
        return report, texts

    seed.folder = tmp_path / "docs"
    return seed


@pytest.mark.parametrize(
    "said", ["", "ull", "k\ufffdk\ufffdk that se\ufffd", "a \x1b[31mcrane over the quay"]
)
def test_an_answer_that_is_no_text_describes_nothing(seeded, eyes, said):
    _picture(seeded.folder / "crane.png")
    eyes.script.append(_saying(said))
    report, texts = seeded()
    assert not texts
    assert len(eyes.posts) == 1
    assert any("a picture was not described" in reason for reason in _warnings(report))


def _picture(path, color="navy"):
    Image.new("RGB", (120, 90), color).save(path)


def _warnings(report):
    return [problem.reason for problem in report.problems]


def test_what_the_model_says_stands_in_the_place_of_the_picture(seeded, eyes):
    _picture(seeded.folder / "crane.png")
    eyes.script.append(_saying(f"**{TOLD}**"))

    report, texts = seeded()

    assert _warnings(report) == []
    assert texts["crane.png"] == f"Picture: {TOLD}"


def _sheet_with_picture(path, said):
    book = openpyxl.Workbook()
    book.active.append(["Pier", "Crane"])
    book.active.append(["Pier 4", said])
    packed = io.BytesIO()
    Image.new("RGB", (120, 90), "navy").save(packed, "PNG")
    book.active.add_image(SheetImage(packed), "E2")
    book.save(path)


def test_the_model_is_told_what_stands_around_the_picture(seeded, eyes):
    _sheet_with_picture(seeded.folder / "cranes.xlsx", "yellow, 60 t")
    eyes.script.append(_saying(TOLD))

    _, texts = seeded()

    prompt = json.dumps(eyes.posts[0].body)
    assert "Pier: Pier 4; Crane: yellow, 60 t." in prompt
    assert "[this picture]" in prompt
    assert TOLD in texts["cranes.xlsx"]


def test_the_model_is_told_nothing_that_is_private(seeded, eyes):
    _sheet_with_picture(seeded.folder / "cranes.xlsx", "yellow <private>the safe opens with 4711</private>")
    eyes.script.append(_saying(TOLD))

    _, texts = seeded()

    prompt = json.dumps(eyes.posts[0].body)
    assert "yellow" in prompt
    assert "4711" not in prompt
    assert TOLD in texts["cranes.xlsx"]


def test_a_dry_run_of_ingest_shows_no_picture_to_anybody(ragmem, tmp_path, eyes):
    _picture(tmp_path / "crane.png")
    environ = {**FAKE, "RAGMEM_DOCUMENTS_VISION": "compatible/eyes", "RAGMEM_DOCUMENTS_VISION_URL": eyes.root}

    done = ragmem("ingest", "--dry-run", str(tmp_path / "crane.png"), **environ)

    assert eyes.seen == []
    assert "1 picture is not described: this is a dry run" in done.stderr


@pytest.mark.parametrize("is_same", [True, False])
def test_the_key_of_the_language_model_is_for_its_own_server_alone(seeded, eyes, monkeypatch, is_same):
    monkeypatch.setenv("KEY_OF_THE_LANGUAGE_MODEL", "k-4711-of-the-language-model")
    _picture(seeded.folder / "crane.png")
    eyes.script.append(_saying(TOLD))

    seeded(
        RAGMEM_LANGUAGE_MODEL_BACKEND="compatible",
        RAGMEM_LANGUAGE_MODEL_MODEL="small",
        RAGMEM_LANGUAGE_MODEL_URL=eyes.root if is_same else "http://127.0.0.1:9",
        RAGMEM_LANGUAGE_MODEL_KEY_VARIABLE="KEY_OF_THE_LANGUAGE_MODEL",
    )

    assert ("k-4711" in str(eyes.posts[0].headers)) is is_same


@pytest.mark.parametrize("redact", ["true", "false"])
def test_a_secret_that_begins_far_from_the_picture_is_not_sent_in_part(seeded, eyes, redact):
    packed = io.BytesIO()
    Image.new("RGB", (120, 90), "navy").save(packed, "PNG")
    image = base64.b64encode(packed.getvalue()).decode()
    payload = "".join(hashlib.sha512(bytes([number])).hexdigest() for number in range(8))
    token = f"eyJhbGciOiJIUzI1NiJ9.eyJ{payload}.{hashlib.sha256(b'signed').hexdigest()}"
    page = f'<p>The crane opens with {token}</p><img src="data:image/png;base64,{image}"><p>It is blue.</p>'
    (seeded.folder / "crane.html").write_text(f"<html><body>{page}</body></html>")
    eyes.script.append(_saying(TOLD))

    seeded(RAGMEM_SECRETS_REDACT=redact)

    prompt = json.dumps(eyes.posts[0].body)
    assert "It is blue." in prompt
    assert payload[-40:] not in prompt


def test_a_document_that_is_full_of_marks_is_told_its_picture_a_few_times(seeded, eyes):
    packed = io.BytesIO()
    Image.new("RGB", (120, 90), "navy").save(packed, "PNG")
    image = base64.b64encode(packed.getvalue()).decode()
    page = f'<p>The crane.</p><img src="data:image/png;base64,{image}"><p>{"[[picture 1]] " * 5_000}</p>'
    (seeded.folder / "crane.html").write_text(f"<html><body>{page}</body></html>")
    eyes.script.append(_saying(TOLD))

    _, texts = seeded()

    assert 1 <= texts["crane.html"].count(TOLD) <= 4
    assert "[[picture" not in texts["crane.html"]


def test_nothing_is_sent_unless_a_model_is_named(seeded, eyes):
    _picture(seeded.folder / "crane.png")

    _, texts = seeded(vision="")

    assert eyes.seen == []
    assert texts == {}


def test_a_picture_is_asked_about_once(seeded, eyes):
    _picture(seeded.folder / "crane.png")
    eyes.script.append(_saying(TOLD))
    seeded()

    _picture(seeded.folder / "copy.png")
    _, texts = seeded(explain=True)

    assert len(eyes.posts) == 1
    assert TOLD in texts["copy.png"]


def test_another_model_is_asked_again(seeded, eyes):
    _picture(seeded.folder / "crane.png")
    eyes.script.extend([_saying("A ship."), _saying(TOLD)])
    seeded(vision="compatible/small")

    _, texts = seeded(vision="compatible/large")

    assert len(eyes.posts) == 2
    assert TOLD in texts["crane.png"]


def test_no_more_pictures_are_described_than_the_budget_allows(seeded, eyes):
    for number in range(4):
        _picture(seeded.folder / f"{number}.png", color=(number * 50, 0, 0))
    eyes.script.extend([_saying(TOLD), _saying(TOLD)])

    report, texts = seeded(RAGMEM_DOCUMENTS_MAX_PICTURES="2")

    assert len(eyes.posts) == 2
    assert len(texts) == 2
    (told,) = [one for one in _warnings(report) if "max_pictures in [documents] is 2" in one]
    assert told.startswith("2 pictures or scanned pages were not read: ")


def test_a_daily_cap_stops_descriptions_like_other_background_work(seeded, eyes):
    for number in range(3):
        _picture(seeded.folder / f"{number}.png", color=(number * 50, 0, 0))
    eyes.script.extend(_saying(TOLD) for _ in range(3))

    report, texts = seeded(RAGMEM_SPEND_DAILY_CALLS="1")

    assert len(eyes.posts) == len(texts) == 1
    (told,) = _warnings(report)
    assert told.startswith("2 pictures or scanned pages were not read: ")
    assert "cap of 1 request is reached" in told


def test_a_dry_run_asks_nothing_and_says_so(seeded, eyes):
    _picture(seeded.folder / "crane.png")

    report, _ = seeded(dry_run=True)

    assert eyes.posts == []
    assert any("1 picture is not described: this is a dry run" in one for one in _warnings(report))


def test_a_failure_is_a_warning_and_after_three_nobody_is_asked(seeded, eyes):
    for number in range(5):
        _picture(seeded.folder / f"{number}.png", color=(number * 50, 0, 0))
    eyes.script.extend(Reply(400, {"error": {"message": "no eyes"}}) for _ in range(20))

    report, texts = seeded()

    assert texts == {}
    assert report.failed == 0
    failed, unasked = _warnings(report)
    assert "no eyes" in failed
    assert failed.startswith("3 pictures")
    assert "the previous requests failed" in unasked
    assert unasked.startswith("2 pictures")
    asked = {json.dumps(post.body["messages"]) for post in eyes.posts}
    assert len(asked) == 3


def test_a_secret_in_a_description_is_not_kept(seeded, eyes, tmp_path):
    _picture(seeded.folder / "screen.png")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    eyes.script.append(_saying(f"A screen that shows the token {secret}."))

    _, texts = seeded()

    assert secret not in texts["screen.png"]
    kept = list((tmp_path / "home" / "cache" / "pictures").rglob("*.txt"))
    assert len(kept) == 1
    assert secret not in kept[0].read_text()
    assert kept[0].stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("vision", ["eyes", "compatible/", "/eyes"])
def test_a_model_that_is_not_named_as_it_should_be_is_told_in_a_line(ragmem, tmp_path, vision):
    done = ragmem("seed", RAGMEM_DOCUMENTS_VISION=vision)

    assert done.returncode == 2
    assert f'documents.vision is "{vision}"' in done.stderr


def test_a_text_is_taken_in_where_the_model_is_not_named_as_it_should_be(ragmem, tmp_path):
    environ = {**FAKE, "RAGMEM_DOCUMENTS_VISION": "eyes"}

    assert ragmem("ingest", "-", stdin="We decided that cranes are yellow.", **environ).returncode == 0


def test_a_backend_without_eyes_is_a_warning(seeded):
    _picture(seeded.folder / "crane.png")

    report, texts = seeded(vision="fake/valid")

    assert any("cannot read pictures" in one for one in _warnings(report)), _warnings(report)
    assert texts == {}


DOCUMENT = {
    "quay.json": {
        "body": {"children": [{"$ref": "#/texts/0"}]},
        "texts": [
            {
                "self_ref": "#/texts/0",
                "label": "text",
                "text": "The quay is 300 m long.",
                "prov": [{"page_no": 2}],
            }
        ],
    }
}


def test_a_server_that_reads_documents_gives_memories_with_their_pages(seeded, tmp_path):
    (seeded.folder / "quay.pdf").write_bytes(b"%PDF-1.7 not looked at here")
    with engine_serving("docling", DOCUMENT, busy=0) as server:
        environ = {"RAGMEM_DOCUMENTS_ENGINE": "docling", "RAGMEM_DOCUMENTS_ENDPOINT": server.url}
        report, texts = seeded(vision="", **environ)

    assert _warnings(report) == []
    assert texts == {"quay.pdf": "The quay is 300 m long."}


def test_what_the_server_cannot_read_is_read_here_with_a_warning(seeded):
    _picture(seeded.folder / "crane.png")
    with engine_serving("docling", DOCUMENT, wrong="error") as server:
        environ = {"RAGMEM_DOCUMENTS_ENGINE": "docling", "RAGMEM_DOCUMENTS_ENDPOINT": server.url}
        report, texts = seeded(vision="", **environ)

    (told,) = _warnings(report)
    assert "docling did not read it" in told
    assert "ocr in [documents] is off" in told
    assert texts == {}
