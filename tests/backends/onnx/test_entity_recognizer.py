"""A GLiNER model on onnxruntime: known words of a tiny model get known labels, wherever they stand."""

import json
import random
import shutil
from importlib.util import find_spec
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.backends import onnx
from ragmem.backends.onnx.entity_recognizer import windows
from ragmem.errors import BackendError

if find_spec("onnxruntime") is None or find_spec("onnx") is None:
    pytest.skip("onnx and onnxruntime are not installed", allow_module_level=True)

from tiny_onnx import GLINER_LABELS, make_gliner, make_model

TEXT = "Ada Lovelace went to Rome, with Tideline."
NAMES = [("Ada Lovelace", "person"), ("Rome", "location"), ("Tideline", "software")]


@pytest.fixture(scope="module", params=["span", "token", "older token"])
def folder(request, tmp_path_factory):
    by, older = request.param.split()[-1], request.param.startswith("older")
    return make_gliner(tmp_path_factory.mktemp("gliner"), by=by, first=older)


@pytest.fixture(scope="module")
def recognizer(folder):
    return open_recognizer(folder)


def open_recognizer(folder):
    return onnx.open_models({"recognizer": str(folder), "threads": 2}).recognizer


def recognize(recognizer, *texts, labels=GLINER_LABELS, threshold=0.5):
    return recognizer.recognize(texts, labels, threshold=threshold)


def names(text, spans):
    return [(text[one.start : one.end], one.label) for one in spans]


def test_known_words_get_their_labels_and_scores_above_the_threshold(recognizer):
    (spans,) = recognize(recognizer, TEXT)
    assert names(TEXT, spans) == NAMES
    assert all(0.99 < one.score <= 1 for one in spans)
    assert recognize(recognizer, TEXT, threshold=1) == [[]]


def test_the_labels_stand_before_the_text_in_their_order(recognizer):
    assert recognize(recognizer, TEXT, labels=GLINER_LABELS[::-1]) == [[]]


@pytest.mark.parametrize("text", ["", " \n", "\x00", "\ud800", "nobody", "x" * 20_000, "\u6e2f" * 900])
def test_texts_without_names_have_none(recognizer, text):
    assert recognize(recognizer, text, TEXT) == [[], *recognize(recognizer, TEXT)]


@pytest.mark.parametrize(
    "text", ["\u5bae\u9593\u3055\u3093 Rome \u306f\u6e2f", "\U0001f600 Rome!", "\ud800 Rome", "\x00 Rome\n"]
)
def test_places_are_those_of_characters_in_any_script(recognizer, text):
    (spans,) = recognize(recognizer, text)
    assert names(text, spans) == [("Rome", "location")]


def test_marks_of_the_model_inside_a_text_are_letters(recognizer):
    text = "<<ENT>> Rome <<SEP>> [SEP] [CLS] Ada Lovelace"
    (spans,) = recognize(recognizer, text)
    assert names(text, spans) == [("Rome", "location"), ("Ada Lovelace", "person")]


def test_a_name_is_found_wherever_it_stands_in_a_long_text(recognizer):
    # The model reads 40 words at a time.
    texts = [f"{'the quay ' * before}Ada Lovelace {'waits ' * 50}Rome" for before in range(45)]
    for text, spans in zip(texts, recognize(recognizer, *texts), strict=True):
        assert names(text, spans) == [("Ada Lovelace", "person"), ("Rome", "location")]


def test_no_other_text_and_no_order_changes_what_is_found(recognizer):
    texts = [TEXT, "Rome", "", "Tideline " * 90, "a b c", TEXT * 3]
    alone = [recognize(recognizer, text)[0] for text in texts]
    order = random.Random(3).sample(range(len(texts)), len(texts))
    assert recognize(recognizer, *(texts[place] for place in order)) == [alone[place] for place in order]


@given(st.lists(st.integers(1, 30)), st.integers(-5, 60), st.integers(1, 20), st.integers(1, 12))
def test_windows_have_every_word_and_overlap(lengths, room, words, overlap):
    parts = list(windows(lengths, room, words=words, overlap=overlap))
    assert {place for first, last in parts for place in range(first, last)} == set(range(len(lengths)))
    for first, last in parts:
        assert 1 <= last - first <= words
        assert last - first == 1 or sum(lengths[first:last]) <= room
    for (first, last), (start, end) in pairwise(parts):
        assert first < start <= last <= end
        assert start == max(last - overlap, first + 1)


def test_the_id_is_that_of_the_files(folder, tmp_path):
    first = open_recognizer(folder).model_id
    shutil.copytree(folder, tmp_path / folder.name)
    assert open_recognizer(tmp_path / folder.name).model_id == first
    change(tmp_path / folder.name, max_width=3)
    assert open_recognizer(tmp_path / folder.name).model_id != first


def change(folder, **values):
    path = folder / "gliner_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def shorten(folder, window):
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": window}))


@pytest.mark.parametrize("window", [22, 26, 35])
def test_a_text_longer_than_the_window_is_read_in_parts(window, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "model")
    shorten(tmp_path / "model", window)
    text = f"Rome {'quay ' * 30}Tideline {'harbour' * 30} Rome"
    (spans,) = recognize(open_recognizer(tmp_path / "model"), text)
    assert names(text, spans) == [("Rome", "location"), ("Tideline", "software"), ("Rome", "location")]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "gliner_config.json").unlink(), "has no gliner_config.json"),
        (lambda folder: (folder / "gliner_config.json").write_text("[]"), "has no gliner_config.json"),
        (lambda folder: (folder / "gliner_config.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "has no tokenizer.json"),
        (lambda folder: (folder / "onnx" / "model.onnx").unlink(), "has no ONNX file"),
        (lambda folder: (folder / "onnx" / "model.onnx").write_bytes(b"\x08"), "is not a complete ONNX file"),
        (lambda folder: change(folder, words_splitter_type="spacy"), "ragmem does not support"),
        (lambda folder: change(folder, subtoken_pooling="mean"), "ragmem does not support"),
        (lambda folder: change(folder, max_len=0), "ragmem does not support"),
        (lambda folder: change(folder, ent_token=["x"]), "ragmem does not support"),
        (lambda folder: change(folder, ent_token="<<X>>"), "another model's"),
        (lambda folder: shorten(folder, 19), "no room for a text"),
        (lambda folder: make_model(folder, "bert"), "which ragmem cannot fill"),
        (lambda folder: make_model(folder, "xlmr"), "is no GLiNER model"),
    ],
)
def test_wrong_files_are_named(spoil, said, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "model")
    spoil(tmp_path / "model")
    with pytest.raises(BackendError, match=said):
        recognize(open_recognizer(tmp_path / "model"), TEXT)


def test_a_model_that_answers_in_another_shape_is_refused(tmp_path):
    folder = make_gliner(tmp_path / "model")
    change(folder, max_width=5)
    with pytest.raises(BackendError, match=r"array \(1, 10, 4, 8\) instead of \(1, 8, 5, 8\)"):
        recognize(open_recognizer(folder), "a b c d e f g h")


def test_the_files_of_a_model_can_be_checked_without_loading_it(folder, tmp_path):
    assert onnx.open_models({"recognizer": str(folder)}).check() == []
    assert "no folder" in onnx.open_models({"recognizer": str(tmp_path / "none")}).check()[0]
    assert onnx.open_models({"model": str(folder)}).recognizer is None


def test_a_closed_model_loads_again(folder):
    models = onnx.open_models({"recognizer": str(folder)})
    first = recognize(models.recognizer, TEXT)
    models.close()
    assert recognize(models.recognizer, TEXT) == first
