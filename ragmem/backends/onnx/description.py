"""The description of an ONNX model, from the small files of its folder; loads nothing."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

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
from ragmem.backends.onnx.header import Header, Tensor, read_header
from ragmem.backends.onnx.options import OnnxOptions
from ragmem.backends.onnx.variants import choose_variant, local_processor
from ragmem.errors import BackendError, ConfigError

WINDOW = 2048
"""Tokens of a text that are read by default: the memory of attention grows with the square."""

DEFAULT_WINDOW = 512
"""Tokens of a text where the model's files do not say how many it can read: as many as a BERT has."""

FORM = 1
"""Part of every model id; raise it when texts become vectors in another way."""

MATRIX = "model.safetensors"
"""The weights of a dense layer, in its folder."""

PAST = re.compile(r"past_key_values\.\d+\.(key|value)")
"""Inputs for what a decoder has read before; they get nothing."""

GLINER_CONFIG = "gliner_config.json"
"""The file that only models for named entities have."""

_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids", "use_cache_branch"})
_VECTORS = (
    "sentence_embedding",
    "sentence_embeddings",
    "text_embeds",
    "dense_vecs",
    "embeddings",
    "embedding",
)
"""Usual names of outputs with one vector for each text, best first."""
_TOKENS = ("last_hidden_state", "token_embeddings", "hidden_states")
"""Usual names of outputs with one vector for each token, best first."""
_NO_VECTORS = re.compile(r"logits|pooler_output|present\b.*|past_.*|.*attentions?.*")

_NO_EMBEDDER = "use a text model exported with Optimum or sentence-transformers"

_DECODERS = frozenset({"qwen3", "qwen2", "llama", "mistral"})
_WITH_OFFSET = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "mpnet"})
_ACTIVATIONS = frozenset({"Identity", "Tanh"})


@dataclass(frozen=True, slots=True)
class Step:
    """What is done to a text's vector behind the graph: "normalize", or "dense" by the folder's matrix."""

    kind: Literal["normalize", "dense"]
    folder: Path
    activation: str = "Identity"


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph with what is needed to feed it; the same for embedders and rerankers."""

    name: str
    folder: Path
    path: Path
    header: Header
    config: Mapping[str, Any]
    files: tuple[Path, ...]
    """The graph and the files with its weights."""
    past: Mapping[str, tuple[int, int]]
    """Heads and width of the inputs for what a decoder has read before."""
    window: int
    """Tokens that are read at a time, including those that the tokenizer adds."""
    padding: int
    """The id of the token that fills a batch."""

    @property
    def batches(self) -> bool:
        """Whether several texts can be computed together without a change to any."""
        return "attention_mask" in self.header.inputs and not self.header.scales_batches


@dataclass(frozen=True, slots=True)
class Description:
    """An embedding model with the settings that determine its vectors."""

    graph: Graph
    output: str
    pooling: str
    """"mean", "cls" or "last"; empty where the output has one vector for each text."""
    steps: tuple[Step, ...]
    width: int
    """Length of the model's vectors."""
    dimensions: int
    """Length of the stored vectors: the first numbers of the model's."""
    query_prefix: str
    document_prefix: str
    model_id: str
    """Name, hash of the files and settings that determine a document's vector, length if shortened."""


def find_problems(folder: Path, wanted: str = "") -> list[str]:
    """Return the problems of a model's files, one line each; `wanted` as for `choose_variant`."""
    found = []
    if find_tokenizer(folder) is None:
        found.append(f'"{folder}" has no {TOKENIZER[0]}')
    try:
        path = _find_graph(folder, wanted)
        missing = [name for name in read_header(path).data_files if not (path.parent / name).is_file()]
        found += [f'"{path.parent / name}" is missing' for name in missing]
    except BackendError as error:
        found.append(str(error))
    return found


