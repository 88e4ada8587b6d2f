"""The description of an embedding model, from the small files of its folder; loads nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ragmem.backends.mlx.options import EmbeddingOptions
from ragmem.backends.mlx.weights import weight_files, weight_problems
from ragmem.backends.model_folder import (
    FETCH,
    TOKENIZER,
    choose_dimensions,
    find_tokenizer,
    fingerprint,
    first_position,
    is_count,
    make_model_id,
    read_json_file,
    read_modules,
    read_pooling,
    read_prefixes,
)
from ragmem.errors import BackendError, ConfigError

Family = Literal["decoder", "encoder", "mlx-embeddings"]

DECODERS = {"qwen3": "qwen3", "qwen2": "qwen2", "llama": "llama", "mistral": "llama"}
"""Model types that read from left to right, and the module of mlx-lm that computes them."""

ENCODERS = frozenset({"bert", "roberta", "xlm-roberta"})
"""Model types that our own module computes."""

WINDOW = 4096
"""Tokens of a text that a large model reads by default: the cost of attention grows with the square."""

FORM = 1
"""Part of every model id; raise it when texts become vectors in another way."""


@dataclass(frozen=True, slots=True)
class Description:
    """An embedding model with the settings that determine its vectors."""

    name: str
    folder: Path
    config: Mapping[str, Any]
    family: Family
    width: int
    """Length of the model's vectors."""
    dimensions: int
    """Length of the stored vectors: the first numbers of the model's."""
    window: int
    """Tokens of a text that are read, including those that the tokenizer adds."""
    pooling: str
    """"mean", "cls" or "last"; empty where mlx-embeddings chooses."""
    query_prefix: str
    document_prefix: str
    model_id: str
    """Name, hash of the files and settings that determine a document's vector, length if shortened."""

    @property
    def quantization(self) -> Mapping[str, Any]:
        """The quantisation of the weights; empty if there is none."""
        found = self.config.get("quantization")
        return found if isinstance(found, dict) else {}


def find_problems(folder: Path) -> list[str]:
    """Return the problems of the files of an embedding model, one line each."""
    found = []
    try:
        read_config(folder)
    except BackendError as error:
        found.append(str(error))
    if find_tokenizer(folder) is None:
        found.append(f'"{folder}" has no {" or ".join(TOKENIZER)}')
    return found + weight_problems(folder)


def read_config(folder: Path) -> dict[str, Any]:
    """Return config.json; raise BackendError where it is missing or does not say what the model is."""
    config = read_json_file(folder / "config.json")
    if not isinstance(config, dict):
        raise BackendError(f'"{folder / "config.json"}" is missing or not a configuration', hint=FETCH)
    if not isinstance(config.get("model_type"), str) or not is_count(config.get("hidden_size")):
        raise BackendError(
            f'"{folder / "config.json"}" lacks model_type or hidden_size',
            hint="use a text embedding model with all its files",
        )
    return config


def describe(folder: Path, name: str, options: EmbeddingOptions) -> Description:
    """Return the description of a model from its folder and the options.

    Raise BackendError where the files are damaged or no chosen library computes the model, ConfigError where
    the options do not fit it.
    """
    if problems := find_problems(folder):
        raise BackendError(problems[0], hint=FETCH)
    config = read_config(folder)
    family = _choose_family(name, config, options)
    width = int(config["hidden_size"])
    dimensions = choose_dimensions(name, options.dimensions, width=width)
    if options.pooling and family == "mlx-embeddings":
        raise ConfigError(
            f'pooling is "{options.pooling}", but mlx-embeddings has its own pooling',
            hint="omit pooling, or omit library",
        )
    pooling = "" if family == "mlx-embeddings" else _read_pooling(folder, family, options)
    window = _read_window(folder, config, family, options)
    query_prefix, document_prefix = read_prefixes(
        folder,
        model_type=config["model_type"],
        query_prefix=options.query_prefix,
        document_prefix=options.document_prefix,
    )
    files = fingerprint([*filter(None, [find_tokenizer(folder)]), *weight_files(folder)])
    identity = [FORM, config, files, family, pooling, window, document_prefix]
    return Description(
        name=name,
        folder=folder,
        config=config,
        family=family,
        width=width,
        dimensions=dimensions,
        window=window,
        pooling=pooling,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        model_id=make_model_id(name, identity, dimensions=dimensions, width=width),
    )


def _choose_family(name: str, config: Mapping[str, Any], options: EmbeddingOptions) -> Family:
    model_type = config["model_type"]
    if options.library == "mlx-embeddings":
        return "mlx-embeddings"
    if options.library == "mlx-lm":
        return "decoder"
    if model_type in ENCODERS:
        return "encoder"
    # Some decoders were retrained to read in both directions; mlx-lm's read in one.
    one_direction = config.get("is_causal", True) and not config.get("use_bidirectional_attention")
    if model_type in DECODERS and one_direction:
        return "decoder"
    known = ", ".join(sorted({*ENCODERS, *DECODERS}))
    raise BackendError(
        f'ragmem does not support the architecture "{model_type}" of "{name}" ({known})',
        hint='set library = "mlx-embeddings" in [models.options] and pip install '
        "'ragmem[mlx-embeddings]' (1 GB, GPLv3)",
    )


def _read_pooling(folder: Path, family: Family, options: EmbeddingOptions) -> str:
    """Return the pooling: from the options, the layout of sentence-transformers, or the family."""
    if options.pooling:
        return options.pooling
    for kind, module in read_modules(folder):
        if kind == "Pooling":
            return read_pooling(module / "config.json")
        if kind not in {"Transformer", "Normalize"}:
            raise BackendError(
                f'"{folder}" has a module "{kind}", which ragmem does not support',
                hint='set library = "mlx-embeddings" in [models.options], or use another model',
            )
    return "last" if family == "decoder" else "mean"


def _read_window(folder: Path, config: Mapping[str, Any], family: Family, options: EmbeddingOptions) -> int:
    most = config.get("max_position_embeddings")
    most = most if is_count(most) else WINDOW
    if config["model_type"] in ENCODERS:
        most -= first_position(config)
    trained = read_json_file(folder / "sentence_bert_config.json")
    trained = trained.get("max_seq_length") if isinstance(trained, dict) else None
    if is_count(trained):
        most = min(most, trained)
    return min(most, options.window or (most if family == "encoder" else WINDOW))
