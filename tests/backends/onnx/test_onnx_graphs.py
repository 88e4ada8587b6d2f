"""Which graph, which output and which inputs of a repository are taken, and what is said of others."""

from importlib.util import find_spec

import numpy as np
import pytest

from ragmem.backends import onnx
from ragmem.backends.onnx.variants import Processor, choose_variant, files_of, list_variants, split_model
from ragmem.errors import BackendError, ConfigError

if find_spec("onnxruntime") is None or find_spec("onnx") is None:
    pytest.skip("onnx and onnxruntime are not installed", allow_module_level=True)

from onnx import TensorProto, helper
from tiny_onnx import Onnx, Size, _write_tokenizer, save_graph, write_json

VNNI = Processor(flags=frozenset({"avx2", "avx512f", "avx512_vnni"}), fast_int8=True)
AVX2 = Processor(flags=frozenset({"avx2"}))
ARM = Processor(arm=True, fast_int8=True)

SENTENCE_TRANSFORMERS = [
    "onnx/model.onnx",
    "onnx/model_O1.onnx",
    "onnx/model_O4.onnx",
    "onnx/model_qint8_arm64.onnx",
    "onnx/model_qint8_avx512.onnx",
    "onnx/model_qint8_avx512_vnni.onnx",
    "onnx/model_quint8_avx2.onnx",
]
COMMUNITY = [
    "onnx/model.onnx",
    "onnx/model.onnx_data",
    "onnx/model_bnb4.onnx",
    "onnx/model_fp16.onnx",
    "onnx/model_fp16.onnx_data",
    "onnx/model_int8.onnx",
    "onnx/model_q4.onnx",
    "onnx/model_q4f16.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_uint8.onnx",
    "tokenizer.json",
]
LARGE = {"onnx/model.onnx_data": 2_400_000_000}


@pytest.mark.parametrize(
    ("paths", "large", "processor", "expected"),
    [
        (SENTENCE_TRANSFORMERS, {}, VNNI, "onnx/model_qint8_avx512_vnni.onnx"),
        (SENTENCE_TRANSFORMERS, {}, ARM, "onnx/model_qint8_arm64.onnx"),
        (SENTENCE_TRANSFORMERS, {}, AVX2, "onnx/model.onnx"),
        (
            ["onnx/model.onnx", *SENTENCE_TRANSFORMERS[3:]],
            {"onnx/model.onnx": 2_000_000_000},
            AVX2,
            "onnx/model_quint8_avx2.onnx",
        ),
        (SENTENCE_TRANSFORMERS, {}, Processor(), "onnx/model.onnx"),
        (COMMUNITY, {}, VNNI, "onnx/model_int8.onnx"),
        (COMMUNITY, {}, ARM, "onnx/model_int8.onnx"),
        (COMMUNITY, {}, AVX2, "onnx/model.onnx"),
        (COMMUNITY, LARGE, AVX2, "onnx/model_uint8.onnx"),
        (["onnx/model.onnx", *COMMUNITY[1:5]], LARGE, VNNI, "onnx/model.onnx"),
        (["model.onnx", "onnx/tokenizer_model.onnx"], {}, AVX2, "model.onnx"),
        (["onnx/model_q4.onnx", "onnx/model_fp16.onnx"], {}, VNNI, "onnx/model_fp16.onnx"),
        (["onnx/decoder_model.onnx"], {}, VNNI, "onnx/decoder_model.onnx"),
        (["onnx/model_qint8_arm64.onnx"], {}, VNNI, "onnx/model_qint8_arm64.onnx"),
    ],
)
def test_the_file_for_this_processor_is_taken(paths, large, processor, expected):
    sizes = dict.fromkeys(paths, 100_000_000) | large
    assert choose_variant(sizes, "", processor, model="team/model").path == expected
    assert choose_variant(dict(reversed(sizes.items())), "", processor, model="team/model").path == expected


