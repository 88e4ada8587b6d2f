"""The description of an embedding model, from the small files of its folder; loads nothing."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeGuard

from ragmem.backends.mlx.options import EmbeddingOptions
from ragmem.backends.mlx.weights import fingerprint, read_json, weight_files, weight_problems
from ragmem.errors import BackendError, ConfigError

Family = Literal["decoder", "encoder", "mlx-embeddings"]

DECODERS = {"qwen3": "qwen3", "qwen2": "qwen2", "llama": "llama", "mistral": "llama"}
"""Model types that read from left to right, and the module of mlx-lm that computes them."""

ENCODERS = frozenset({"bert", "roberta", "xlm-roberta"})
"""Model types that our own module computes."""

WINDOW = 4096
"""Tokens of a text that a large model reads by default: the cost of attention grows with the square."""

INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
"""The prefix of questions for Qwen3-Embedding, as its authors write it (without a space at the end)."""

FORM = 1
"""Part of every model id; raise it when texts become vectors in another way."""

TOKENIZER = ("tokenizer.json", "vocab.txt")

_MOST = 2**31
"""Above every count in a sound configuration; the libraries keep counts in 32 bits."""

_FETCH = "fetch the model again: `ragmem models pull`"
_POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}
_NEWER_POOLINGS = {"mean": "mean", "cls": "cls", "lasttoken": "last"}


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
    if not any((folder / name).is_file() for name in TOKENIZER):
        found.append(f'"{folder}" has no {" or ".join(TOKENIZER)}')
    return found + weight_problems(folder)


def read_config(folder: Path) -> dict[str, Any]:
    """Return config.json; raise BackendError where it is missing or does not say what the model is."""
    config = _read_json(folder / "config.json")
    if not isinstance(config, dict):
        raise BackendError(f'"{folder / "config.json"}" is missing or no configuration', hint=_FETCH)
    if not isinstance(config.get("model_type"), str) or not _is_count(config.get("hidden_size")):
        raise BackendError(
            f'"{folder / "config.json"}" does not say model_type and hidden_size',
            hint="use an embedding model for texts, with all its files",
        )
    return config


def describe(folder: Path, name: str, options: EmbeddingOptions) -> Description:
    """Return the description of a model from its folder and the options.

    Raise BackendError where the files are damaged or no chosen library computes the model, ConfigError where
    the options do not fit it.
    """
    if problems := find_problems(folder):
        raise BackendError(problems[0], hint=_FETCH)
    config = read_config(folder)
    family = _choose_family(name, config, options)
    width = int(config["hidden_size"])
    if options.dimensions > width:
        raise ConfigError(
            f'dimensions is {options.dimensions}, the vectors of "{name}" have {width}',
            hint=f"dimensions is at most {width}, or left out",
        )
    if options.pooling and family == "mlx-embeddings":
        raise ConfigError(
            f'pooling is "{options.pooling}", but mlx-embeddings pools in its own way',
            hint="leave out pooling, or library",
        )
    pooling = "" if family == "mlx-embeddings" else _read_pooling(folder, family, options)
    window = _read_window(folder, config, family, options)
    dimensions = options.dimensions or width
    prompts = _read_prompts(folder)
    query = INSTRUCTION if config["model_type"] == "qwen3" and "query" not in prompts else ""
    document_prefix = options.document_prefix or prompts.get("document") or prompts.get("passage") or ""
    tokenizer = next(folder / file for file in TOKENIZER if (folder / file).is_file())
    files = fingerprint([tokenizer, *weight_files(folder)])
    identity = [FORM, config, files, family, pooling, window, document_prefix]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
    shortened = f"-{dimensions}d" if dimensions < width else ""
    return Description(
        name=name,
        folder=folder,
        config=config,
        family=family,
        width=width,
        dimensions=dimensions,
        window=window,
        pooling=pooling,
        query_prefix=options.query_prefix or prompts.get("query") or query,
        document_prefix=document_prefix,
        model_id=f"{name.rpartition('/')[2]}-{digest}{shortened}",
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
        f'ragmem cannot compute the architecture "{model_type}" of "{name}" itself ({known})',
        hint='set library = "mlx-embeddings" in [models.options] and pip install '
        "'ragmem[mlx-embeddings]' (1 GB, GPLv3)",
    )


def _read_pooling(folder: Path, family: Family, options: EmbeddingOptions) -> str:
    """Return the pooling: from the options, the layout of sentence-transformers, or the family."""
    if options.pooling:
        return options.pooling
    modules = _read_json(folder / "modules.json")
    for module in modules if isinstance(modules, list) else []:
        if not isinstance(module, dict):
            raise BackendError(f'"{folder / "modules.json"}" is no list of modules', hint=_FETCH)
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Pooling":
            return _read_pooling_config(folder / str(module.get("path", "")) / "config.json")
        if kind not in {"Transformer", "Normalize"}:
            raise BackendError(
                f'"{folder}" has a module "{kind}", which ragmem does not compute',
                hint='set library = "mlx-embeddings" in [models.options], or use another model',
            )
    return "last" if family == "decoder" else "mean"


def _read_pooling_config(path: Path) -> str:
    config = _read_json(path)
    config = config if isinstance(config, dict) else {}
    chosen = [pooling for key, pooling in _POOLINGS.items() if config.get(key)]
    newer = config.get("pooling_mode")
    if not chosen and isinstance(newer, str) and newer in _NEWER_POOLINGS:
        chosen = [_NEWER_POOLINGS[newer]]
    others = [key for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
    if len(chosen) != 1 or set(others) - set(_POOLINGS):
        raise BackendError(
            f'"{path}" asks for a pooling that ragmem does not compute',
            hint="set pooling to mean, cls or last in [models.options], or use another model",
        )
    return chosen[0]


def _read_window(folder: Path, config: Mapping[str, Any], family: Family, options: EmbeddingOptions) -> int:
    most = config.get("max_position_embeddings")
    most = most if _is_count(most) else WINDOW
    if config["model_type"] in ENCODERS:
        most -= first_position(config)
    trained = _read_json(folder / "sentence_bert_config.json")
    trained = trained.get("max_seq_length") if isinstance(trained, dict) else None
    if _is_count(trained):
        most = min(most, trained)
    return min(most, options.window or (most if family == "encoder" else WINDOW))


def first_position(config: Mapping[str, Any]) -> int:
    """Return the position of an encoder's first token: RoBERTa's first positions are for padding."""
    if config["model_type"] == "bert":
        return 0
    padding = config.get("pad_token_id")
    if padding is None:
        return 2
    if type(padding) is not int or padding < 0:
        raise BackendError(f'the configuration has the pad_token_id "{padding}"', hint=_FETCH)
    return padding + 1


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 < value < _MOST


def _read_prompts(folder: Path) -> dict[str, str]:
    config = _read_json(folder / "config_sentence_transformers.json")
    prompts = config.get("prompts") if isinstance(config, dict) else None
    if not isinstance(prompts, dict):
        return {}
    return {str(role): text for role, text in prompts.items() if isinstance(text, str)}


def _read_json(path: Path) -> Any:
    """Return the JSON of a file, None if it is missing; raise BackendError if it cannot be read."""
    try:
        return read_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        # Treated as missing, the model would get a pooling or prefix that it was not trained with.
        raise BackendError(f'"{path}" cannot be read: {error}', hint=_FETCH) from error
