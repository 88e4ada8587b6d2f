"""Tiny ONNX models of five architectures, made in a moment, with the same forward pass in numpy.

Each architecture is one function of abstract operations: `Numpy` computes them at once, for one text without
padding, and `Onnx` writes them into a graph that takes batches. The weights are random but for one thing:
what a text's tokens mean flows to its end almost unchanged, so that texts sharing words have near vectors.
"""

import json
from dataclasses import dataclass, field, replace

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model
from tiny_models import CORPUS, PIECES, _train_byte_pairs, _word_pieces

from ragmem.domain.entities.recognized_names import LABELS

MASKED = -1e9
IR = 10
"""The form of the file that onnxruntime has read for years; a newer onnx would write a newer one."""


@dataclass(frozen=True)
class Size:
    """The numbers of an architecture; the tests have tiny ones, the benchmark real ones."""

    words: int = PIECES
    width: int = 64
    layers: int = 2
    heads: int = 4
    key_heads: int = 4
    head: int = 16
    inner: int = 128
    positions: int = 128
    int8: bool = False
    """Whether matrices are int8, and activations scaled by the largest number of a batch."""


class Numpy:
    """Operations on arrays (1, length, width) of one text; satisfies what the architectures call."""

    def __init__(self, ids, kinds=None):
        self.ids, self.length = np.array([ids]), len(ids)
        self.kinds = np.array([kinds or [0] * len(ids)])

    def weight(self, values):
        return values

    def positions(self):
        return np.arange(self.length)[None].astype(np.float32)

    def embed(self, table, ids=None):
        return table[self.ids if ids is None else ids.astype(int)]

    def linear(self, x, matrix, bias=None):
        return x @ matrix + (0 if bias is None else bias)

    def add(self, x, y):
        return x + y

    def multiply(self, x, y):
        return x * y

    def norm(self, x, weight, bias, epsilon):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + epsilon) * weight + bias

    def rms(self, x, weight, epsilon=1e-6):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight

    def gelu(self, x):
        from math import erf

        return x * 0.5 * (1 + np.vectorize(erf)(x / 2**0.5)).astype(np.float32)

    def silu(self, x):
        return x / (1 + np.exp(-x))

    def split(self, x, heads, head):
        return x.reshape(1, self.length, heads, head).transpose(0, 2, 1, 3)

    def join(self, x, width):
        return x.transpose(0, 2, 1, 3).reshape(1, self.length, width)

    def rope(self, x, base, head):
        angles = self.positions()[0][:, None] * (base ** (-np.arange(0, head, 2) / head)).astype(np.float32)
        cos, sin = np.cos(angles), np.sin(angles)
        one, other = x[..., : head // 2], x[..., head // 2 :]
        return np.concatenate([one * cos - other * sin, other * cos + one * sin], -1)

    def attend(self, query, key, value, *, causal=False, window=0, layer=0):
        groups = query.shape[1] // key.shape[1]
        key, value = np.repeat(key, groups, 1), np.repeat(value, groups, 1)
        scores = query @ key.transpose(0, 1, 3, 2) / query.shape[-1] ** 0.5
        place = np.arange(self.length)
        distance = place[:, None] - place[None]
        if causal:
            scores = scores + np.where(distance < 0, MASKED, 0)
        if window:
            scores = scores + np.where(abs(distance) > window, MASKED, 0)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        return (shares / shares.sum(-1, keepdims=True) @ value).astype(np.float32)


@dataclass
class Onnx:
    """Operations that write nodes; names stand for tensors."""

    size: Size
    past: bool = False
    """Whether the graph takes keys and values of what was read before, as decoders do."""
    nodes: list = field(default_factory=list)
    weights: dict = field(default_factory=dict)
    outputs: list = field(default_factory=list)
    _count: int = 0

    def op(self, kind, *inputs, **attributes):
        self._count += 1
        name = f"{kind}_{self._count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, values):
        self._count += 1
        name = f"weight_{self._count}"
        self.weights[name] = np.ascontiguousarray(values)
        return name

    def number(self, value):
        return self.weight(np.array(value, np.float32))

    def integers(self, *values):
        return self.weight(np.array(values, np.int64))

    def positions(self):
        if "position_ids" not in self.outputs:
            self.outputs.append("position_ids")
        return self.op("Cast", "position_ids", to=TensorProto.FLOAT)

    def embed(self, table, ids="input_ids"):
        if self.size.int8 and len(self.weights[table]) == self.size.words:
            values, scale = self._pack(table)
            words = self.op("Cast", self.op("Gather", values, ids), to=TensorProto.FLOAT)
            return self.op("Mul", words, scale)
        return self.op("Gather", table, ids)

    def _pack(self, name):
        """Replace a matrix by int8 values and return their name and that of a scale for each column.

        Of 7 bits: products of 8 bits saturate on processors without VNNI.
        """
        values = self.weights.pop(name)
        scale = (abs(values).max(0) / 63).astype(np.float32)
        return self.weight(np.round(values / scale).astype(np.int8)), self.weight(scale)

    def linear(self, x, matrix, bias=None):
        if self.size.int8:
            packed, scale = self._pack(matrix)
            self._count += 1
            names = [f"{part}_{self._count}" for part in ("q", "scale", "zero")]
            self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], names))
            product = self.op("MatMulInteger", names[0], packed, names[2])
            product = self.op("Cast", product, to=TensorProto.FLOAT)
            scales = self.op("Mul", names[1], scale)
            found = self.op("Mul", product, scales)
        else:
            found = self.op("MatMul", x, matrix)
        return found if bias is None else self.op("Add", found, bias)

    def add(self, x, y):
        return self.op("Add", x, y if isinstance(y, str) else self.number(y))

    def multiply(self, x, y):
        return self.op("Mul", x, y if isinstance(y, str) else self.number(y))

    def norm(self, x, weight, bias, epsilon):
        return self.op("LayerNormalization", x, weight, bias, axis=-1, epsilon=epsilon)

    def rms(self, x, weight, epsilon=1e-6):
        square = self.op("ReduceMean", self.op("Mul", x, x), axes=[-1], keepdims=1)
        root = self.op("Sqrt", self.add(square, epsilon))
        return self.op("Mul", self.op("Div", x, root), weight)

    def gelu(self, x):
        erf = self.op("Erf", self.multiply(x, 0.5**0.5))
        return self.op("Mul", self.multiply(x, 0.5), self.add(erf, 1.0))

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def split(self, x, heads, head):
        return self.op(
            "Transpose", self.op("Reshape", x, self.integers(0, -1, heads, head)), perm=[0, 2, 1, 3]
        )

    def join(self, x, width):
        return self.op("Reshape", self.op("Transpose", x, perm=[0, 2, 1, 3]), self.integers(0, -1, width))

    def rope(self, x, base, head):
        places = self.op("Unsqueeze", self.positions(), self.integers(1, 3))
        angles = self.op(
            "Mul", places, self.weight((base ** (-np.arange(0, head, 2) / head)).astype(np.float32))
        )
        cos, sin = self.op("Cos", angles), self.op("Sin", angles)
        one = self.op("Slice", x, self.integers(0), self.integers(head // 2), self.integers(3))
        other = self.op("Slice", x, self.integers(head // 2), self.integers(head), self.integers(3))
        left = self.op("Sub", self.op("Mul", one, cos), self.op("Mul", other, sin))
        right = self.op("Add", self.op("Mul", other, cos), self.op("Mul", one, sin))
        return self.op("Concat", left, right, axis=-1)

    def attend(self, query, key, value, *, causal=False, window=0, layer=0):
        size = self.size
        if self.past:
            key = self.op("Concat", f"past_key_values.{layer}.key", key, axis=2)
            value = self.op("Concat", f"past_key_values.{layer}.value", value, axis=2)
            for name, tensor in (("key", key), ("value", value)):
                self.nodes.append(helper.make_node("Identity", [tensor], [f"present.{layer}.{name}"]))
        groups = size.heads // size.key_heads
        if groups > 1:
            key, value = (self._repeat(each, groups) for each in (key, value))
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        scores = self.multiply(scores, float(size.head**-0.5))
        scores = self.op("Add", scores, self._bias(causal=causal, window=window))
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), value)

    def _repeat(self, x, groups):
        size = self.size
        wide = self.op("Unsqueeze", x, self.integers(2))
        wide = self.op("Concat", *([wide] * groups), axis=2)
        return self.op("Reshape", wide, self.integers(0, size.heads, -1, size.head))

    def _bias(self, *, causal, window):
        mask = self.op("Cast", "attention_mask", to=TensorProto.FLOAT)
        bias = self.op(
            "Unsqueeze", self.multiply(self.add(self.multiply(mask, -1.0), 1.0), MASKED), self.integers(1, 2)
        )
        if causal or window:
            length = self.op("Squeeze", self.op("Gather", self.op("Shape", "input_ids"), self.integers(1)))
            zero, one = self.weight(np.array(0)), self.weight(np.array(1))
            places = self.op("Range", zero, length, one)
            rows, columns = (self.op("Unsqueeze", places, self.integers(axis)) for axis in (1, 0))
            distance = self.op("Sub", rows, columns)
            for wanted, hidden in (
                (causal, lambda: self.op("Less", distance, zero)),
                (window, lambda: self.op("Greater", self.op("Abs", distance), self.weight(np.array(window)))),
            ):
                if wanted:
                    bias = self.op(
                        "Add", bias, self.op("Where", hidden(), self.number(MASKED), self.number(0.0))
                    )
        return bias

    def mean(self, x):
        mask = self.op("Unsqueeze", self.op("Cast", "attention_mask", to=TensorProto.FLOAT), self.integers(2))
        total = self.op("ReduceSum", self.op("Mul", x, mask), self.integers(1), keepdims=0)
        return self.op("Div", total, self.op("ReduceSum", mask, self.integers(1), keepdims=0))


def bert(ops, size, *, start=0, kinds=True, seed=1, cheap=False):
    """BERT, or with `start` 2 and without `kinds` XLM-RoBERTa: layers that normalise behind each sum."""
    w = _Weights(seed, cheap=cheap)
    x = ops.embed(ops.weight(w(size.words, size.width, scale=1)))
    table = ops.weight(w(size.positions + start, size.width))
    x = ops.add(x, ops.embed(table, _shifted(ops, start)))
    types = ops.weight(w(2, size.width))
    if kinds:
        x = ops.add(x, ops.embed(types, "token_type_ids" if isinstance(ops, Onnx) else ops.kinds))
    x = _norm(ops, x, w, size.width)
    for layer in range(size.layers):
        query, key, value = (
            ops.split(_linear(ops, x, w, size.width, size.width), size.heads, size.head) for _ in range(3)
        )
        context = ops.join(ops.attend(query, key, value, layer=layer), size.width)
        x = _norm(ops, ops.add(x, _linear(ops, context, w, size.width, size.width)), w, size.width)
        inner = ops.gelu(_linear(ops, x, w, size.width, size.inner))
        x = _norm(ops, ops.add(x, _linear(ops, inner, w, size.inner, size.width)), w, size.width)
    return x


def xlmr(ops, size):
    """XLM-RoBERTa: positions begin behind that of the padding, 1; no token types."""
    return bert(ops, size, start=2, kinds=False, seed=2)


def modernbert(ops, size):
    """ModernBERT: layers that normalise before, rotary positions, gated units, local attention in between."""
    w, zeros = _Weights(3), np.zeros(size.width, np.float32)
    x = ops.embed(ops.weight(w(size.words, size.width, scale=1)))
    x = ops.norm(x, ops.weight(w.ones(size.width)), ops.weight(zeros), 1e-5)
    for layer in range(size.layers):
        y = ops.norm(x, ops.weight(w.ones(size.width)), ops.weight(zeros), 1e-5)
        query, key, value = (
            ops.split(ops.linear(y, ops.weight(w(size.width, size.width))), size.heads, size.head)
            for _ in range(3)
        )
        base = 10_000 if layer % 2 else 160_000
        query, key = ops.rope(query, base, size.head), ops.rope(key, base, size.head)
        context = ops.attend(query, key, value, window=4 if layer % 2 else 0, layer=layer)
        x = ops.add(x, ops.linear(ops.join(context, size.width), ops.weight(w(size.width, size.width))))
        y = ops.norm(x, ops.weight(w.ones(size.width)), ops.weight(zeros), 1e-5)
        gate = ops.gelu(ops.linear(y, ops.weight(w(size.width, size.inner))))
        inner = ops.multiply(gate, ops.linear(y, ops.weight(w(size.width, size.inner))))
        x = ops.add(x, ops.linear(inner, ops.weight(w(size.inner, size.width))))
    return ops.norm(x, ops.weight(w.ones(size.width)), ops.weight(zeros), 1e-5)


def qwen3(ops, size, *, cheap=False):
    """Qwen3: a decoder whose heads share keys, with norms of queries and keys. `cheap`: equal layers."""
    w = _Weights(4, cheap=cheap)
    heads, keys = size.heads * size.head, size.key_heads * size.head
    x = ops.embed(ops.weight(w(size.words, size.width)))
    for layer in range(size.layers):
        y = ops.rms(x, ops.weight(w.ones(size.width)))
        # What is attended to comes back as it was, and stronger than the last token itself.
        turned = w.turn(size.width, keys)
        back = np.repeat(turned.T.reshape(size.key_heads, size.head, size.width), heads // keys, 0)
        query = ops.split(ops.linear(y, ops.weight(w(size.width, heads))), size.heads, size.head)
        key = ops.split(ops.linear(y, ops.weight(w(size.width, keys))), size.key_heads, size.head)
        value = ops.split(ops.linear(y, ops.weight(turned)), size.key_heads, size.head)
        # Small queries and keys attend evenly.
        query, key = (ops.rms(each, ops.weight(w.ones(size.head) / 10)) for each in (query, key))
        query, key = ops.rope(query, 1e6, size.head), ops.rope(key, 1e6, size.head)
        context = ops.join(ops.attend(query, key, value, causal=True, layer=layer), heads)
        x = ops.add(x, ops.linear(context, ops.weight(2 * back.reshape(heads, size.width))))
        y = ops.rms(x, ops.weight(w.ones(size.width)))
        gate = ops.silu(ops.linear(y, ops.weight(w(size.width, size.inner))))
        inner = ops.multiply(gate, ops.linear(y, ops.weight(w(size.width, size.inner))))
        x = ops.add(x, ops.linear(inner, ops.weight(w(size.inner, size.width))))
    return ops.rms(x, ops.weight(w.ones(size.width)))


def gemma(ops, size):
    """EmbeddingGemma: reads both ways, words scaled by the root of the width, norms before and behind."""
    w = _Weights(5)
    keys = size.key_heads * size.head
    x = ops.multiply(ops.embed(ops.weight(w(size.words, size.width))), float(size.width**0.5))
    for layer in range(size.layers):
        y = ops.rms(x, ops.weight(w.ones(size.width)))
        query = ops.split(ops.linear(y, ops.weight(w(size.width, size.width))), size.heads, size.head)
        key, value = (
            ops.split(ops.linear(y, ops.weight(w(size.width, keys))), size.key_heads, size.head)
            for _ in range(2)
        )
        query, key = (ops.rms(each, ops.weight(w.ones(size.head) / 4)) for each in (query, key))
        query, key = ops.rope(query, 1e4, size.head), ops.rope(key, 1e4, size.head)
        context = ops.join(ops.attend(query, key, value, layer=layer), size.width)
        y = ops.rms(
            ops.linear(context, ops.weight(w(size.width, size.width))), ops.weight(w.ones(size.width) / 4)
        )
        x = ops.add(x, y)
        y = ops.rms(x, ops.weight(w.ones(size.width)))
        gate = ops.gelu(ops.linear(y, ops.weight(w(size.width, size.inner))))
        inner = ops.multiply(gate, ops.linear(y, ops.weight(w(size.width, size.inner))))
        y = ops.linear(inner, ops.weight(w(size.inner, size.width)))
        x = ops.add(x, ops.rms(y, ops.weight(w.ones(size.width) / 4)))
    return ops.rms(x, ops.weight(w.ones(size.width)))


class _Weights:
    """Random numbers; each architecture has its own."""

    def __init__(self, seed, *, cheap=False):
        self._chance = np.random.default_rng(seed)
        self._known = {} if cheap else None

    def __call__(self, *shape, scale=0.08):
        if self._known is not None:
            if shape not in self._known:
                self._known[shape] = self._chance.normal(0, 0.02, shape).astype(np.float32)
            # Each time other numbers: onnxruntime shares equal weights.
            self._known[shape] = np.roll(self._known[shape], 1)
            return self._known[shape]
        return self._chance.normal(0, scale, shape).astype(np.float32)

    def ones(self, *shape):
        return np.ones(shape, np.float32)

    def turn(self, rows, columns):
        if self._known is not None:
            return self(rows, columns)
        return np.linalg.qr(self(rows, columns))[0].astype(np.float32)


def _shifted(ops, start):
    if isinstance(ops, Numpy):
        return ops.positions() + start
    if not start:
        # As BERT's exports do: positions of a table, cut to the length of the text.
        table = ops.weight(np.arange(ops.size.positions)[None])
        length = ops.op("Gather", ops.op("Shape", "input_ids"), ops.integers(1))
        return ops.op("Slice", table, ops.integers(0), length, ops.integers(1))
    # As RoBERTa's do: the tokens that are no padding are counted.
    present = ops.op("Not", ops.op("Equal", "input_ids", ops.weight(np.array(1))))
    present = ops.op("Cast", present, to=TensorProto.INT64)
    counted = ops.op("Mul", ops.op("CumSum", present, ops.weight(np.array(1))), present)
    return ops.op("Add", counted, ops.weight(np.array(1)))


def _linear(ops, x, w, width_in, width_out):
    return ops.linear(x, ops.weight(w(width_in, width_out)), ops.weight(w(width_out)))


def _norm(ops, x, w, width):
    return ops.norm(x, ops.weight(w.ones(width)), ops.weight(w(width)), 1e-12)


ARCHITECTURES = {"bert": bert, "xlmr": xlmr, "modernbert": modernbert, "qwen3": qwen3, "gemma": gemma}

SIZES = {
    "bert": Size(),
    "xlmr": Size(),
    "modernbert": Size(),
    "qwen3": Size(key_heads=2, head=32),
    "gemma": Size(key_heads=2),
}

TYPES = {
    "bert": "bert",
    "xlmr": "xlm-roberta",
    "modernbert": "modernbert",
    "qwen3": "qwen3",
    "gemma": "gemma3_text",
}

POOLINGS = {"bert": "mean", "xlmr": "mean", "modernbert": "cls", "qwen3": "last"}

DENSE = 48
"""Length of EmbeddingGemma's vectors behind its dense layers."""


def reference(kind, ids, *, size=None):
    """Return the unit vector of one text's ids, from the forward pass in numpy."""
    hidden = ARCHITECTURES[kind](Numpy(ids), size or SIZES[kind])[0]
    vector = {"cls": hidden[0], "last": hidden[-1]}.get(POOLINGS.get(kind), hidden.mean(0))
    if kind == "gemma":
        for matrix in dense_layers():
            vector = vector @ matrix
    return vector / np.linalg.norm(vector)


def reference_score(ids, kinds):
    """Return the score of a pair, from the forward pass of the BERT cross-encoder in numpy."""
    inner, outer = _head(1)
    first = bert(Numpy(ids, kinds), SIZES["bert"])[0, 0]
    return float((np.tanh(first @ inner) @ outer)[0])


def _head(labels, width=64):
    w = _Weights(7)
    return w(width, width), w(width, labels, scale=1)


def make_reranker(folder, *, labels=1, int8=False, file="onnx/model.onnx", size=SIZES["bert"]):
    """Write a BERT cross-encoder as the hub has it and return its folder."""
    size = replace(size, int8=int8)
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    ops = Onnx(size)
    first = ops.op("Gather", bert(ops, size), ops.weight(np.array(0)), axis=1)
    inner, outer = _head(labels, size.width)
    pooled = ops.op("Tanh", ops.linear(first, ops.weight(inner)))
    ops.nodes.append(helper.make_node("MatMul", [pooled, ops.weight(outer)], ["logits"]))
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in names]
    told = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", labels])
    save_graph(folder / file, ops, inputs, [told])
    _write_tokenizer(folder, "bert")
    config = {"model_type": "bert", "hidden_size": size.width, "max_position_embeddings": size.positions}
    write_json(folder / "config.json", {**config, "id2label": {str(n): f"LABEL_{n}" for n in range(labels)}})
    return folder


def dense_layers():
    """Return the two matrices behind EmbeddingGemma's pooling."""
    w = _Weights(6)
    return w(64, 96, scale=0.1), w(96, DENSE, scale=0.1)


def make_model(folder, kind, *, int8=False, file="onnx/model.onnx", data=False, half=False):
    """Write a model of one architecture as the hub has it and return its folder; a second call adds a graph.

    `data`: the weights lie in a file of their own. `half`: they are float16.
    """
    size = replace(SIZES[kind], int8=int8)
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    write_graph(folder / file, kind, size, data=data, half=half)
    return write_files(folder, kind, size)


def make_folder(folder, kind, size, *, int8):
    """Write a model of a real size with cheap weights, for a benchmark."""
    (folder / "onnx").mkdir()
    write_graph(folder / "onnx" / "model.onnx", kind, replace(size, int8=int8), data=True, cheap=True)
    if POOLINGS[kind] == "last":
        (folder / "last").touch()
    return write_files(folder, kind, size)


def write_files(folder, kind, size):
    """Write tokenizer and configuration of a model and return its folder."""
    _write_tokenizer(folder, kind)
    config = {
        "model_type": TYPES[kind],
        "hidden_size": size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.key_heads,
        "head_dim": size.head,
        "vocab_size": size.words,
        "max_position_embeddings": size.positions + (2 if kind == "xlmr" else 0),
    }
    if kind in {"bert", "xlmr"}:
        config["pad_token_id"] = 1 if kind == "xlmr" else 0
    if kind == "qwen3":
        config["eos_token_id"] = 0
    write_json(folder / "config.json", config)
    if kind == "gemma":
        write_json(
            folder / "config_sentence_transformers.json",
            {"prompts": {"query": "task: search result | query: ", "document": "title: none | text: "}},
        )
    if kind in POOLINGS and kind != "qwen3":
        modules = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
        write_json(
            folder / "modules.json",
            [
                {"idx": n, "path": path, "type": f"sentence_transformers.models.{name}"}
                for n, (path, name) in enumerate(modules)
            ],
        )
        modes = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
        write_json(
            folder / "1_Pooling" / "config.json", {key: mode == POOLINGS[kind] for key, mode in modes.items()}
        )
    return folder


def write_graph(path, kind, size, *, data=False, half=False, cheap=False):
    """Write the graph of an architecture with the usual names of inputs and outputs."""
    ops = Onnx(size, past=kind == "qwen3")
    hidden = ARCHITECTURES[kind](ops, size, **({"cheap": True} if cheap else {}))
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if kind == "bert" else []), *ops.outputs]
    if kind in {"modernbert", "gemma"}:
        # Their exports compute positions themselves.
        inputs.remove("position_ids")
        length = ops.op("Squeeze", ops.op("Gather", ops.op("Shape", "input_ids"), ops.integers(1)))
        places = ops.op("Range", ops.weight(np.array(0)), length, ops.weight(np.array(1)))
        ops.nodes.append(helper.make_node("Unsqueeze", [places, ops.integers(0)], ["position_ids"]))
        ops.nodes = _sorted(ops.nodes)
    outputs = [("last_hidden_state", hidden, ["batch", "length", size.width])]
    if kind == "gemma":
        vector = ops.mean(hidden)
        for matrix in dense_layers():
            vector = ops.op("MatMul", vector, ops.weight(matrix))
        vector = ops.op("LpNormalization", vector, axis=-1, p=2)
        outputs.append(("sentence_embedding", vector, ["batch", DENSE]))
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in inputs]
    if ops.past:
        shape = ["batch", size.key_heads, "past", size.head]
        names = [f"{layer}.{part}" for layer in range(size.layers) for part in ("key", "value")]
        values += [
            helper.make_tensor_value_info(f"past_key_values.{n}", TensorProto.FLOAT, shape) for n in names
        ]
        present = [helper.make_tensor_value_info(f"present.{n}", TensorProto.FLOAT, shape) for n in names]
    told = []
    for name, tensor, shape in outputs:
        ops.nodes.append(helper.make_node("Identity", [tensor], [name]))
        told.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    save_graph(path, ops, values, [*told, *(present if ops.past else [])], data=data, half=half)