def test_precisions_are_read_from_names():
    found = {each.path: each.precision for each in list_variants([*COMMUNITY, *SENTENCE_TRANSFORMERS])}
    assert found["onnx/model_O4.onnx"] == found["onnx/model_fp16.onnx"] == "fp16"
    assert {found[f"onnx/model_{name}.onnx"] for name in ("q4", "q4f16", "bnb4")} == {"4 bits"}
    assert {found[f"onnx/model_{name}.onnx"] for name in ("int8", "uint8", "quantized")} == {"int8"}
    assert found["onnx/model.onnx"] == found["onnx/model_O1.onnx"] == "fp32"


def test_the_files_of_a_graph_are_known_by_their_names():
    paths = [*COMMUNITY, "onnx/model.onnx_data_1", "onnx/model.onnx.bak", "onnx/model.onnx.data"]
    assert files_of("onnx/model.onnx", paths) == [
        "onnx/model.onnx",
        "onnx/model.onnx.data",
        "onnx/model.onnx_data",
        "onnx/model.onnx_data_1",
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a/b@int8", ("a/b", "int8")),
        ("a/b@onnx/model.onnx", ("a/b", "onnx/model.onnx")),
        ("a/b", ("a/b", "")),
        ("@x", ("@x", "")),
        ("a/b@", ("a/b", "")),
    ],
)
def test_the_variant_stands_behind_the_last_at(given, expected):
    assert split_model(given) == expected


def test_a_folder_with_an_at_in_its_name_is_a_folder(tmp_path):
    (tmp_path / "me@home").mkdir()
    assert split_model(str(tmp_path / "me@home")) == (str(tmp_path / "me@home"), "")


WIDTH = 8
IDS = "input_ids"
BOTH = [(IDS, TensorProto.INT64, ["n", "l"]), ("attention_mask", TensorProto.INT64, ["n", "l"])]


@pytest.fixture
def make(tmp_path):
    """Return a function that writes a model of given inputs and outputs: a table of words, and its means."""

    def write(outputs, inputs=BOTH, config=None):
        ops = Onnx(Size())
        table = np.random.default_rng(1).normal(size=(400, WIDTH)).astype(np.float32)
        ids = ops.op("Cast", IDS, to=TensorProto.INT64)
        tokens = ops.op("Gather", ops.weight(table), ids)
        sums = ops.op("ReduceSum", tokens, ops.integers(1), keepdims=0)
        told = []
        for name, rank, *shape in outputs:
            kind = TensorProto.FLOAT
            made = {2: sums, 3: tokens}[rank]
            if "half" in name:
                kind, made = TensorProto.FLOAT16, ops.op("Cast", made, to=TensorProto.FLOAT16)
            ops.nodes.append(helper.make_node("Identity", [made], [name]))
            told.append(
                helper.make_tensor_value_info(name, kind, *(shape or [["n", "l", WIDTH][3 - rank :]]))
            )
        values = [helper.make_tensor_value_info(*each) for each in inputs]
        save_graph(tmp_path / "model.onnx", ops, values, told)
        _write_tokenizer(tmp_path, "bert")
        if config is not None:
            write_json(tmp_path / "config.json", config)
        return onnx.open_models({"model": str(tmp_path), "threads": 1})

    return write


@pytest.mark.parametrize(
    ("outputs", "taken", "pooling"),
    [
        ([("last_hidden_state", 3), ("pooler_output", 2)], "last_hidden_state", "mean"),
        ([("token_embeddings", 3), ("sentence_embedding", 2)], "sentence_embedding", ""),
        ([("dense_vecs", 2), ("colbert_vecs", 3)], "dense_vecs", ""),
        ([("anything", 2)], "anything", ""),
        ([("1234", 3)], "1234", "mean"),
        ([("last_hidden_state", 3), ("present.0.key", 3)], "last_hidden_state", "mean"),
        ([("half_state", 3)], "half_state", "mean"),
    ],
)
def test_the_output_with_vectors_is_found(outputs, taken, pooling, make):
    models = make(outputs)
    embedder = models.embedder
    assert (embedder.description.output, embedder.description.pooling) == (taken, pooling)
    found = embedder.embed(["the disk was full"], role="document")
    assert found.shape == (1, WIDTH)
    assert abs(float(np.linalg.norm(found)) - 1) < 1e-5


