"""Elements of the XML in an office file: no entity is resolved, nothing is fetched, no name space matters."""

from collections.abc import Iterator
from typing import IO, Any

from lxml import etree


def elements(stream: IO[bytes], *names: str) -> Iterator[Any]:
    """Yield the elements of these local names as they end, and forget each after it was looked at."""
    tags = [f"{{*}}{name}" for name in names]
    for _, element in etree.iterparse(
        stream, events=("end",), tag=tags, resolve_entities=False, no_network=True, load_dtd=False
    ):
        yield element
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def whole(content: bytes) -> Any:
    """Return the root of a small document; raises lxml's error for one that is no XML."""
    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))


def found(element: Any, *names: str) -> Iterator[Any]:
    """Yield the elements below of these local names, in their order."""
    yield from element.iter(*[f"{{*}}{name}" for name in names])


def text_in(element: Any, name: str = "t") -> str:
    """Return the text of all elements below of a local name, one after the other."""
    return "".join(part.text or "" for part in found(element, name))


def attribute(element: Any, name: str) -> str:
    """Return an attribute by its local name, or an empty text."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return ""