def save_graph(path, ops, inputs, outputs, *, data=False, half=False):
    """Write nodes and weights as a file."""
    nodes, weights = ops.nodes, ops.weights
    if half:
        nodes, weights = _halve(nodes, weights)
    tensors = [numpy_helper.from_array(values, name) for name, values in weights.items()]
    graph = helper.make_graph(nodes, "model", inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=IR)
    kwargs = (
        {"save_as_external_data": True, "location": f"{path.name}_data", "size_threshold": 1024}
        if data
        else {}
    )
    save_model(model, str(path), **kwargs)


def _halve(nodes, weights):
    """Store large weights as float16 and widen them in the graph, as exports for processors do."""
    stored, wide = {}, []
    for name, values in weights.items():
        if values.dtype == np.float32 and values.size > 64:
            stored[f"{name}_half"] = values.astype(np.float16)
            wide.append(helper.make_node("Cast", [f"{name}_half"], [name], to=TensorProto.FLOAT))
        else:
            stored[name] = values
    return [*wide, *nodes], stored


def _sorted(nodes):
    """Return nodes in an order in which each stands behind those that it needs."""
    made_by = {output: node for node in nodes for output in node.output}
    found, seen = [], set()

    def visit(node):
        if id(node) in seen:
            return
        seen.add(id(node))
        for name in node.input:
            if name in made_by:
                visit(made_by[name])
        found.append(node)

    for node in nodes:
        visit(node)
    return found


