"""The arithmetic limit of the bundled model: operations per token, and the processor's rate."""

import time
from collections.abc import Sequence
from typing import Any

from embedding.worker import PEAK_SHAPES, PEAK_TURNS

from ragmem.backends.minilm.weights import LAYERS, WIDTH

INT8_ROWS = 128
"""A text of usual length: the int8 engine sees one at a time."""


def matrix_operations() -> int:
    """Return the operations of a token in the matrices, an addition and a multiplication counted as two."""
    return sum(2 * inputs * outputs for _, inputs, outputs in PEAK_SHAPES) * LAYERS


def attention_operations(lengths: Sequence[int]) -> float:
    """Return the mean operations of a token in attention: with each other token, scores and sums.

    Quadratic in a text's length, so the mean is over tokens, not over texts.
    """
    return 2 * 2 * WIDTH * LAYERS * sum(length**2 for length in lengths) / sum(lengths)


def int8_peak() -> float | None:
    """Return the int8 operations per second of onnxruntime's product, one thread; None without onnx.

    DynamicQuantizeMatMul with the model's shapes, its quantisation included.
    """
    try:
        import numpy as np
        import onnxruntime
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        return None
    random = np.random.default_rng(1)
    operations = seconds = 0.0
    for _, inputs, outputs in PEAK_SHAPES:
        weights = random.integers(-127, 128, (inputs, outputs), np.int8)
        constants = [
            numpy_helper.from_array(weights, "w"),
            numpy_helper.from_array(np.full(outputs, 0.01, np.float32), "s"),
        ]
        graph = helper.make_graph(
            [helper.make_node("DynamicQuantizeMatMul", ["x", "w", "s"], ["y"], domain="com.microsoft")],
            "peak",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [INT8_ROWS, inputs])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [INT8_ROWS, outputs])],
            constants,
        )
        domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=9)
        settings: Any = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
        )
        x = {"x": random.random((INT8_ROWS, inputs), np.float32)}
        taken = []
        for _ in range(PEAK_TURNS * 4):
            started = time.perf_counter()
            session.run(None, x)
            taken.append(time.perf_counter() - started)
        operations += 2 * INT8_ROWS * inputs * outputs
        seconds += min(taken)
    return operations / seconds