@pytest.mark.parametrize(
    "outputs",
    [[("logits", 3)], [("logits", 2)], [("one", 3), ("two", 3)], [("pooler_output", 2)], [("x", 2, None)]],
)
def test_outputs_that_are_no_vectors_of_texts_are_told(outputs, make):
    with pytest.raises(BackendError, match="no output of") as caught:
        make(outputs).embedder  # noqa: B018
    assert outputs[0][0] in str(caught.value)
    assert "set output" in caught.value.hint


def test_an_output_can_be_named(make, tmp_path):
    make([("one", 3), ("two", 3)])
    models = onnx.open_models({"model": str(tmp_path), "output": "two"})
    assert models.embedder.embed(["x"], role="document").shape == (1, WIDTH)
    with pytest.raises(ConfigError, match="one, two"):
        _raise_hint(onnx.open_models({"model": str(tmp_path), "output": "three"}))


def _raise_hint(models):
    try:
        models.embedder  # noqa: B018
    except ConfigError as error:
        raise ConfigError(error.hint) from error


def test_a_width_that_nobody_tells_is_asked_for(make):
    free = [("sentence_embedding", 2, ["n", "width"])]
    with pytest.raises(BackendError, match="has no hidden_size"):
        make(free).embedder  # noqa: B018
    assert make(free, config={"hidden_size": WIDTH}).embedder.dimensions == WIDTH


def test_a_width_that_is_wrong_is_told_before_a_vector_is_kept(make):
    models = make([("sentence_embedding", 2, ["n", "width"])], config={"hidden_size": 9})
    with pytest.raises(BackendError, match="array"):
        models.embedder.embed(["x"], role="document")


def test_inputs_may_be_of_32_bits_and_without_a_mask(make):
    models = make([("last_hidden_state", 3)], [(IDS, TensorProto.INT32, ["n", "l"])])
    texts = ["disk", "the disk was full", "x"]
    together = models.embedder.embed(texts, role="document")
    alone = np.concatenate([models.embedder.embed([text], role="document") for text in texts])
    assert np.allclose(together, alone, atol=1e-6)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([*BOTH, ("task_id", TensorProto.INT64, [1])], 'an input "task_id"'),
        (
            [*BOTH, ("past_key_values.0.key", TensorProto.FLOAT, ["n", "h", "p", "w"])],
            "past_key_values.0.key",
        ),
    ],
)
def test_inputs_that_cannot_be_filled_are_told(inputs, message, make):
    models = make([("last_hidden_state", 3)], inputs)
    with pytest.raises(BackendError, match=message):
        models.embedder  # noqa: B018


def test_a_graph_of_pictures_is_told(make, tmp_path):
    ops = Onnx(Size())
    ops.nodes.append(helper.make_node("Identity", ["pixel_values"], ["image_embeds"]))
    told = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4])
        for name in ("pixel_values", "image_embeds")
    ]
    save_graph(tmp_path / "model.onnx", ops, told[:1], told[1:])
    _write_tokenizer(tmp_path, "bert")
    with pytest.raises(BackendError, match="has no input input_ids, only pixel_values"):
        onnx.open_models({"model": str(tmp_path)}).embedder  # noqa: B018


def test_weights_outside_of_the_folder_are_refused(make, tmp_path):
    from onnx import load, save

    make([("last_hidden_state", 3)])
    model = load(str(tmp_path / "model.onnx"))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../secret.bin"
    save(model, str(tmp_path / "model.onnx"))
    with pytest.raises(BackendError, match="outside of its folder"):
        onnx.open_models({"model": str(tmp_path)}).embedder  # noqa: B018
