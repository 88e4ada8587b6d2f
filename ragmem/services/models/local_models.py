"""Find the models on this machine by their folders; nothing is loaded, changed or downloaded."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ragmem.config.hub import MODELS, SEPARATOR, hub_cache, snapshot_of, subfolders

Place = Literal["ragmem", "cache"]
ModelUse = Literal["embedding", "language model", "named entities", "unknown"]

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"

MAX_JSON_BYTES = 100_000_000
"""A larger file is neither a header nor a configuration."""

_ENCODERS = set("albert bert camembert distilbert gte modernbert mpnet nomic_bert roberta".split())
_MARKS_OF_AN_EMBEDDER = ("modules.json", "1_Pooling/config.json", "config_sentence_transformers.json")
_WORDS_OF_AN_EMBEDDER = ("embed", "-gte-", "bge-", "-e5-")


_BITS = ((8, ("int8", "q8", "quant")), (4, ("q4", "bnb4", "int4")))


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model folder: its name on the hub, its apparent use and type, and its size.

    `bits` is 0 if the weights are not quantised; `parameters` is 0 for ONNX files, which are not read.
    `backends` can compute it: "mlx" reads safetensors, "onnx" graphs. `problem` says why it is unusable,
    else "".
    """

    name: str
    place: Place
    folder: Path
    use: ModelUse
    type: str
    bytes: int
    parameters: int
    bits: int
    problem: str = ""
    backends: tuple[str, ...] = ("mlx",)


def find_local_models(data: Path, environ: Mapping[str, str], *, home: Path) -> list[LocalModel]:
    """Return the models in ragmem's own folder and in the cache of the Hugging Face hub, by name."""
    own = [examine_folder(_name_of(folder.name), "ragmem", folder) for folder in subfolders(data / MODELS)]
    cached = [
        examine_folder(_name_of(folder.name.removeprefix("models--")), "cache", snapshot)
        for folder in subfolders(hub_cache(environ, home=home))
        if folder.name.startswith("models--") and (snapshot := snapshot_of(folder)) is not None
    ]
    named = [model for model in (*own, *cached) if model is not None]
    return sorted(named, key=lambda model: (model.name.lower(), model.place != "ragmem"))


def _name_of(folder: str) -> str:
    return folder.replace(SEPARATOR, "/", 1)


def examine_folder(name: str, place: Place, folder: Path) -> LocalModel | None:
    """Return the model in a folder; None for other content, such as a data set or an image model."""
    config = _read_json(folder / CONFIG)
    weights = sorted(folder.glob("*.safetensors"))
    graphs = sorted(path for below in ("", "onnx") for path in (folder / below).glob("*.onnx"))
    if config is None and not weights and not graphs and place == "cache":
        return None
    config = config or {}
    quantization = config.get("quantization") or config.get("quantization_config") or {}
    bits = quantization.get("bits", 0) if isinstance(quantization, dict) else 0
    size, parameters = 0, 0
    problem = "" if config else f"{CONFIG} is missing"
    for path in weights:
        try:
            size += path.stat().st_size
            parameters += _parameters(path, bits)
        except (OSError, ValueError) as error:
            problem = f"{path.name} cannot be read: {error}"
    for path in graphs:
        size += sum(part.stat().st_size for part in path.parent.glob(f"{path.name}*"))
        names = path.name.lower()
        bits = bits or next((count for count, marks in _BITS if any(mark in names for mark in marks)), 0)
    if not weights and graphs:
        problem = "" if (folder / TOKENIZER).is_file() else f"{TOKENIZER} is missing"
    elif not weights:
        problem = problem or "it has no *.safetensors and no *.onnx"
    elif missing := _missing_parts(folder):
        problem = problem or f"{missing} is missing"
    return LocalModel(
        name=name,
        place=place,
        folder=folder,
        use=_use(name, folder, config),
        type=str(config.get("model_type", "")),
        bytes=size,
        parameters=parameters,
        bits=bits if isinstance(bits, int) else 0,
        problem=problem,
        backends=(*(("mlx",) if weights or not graphs else ()), *(("onnx",) if graphs else ())),
    )


def _use(name: str, folder: Path, config: Mapping[str, Any]) -> ModelUse:
    if (folder / "gliner_config.json").is_file():
        return "named entities"
    architectures = " ".join(map(str, config.get("architectures") or []))
    lowered = f"-{name.rpartition('/')[2].lower()}-"
    if (
        str(config.get("model_type", "")).replace("-", "_") in _ENCODERS
        or any((folder / mark).is_file() for mark in _MARKS_OF_AN_EMBEDDER)
        or any(word in lowered for word in _WORDS_OF_AN_EMBEDDER)
    ):
        return "embedding"
    if "CausalLM" in architectures or "ConditionalGeneration" in architectures:
        return "language model"
    # MLX's own tools may omit the architectures; then a chat template is the sign.
    template = (folder / "chat_template.jinja").is_file()
    tokens = _read_json(folder / "tokenizer_config.json") or {}
    return "language model" if template or "chat_template" in tokens else "unknown"


def _missing_parts(folder: Path) -> str:
    """Return the first missing file of the weights' index."""
    index = _read_json(folder / "model.safetensors.index.json") or {}
    names = index.get("weight_map")
    parts = sorted(set(names.values())) if isinstance(names, dict) else []
    return next((str(part) for part in parts if not (folder / str(part)).is_file()), "")


def _parameters(path: Path, bits: int) -> int:
    """Return the number of parameters in a file of weights, from its header; raises ValueError."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(MAX_JSON_BYTES, path.stat().st_size):
            raise ValueError("it is not a safetensors file")
        header = json.loads(file.read(length))
    total = 0
    for name, tensor in header.items():
        if name == "__metadata__" or (bits and name.endswith((".scales", ".biases"))):
            continue
        count = math.prod(tensor["shape"])
        total += count * 32 // bits if bits and tensor["dtype"] == "U32" else count
    return total


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            return None
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):  # reported as missing
        return None
    return value if isinstance(value, dict) else None
