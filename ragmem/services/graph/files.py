"""Writers for graph formats: GraphML, node-link JSON and Mermaid."""

import re
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Literal, Self
from xml.sax.saxutils import escape, quoteattr

import orjson

from ragmem.charts.svg_parts import replace_forbidden

GraphFormat = Literal["graphml", "json", "mermaid"]

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


class GraphFile:
    """A graph file under construction: in a `with` block first all nodes, then the edges between them."""

    START = b""
    END = b""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __enter__(self) -> Self:
        self._file.write(self.START)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the end, unless the block raised."""
        if kind is None:
            self._finish()

    def _finish(self) -> None:
        self._file.write(self.END)

    def node(self, node: Node) -> None:
        """Write a node."""
        raise NotImplementedError

    def edge(self, edge: Edge) -> None:
        """Write an edge."""
        raise NotImplementedError


def open_graph(form: GraphFormat, file: IO[bytes]) -> GraphFile:
    """Return a writer of this format for a file in UTF-8."""
    if form == "graphml":
        return _GraphML(file)
    return _NodeLink(file) if form == "json" else _Mermaid(file)


_KEYS = {
    "node": {"label": "string", "type": "string", "project": "string", "description": "string"},
    "edge": {"weight": "double", "keywords": "string", "description": "string"},
}
_GRAPHML_START = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns'
    ' http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">\n'
    + "".join(
        f'  <key id="{part[0]}_{name}" for="{part}" attr.name="{name}" attr.type="{form}"/>\n'
        for part, names in _KEYS.items()
        for name, form in names.items()
    )
    + '  <graph id="ragmem" edgedefault="undirected">\n'
)


class _GraphML(GraphFile):
    START = _GRAPHML_START.encode()
    END = b"  </graph>\n</graphml>\n"

    def _write(self, text: str) -> None:
        self._file.write(replace_forbidden(text).encode())

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


class _NodeLink(GraphFile):
    START = b'{"schema": 1, "directed": false, "multigraph": false, "graph": {},\n"nodes": ['

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self._separator = b"\n"
        self._at_edges = False

    def _item(self, item: dict[str, object]) -> None:
        self._file.write(self._separator + orjson.dumps(item))
        self._separator = b",\n"

    def _start_edges(self) -> None:
        if not self._at_edges:
            self._file.write(b'\n],\n"edges": [')
            self._separator, self._at_edges = b"\n", True

    def _finish(self) -> None:
        self._start_edges()
        self._file.write(b"\n]}\n")

    def node(self, node: Node) -> None:
        self._item({name: getattr(node, name) for name in Node.__slots__})

    def edge(self, edge: Edge) -> None:
        self._start_edges()
        self._item({name: getattr(edge, name) for name in Edge.__slots__})


_SPECIAL = re.compile(r"[^\w ,.:/()@+=*?!'~$%-]|^[\d]+\.|^[-+*]")
"""Characters escaped by their code: quotes, brackets, Markdown, and list markers."""


class _Mermaid(GraphFile):
    START = b"flowchart LR\n"

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self._numbers: dict[str, int] = {}

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
