"""The bundled weights file: a safetensors file that is mapped, not read.

Its matrices are int8, stored [inputs, outputs], with one float32 scale per output (per row for the word
embeddings): value = int8 * scale. The query part of `attention_in` carries the factor 1/sqrt(head width), so
no engine scales its attention scores. `positions` carries the embedding of token type 0.
"""

import json
import mmap
import struct
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.errors import BackendError
from ragmem.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = "ragmem-minilm-1"
"""Stored in the file's metadata; a new layout needs a new name."""

LAYERS = 6
HEADS = 12
WIDTH = 384
WINDOW = 256
"""Tokens of a text that the model reads, [CLS] and [SEP] included: what it was trained with."""
NORM_EPSILON = 1e-12

_ITEM_BYTES = {"F32": 4, "I8": 1}
_HINT = "pip install --force-reinstall ragmem, or build the file again with scripts/build_minilm.py"


@dataclass(frozen=True, slots=True)
class Span:
    """The position of a tensor: `offset` bytes from the start of the file, `length` bytes."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    length: int


def read_spans(content: mmap.mmap | bytes) -> dict[str, Span]:
    """Return the tensors of a safetensors file by name; raise ValueError if it is not ours or cut off."""
    if len(content) < 8:
        raise ValueError("it has no header")
    (header_length,) = struct.unpack("<Q", content[:8])
    start = 8 + header_length
    if start > len(content):
        raise ValueError("its header is cut short")
    header: dict[str, Any] = json.loads(content[8:start])
    if header.pop("__metadata__", {}).get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    spans = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        shape = tuple(entry["shape"])
        if end - begin != prod(shape) * _ITEM_BYTES[entry["dtype"]] or start + end > len(content):
            raise ValueError(f"its tensor {name} is cut short")
        spans[name] = Span(entry["dtype"], shape, start + begin, end - begin)
    return spans


class Weights:
    """The mapped file; its arrays are read-only views, which the system loads page by page."""

    def __init__(self, path: Path) -> None:
        """Map the file; raise BackendError when it is missing, cut short or of another format."""
        try:
            with path.open("rb") as file:
                self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._spans = read_spans(self._content)
        except FileNotFoundError:
            raise BackendError(
                f'the weights of the embedding model are missing: "{path}"', hint=_HINT
            ) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            message = f'the weights of the embedding model "{path}" cannot be read: {error}'
            raise BackendError(message, hint=_HINT) from error

    def array(self, name: str) -> "NDArray[Any]":
        """Return a tensor as a view; raise BackendError for an unknown name."""
        import numpy as np

        span = self._spans.get(name)
        if span is None:
            raise BackendError(f'the weights of the embedding model have no tensor "{name}"', hint=_HINT)
        dtype = np.int8 if span.dtype == "I8" else np.float32
        count = prod(span.shape)
        return np.frombuffer(self._content, dtype, count, span.offset).reshape(span.shape)
