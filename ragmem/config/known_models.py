"""Embedding models that are known to suit `onnx:`, with their facts from the model cards.

Nothing here was measured by ragmem: `models use` and `models test` measure a model on the person's machine.
"""

import re
from typing import Literal

from ragmem.frozen import dataclass

_BGE_QUERY = "Represent this sentence for searching relevant passages: "
_QWEN_QUERY = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

_FORMAT = re.compile(r"[-_.](onnx|o?q|u?q?int[48]|quantized|quant|fp16|fp32|4bit|8bit|dwq|mlx|bf16|tei)\b.*")
"""What conversions add to the name of a model."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """The facts of a model: `hub` is a repository with ONNX files, `file` the one for a processor.

    `megabytes` is the size of that file with its external data, `parameters` are millions. `shorter` are the
    lengths of vectors for which it was trained besides its own `dimensions` (Matryoshka), `window` the tokens
    that it reads; `pooling` is "graph" where the file itself gives one vector for each text. `unverified`
    names the facts that no published page confirmed.
    """

    name: str
    hub: str
    file: str
    megabytes: int
    parameters: int
    dimensions: int
    window: int
    pooling: Literal["mean", "cls", "last", "graph"]
    languages: str
    licence: str
    shorter: tuple[int, ...] = ()
    query_prefix: str = ""
    document_prefix: str = ""
    unverified: tuple[str, ...] = ()


KNOWN = (
    KnownModel(
        "multilingual-e5-small",
        "intfloat/multilingual-e5-small",
        "onnx/model_qint8_avx512_vnni.onnx",
        118,
        118,
        dimensions=384,
        window=512,
        pooling="mean",
        languages="about 100",
        licence="MIT",
        query_prefix="query: ",
        document_prefix="passage: ",
    ),
    KnownModel(
        "granite-embedding-97m-multilingual-r2",
        "ibm-granite/granite-embedding-97m-multilingual-r2",
        "onnx/model_quint8_avx2.onnx",
        98,
        97,
        dimensions=384,
        window=32_768,
        pooling="cls",
        languages="200, tuned on 52",
        licence="Apache-2.0",
        unverified=("pooling",),
    ),
    KnownModel(
        "paraphrase-multilingual-MiniLM-L12-v2",
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        "onnx/model_quint8_avx2.onnx",
        118,
        118,
        dimensions=384,
        window=128,
        pooling="mean",
        languages="about 50",
        licence="Apache-2.0",
        unverified=("file",),
    ),
    KnownModel(
        "embeddinggemma-300m",
        "onnx-community/embeddinggemma-300m-ONNX",
        "onnx/model_quantized.onnx",
        309,
        308,
        dimensions=768,
        shorter=(512, 256, 128),
        window=2048,
        pooling="graph",
        languages="more than 100",
        licence="Gemma terms",
        query_prefix="task: search result | query: ",
        document_prefix="title: none | text: ",
        unverified=("megabytes",),
    ),
    KnownModel(
        "snowflake-arctic-embed-m-v2.0",
        "Snowflake/snowflake-arctic-embed-m-v2.0",
        "onnx/model_int8.onnx",
        311,
        305,
        dimensions=768,
        shorter=(256,),
        window=8192,
        pooling="cls",
        languages="74",
        licence="Apache-2.0",
        query_prefix="query: ",
    ),
    KnownModel(
        "bge-m3",
        "Xenova/bge-m3",
        "onnx/model_quantized.onnx",
        570,
        568,
        dimensions=1024,
        window=8192,
        pooling="cls",
        languages="more than 100",
        licence="MIT",
    ),
    KnownModel(
        "Qwen3-Embedding-0.6B",
        "onnx-community/Qwen3-Embedding-0.6B-ONNX",
        "onnx/model_int8.onnx",
        615,
        596,
        dimensions=1024,
        # The card allows every length from 32 to 1,024; these are the usual ones.
        shorter=(768, 512, 256, 128, 64, 32),
        window=32_768,
        pooling="last",
        languages="more than 100, code",
        licence="Apache-2.0",
        query_prefix=_QWEN_QUERY,
        unverified=("megabytes",),
    ),
    KnownModel(
        "all-MiniLM-L6-v2",
        "sentence-transformers/all-MiniLM-L6-v2",
        "onnx/model_quint8_avx2.onnx",
        23,
        23,
        dimensions=384,
        window=256,
        pooling="mean",
        languages="English",
        licence="Apache-2.0",
    ),
    KnownModel(
        "bge-small-en-v1.5",
        "Xenova/bge-small-en-v1.5",
        "onnx/model_quantized.onnx",
        34,
        33,
        dimensions=384,
        window=512,
        pooling="cls",
        languages="English",
        licence="MIT",
        query_prefix=_BGE_QUERY,
    ),
    KnownModel(
        "snowflake-arctic-embed-s",
        "Snowflake/snowflake-arctic-embed-s",
        "onnx/model_int8.onnx",
        34,
        33,
        dimensions=384,
        window=512,
        pooling="cls",
        languages="English",
        licence="Apache-2.0",
        query_prefix=_BGE_QUERY,
        unverified=("megabytes",),
    ),
    KnownModel(
        "granite-embedding-small-english-r2",
        "onnx-community/granite-embedding-small-english-r2-ONNX",
        "onnx/model_quantized.onnx",
        48,
        47,
        dimensions=384,
        window=8192,
        pooling="cls",
        languages="English, code",
        licence="Apache-2.0",
        unverified=("file", "megabytes"),
    ),
)
"""Many languages first, then English; small before large."""


def find_known(name: str) -> KnownModel | None:
    """Return the facts of a model by its name on a hub, or that of a conversion of it; None if unknown.

    The owner does not count: `Xenova/bge-m3` and `BAAI/bge-m3` are the same weights.
    """
    short = name.rpartition("/")[2].lower()
    plain = _FORMAT.sub("", short)
    return next((one for one in KNOWN if one.name.lower() in {short, plain}), None)
