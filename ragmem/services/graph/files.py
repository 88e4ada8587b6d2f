"""Writers for graph formats: GraphML, node-link JSON and Mermaid."""

import re
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Literal, Protocol, Self
from xml.sax.saxutils import escape, quoteattr

import orjson

Form = Literal["graphml", "json", "mermaid"]

LABEL = 60
"""Maximum characters of a name or relation in a Mermaid diagram."""


@dataclass(frozen=True, slots=True)
class Node:
    """An entity; `id` is its unique name in the file."""

    id: str
    label: str
    type: str
    description: str
    project: str


@dataclass(frozen=True, slots=True)
class Edge:
    """An undirected relation between two nodes."""

    source: str
    target: str
    weight: float
    keywords: str
    description: str


class GraphFile(Protocol):
    """A graph file under construction: in a `with` block all nodes first, then the edges between them."""

    def __enter__(self) -> Self:
        """Write what comes first."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what comes last, unless the block raised."""
        ...

    def node(self, node: Node) -> None:
        """Write a node."""
        ...

    def edge(self, edge: Edge) -> None:
        """Write an edge."""
        ...


def open_graph(form: Form, file: IO[bytes]) -> GraphFile:
    """Return a writer of this format for a file in UTF-8."""
    if form == "graphml":
        return _GraphML(file)
    return _NodeLink(file) if form == "json" else _Mermaid(file)


def writable(text: str) -> str:
    """Return the text with U+FFFD for characters that XML cannot contain."""
    return _NOT_XML.sub("\ufffd", text)


_KEYS = {
    "node": {"label": "string", "type": "string", "project": "string", "description": "string"},
    "edge": {"weight": "double", "keywords": "string", "description": "string"},
}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OPENING = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns'
    ' http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">\n'
)


class _GraphML:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def _write(self, text: str) -> None:
        self._file.write(writable(text).encode())

    def __enter__(self) -> Self:
        keys = [
            f'  <key id="{part[0]}_{name}" for="{part}" attr.name="{name}" attr.type="{form}"/>\n'
            for part, names in _KEYS.items()
            for name, form in names.items()
        ]
        self._write(f'{_OPENING}{"".join(keys)}  <graph id="ragmem" edgedefault="undirected">\n')
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._write("  </graph>\n</graphml>\n")

    def node(self, node: Node) -> None:
        data = "".join(_data("n", name, getattr(node, name)) for name in _KEYS["node"])
        self._write(f"    <node id={_quote(node.id)}>{data}</node>\n")

    def edge(self, edge: Edge) -> None:
        data = "".join(_data("e", name, str(getattr(edge, name))) for name in _KEYS["edge"])
        ends = f"source={_quote(edge.source)} target={_quote(edge.target)}"
        self._write(f"    <edge {ends}>{data}</edge>\n")


def _quote(text: str) -> str:
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _data(part: str, name: str, value: str) -> str:
    text = escape(value, {"\r": "&#13;"})
    return f'<data key="{part}_{name}">{text}</data>' if value else ""


class _NodeLink:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._between = b"\n"
        self._at_edges = False

    def __enter__(self) -> Self:
        self._file.write(b'{"schema": 1, "directed": false, "multigraph": false, "graph": {},\n"nodes": [')
        return self

    def _item(self, item: dict[str, object]) -> None:
        self._file.write(self._between + orjson.dumps(item))
        self._between = b",\n"

    def _turn_to_edges(self) -> None:
        if not self._at_edges:
            self._file.write(b'\n],\n"edges": [')
            self._between, self._at_edges = b"\n", True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._turn_to_edges()
            self._file.write(b"\n]}\n")

    def node(self, node: Node) -> None:
        self._item({name: getattr(node, name) for name in Node.__slots__})

    def edge(self, edge: Edge) -> None:
        self._turn_to_edges()
        self._item({name: getattr(edge, name) for name in Edge.__slots__})


_SPECIAL = re.compile(r"[^\w ,.:/()@+=*?!'~$%-]|^[\d]+\.|^[-+*]")
"""Characters that are escaped by code: quotes, brackets, Markdown, and list markers."""


class _Mermaid:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._numbers: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._file.write(b"flowchart LR\n")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def node(self, node: Node) -> None:
        number = self._numbers[node.id] = len(self._numbers)
        self._file.write(f'  n{number}["{_mermaid(node.id)}"]\n'.encode())

    def edge(self, edge: Edge) -> None:
        words = _mermaid(edge.keywords.replace(",", ", "))
        label = f'|"{words}"|' if words else ""
        source, target = self._numbers[edge.source], self._numbers[edge.target]
        self._file.write(f"  n{source} ---{label} n{target}\n".encode())


def _mermaid(text: str) -> str:
    line = " ".join(text.split())
    short = line if len(line) <= LABEL else line[: LABEL - 1] + "\u2026"
    return _SPECIAL.sub(lambda found: "".join(f"#{ord(letter)};" for letter in found.group()), short)
