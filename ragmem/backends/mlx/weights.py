"""The weights of a model as safetensors files; only their headers are read here."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragmem.backends.model_folder import read_json

_ITEM_BYTES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2}


def weight_files(folder: Path) -> list[Path]:
    """Return the files that MLX's libraries would load, sorted by name."""
    return sorted(folder.glob("model*.safetensors"))


def read_header(path: Path) -> dict[str, Any]:
    """Return the tensors of a file by name: {"dtype", "shape", "data_offsets"}.

    Raise ValueError if it is not a safetensors file or has the wrong length, OSError if it cannot be read.
    """
    with path.open("rb") as file:
        size = path.stat().st_size
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= size - 8:
            raise ValueError("it is truncated, or not a safetensors file")
        header = read_json(file.read(length))
    sound = isinstance(header, dict)
    if sound:
        header.pop("__metadata__", None)
        sound = all(map(_is_tensor, header.values()))
    if not sound:
        raise ValueError("its header is not a list of tensors")
    end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
    if size != 8 + length + end:
        raise ValueError(f"it has only {size:,} of {8 + length + end:,} bytes")
    return dict(header)


def _is_tensor(entry: Any) -> bool:
    match entry:
        case {"dtype": str(), "shape": [*shape], "data_offsets": [begin, end]}:
            return all(type(number) is int and number >= 0 for number in (*shape, begin, end))
    return False


def weight_problems(folder: Path) -> list[str]:
    """Return the problems of the weights' files, one line each; reads their headers only."""
    found = []
    files = weight_files(folder)
    if not files:
        found.append(f'"{folder}" has no weights (model*.safetensors)')
    for path in files:
        try:
            read_header(path)
        except (OSError, ValueError) as error:
            found.append(f'"{path}" cannot be read: {error}')
    try:
        index = read_json((folder / "model.safetensors.index.json").read_bytes())
        parts = {str(name) for name in index["weight_map"].values()}
    except FileNotFoundError:
        parts = set()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        found.append(f'"{folder / "model.safetensors.index.json"}" cannot be read: {error!r}')
        parts = set()
    found += [f'"{folder / part}" is missing' for part in sorted(parts) if not (folder / part).is_file()]
    return found


def count_bytes(folder: Path, quantization: Mapping[str, Any], *, widened: bool) -> int:
    """Return the bytes of the weights in memory; `widened`: as float32, except word embeddings.

    Raise ValueError or OSError when a file cannot be read.
    """
    bits = quantization.get("bits", 4)
    if type(bits) is not int or not 0 < bits <= 32:
        raise ValueError(f"its weights are packed in {bits} bits")
    total = 0
    for path in weight_files(folder):
        header = read_header(path)
        for name, entry in header.items():
            count = math.prod(entry["shape"])
            packed = name.removesuffix(".weight") + ".scales" in header
            if not widened or (packed and "embed_tokens" in name):
                total += count * _ITEM_BYTES.get(entry["dtype"], 1)
            elif packed:
                total += 4 * (count * 32 // bits)
            else:
                total += 4 * count
    return total
