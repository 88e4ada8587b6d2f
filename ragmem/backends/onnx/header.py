"""What an ONNX file says of its graph: inputs, outputs and the files with its weights; loads no weights.

The file is a protocol buffer, whose parts tell their length: the weights are skipped. Numbers of fields:
github.com/onnx/onnx, onnx/onnx.proto; of the encoding: protobuf.dev/programming-guides/encoding.
"""

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path

from ragmem.backends.model_folder import FETCH
from ragmem.errors import BackendError
from ragmem.frozen import dataclass

TYPES = {1: "float32", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64"}
"""The element types of inputs and outputs that ragmem makes or reads, and numpy's names for them."""

DYNAMIC = frozenset({"DynamicQuantizeLinear", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM"})
"""Operators that scale a whole batch: a text's numbers then depend on the texts beside it."""

_ITEM_BYTES = {1: 4, 2: 1, 3: 1, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 16: 2}
_VARINT, _EIGHT_BYTES, _PART, _FOUR_BYTES = 0, 1, 2, 5
_MOST_DEPTH = 8
"""Graphs inside of graphs that are read."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output: its element type ("" for another one) and shape; None for a free dimension.

    `shape` itself is None where the file has none.
    """

    type: str
    shape: tuple[int | None, ...] | None


@dataclass(frozen=True, slots=True)
class Header:
    """The graph of a file."""

    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Tensor]
    data_files: tuple[str, ...]
    """Files beside the graph that hold weights, by name."""
    operators: frozenset[str]
    weight_bytes: int
    """Bytes of the weights, with those in other files."""

    @property
    def scales_batches(self) -> bool:
        """Whether activations are quantised by the largest number of a batch."""
        return not self.operators.isdisjoint(DYNAMIC)


def read_header(path: Path) -> Header:
    """Read the header of a graph; raise BackendError where the file is missing, cut short or no ONNX file."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = _Reader(content).read()
    except FileNotFoundError:
        raise BackendError(f'"{path}" is missing', hint=FETCH) from None
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise BackendError(f'"{path}" is not a complete ONNX file: {error}', hint=FETCH) from error
    return found


class _Reader:
    """Collects the header while it goes through the file once."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content = content
        self._inputs: dict[str, Tensor] = {}
        self._outputs: dict[str, Tensor] = {}
        self._weights: set[str] = set()
        self._files: dict[str, None] = {}
        self._operators: set[str] = set()
        self._bytes = 0

    def read(self) -> Header:
        """Return the header; raise ValueError where the file is not sound."""
        graphs = []
        for number, span in self._fields(0, len(self._content)):
            if number == 7:
                graphs.append(span)
            elif number == 25:
                for key, node in self._fields(*span):
                    if key == 7:
                        self._node(node, 1)
        if len(graphs) != 1:
            raise ValueError("it has no graph")
        self._graph(graphs[0], 0)
        inputs = {name: one for name, one in self._inputs.items() if name not in self._weights}
        files = tuple(self._files)
        return Header(inputs, self._outputs, files, frozenset(self._operators), self._bytes)

    def _graph(self, span: tuple[int, int], depth: int) -> None:
        for number, part in self._fields(*span):
            if number == 1:
                self._node(part, depth)
            elif number == 5:
                self._weight(part)
            elif number in {11, 12} and not depth:
                name, tensor = self._value(part)
                (self._inputs if number == 11 else self._outputs)[name] = tensor

    def _node(self, span: tuple[int, int], depth: int) -> None:
        for number, part in self._fields(*span):
            if number == 4:
                self._operators.add(self._text(part))
            elif number == 5 and depth < _MOST_DEPTH:
                for kind, inner in self._fields(*part):
                    if kind == 5:  # the tensor of a constant
                        self._weight(inner)
                    elif kind == 6:
                        self._graph(inner, depth + 1)

    def _weight(self, span: tuple[int, int]) -> None:
        count, kind, place = 1, 0, ""
        for number, part in self._fields(*span):
            if number == 1:
                for size in self._integers(part):
                    count *= size
            elif number == 2:
                kind = part[0]
            elif number == 8:
                self._weights.add(self._text(part))
            elif number == 13:
                entry = {key: self._text(value) for key, value in self._fields(*part)}
                place = entry.get(2, "") if entry.get(1) == "location" else place
        self._bytes += count * _ITEM_BYTES.get(kind, 1)
        if place:
            if place.startswith("/") or ".." in Path(place).parts:
                raise ValueError(f'it refers to weights outside of its folder: "{place}"')
            self._files[place] = None

    def _value(self, span: tuple[int, int]) -> tuple[str, Tensor]:
        name, kind, shape = "", 0, None
        for number, part in self._fields(*span):
            if number == 1:
                name = self._text(part)
            elif number == 2:
                tensors = [inner for key, inner in self._fields(*part) if key == 1]
                for key, inner in self._fields(*tensors[0]) if tensors else ():
                    if key == 1:
                        kind = inner[0]
                    elif key == 2:
                        shape = tuple(self._dimension(one) for each, one in self._fields(*inner) if each == 1)
        return name, Tensor(TYPES.get(kind, ""), shape)

    def _dimension(self, span: tuple[int, int]) -> int | None:
        return next((part[0] for number, part in self._fields(*span) if number == 1), None)

    def _text(self, span: tuple[int, int]) -> str:
        if span[1] < 0:
            raise ValueError("it is not a protocol buffer")
        return bytes(self._content[span[0] : span[1]]).decode()

    def _integers(self, span: tuple[int, int]) -> Iterator[int]:
        """Yield the integers of a repeated field: one, or several that are packed."""
        value, end = span
        if end < 0:
            yield value
            return
        at = value
        while at < end:
            value, at = self._varint(at, end)
            yield value

    def _fields(self, at: int, end: int) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield (number, (start, end)) of each field of a message, or (number, (value, -1)) of an integer."""
        while at < end:
            key, at = self._varint(at, end)
            number, kind = key >> 3, key & 7
            if kind == _VARINT:
                value, at = self._varint(at, end)
                yield number, (value, -1)
                continue
            length = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(kind, 0)
            if kind == _PART:
                length, at = self._varint(at, end)
            elif not length:
                raise ValueError("it is not a protocol buffer")
            if at + length > end:
                raise ValueError("it is cut short")
            yield number, (at, at + length)
            at += length

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        value = shift = 0
        while at < end and shift < 64:
            byte = self._content[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value, at
            shift += 7
        raise ValueError("it is cut short")