def _write_tokenizer(folder, kind):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    if kind in {"bert", "modernbert"}:
        tokenizer = _word_pieces()
    elif kind == "xlmr":
        words = sorted({word.strip(".,:;").lower() for line in CORPUS for word in line.split()})
        letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
        pieces = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", *(f"\u2581{word}" for word in words), *letters]
        scores = [(piece, -float(10 if len(piece) < 2 else 5)) for piece in pieces]
        tokenizer = Tokenizer(models.Unigram(scores, unk_id=3))
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
        )
    else:
        tokenizer = _train_byte_pairs()
        if kind == "gemma":
            tokenizer.post_processor = processors.TemplateProcessing(
                single="<|im_start|> $A <|im_end|>", special_tokens=[("<|im_start|>", 1), ("<|im_end|>", 2)]
            )
    tokenizer.save(str(folder / "tokenizer.json"))


def write_json(path, document):
    """Write a document as a file of a repository."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")


GLINER_LABELS = tuple(LABELS)
"""The labels of the tiny GLiNER model, in the order in which it must get them."""


def make_gliner(folder, *, by="span", width=4, words=40, first=False):
    """Write a GLiNER model that knows Ada Lovelace, Rome and Tideline, and return its folder.

    It scores spans or, `by` "token", the words at their ends; older exports have these scores `first`. It
    reads only the first piece of a word, and refuses everything where the labels are not those above.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "<<ENT>>", "<<SEP>>"]
    names = {"Ada": ("person", "first"), "Love": ("person", "last"), "Rome": ("location", "both")}
    names |= {"Tideline": ("software", "both")}
    letters = [chr(code) for code in range(33, 127)]
    pieces = [*marks, *names, "##lace", *letters, *(f"##{letter}" for letter in letters), *GLINER_LABELS]
    tokenizer = Tokenizer(models.WordPiece({one: n for n, one in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(marks)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"max_len": words, "max_width": width, "span_mode": f"{by}_level"}
    write_json(folder / "gliner_config.json", config)

    count = len(GLINER_LABELS)
    table = np.full((len(pieces), count, 3), -6, np.float32)
    for piece, (label, place) in names.items():
        scores = {"first": (6, -6, 6), "last": (-6, 6, 6), "both": (6, 6, 6)}[place]
        table[pieces.index(piece), GLINER_LABELS.index(label)] = scores
    ops = Onnx(SIZES["bert"])
    lengths = ops.op("ReduceMax", "text_lengths", keepdims=0)
    places = ops.op(
        "Range",
        ops.weight(np.array(1)),
        ops.op("Add", lengths, ops.weight(np.array(1))),
        ops.weight(np.array(1)),
    )
    same = ops.op(
        "Equal",
        ops.op("Unsqueeze", "words_mask", ops.integers(1)),
        ops.op("Unsqueeze", places, ops.integers(0, 2)),
    )
    tokens = ops.op("Gather", ops.weight(table.reshape(len(pieces), -1)), "input_ids")
    found = ops.op("MatMul", ops.op("Cast", same, to=TensorProto.FLOAT), tokens)
    found = ops.op("Reshape", found, ops.integers(0, -1, count, 3))
    # The prompt: each label behind its mark, in this order.
    order = [number for label in GLINER_LABELS for number in (4, pieces.index(label))] + [5]
    start = ops.op("Slice", "input_ids", ops.integers(1), ops.integers(1 + len(order)), ops.integers(1))
    wrong = ops.op("Abs", ops.op("Sub", start, ops.weight(np.array(order))))
    wrong = ops.op("Cast", ops.op("ReduceMax", wrong, keepdims=0), to=TensorProto.FLOAT)
    found = ops.op("Sub", found, ops.multiply(wrong, 100.0))
    inputs = {"input_ids": 2, "attention_mask": 2, "words_mask": 2, "text_lengths": 2}
    if by == "span":
        inputs |= {"span_idx": 3, "span_mask": 2}
        ends = []
        for end in (0, 1):
            scores = ops.op("Gather", found, ops.weight(np.array(end)), axis=3)
            at = ops.op("Gather", "span_idx", ops.weight(np.array(end)), axis=2)
            ends.append(ops.op("Gather", ops.op("Squeeze", scores, ops.integers(0)), at, axis=0))
        found = ops.op("Reshape", ops.op("Add", *ends), ops.integers(1, -1, width, count))
    elif first:
        found = ops.op("Transpose", found, perm=[3, 0, 1, 2])
    ops.nodes.append(helper.make_node("Identity", [found], ["logits"]))
    values = [
        helper.make_tensor_value_info(
            name,
            TensorProto.BOOL if name == "span_mask" else TensorProto.INT64,
            [f"{name}_{n}" for n in range(rank)],
        )
        for name, rank in inputs.items()
    ]
    told = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["a", "b", "c", "d"])
    save_graph(folder / "onnx" / "model.onnx", ops, values, [told])
    return folder