def describe_graph(
    folder: Path, name: str, wanted: str, options: OnnxOptions, *, inputs: Collection[str] = _INPUTS
) -> Graph:
    """Return a model's graph; raise BackendError where files are missing, damaged or of an unknown kind.

    `inputs` are those that the caller can fill.
    """
    path = _find_graph(folder, wanted)
    if problems := find_problems(folder, wanted):
        raise BackendError(problems[0], hint=FETCH)
    header = read_header(path)
    config = read_json_file(folder / "config.json")
    config = config if isinstance(config, dict) else {}
    if isinstance(config.get("text_config"), dict):
        config = {**config, **config["text_config"]}
    if "input_ids" not in header.inputs:
        raise BackendError(
            f'"{path}" has no input input_ids, only {", ".join(header.inputs) or "nothing"}',
            hint=_NO_EMBEDDER,
        )
    return Graph(
        name=name,
        folder=folder,
        path=path,
        header=header,
        config=config,
        files=(path, *(path.parent / each for each in header.data_files)),
        past=_read_past(path, header, config, inputs),
        window=_read_window(folder, config, options),
        padding=_read_padding(config),
    )


def describe(folder: Path, name: str, wanted: str, options: OnnxOptions) -> Description:
    """Return the description of an embedding model from its folder and the options.

    Raise BackendError where the files are damaged or ragmem cannot compute the model, ConfigError where the
    options do not fit it.
    """
    graph = describe_graph(folder, name, wanted, options)
    modules = read_modules(folder)
    output, has_tokens = _choose_output(graph, options)
    pooling: str = ""
    steps: tuple[Step, ...] = ()
    width = _last(graph.header.outputs[output])
    if has_tokens:
        pooling, steps = _read_steps(graph, modules, options)
    dense = [read_json_file(module / "config.json") for kind, module in modules if kind == "Dense"]
    if dense and isinstance(dense[-1], dict):
        width = dense[-1].get("out_features") if has_tokens else width or dense[-1].get("out_features")
    width = width or graph.config.get("hidden_size")
    if not is_count(width):
        raise BackendError(
            f'"{folder / "config.json"}" has no hidden_size',
            hint="use a text embedding model with all its files",
        )
    dimensions = choose_dimensions(name, options.dimensions, width=width)
    query_prefix, document_prefix = read_prefixes(
        folder,
        model_type=graph.config.get("model_type"),
        query_prefix=options.query_prefix,
        document_prefix=options.document_prefix,
    )
    matrices = [step.folder / MATRIX for step in steps if step.kind == "dense"]
    identity = [
        FORM,
        fingerprint([*filter(None, [find_tokenizer(folder)]), *graph.files, *matrices]),
        output,
        pooling,
        [(step.kind, step.activation) for step in steps],
        graph.window,
        document_prefix,
    ]
    return Description(
        graph=graph,
        output=output,
        pooling=pooling,
        steps=steps,
        width=width,
        dimensions=dimensions,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        model_id=make_model_id(name, identity, dimensions=dimensions, width=width),
    )


def _paths(folder: Path) -> dict[str, int]:
    """Return the files in the folders of graphs with their bytes."""
    found: dict[str, int] = {}
    for parent, prefix in ((folder, ""), (folder / "onnx", "onnx/")):
        if parent.is_dir():
            found |= {
                f"{prefix}{path.name}": path.stat().st_size for path in parent.iterdir() if path.is_file()
            }
    return found


def _find_graph(folder: Path, wanted: str) -> Path:
    return folder / choose_variant(_paths(folder), wanted, local_processor(), model=str(folder)).path


def _read_past(
    path: Path, header: Header, config: Mapping[str, Any], inputs: Collection[str]
) -> dict[str, tuple[int, int]]:
    """Return heads and width of each input for the past; raise BackendError for an input of another kind."""
    found: dict[str, tuple[int, int]] = {}
    for name, tensor in header.inputs.items():
        if PAST.fullmatch(name) and tensor.shape is not None and len(tensor.shape) == 4:
            heads = tensor.shape[1] or config.get("num_key_value_heads") or config.get("num_attention_heads")
            width = tensor.shape[3] or config.get("head_dim") or _head_width(config)
            if is_count(heads) and is_count(width):
                found[name] = (heads, width)
                continue
        if name not in inputs or not tensor.type:
            raise BackendError(f'"{path}" has an input "{name}", which ragmem cannot fill', hint=_NO_EMBEDDER)
    return found


def _head_width(config: Mapping[str, Any]) -> int | None:
    width, heads = config.get("hidden_size"), config.get("num_attention_heads")
    return width // heads if is_count(width) and is_count(heads) else None


def _choose_output(graph: Graph, options: OnnxOptions) -> tuple[str, bool]:
    """Return the output to read, and whether it has one vector for each token."""
    ranks = {
        name: len(tensor.shape)
        for name, tensor in graph.header.outputs.items()
        if tensor.type.startswith("float") and tensor.shape is not None and len(tensor.shape) in {2, 3}
    }
    if options.output:
        if options.output not in ranks:
            raise ConfigError(
                f'output is "{options.output}", which is not a vector output of "{graph.path}"',
                hint=f"output is one of {', '.join(ranks) or 'none'}, or omitted",
            )
        return options.output, ranks[options.output] == 3
    plain = {name: rank for name, rank in ranks.items() if not _NO_VECTORS.fullmatch(name)}
    vectors = [name for name in _VECTORS if plain.get(name) == 2]
    vectors += [name for name, rank in plain.items() if rank == 2 and name not in _VECTORS]
    tokens = [name for name in _TOKENS if plain.get(name) == 3]
    tokens += [name for name, rank in plain.items() if rank == 3 and name not in _TOKENS]
    # An output with one vector for each text follows the whole repository: pooling and dense layers.
    if vectors and not options.pooling and (vectors[0] in _VECTORS or not tokens):
        return vectors[0], False
    if tokens and (tokens[0] in _TOKENS or len(tokens) == 1):
        return tokens[0], True
    listed = ", ".join(f"{name} {list(one.shape or ())}" for name, one in graph.header.outputs.items())
    raise BackendError(
        f'no output of "{graph.path}" has text vectors: {listed[:200] or "none"}',
        hint="set output in [models.options] to the right one, or use an embedding model",
    )


def _read_steps(
    graph: Graph, modules: Sequence[tuple[str, Path]], options: OnnxOptions
) -> tuple[str, tuple[Step, ...]]:
    """Return pooling and further steps: from the options and the layout of sentence-transformers."""
    pooling, steps = options.pooling, []
    for kind, folder in modules:
        if kind == "Pooling":
            pooling = pooling or read_pooling(folder / "config.json")
        elif kind == "Dense":
            config = read_json_file(folder / "config.json")
            given = config.get("activation_function") if isinstance(config, dict) else None
            activation = str(given or "Tanh").rpartition(".")[2]  # Tanh is its default
            if activation not in _ACTIVATIONS:
                raise BackendError(f'"{folder}" has the activation "{activation}"', hint="use another model")
            if not (folder / MATRIX).is_file():
                raise BackendError(f'"{folder / MATRIX}" is missing', hint=FETCH)
            steps.append(Step("dense", folder, activation))
        elif kind == "Normalize":
            steps.append(Step("normalize", folder))
        elif kind != "Transformer":
            raise BackendError(
                f'"{graph.folder}" has a module "{kind}", which ragmem does not support',
                hint="use another model",
            )
    if not pooling:
        config = read_json_file(graph.folder / "1_Pooling" / "config.json")
        if config is not None:
            pooling = read_pooling(graph.folder / "1_Pooling" / "config.json")
        else:
            pooling = "last" if graph.config.get("model_type") in _DECODERS or graph.past else "mean"
    return pooling, tuple(steps)


def _read_window(folder: Path, config: Mapping[str, Any], options: OnnxOptions) -> int:
    """Return the tokens that are read: what the files allow, at most WINDOW or the option."""
    positions = config.get("max_position_embeddings")
    if is_count(positions) and config.get("model_type") in _WITH_OFFSET:
        positions -= first_position(config)
    trained = read_json_file(folder / "sentence_bert_config.json")
    tokenizer = read_json_file(folder / "tokenizer_config.json")
    given = [
        positions,
        trained.get("max_seq_length") if isinstance(trained, dict) else None,
        tokenizer.get("model_max_length") if isinstance(tokenizer, dict) else None,  # 10^30: none
    ]
    known = [count for count in given if is_count(count)]
    most = min(known) if known else DEFAULT_WINDOW
    return min(most, options.window or WINDOW)


def _read_padding(config: Mapping[str, Any]) -> int:
    padding = config.get("pad_token_id")
    return padding if type(padding) is int and padding >= 0 else 0


def _last(tensor: Tensor) -> int | None:
    return tensor.shape[-1] if tensor.shape else None
